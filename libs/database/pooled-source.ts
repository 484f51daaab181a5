import { DataSource, type QueryRunner } from 'typeorm';
import { type Connection } from './connection.js';
import { runAlone } from './statements.js';

/** What is used of pg's pool. */
type Pool = { connect(): Promise<Connection & { release(isToBeEnded: boolean): void }> };

/**
 * TypeORM's data source, whose statements go to pg's pool without a query runner in between: that, its broadcaster and its
 * loggers took longer than pg itself (25 of 60 µs a statement, Node 20). They answer the same and fail with the same errors.
 */
export class PooledSource extends DataSource {
  /** @param runner the transaction that TypeORM runs it in. */
  override async query<Result>(text: string, values?: unknown[], runner?: QueryRunner): Promise<Result> {
    if (runner) return super.query<Result>(text, values, runner);
    return this.use((connection) => runAlone<Result>(connection, text, values));
  }

  /** Runs `work` on a connection of the pool. */
  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const { master } = this.driver as unknown as { master?: Pool };
    if (!master) throw new Error('the connections to the database were closed');
    const connection = await master.connect();
    try {
      return await work(connection);
    } finally {
      // An error comes before PostgreSQL is ready again: the next one would be asked on a connection that is about to end.
      connection.release(connection.isRetired);
    }
  }
}
