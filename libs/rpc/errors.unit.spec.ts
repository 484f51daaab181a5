import { declareReasons, errorAnswers, explainedReasons, fieldsOfReason, reasonsOf } from './error-codes.js';
import { RpcError } from './errors.js';

/** The other test files of this worker read the same registry. */
let restore: (() => void) | undefined;
afterEach(() => restore?.());

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
    new RpcError('NOT_FOUND', 'Gone.', { reason: 'SLUG_TAKEN' }),
    new RpcError('CONFLICT', 'Taken.', { reason: 'SLUG_TAKEN' }),
  ];
  // The compiler checks the above; a test file is compiled with the rest.
  expect(described).toHaveLength(6);
});

it('reasons of modules join those of the library, each with its explanation, fields and count', () => {
  const fields = { ringFrom: { description: 'when to ring again.', example: '9:00' } };
  const declared = declareReasons([
    { CONFLICT: { BELL_RUNG: 'The bell was rung.' } },
    { NOT_FOUND: { BELL_GONE: { text: 'It is gone.', fields } } },
  ]);
  restore = () => declareReasons(declared);
  expect(reasonsOf('CONFLICT')).toEqual(['SLUG_TAKEN', 'BELL_RUNG']);
  expect(explainedReasons('NOT_FOUND')).toEqual({ BELL_GONE: 'It is gone.' });
  expect(fieldsOfReason('NOT_FOUND', 'BELL_GONE')).toEqual(fields);
  expect(reasonsOf('METHOD_NOT_ALLOWED')).toEqual([]);
  expect(errorAnswers.entries()).toContainEqual(['BELL_RUNG', 0]);
});
