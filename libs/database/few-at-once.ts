/** The size of the smallest pool. */
const CONCURRENCY = 3;

/**
 * Runs `work` for each item, three at a time. If all ran concurrently, they would occupy the whole pool, and those that
 * waited five seconds for a connection would fail.
 *
 * @returns the results, in the order of the items.
 * @throws the first error. Work that is already running continues, but no more is started.
 */
export async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const own = next++;
      try {
        results[own] = await work(items[own]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}
