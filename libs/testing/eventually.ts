import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 50;

/**
 * Repeats a check until it holds; its own error if it never does. The deadline counts attempts, so that a machine that stood
 * still does not use it up.
 */
export async function eventually(check: () => unknown, seconds = 60): Promise<void> {
  for (let attempt = 0; attempt < (seconds * 1_000) / PAUSE_MS; attempt += 1) {
    try {
      await check();
      return;
    } catch {
      await sleep(PAUSE_MS);
    }
  }
  await check();
}
