import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { type Connection } from './connection.js';
import { isStalePreparedStatement } from './incidents.js';

export type Outcome = { command: string; rows: unknown[]; rowCount: number | null };

/** Runs a statement as TypeORM would. For UPDATE and DELETE, the result is a pair: the rows and their number. */
export async function run<Result>(connection: Connection, text: string, values?: unknown[]): Promise<Result> {
  return answerOf(await outcomeOf(connection, text, values)) as Result;
}

/** The same outside a transaction, where a statement can be sent again if its prepared version is stale. */
export async function runAlone<Result>(
  connection: Connection,
  text: string,
  values?: unknown[],
): Promise<Result> {
  try {
    return await run<Result>(connection, text, values);
  } catch (error) {
    if (!isStalePreparedStatement(error)) throw error;
    return run<Result>(connection, text, values);
  }
}

/**
 * Prepares frequent statements with values, once per connection.
 *
 * @throws QueryFailedError
 */
export async function outcomeOf(
  connection: Connection,
  text: string,
  values?: unknown[],
  isPrepared = true,
): Promise<Outcome | Outcome[]> {
  const name =
    isPrepared && values && connection.keepsStatements ? connection.prepared.nameOf(text) : undefined;
  try {
    const outcome: Promise<Outcome | Outcome[]> =
      name === undefined ? connection.query(text, values) : connection.query({ name, text, values });
    return await outcome;
  } catch (error) {
    if (isStalePreparedStatement(error)) connection.prepared.giveUp(text);
    throw new QueryFailedError(text, values, error as Error);
  }
}

export function answerOf(outcome: Outcome | Outcome[]): unknown {
  // The results of several statements in one text are never used.
  if (Array.isArray(outcome)) return undefined;
  const { command, rows, rowCount } = outcome;
  return command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows;
}

/** Quotes a text for statements that cannot have parameters. Use it only for the program's own texts. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
