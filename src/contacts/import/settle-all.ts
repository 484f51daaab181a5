/**
 * The results of all promises. Waits for all of them even if one fails, so that no part of an import runs after
 * its response.
 *
 * @throws the error of the first one in the list that failed.
 */
export async function settleAll<Given>(underWay: readonly Promise<Given>[]): Promise<Given[]> {
  const results = await Promise.allSettled(underWay);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
