import { describeError, isTransient, isUnavailable } from '#libs/database';

/** Timeout of one attempt, in milliseconds. */
const LONGEST_ATTEMPT_MS = 30_000;

/**
 * For this long, other instances leave claimed work alone: longer than an attempt takes. If the instance dies, the work
 * is claimed again afterwards.
 */
export const CLAIM_SECONDS = (2 * LONGEST_ATTEMPT_MS) / 1_000;

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

/**
 * Attempts work, for as long as an attempt may take.
 *
 * @returns undefined if it succeeded, and else the reason, in one line.
 * @throws if the database is unavailable or the error is transient. Neither counts against the work: attempt it again.
 */
export async function attempt(work: (signal: AbortSignal) => Promise<void>): Promise<string | undefined> {
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
    const known = error ?? new Error('It failed without a reason.');
    if (isUnavailable(known) || isTransient(known)) throw known as Error;
    return describeError(known);
  } finally {
    clearTimeout(timer);
  }
}
