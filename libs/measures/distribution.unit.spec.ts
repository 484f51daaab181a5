import { Distribution } from './distribution.js';

it('counts each value once, at the first bound that it does not exceed', () => {
  const distribution = new Distribution([1, 10]);
  for (const value of [0, 1, 1.5, 10, 11, 500]) distribution.add(value);
  expect(distribution.cumulative()).toEqual([2, 4, 6]);
  expect(distribution.sum).toBe(523.5);
});

it('is empty at the beginning', () => {
  const distribution = new Distribution([1]);
  expect([distribution.cumulative(), distribution.sum]).toEqual([[0, 0], 0]);
});
