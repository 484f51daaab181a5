import { type TestDatabase } from '#libs/testing';
import { eventually } from './processes.js';

/** PostgreSQL finds the functions in `clock` before its own. */
const CLOCK = `
  CREATE SCHEMA clock;
  CREATE TABLE clock.set (off interval NOT NULL);
  INSERT INTO clock.set VALUES ('0');
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + (SELECT off FROM clock.set)';
  CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + (SELECT off FROM clock.set)'`;

/** The clock of a database, set by a test. The product uses only this clock for the expiry of keys and links. */
export class DatabaseClock {
  private constructor(private readonly database: TestDatabase) {}

  /** Only instances that start after this call use the clock. */
  static async of(database: TestDatabase): Promise<DatabaseClock> {
    await database.source.query(CLOCK);
    const name = new URL(database.url).pathname.slice(1);
    await database.source.query(`ALTER DATABASE ${name} SET search_path = clock, pg_catalog, public`);
    return new DatabaseClock(database);
  }

  /** @param off the offset from the true time: `1 hour`, `-1 day`, `0` */
  async set(off: string): Promise<void> {
    await this.database.source.query('UPDATE clock.set SET off = $1', [off]);
  }

  /** @param beforeMs milliseconds before the moment, negative for after it */
  async moveTo(moment: string, beforeMs: number): Promise<void> {
    await this.database.source.query(
      `UPDATE clock.set SET off = $1::timestamptz - make_interval(secs => $2 / 1000.0) - pg_catalog.clock_timestamp()`,
      [moment, beforeMs],
    );
  }

  /** Waits until the clock has passed the moment. */
  async passed(moment: string): Promise<void> {
    await eventually(async () => {
      const [row] = await this.database.source.query<[{ passed: boolean }]>(
        'SELECT clock.clock_timestamp() > $1::timestamptz AS passed',
        [moment],
      );
      expect(row.passed).toBe(true);
    });
  }
}
