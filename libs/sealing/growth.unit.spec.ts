import { isAsLate } from './growth.js';

const [root, fork] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('a signed tree is as late as a leaf of the log', () => {
  it.each([
    ['with the same root and size', { size: 5, root }, true],
    ['if it has grown since', { size: 6, root: fork }, true],
    ['but not if it is smaller', { size: 4, root }, false],
    ['but not with another root of the same size, which is a fork', { size: 5, root: fork }, false],
    ['but not if nothing is signed', undefined, false],
  ])('%s', (_, signed, expected) => {
    expect(isAsLate(signed, { size: 5, root })).toBe(expected);
  });
});
