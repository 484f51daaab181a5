/**
 * What all of these gave. All are awaited also when one fails, so that nothing of an import happens after its answer.
 *
 * @throws as the first of them that failed.
 */
export async function settleAll<Given>(underWay: readonly Promise<Given>[]): Promise<Given[]> {
  const results = await Promise.allSettled(underWay);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
