import { type DataSource } from 'typeorm';
import { type Connection, limitsAsSql, type TransactionLimits } from './connection.js';
import { type Sql } from './database.js';
import { type PooledSource } from './pooled-source.js';
import { answerOf, type Outcome, outcomeOf, run } from './statements.js';

export type Transaction = Sql & {
  /**
   * Sends a statement without waiting for it. Statements sent together, with the COMMIT after them, take one round trip.
   * If one fails, the transaction is rolled back.
   *
   * @returns the result of `query`. It may be ignored.
   */
  send<Result>(text: string, values?: unknown[]): Promise<Result>;
  afterCommit(callback: () => void): void;
};

/**
 * Runs `work` in a transaction that PostgreSQL ends if it exceeds the limits. Setting them costs no round trip.
 *
 * @param source created by `openDatabase`.
 */
export async function inTransaction<Result>(
  source: DataSource,
  limits: TransactionLimits,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return begin(source, `START TRANSACTION; ${limitsAsSql(limits)}`, (transaction) => work(transaction));
}

/**
 * The same, but sends the first statement together with START TRANSACTION, which saves a round trip. They share one
 * message, so that the statement never runs outside the transaction. Such a message has no parameters.
 *
 * @param first SQL that contains only the program's own values. `work` receives its rows.
 */
export async function inTransactionFrom<Row, Result>(
  source: DataSource,
  limits: TransactionLimits,
  first: string,
  work: (transaction: Transaction, rows: Row[]) => Promise<Result>,
): Promise<Result> {
  return begin(source, `START TRANSACTION; ${limitsAsSql(limits)}; ${first}`, (transaction, outcome) => {
    const { rows } = [outcome].flat().at(-1)!;
    return work(transaction, rows as Row[]);
  });
}

async function begin<Result>(
  source: DataSource,
  text: string,
  work: (transaction: Transaction, outcome: Outcome | Outcome[]) => Promise<Result>,
): Promise<Result> {
  return (source as PooledSource).use(async (connection) => {
    const transaction = new OpenTransaction(connection);
    try {
      const outcome = await outcomeOf(connection, text);
      const result = await work(transaction, outcome);
      await transaction.commit();
      return result;
    } catch (error) {
      // Statements after a failed one report only that the transaction was aborted.
      throw (await transaction.undo()) ?? error;
    }
  });
}

class OpenTransaction implements Transaction {
  private readonly sent: Promise<unknown>[] = [];
  private readonly callbacks: (() => void)[] = [];
  private isOver = false;

  constructor(private readonly connection: Connection) {}

  query<Result>(text: string, values?: unknown[]): Promise<Result> {
    return run<Result>(this.connection, text, values);
  }

  send<Result>(text: string, values?: unknown[]): Promise<Result> {
    this.connection.holdBack();
    const outcome = outcomeOf(this.connection, text, values).then(answerOf) as Promise<Result>;
    // `commit` reports a failure.
    outcome.catch(() => undefined);
    this.sent.push(outcome);
    return outcome;
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  async commit(): Promise<void> {
    // After a failed statement, COMMIT rolls everything back.
    const committed = outcomeOf(this.connection, 'COMMIT');
    committed.catch(() => undefined);
    for (const outcome of this.sent) await outcome;
    const { command } = [await committed].flat()[0]!;
    this.isOver = true;
    if (command !== 'COMMIT') throw new Error('The transaction failed and was rolled back.');
    for (const callback of this.callbacks) callback();
  }

  /** @returns the error of a statement sent by `send`, if one failed. If the connection broke, PostgreSQL rolls back itself. */
  async undo(): Promise<unknown> {
    if (!this.isOver) await outcomeOf(this.connection, 'ROLLBACK').catch(() => undefined);
    const outcomes = await Promise.allSettled(this.sent);
    return outcomes.find((outcome) => outcome.status === 'rejected')?.reason as unknown;
  }
}
