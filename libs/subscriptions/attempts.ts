/** Timeout of one attempt, in milliseconds. */
export const LONGEST_ATTEMPT_MS = 30_000;

/** After each failed attempt, in seconds. After the last, there are no more automatic retries. */
const PAUSES_SECONDS = [1, 10, 60, 300, 1_800, 7_200, 21_600];
export const MOST_ATTEMPTS = PAUSES_SECONDS.length + 1;

/** Spreads retries of events that failed together. */
const JITTER = 0.2;

/** @returns seconds until the next attempt. Null if there is none: the event is dead-lettered. */
export function pauseAfter(failedAttempts: number): number | null {
  const pause = PAUSES_SECONDS[failedAttempts - 1];
  return pause === undefined ? null : pause * (1 + JITTER * (2 * Math.random() - 1));
}

/** @returns the error, or undefined if it succeeded. Waits no longer than an attempt may take. */
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
