import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { type Connection } from './connection.js';
import { isStalePreparedStatement } from './incidents.js';

export type Outcome = { command: string; rows: unknown[]; rowCount: number | null };

/** Runs a statement as TypeORM would: of UPDATE and DELETE it answers the rows and how many there were. */
export async function run<Result>(connection: Connection, text: string, values?: unknown[]): Promise<Result> {
  return answerOf(await outcomeOf(connection, text, values)) as Result;
}

/** The same for a statement that is in no transaction, so that it can be sent again. */
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
 * A statement with values that repeats is prepared once for each connection.
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
  // Of several statements in one text nobody asks.
  if (Array.isArray(outcome)) return undefined;
  const { command, rows, rowCount } = outcome;
  return command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows;
}

/** A text as SQL, for statements that can have no parameters. Only for the program's own. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
