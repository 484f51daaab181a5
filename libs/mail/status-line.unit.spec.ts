import { statusLine } from './status-line.js';

it.each([
  ['250 2.0.0 Ok: queued as 4F2', 'a@example.org', '250 2.0.0 Ok: queued as 4F2'],
  ['550 5.1.1 <Ada@Example.org>: no such user', 'ada@example.org', '550 5.1.1 <…>: no such user'],
  ['550 unknown user ADA in example.org', 'ada@example.org', '550 unknown user … in …'],
  ['550 see https://x.org/?to=ada%40example.org', 'ada@example.org', '550 see https:…'],
  ['550 not from office@rivers.example', 'ada@example.org', '550 not from …'],
  ['550-one\n550 two\r\n', 'a@example.org', '550-one 550 two'],
  ['550 no x-y', 'x-y@a-b.example', '550 no …'],
  ['550 a(b', 'a(b@example.org', '550 …'],
  ['535 x', undefined, '535 x'],
])('keeps %j without %s', (answer, recipient, line) => {
  expect(statusLine(answer, recipient)).toBe(line);
});

it('keeps the beginning of a long reply, and spends no time on the rest', () => {
  expect(statusLine(`550 ${'x'.repeat(10_000_000)}@`, 'a@example.org')).toHaveLength(300);
  expect(statusLine(`550 ${'x'.repeat(10_000)}`, 'a@example.org')).toHaveLength(300);
});
