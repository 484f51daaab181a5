/** How long one attempt may take, in milliseconds. */
export const LONGEST_ATTEMPT_MS = 30_000;

/** After each failed attempt, in seconds; after the last one nothing is tried any more by itself. */
const PAUSES_SECONDS = [1, 10, 60, 300, 1_800, 7_200, 21_600];
export const MOST_ATTEMPTS = PAUSES_SECONDS.length + 1;

/** Those that failed together do not come again together. */
const JITTER = 0.2;

/** @returns seconds until the next attempt; null: there is none, it is parked. */
export function pauseAfter(failedAttempts: number): number | null {
  const pause = PAUSES_SECONDS[failedAttempts - 1];
  return pause === undefined ? null : pause * (1 + JITTER * (2 * Math.random() - 1));
}

/** @returns why it failed; undefined where it did not. It waits no longer than the attempt may take. */
export async function attempt(work: (signal: AbortSignal) => Promise<void>): Promise<unknown> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`It took longer than ${LONGEST_ATTEMPT_MS / 1_000} seconds.`);
      controller.abort(error);
      reject(error);
    }, LONGEST_ATTEMPT_MS);
  });
  try {
    await Promise.race([work(controller.signal), late]);
    return undefined;
  } catch (error) {
    return error ?? new Error('It failed without a reason.');
  } finally {
    clearTimeout(timer);
  }
}
