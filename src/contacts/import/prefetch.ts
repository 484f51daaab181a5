/**
 * The same items: while one is worked on, the next is made. Never more than that one. Whoever leaves early waits until it is made,
 * so that nothing goes on behind an end.
 */
export async function* prefetch<Item>(items: AsyncGenerator<Item, void>): AsyncGenerator<Item, void> {
  let next = items.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = items.next();
      // Told to who asks for it.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await items.return();
  }
}
