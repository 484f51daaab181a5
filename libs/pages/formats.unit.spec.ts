import { formatSince } from './formats.js';

const NOW = new Date('2026-03-10T12:00:00Z');

it.each([
  ['2026-03-10T11:59:01Z', 'now', 'jetzt'],
  // The clock of another machine is ahead.
  ['2026-03-10T12:00:30Z', 'now', 'jetzt'],
  ['2026-03-10T11:58:59Z', '1 min ago', 'vor 1 Min.'],
  ['2026-03-10T11:00:01Z', '59 min ago', 'vor 59 Min.'],
  ['2026-03-10T10:59:00Z', '1 hr ago', 'vor 1 Std.'],
  ['2026-03-09T11:00:00Z', 'yesterday', 'gestern'],
  ['2026-03-03T12:00:01Z', '6 days ago', 'vor 6 Tagen'],
  ['2026-03-03T12:00:00Z', undefined, undefined],
  ['2026-03-11T12:00:00Z', undefined, undefined],
])('%s is %s', (moment, english, german) => {
  expect(formatSince('en-GB', new Date(moment), NOW)).toBe(english);
  expect(formatSince('de-DE', new Date(moment), NOW)).toBe(german);
});
