import { validateSync } from 'class-validator';
import { AnyJson } from './fields.js';

const MAX_BYTES = 1_024;
class Document {
  @AnyJson({ maxBytes: MAX_BYTES })
  content: unknown;
}
const problemsOf = (content: unknown) =>
  validateSync(Object.assign(new Document(), { content })).flatMap(({ constraints }) =>
    Object.values(constraints ?? {}),
  );
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

/** Bytes as PostgreSQL writes it: a space after each comma and colon. None of these texts contains one. */
const stored = (content: unknown) => JSON.stringify(content).replaceAll(/[,:]/g, '$& ').length;

it.each<[string, (more: string) => unknown]>([
  ['a string', (more) => 'x'.repeat(MAX_BYTES - 2) + more],
  ['lists', (more) => [[1, 2, [], ['x'.repeat(MAX_BYTES - 40)]], more]],
  ['objects', (more) => ({ ab: { c: 'x'.repeat(MAX_BYTES - 60) }, d: true, e: more })],
  ['many small members', (more) => [...new Array((MAX_BYTES - 4) / 3).fill(1), more]],
])('content of at most the largest size is accepted, one more byte is rejected: %s', (_, contentOf) => {
  const spare = MAX_BYTES - stored(contentOf(''));
  expect(spare).toBeGreaterThanOrEqual(0);
  expect(problemsOf(contentOf('y'.repeat(spare)))).toEqual([]);
  expect(problemsOf(contentOf('y'.repeat(spare + 1)))).toEqual([expect.stringContaining('KiB of JSON')]);
});

it('content 64 levels deep is accepted, 65 levels are rejected', () => {
  expect(problemsOf(nested(64))).toEqual([]);
  expect(problemsOf(nested(65))).toEqual([expect.stringContaining('nested deeper than 64 levels')]);
});
