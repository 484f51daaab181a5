import v8 from 'node:v8';
import { withSmallHeap } from './small-heap.js';

it('collects garbage earlier from the first import that starts to the last one that ends, even if it fails', async () => {
  const set = jest.spyOn(v8, 'setFlagsFromString').mockImplementation();
  const ends: (() => void)[] = [];
  const first = withSmallHeap(() => new Promise<void>((resolve) => ends.push(resolve)));
  const second = withSmallHeap(
    () => new Promise<void>((_, reject) => ends.push(() => reject(new Error('ended')))),
  );
  ends[0]!();
  await first;
  expect(set.mock.calls).toEqual([['--heap-growing-percent=70']]);
  ends[1]!();
  await expect(second).rejects.toThrow('ended');
  expect(set.mock.calls.slice(1)).toEqual([['--heap-growing-percent=0']]);
  set.mockRestore();
});
