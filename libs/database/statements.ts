import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { type Connection } from './connection.js';

export type Outcome = { command: string; rows: unknown[]; rowCount: number | null };

/** Runs a statement as TypeORM would: of UPDATE and DELETE it answers the rows and how many there were. */
export async function run<Result>(connection: Connection, text: string, values?: unknown[]): Promise<Result> {
  return answerOf(await outcomeOf(connection, text, values)) as Result;
}

/** @throws QueryFailedError */
export async function outcomeOf(
  connection: Connection,
  text: string,
  values?: unknown[],
): Promise<Outcome | Outcome[]> {
  try {
    const outcome: Promise<Outcome | Outcome[]> = connection.query(text, values);
    return await outcome;
  } catch (error) {
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
