import { setTimeout as sleep } from 'node:timers/promises';

/** The first pauses are short, because most conditions are met soon. Later ones are longer, because checks use CPU that the program needs. */
const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 300;
const GROWTH = 1.25;

/**
 * Repeats a check until it passes, and throws its error if it never does. The deadline counts only the pauses, so that it does
 * not expire while the machine stalls.
 */
export async function eventually(check: () => unknown, seconds = 60): Promise<void> {
  let pause = FIRST_PAUSE_MS;
  for (let waited = 0; waited < seconds * 1_000; waited += pause) {
    try {
      await check();
      return;
    } catch {
      await sleep(pause);
      pause = Math.min(LONGEST_PAUSE_MS, pause * GROWTH);
    }
  }
  await check();
}
