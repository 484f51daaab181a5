import { type DataSource } from 'typeorm';
import { type Connection, limitsAsSql, type TransactionLimits } from './connection.js';
import { type Sql } from './database.js';
import { type PooledSource } from './pooled-source.js';
import { answerOf, type Outcome, outcomeOf, run } from './statements.js';

/** One transaction. */
export type Transaction = Sql & {
  /**
   * Sends a statement that is not waited for: what is sent together, and the COMMIT behind it, is one round trip. The
   * transaction commits only if it succeeds.
   *
   * @returns what `query` would; nobody need look at it.
   */
  send<Result>(text: string, values?: unknown[]): Promise<Result>;
  /** Called once everything is committed. */
  afterCommit(tell: () => void): void;
};

/**
 * Runs `work` in a transaction that PostgreSQL ends where it exceeds the limits. They cost no round trip.
 *
 * @param source made by `openDatabase`.
 */
export async function inTransaction<Result>(
  source: DataSource,
  limits: TransactionLimits,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return begin(source, `START TRANSACTION; ${limitsAsSql(limits)}`, (transaction) => work(transaction));
}

/**
 * The same, and the first statement is sent with what begins the transaction: a round trip less. In one message, so that it
 * never runs outside of it; such a message has no parameters.
 *
 * @param first SQL with no values but the program's own. Its rows are handed to `work`.
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
      // Behind a statement that failed each one fails, and says only that.
      throw (await transaction.undo()) ?? error;
    }
  });
}

class OpenTransaction implements Transaction {
  private readonly sent: Promise<unknown>[] = [];
  private readonly told: (() => void)[] = [];
  private isOver = false;

  constructor(private readonly connection: Connection) {}

  query<Result>(text: string, values?: unknown[]): Promise<Result> {
    return run<Result>(this.connection, text, values);
  }

  send<Result>(text: string, values?: unknown[]): Promise<Result> {
    this.connection.holdBack();
    const outcome = outcomeOf(this.connection, text, values).then(answerOf) as Promise<Result>;
    // Told by `commit`.
    outcome.catch(() => undefined);
    this.sent.push(outcome);
    return outcome;
  }

  afterCommit(tell: () => void): void {
    this.told.push(tell);
  }

  async commit(): Promise<void> {
    // Behind a statement that failed it undoes everything.
    const committed = outcomeOf(this.connection, 'COMMIT');
    committed.catch(() => undefined);
    for (const outcome of this.sent) await outcome;
    const { command } = [await committed].flat()[0]!;
    this.isOver = true;
    if (command !== 'COMMIT') throw new Error('The transaction failed and was rolled back.');
    for (const tell of this.told) tell();
  }

  /** @returns why, where it was a statement that was not waited for. Over a connection that broke PostgreSQL does it itself. */
  async undo(): Promise<unknown> {
    if (!this.isOver) await outcomeOf(this.connection, 'ROLLBACK').catch(() => undefined);
    const outcomes = await Promise.allSettled(this.sent);
    return outcomes.find((outcome) => outcome.status === 'rejected')?.reason as unknown;
  }
}
