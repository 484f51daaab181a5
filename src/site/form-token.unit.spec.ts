import { createHash } from 'node:crypto';
import { faultOf, formToken } from './form-token.js';

const keyring = { hash: (...parts: string[]) => createHash('sha256').update(parts.join('|')).digest() };
const shown = new Date('2026-11-20T09:30:00Z');
const after = (seconds: number) => new Date(shown.getTime() + seconds * 1_000);
const token = formToken(keyring, 'river', shown);

it.each([
  ['before two seconds', token, 1.9, 'tooFast'],
  ['after two seconds', token, 2, undefined],
  ['for a day', token, 24 * 3_600, undefined],
  ['after a day', token, 24 * 3_600 + 1, 'tooLate'],
  ['from the future', token, -60, 'tooFast'],
  ['for another petition', formToken(keyring, 'sea', shown), 60, 'tooLate'],
  ['that was altered', token.replace(/^./, '0'), 60, 'tooLate'],
  ['that is empty', '', 60, 'tooLate'],
  ['with text after it', `${token}x`, 60, 'tooLate'],
])('a token %s', (_, given, seconds, fault) => {
  expect(faultOf(keyring, 'river', given, after(seconds))).toBe(fault);
});
