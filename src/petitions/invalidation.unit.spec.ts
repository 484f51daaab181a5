import { given } from '#libs/testing';
import { invalidateMore, invalidation, type InvalidationEvent, restoreMore } from './invalidation.js';

const condition = { createdAfter: null, createdBefore: null, emailDomain: 'example.org' };
const page = (signatureIds: string[], isLast: boolean) => ({ petitionId: 'river', signatureIds, isLast });
const begun: InvalidationEvent = {
  type: 'SignaturesInvalidated',
  data: { ...page(['a', 'b'], false), condition, upTo: 7, matched: 3 },
};
const invalidated = (ids: string[], isLast: boolean): InvalidationEvent => ({
  type: 'SignaturesInvalidated',
  data: page(ids, isLast),
});
const restored = (ids: string[], isLast: boolean): InvalidationEvent => ({
  type: 'SignaturesRestored',
  data: page(ids, isLast),
});
const more = (ids: string[]) => (state: Parameters<typeof invalidateMore>[0]) =>
  invalidateMore(state, ids, 2);
const back = (ids: string[]) => (state: Parameters<typeof restoreMore>[0]) => restoreMore(state, ids, 2);

it.each([
  ['continues after a full page', [begun], more(['c', 'd']), [invalidated(['c', 'd'], false)]],
  ['ends after a partial page', [begun], more(['c']), [invalidated(['c'], true)]],
  ['ends after an empty page', [begun], more([]), [invalidated([], true)]],
  ['ignores pages after the last one', [begun, invalidated(['c'], true)], more(['d']), []],
  ['does not continue once a restore has begun', [begun, restored(['a', 'b'], false)], more(['c']), []],
  ['restores an invalidation in progress', [begun], back(['a', 'b']), [restored(['a', 'b'], false)]],
  [
    'ends the restore after a partial page',
    [begun, restored(['a'], false)],
    back(['b']),
    [restored(['b'], true)],
  ],
  ['ignores a restore after it has ended', [begun, restored(['a', 'b'], true)], back([]), []],
] as const)('%s', (_, events, decision, expected) => {
  given(invalidation, [...events])
    .when(decision)
    .then([...expected]);
});

it('counts invalidated and restored signatures', () => {
  const events = [begun, invalidated(['c'], true), restored(['a', 'b'], false), restored([], true)];
  const states = events.map((_, n) =>
    events
      .slice(0, n + 1)
      .reduce((state, event) => invalidation.evolve(state, event, new Date(0)), invalidation.initial),
  );
  const constant = { petitionId: 'river', condition, upTo: 7, matched: 3 };
  expect(states).toEqual([
    { ...constant, status: 'INVALIDATING', invalidated: 2, restored: 0, last: 'b' },
    { ...constant, status: 'INVALIDATED', invalidated: 3, restored: 0, last: 'c' },
    { ...constant, status: 'RESTORING', invalidated: 3, restored: 2, last: 'c' },
    { ...constant, status: 'RESTORED', invalidated: 3, restored: 2, last: 'c' },
  ]);
});

it.each([more([]), back([])])('returns 404 if the invalidation does not exist', (decision) => {
  given(invalidation, []).when(decision).thenThrows('NOT_FOUND');
});
