import { ERROR_REASONS, ERROR_STATUS, reasonsOf, RpcError } from './errors.js';

it('an error whose code has several causes cannot be created without its reason, or with a reason of another code', () => {
  const described = [
    // @ts-expect-error: a CONFLICT has a reason.
    new RpcError('CONFLICT', 'Taken.'),
    // @ts-expect-error: headers alone are not enough.
    new RpcError('SERVICE_UNAVAILABLE', 'Later.', { headers: {} }),
    // @ts-expect-error: the reason belongs to another code.
    new RpcError('CONFLICT', 'Taken.', { reason: 'KEY_MISSING' }),
    // @ts-expect-error: this reason does not exist.
    new RpcError('CONFLICT', 'Taken.', { reason: 'TAKEN' }),
    // @ts-expect-error: NOT_FOUND has no reasons.
    new RpcError('NOT_FOUND', 'Gone.', { reason: 'EMAIL_TAKEN' }),
    new RpcError('CONFLICT', 'Taken.', { reason: 'EMAIL_TAKEN' }),
  ];
  // The compiler checks the above; a test file is compiled with the rest.
  expect(described).toHaveLength(6);
});

it('reasons are upper-case words, and each belongs to one code', () => {
  const all = Object.values(ERROR_REASONS).flatMap((reasons) => Object.keys(reasons));
  expect(all.filter((reason) => !/^[A-Z]+(_[A-Z]+)*$/.test(reason))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((reason) => reason in ERROR_STATUS)).toEqual([]);
  expect(reasonsOf('CONFLICT')).toContain('EMAIL_TAKEN');
  expect(reasonsOf('NOT_FOUND')).toEqual(['MERGED']);
  expect(reasonsOf('METHOD_NOT_ALLOWED')).toEqual([]);
});
