import canonicalize from 'canonicalize';
import { isLong } from '../../test/length.js';
import { canonical } from './canonical.js';

const NAMES = [
  'a',
  'b',
  'B',
  '10',
  '9',
  '007',
  '',
  'é',
  'e\u0301',
  '\u{1F600}',
  '\uFB33',
  '__proto__',
  'toJSON',
  '"',
  '\\ud800',
];
const LEAVES = [
  0,
  -0,
  1e21,
  1e-7,
  1.1e300,
  123456789012345680000,
  true,
  false,
  null,
  '',
  'ä\u2028\n"\\',
  '\u{1F600}',
  '\\ud800',
];

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)]!;
}

function anyValue(depth: number): unknown {
  const kind = depth === 0 ? 1 : Math.random();
  if (kind > 0.6) return pick(LEAVES);
  const length = Math.floor(Math.random() * 5);
  if (kind > 0.3) return Array.from({ length }, () => anyValue(depth - 1));
  return Object.fromEntries(Array.from({ length }, () => [pick(NAMES), anyValue(depth - 1)]));
}

it('returns the same as the canonicalize package for any JSON', () => {
  for (let n = 0; n < (isLong ? 20_000 : 3_000); n += 1) {
    const value = { value: anyValue(4), a: undefined, list: [undefined] };
    expect(canonical(value)).toBe(canonicalize(value));
  }
});

it('does not modify its argument', () => {
  const value = { b: [{ d: 1, c: 2 }], a: 1 };
  expect(canonical(value)).toBe('{"a":1,"b":[{"c":2,"d":1}]}');
  expect(JSON.stringify(value)).toBe('{"b":[{"d":1,"c":2}],"a":1}');
});

it.each([[{ a: NaN }], [{ a: [Infinity] }], [{ a: ['\ud800'] }], [{ '\udc00': 1 }]])(
  'rejects values that JSON does not allow: %j',
  (value) => {
    expect(() => canonical(value)).toThrow(/not allowed/);
  },
);

it('formats dates as JSON does', () => {
  expect(canonical({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
});
