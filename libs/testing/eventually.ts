import { setTimeout as sleep } from 'node:timers/promises';

/** The first waits are short because most conditions hold soon. Later ones are longer because a check costs CPU that the program needs. */
const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 300;
const GROWTH = 1.25;

/**
 * Repeats a check until it passes, and throws its error if it never does. The deadline counts the pauses, so that a machine that
 * stood still does not use it up.
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
