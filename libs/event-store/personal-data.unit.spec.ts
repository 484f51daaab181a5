import { createHash, randomBytes } from 'node:crypto';
import { bodyDigest, type DigestedEvent } from './digest.js';
import { canonical } from './canonical.js';
import { PersonalData } from './personal-data.js';

const key = randomBytes(32);
const noKey = () => {
  throw new Error('The key was asked for.');
};

it('returns what was just encrypted without the key, once', () => {
  const data = new PersonalData();
  const sealed = data.encrypt(key, { email: 'ada@example.org' }, 'event');
  expect(data.decrypt(noKey, sealed, 'event')).toEqual({ key, personal: { email: 'ada@example.org' } });
  expect(() => data.decrypt(noKey, sealed, 'event')).toThrow('asked for');
  expect(data.decrypt(() => key, sealed, 'event').personal).toEqual({ email: 'ada@example.org' });
});

it('decrypts other bytes than it has just encrypted, and so finds out that they were altered', () => {
  const data = new PersonalData();
  const sealed = data.encrypt(key, { email: 'ada@example.org' }, 'event');
  const altered = Buffer.from(sealed);
  altered[altered.length - 1]! ^= 1;
  expect(() => data.decrypt(() => key, altered, 'event')).toThrow();
});

it('keeps a limited amount', () => {
  const data = new PersonalData();
  const sealed = data.encrypt(key, { bio: 'x' }, 'first');
  for (let n = 0; n < 300; n += 1) data.encrypt(key, { bio: 'x'.repeat(10_000) }, String(n));
  expect(() => data.decrypt(noKey, sealed, 'first')).toThrow('asked for');
});

it('keeps it for a second at most', () => {
  jest.useFakeTimers();
  const data = new PersonalData();
  const sealed = data.encrypt(key, { bio: 'x' }, 'event');
  jest.advanceTimersByTime(1_000);
  jest.useRealTimers();
  expect(() => data.decrypt(noKey, sealed, 'event')).toThrow('asked for');
});

it('digests the canonical form of an event', () => {
  const event: DigestedEvent = {
    organizationId: 'o',
    streamType: 'contact "ä"',
    streamId: 's',
    version: 3,
    eventId: 'e',
    type: 'ContactCreated',
    schema: 2,
    data: { b: [1, { d: null, c: '\u2028' }], a: true },
    personal: Buffer.from('sealed'),
    subjectId: null,
    metadata: { requestId: 'r', actor: { type: 'user', id: null } },
  };
  const text = canonical({ ...event, personal: event.personal!.toString('base64') });
  expect(bodyDigest(event)).toEqual(createHash('sha256').update(text).digest());
  const plain = canonical({ ...event, personal: null });
  expect(bodyDigest({ ...event, personal: null })).toEqual(createHash('sha256').update(plain).digest());
});
