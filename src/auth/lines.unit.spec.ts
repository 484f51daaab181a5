import { descendantsOf, type KeyOrigin, mayMakeKeys } from './lines.js';

/** `by` is the key that created it, `after` the key it replaced. */
type Key = { by?: string; after?: string; ended?: true };

function family(keys: { [id: string]: Key }): KeyOrigin[] {
  const lineOf = (id: string): string => (keys[id]!.after === undefined ? id : lineOf(keys[id]!.after));
  return Object.entries(keys).map(([id, { by, ended }]) => ({
    id,
    lineId: lineOf(id),
    makerId: by ?? null,
    successorId: Object.keys(keys).find((other) => keys[other]!.after === id) ?? null,
    isLive: ended !== true,
  }));
}

const own = family({
  root: {},
  child: { by: 'root' },
  grandchild: { by: 'child' },
  other: { by: 'root' },
  stranger: {},
});
const replaced = family({
  root: { ended: true },
  child: { by: 'root' },
  next: { after: 'root', by: 'root', ended: true },
  second: { by: 'next' },
  last: { after: 'next' },
});
const overlapping = family({
  root: {},
  child: { by: 'root' },
  childsNext: { after: 'child', by: 'child' },
  grandchild: { by: 'child' },
});
const taken = family({
  root: {},
  admin: {},
  child: { by: 'root', ended: true },
  next: { after: 'child', by: 'admin' },
});
const leaked = family({
  before: {},
  root: { after: 'before', by: 'before', ended: true },
  child: { by: 'root' },
  self: { after: 'root', by: 'root', ended: true },
  // During its overlap, the first key also rotates its successor.
  again: { after: 'self', by: 'root' },
  last: { after: 'again', by: 'again' },
  second: { by: 'last' },
});
const renewed = family({
  root: {},
  admin: {},
  child: { by: 'root' },
  self: { after: 'root', by: 'root' },
  next: { after: 'self', by: 'admin' },
  last: { after: 'next', by: 'next' },
});
const circle = family({
  root: { ended: true },
  child: { by: 'root' },
  next: { after: 'root', by: 'child' },
});

it.each([
  ['all keys it created, directly or indirectly', own, 'root', ['child', 'grandchild', 'other']],
  ['the keys a child created', own, 'child', ['grandchild']],
  ['nothing for a key that created none', own, 'grandchild', []],
  ['nothing for an unknown key', own, 'nobody', []],
  ['nothing for a replaced key', replaced, 'root', []],
  ['the keys created by all keys it replaced', replaced, 'last', ['child', 'second']],
  ['a child in its overlap and the successor', overlapping, 'root', ['child', 'childsNext', 'grandchild']],
  ['a successor if the creator of its line is revoked', taken, 'root', ['next']],
  ['a successor if the key that rotated it is revoked', taken, 'admin', ['next']],
  ['the successor it created itself', overlapping, 'child', ['childsNext', 'grandchild']],
  [
    'all successors it created, and the keys they created',
    leaked,
    'root',
    ['again', 'last', 'child', 'second'],
  ],
  ['a successor it created, and none created by another key', renewed, 'root', ['self']],
  ['no keys of its predecessors', renewed, 'next', ['last', 'child']],
  ['its creator that it rotated', circle, 'child', ['next']],
  ['a child that rotated it', circle, 'next', ['child']],
])('revoking a key ends %s', (_, keys, id, expected) => {
  expect(descendantsOf(keys, id).sort()).toEqual(expected.sort());
});

it('ends nothing else if a successor revokes its predecessor', () => {
  expect(descendantsOf(leaked, 'root', 'last')).toEqual([]);
  expect(descendantsOf(leaked, 'root', 'root')).not.toEqual([]);
});

it('lets a key create keys only while it and its successor are live', () => {
  const keys = family({
    first: {},
    ended: { ended: true },
    overlapping: {},
    next: { after: 'overlapping' },
    overlappingTheEnded: {},
    gone: { after: 'overlappingTheEnded', ended: true },
  });
  const may = keys.filter(({ id }) => mayMakeKeys(keys, id)).map(({ id }) => id);
  expect(may).toEqual(['first', 'overlapping', 'next']);
  expect(mayMakeKeys(keys, 'nobody')).toBe(false);
});
