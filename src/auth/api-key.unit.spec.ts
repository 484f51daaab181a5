import { createHash } from 'node:crypto';
import { given } from '#libs/testing';
import {
  type ApiKey,
  apiKey,
  type ApiKeyDetails,
  type ApiKeyEvent,
  createApiKey,
  knownApiKey,
  revokeApiKey,
  rotateApiKey,
} from './api-key.js';
import { requireScopes } from './scopes.js';
import { isSameHash } from './secret.js';

const details: ApiKeyDetails = {
  name: 'Website',
  publicId: 'abcdefgh',
  secretHash: '00',
  scopes: ['contact:read'],
  rateLimit: null,
  expiresAt: null,
};
const created: ApiKeyEvent = { type: 'ApiKeyCreated', data: details };
const expiring: ApiKeyEvent = {
  type: 'ApiKeyCreated',
  data: { ...details, expiresAt: '1970-01-01T00:01:00.000Z' },
};
const rotated: ApiKeyEvent = { type: 'ApiKeyRotated', data: { successorId: 'next', overlapSeconds: 60 } };
const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: {} };

// Events in tests are recorded at second 0.
const at = (second: number) => new Date(second * 1_000);
const rotate =
  (second: number, overlapSeconds = 60, successorId = 'next') =>
  (state: ApiKey) =>
    rotateApiKey(state, { successorId, overlapSeconds, now: at(second) });
const revoke = (second: number) => (state: ApiKey) => revokeApiKey(state, at(second));

it.each([
  ['creates a key', [], () => createApiKey(details), [created]],
  ['rotates a key', [created], rotate(1), [rotated]],
  ['rotates a key before it expires', [expiring], rotate(59), [rotated]],
  [
    'ignores rotating a rotated key, even with another successor',
    [created, rotated],
    rotate(1, 60, 'other'),
    [],
  ],
  ['ignores rotating a rotated key after it has ended', [created, rotated], rotate(3_600), []],
  ['ignores rotating a rotated key after it has expired', [expiring, rotated], rotate(3_600), []],
  ['revokes a key', [created], revoke(1), [revoked]],
  ['revokes an expired key', [expiring], revoke(3_600), [revoked]],
  ['revokes a rotated key during its overlap', [created, rotated], revoke(59), [revoked]],
  ['ignores revoking a rotated key after its overlap', [created, rotated], revoke(60), []],
  ['ignores revoking a revoked key', [created, revoked], revoke(1), []],
])('%s', (_, events, decision, expected) => {
  given(apiKey, events).when(decision).then(expected);
});

it.each([
  ['rotate an expired key', [expiring], rotate(60), 'CONFLICT'],
  ['rotate a revoked key', [created, revoked], rotate(1), 'CONFLICT'],
  ['rotate a key that was rotated and revoked', [created, rotated, revoked], rotate(1), 'CONFLICT'],
  ['rotate a rotated key with another overlap', [created, rotated], rotate(1, 0), 'CONFLICT'],
  ['rotate an unknown key', [], rotate(1), 'NOT_FOUND'],
  ['revoke an unknown key', [], revoke(1), 'NOT_FOUND'],
])('refuses to %s', (_, events, decision, code) => {
  given(apiKey, events).when(decision).thenThrows(code);
});

it('ends when revoked, or when its overlap has passed since the rotation was recorded', () => {
  const fold = (events: ApiKeyEvent[], second: number) =>
    events.reduce((state, event) => apiKey.evolve(state, event, at(second)), apiKey.initial);
  expect(fold([created], 10)).toMatchObject({ status: 'active', revokedAt: null });
  const overlapping = fold([created, rotated], 10);
  expect(overlapping).toMatchObject({ status: 'rotated', revokedAt: '1970-01-01T00:01:10.000Z' });
  expect(apiKey.evolve(overlapping, revoked, at(20))).toMatchObject({
    status: 'revoked',
    revokedAt: '1970-01-01T00:00:20.000Z',
  });
});

it('reads its hash from the data or personal part of its event, or else uses one that no secret has', () => {
  const { secretHash, ...data } = details;
  const hashOf = (event: ApiKeyEvent) => knownApiKey(apiKey.evolve(apiKey.initial, event, at(0))).secretHash;
  expect(hashOf(created)).toBe(secretHash);
  expect(hashOf({ type: 'ApiKeyCreated', data, personal: { secretHash } })).toBe(secretHash);
  expect(hashOf({ type: 'ApiKeyCreated', data, personal: null })).toBe('');
  expect(isSameHash(Buffer.from('', 'hex'), createHash('sha256').update('').digest())).toBe(false);
});

describe('requireScopes', () => {
  it.each([
    [['*'], ['*']],
    [['*'], ['contact:read', 'history:read']],
    [['contact:read', 'api-key:write'], ['contact:read']],
    [['contact:read'], []],
  ])('%j may grant %j', (own, granted) => {
    expect(() => requireScopes(own, granted, '')).not.toThrow();
  });

  it.each([
    [['api-key:write'], ['*'], 'lacks *.'],
    [['api-key:write'], ['api-key:read'], 'lacks api-key:read.'],
    [['contact:write'], ['contact:write', 'contact:read', 'post:read'], 'lacks contact:read, post:read.'],
    [[], ['contact:read'], 'lacks contact:read.'],
  ])('%j may not grant %j', (own, granted, words) => {
    const code = 'INSUFFICIENT_PERMISSIONS';
    const message = expect.stringMatching(`${words.replace('*', '\\*')} Advice`);
    expect(() => requireScopes(own, granted, 'Advice')).toThrow(expect.objectContaining({ code, message }));
  });
});
