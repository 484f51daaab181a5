import { type Grant, requireWithin } from './delegation.js';

const at = (year: number) => `${year}-01-01T00:00:00.000Z`;
const grant = (fields: Partial<Grant>): Grant => ({
  scopes: ['*'],
  rateLimit: null,
  expiresAt: null,
  ...fields,
});
const ADVICE = { scopes: 'Scopes.', rateLimit: 'Rate.', expiresAt: 'Expiry.' };

const ENDLESS = grant({ rateLimit: 'unlimited' });
it.each([
  [ENDLESS, ENDLESS],
  [ENDLESS, grant({ rateLimit: 1_000, expiresAt: at(2030) })],
  [grant({}), grant({ rateLimit: 10 })],
  [grant({ rateLimit: 10 }), grant({})],
  [grant({ expiresAt: at(2030) }), grant({ expiresAt: at(2030) })],
  [grant({ expiresAt: at(2030) }), grant({ expiresAt: '2029-12-31T23:00:00-01:00' })],
])('%j may grant %j', (own, granted) => {
  expect(() => requireWithin(own, granted, ADVICE)).not.toThrow();
});

it.each([
  [grant({ scopes: ['post:read'] }), ENDLESS, 'lacks *. Scopes.'],
  [grant({ rateLimit: 1_000 }), ENDLESS, 'this one has 1000 per second. Rate.'],
  [grant({}), grant({ rateLimit: 11 }), 'this one has 10 per second. Rate.'],
  [grant({ rateLimit: 9 }), grant({}), 'this one has 9 per second. Rate.'],
  [grant({ expiresAt: at(2030) }), grant({}), `this one expires at ${at(2030)}. Expiry.`],
  [grant({ expiresAt: at(2030) }), grant({ expiresAt: '2030-01-01T00:00:00.001Z' }), 'Expiry.'],
])('%j may not grant %j', (own, granted, words) => {
  const message = expect.stringContaining(words);
  expect(() => requireWithin(own, granted, ADVICE)).toThrow(
    expect.objectContaining({ code: 'INSUFFICIENT_PERMISSIONS', message }),
  );
});
