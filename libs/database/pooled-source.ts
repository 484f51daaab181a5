import { DataSource, type QueryRunner } from 'typeorm';
import { type Connection } from './connection.js';
import { runAlone } from './statements.js';

/** The part of pg's pool that is used here. */
type Pool = { connect(): Promise<Connection & { release(isToBeEnded: boolean): void }> };

/**
 * TypeORM's data source without its query runner, broadcaster and loggers, which took 25 of 60 µs per statement (Node.js
 * 20). Statements go directly to pg's pool, with the same results and errors.
 */
export class PooledSource extends DataSource {
  /** @param runner TypeORM's transaction, if the statement is in one. */
  override async query<Result>(text: string, values?: unknown[], runner?: QueryRunner): Promise<Result> {
    if (runner) return super.query<Result>(text, values, runner);
    return this.use((connection) => runAlone<Result>(connection, text, values));
  }

  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const { master } = this.driver as unknown as { master?: Pool };
    if (!master) throw new Error('the connections to the database were closed');
    const connection = await master.connect();
    try {
      return await work(connection);
    } finally {
      // A retired connection is about to close, and must not serve the next statement.
      connection.release(connection.isRetired);
    }
  }
}
