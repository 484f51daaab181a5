import { type Client } from 'pg';

/** PostgreSQL's type `timestamp`, without a time zone. No table uses it. */
const TIMESTAMP = 1114;

/** The zeros to append to a timestamp's text, by its length: PostgreSQL omits trailing zeros. */
const ENDINGS: { readonly [length: number]: string } = { 19: '.000Z', 21: '00Z', 22: '0Z', 23: 'Z' };

/**
 * SQL: a timestamptz as JSON text, `2026-11-20T09:30:00.000Z`, for lists. Creating a Date for each and formatting it
 * took 100 µs for a page of 25 records, on Node.js 20 and 24.
 */
export function momentAsText(column: string): string {
  return `${column} AT TIME ZONE 'UTC'`;
}

/** Parses the result of `momentAsText`. */
export function readMoments(client: Client): void {
  client.setTypeParser(TIMESTAMP, textOf);
}

function textOf(timestamp: string): string {
  const ending = ENDINGS[timestamp.length];
  return ending === undefined
    ? new Date(`${timestamp}Z`).toISOString()
    : `${timestamp.slice(0, 10)}T${timestamp.slice(11)}${ending}`;
}
