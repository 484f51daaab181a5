import { type DatabaseCheck } from './deployment.js';

/** Clocks order the logs of several machines. Expiry and limits count in seconds. */
const MAX_DIFFERENCE_MS = 1_000;

/** Compares this machine's clock with the database's, and the database's with its own history. */
export const clock: DatabaseCheck = {
  name: 'clock',
  async examine({ database }, found) {
    const before = Date.now();
    const { now } = await database.row<{ now: Date }>('SELECT clock_timestamp() AS now');
    const after = Date.now();
    const difference = now.getTime() - (before + after) / 2;
    // The round trip makes the result uncertain by half its duration.
    if (Math.abs(difference) > MAX_DIFFERENCE_MS + (after - before) / 2)
      found.warning(
        `The database's clock is ${seconds(difference)} this machine's, so their logs cannot be ordered.`,
        'Synchronize both with NTP. The history and the expiry of keys use the database’s clock.',
      );
    if (await database.has('events')) {
      const [last] = await database.query<{ ahead: number }[]>(
        `SELECT (extract(epoch FROM recorded_at - clock_timestamp()) * 1000)::float8 AS ahead
         FROM events ORDER BY position DESC LIMIT 1`,
      );
      if (last && last.ahead > MAX_DIFFERENCE_MS)
        found.problem(
          `The database's clock was set back: the last event is ${seconds(last.ahead)} it.`,
          'Correct the clock. Until it catches up, events are recorded with wrong times.',
        );
    }
    return 'The clocks of this machine and of the database agree.';
  },
};

function seconds(ms: number): string {
  return `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'}`;
}
