/**
 * Prefetches one item while the previous one is being processed. If the consumer stops early, it waits for the
 * item in progress, so that no work continues afterwards.
 */
export async function* prefetch<Item>(items: AsyncGenerator<Item, void>): AsyncGenerator<Item, void> {
  let next = items.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = items.next();
      // The consumer receives the error with the next item.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await items.return();
  }
}
