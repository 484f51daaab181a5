import { Keyring } from '#libs/event-store';
import { newId } from '#libs/random';
import { readUnsubscribeToken, unsubscribeToken } from './unsubscribe-token.js';

const keyring = new Keyring(Buffer.alloc(32, 1));
const person = { organizationId: newId(), contactId: newId(), broadcastId: newId() };

it('contains the contact and the broadcast', () => {
  expect(readUnsubscribeToken(keyring, unsubscribeToken(keyring, person))).toEqual(person);
});

it('is accepted only unaltered, and only by its issuer', () => {
  const token = unsubscribeToken(keyring, person);
  expect(readUnsubscribeToken(new Keyring(Buffer.alloc(32, 2)), token)).toBeUndefined();
  const other = unsubscribeToken(keyring, { ...person, organizationId: newId() });
  const changed = [...token].map(
    (character, n) => token.slice(0, n) + (character === 'A' ? 'B' : 'A') + token.slice(n + 1),
  );
  for (const wrong of [
    '',
    'x',
    token.slice(1),
    `${token}A`,
    `${token}=`,
    ` ${token}`,
    other.slice(0, 22) + token.slice(22),
    ...changed,
  ]) {
    expect(readUnsubscribeToken(keyring, wrong)).toBeUndefined();
  }
});
