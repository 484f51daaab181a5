/** As many as the smallest pool has. */
const AT_ONCE = 3;

/**
 * Does work for each item, three at a time: whoever asks a pool for all of them at once fails where the last has waited for
 * five seconds, and leaves nobody else a connection meanwhile.
 *
 * @returns the results, in the order of the items.
 * @throws what the first that fails throws; what is under way then goes on, and nothing new is begun.
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
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
