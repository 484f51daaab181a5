import { readableLine } from './readable-line.js';

const line = (fields: object) =>
  JSON.stringify({ level: 'info', time: new Date(2026, 10, 25, 14, 3, 7).toISOString(), pid: 7, ...fields });

it('shows time, level, message and fields, quoting what contains spaces', () => {
  const fields = { message: 'listening', port: 3000, url: undefined, reason: 'two words', names: ['a', 'b'] };
  expect(readableLine(line(fields), false)).toBe(
    '14:03:07 info  listening port=3000 reason="two words" names=["a","b"]\n',
  );
});

it('shows the length of a long list', () => {
  expect(readableLine(line({ message: 'done', migrations: ['a', 'b', 'c', 'd', 'e', 'f'] }), false)).toBe(
    '14:03:07 info  done migrations=[6 items]\n',
  );
});

it('colours the level of warnings and errors only', () => {
  expect(readableLine(line({ level: 'warn', message: 'late' }), true)).toBe(
    '14:03:07 \u001B[33mwarn \u001B[39m late\n',
  );
  expect(readableLine(line({ message: 'fine' }), true)).toBe('14:03:07 info  fine\n');
});

it('shows the stack of an error on lines of its own', () => {
  const stack = ['    at one (a.js:1:1)', '    at two (b.js:2:2)'];
  expect(readableLine(line({ level: 'error', message: 'request failed', stack }), false)).toBe(
    '14:03:07 error request failed\n  at one (a.js:1:1)\n  at two (b.js:2:2)\n',
  );
});

it('control characters in a field do not reach the terminal', () => {
  expect(readableLine(line({ message: 'request', path: '/\u001B[2J' }), false)).toBe(
    '14:03:07 info  request path="/\\u001b[2J"\n',
  );
});
