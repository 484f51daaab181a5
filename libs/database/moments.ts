import { type Client } from 'pg';

/** PostgreSQL's type `timestamp`: without a zone. No table has it. */
const TIMESTAMP = 1114;

/** What a moment without zone lacks of the form in which it is answered, by its length: zeros at the end are left out. */
const ENDINGS: { readonly [length: number]: string } = { 19: '.000Z', 21: '00Z', 22: '0Z', 23: 'Z' };

/**
 * SQL: a timestamptz as the text that JSON has of it, `2026-11-20T09:30:00.000Z`, for rows that are answered by the dozen: to make a
 * Date of each and a text of that took 100 µs for a page of 25 records, on Node 20 and 24 alike.
 */
export function momentAsText(column: string): string {
  return `${column} AT TIME ZONE 'UTC'`;
}

/** Reads what `momentAsText` makes. */
export function readMoments(client: Client): void {
  client.setTypeParser(TIMESTAMP, textOf);
}

function textOf(timestamp: string): string {
  const ending = ENDINGS[timestamp.length];
  return ending === undefined
    ? new Date(`${timestamp}Z`).toISOString()
    : `${timestamp.slice(0, 10)}T${timestamp.slice(11)}${ending}`;
}
