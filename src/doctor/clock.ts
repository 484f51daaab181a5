import { type Finding, ok, warning, problem } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Logs of two machines are put in order by their clocks; keys and limits are counted in seconds. */
const MOST_APART_MS = 1_000;

/** This machine's clock against that of the database, and the database's against its own history. */
export const clock: DatabaseCheck = {
  name: 'clock',
  async examine({ database }) {
    const before = Date.now();
    const { now } = await database.row<{ now: Date }>('SELECT clock_timestamp() AS now');
    const after = Date.now();
    const apart = now.getTime() - (before + after) / 2;
    const found: Finding[] = [];
    // The answer was on its way for half of the time, nobody knows which half.
    if (Math.abs(apart) > MOST_APART_MS + (after - before) / 2) {
      found.push(
        warning(
          `The database's clock is ${seconds(apart)} this machine's: logs of both cannot be put in order.`,
          'Let both keep their time by NTP. What counts, in the history and for keys that expire, is the database’s.',
        ),
      );
    }
    const { has_events } = await database.row<{ has_events: boolean }>(
      "SELECT to_regclass('events') IS NOT NULL AS has_events",
    );
    if (has_events) {
      const [last] = await database.query<{ ahead: number }[]>(
        `SELECT (extract(epoch FROM recorded_at - clock_timestamp()) * 1000)::float8 AS ahead
         FROM events ORDER BY position DESC LIMIT 1`,
      );
      if (last && last.ahead > MOST_APART_MS) {
        found.push(
          problem(
            `The database's clock was set back: the last event is from ${seconds(last.ahead)} its time.`,
            'Set the clock right. What is recorded until it has caught up has times that are too late or out of order.',
          ),
        );
      }
    }
    return found.length > 0 ? found : [ok('The clocks of this machine and of the database agree.')];
  },
};

export function seconds(ms: number): string {
  return `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'}`;
}
