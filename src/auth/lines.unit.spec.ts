import { descendantsOf, type KeyOrigin, mayMakeKeys } from './lines.js';

/** `by` names who made it, `after` the key that it replaced. */
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
  // During its overlap the first rotates also what replaced it.
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
  ['all that it made, and what they made', own, 'root', ['child', 'grandchild', 'other']],
  ['what a child made', own, 'child', ['grandchild']],
  ['nothing of a key that made none', own, 'grandchild', []],
  ['nothing of one that is not there', own, 'nobody', []],
  ['nothing of a key that was replaced', replaced, 'root', []],
  ['what all keys made that it replaced', replaced, 'last', ['child', 'second']],
  ['a child in its overlap and the successor', overlapping, 'root', ['child', 'childsNext', 'grandchild']],
  ['a successor with the maker of its line', taken, 'root', ['next']],
  ['a successor with the key that rotated it', taken, 'admin', ['next']],
  ['the successor that it made itself', overlapping, 'child', ['childsNext', 'grandchild']],
  ['all successors of its own, and what they made', leaked, 'root', ['again', 'last', 'child', 'second']],
  ['a successor of its own, and none by another key', renewed, 'root', ['self']],
  ['nothing before it', renewed, 'next', ['last', 'child']],
  ['its maker that it rotated', circle, 'child', ['next']],
  ['a child that rotated it', circle, 'next', ['child']],
])('with a key end %s', (_, keys, id, expected) => {
  expect(descendantsOf(keys, id).sort()).toEqual(expected.sort());
});

it('nothing ends with a key that its own successor revokes', () => {
  expect(descendantsOf(leaked, 'root', 'last')).toEqual([]);
  expect(descendantsOf(leaked, 'root', 'root')).not.toEqual([]);
});

it('a key makes others while it lives and what replaced it lives', () => {
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
