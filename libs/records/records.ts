import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { invalid } from '#libs/rpc';
import { Lines, UNCLOSED } from './lines.js';

const QUOTE = 0x22;
const COMMA = 0x2c;

/** A record as it was read: its fields, or what is wrong with it, in words that quote nothing of it. */
export type ReadRecord = {
  /** The number of its first line, from 1. */
  line: number;
  bytes: number;
} & ({ fields: Record<string, unknown> } | { problem: string });

/** Newline-delimited JSON: one object a line. */
export async function* readNdjson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadRecord> {
  for await (const record of new Lines(false).of(chunks)) {
    if ('problem' in record) yield record;
    else {
      const { line, bytes, text } = record;
      const fields = parseObject(text);
      yield fields ? { line, bytes, fields } : { line, bytes, problem: 'is not a JSON object' };
    }
  }
}

/**
 * CSV (RFC 4180) in which line 1 names the columns. An empty cell is a field that is not given; all others are
 * text, without the apostrophe that `writeCsv` puts before a formula.
 *
 * @param checkColumns throws when these columns cannot be taken.
 * @throws RpcError BAD_REQUEST when there is no header, or none that can be read.
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  checkColumns: (columns: readonly string[]) => void,
): AsyncGenerator<ReadRecord> {
  const lines = new Lines(true);
  let columns: string[] | undefined;
  for await (const record of lines.of(chunks)) {
    const { line, bytes } = record;
    if ('text' in record && hasTooManyCells(record.text)) {
      if (!columns) throw invalidHeader(TOO_MANY_CELLS);
      lines.rereadFromSecondLine();
      yield { line, bytes, problem: TOO_MANY_CELLS };
      continue;
    }
    const cells = 'text' in record ? parseCells(record.text) : undefined;
    if (!columns) {
      if (!cells) throw invalidHeader('problem' in record ? record.problem : UNCLOSED);
      columns = cells.map((name) => name.trim());
      checkColumns(columns);
    } else if ('problem' in record) {
      yield record;
    } else if (cells?.length !== columns.length) {
      lines.rereadFromSecondLine();
      const problem = cells
        ? `has ${cells.length} cell${cells.length === 1 ? '' : 's'}, where the header has ${columns.length}`
        : UNCLOSED;
      yield { line, bytes, problem };
    } else {
      const given = columns.map((name, column) => [name, unescapeFormula(cells[column]!)] as const);
      yield { line, bytes, fields: Object.fromEntries(given.filter(([, cell]) => cell !== '')) };
    }
  }
  if (!columns) throw invalidHeader('is missing');
}

/**
 * What a spreadsheet takes for a formula, and runs: a person may have it for a name. Apostrophes before it count,
 * so that taking one away from what was written gives what it was written from, whatever that was.
 */
const FORMULA = /^'*[=+\-@\t\r]/;

function escapeFormula(cell: string | null): string | null {
  return cell !== null && FORMULA.test(cell) ? `'${cell}` : cell;
}

function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}

/**
 * Records as CSV lines, their cells in the order of the columns. A cell that a spreadsheet would run as a formula
 * gets an apostrophe before it, which `readCsv` takes away.
 *
 * @param isSafe false for cells as they are.
 */
export function writeCsv(
  table: readonly (readonly (string | null)[])[],
  { isSafe = true }: { isSafe?: boolean } = {},
): string {
  const rows = table.map((cells) => (isSafe ? cells.map(escapeFormula) : [...cells]));
  // A line break in a cell need not be the one between records.
  return stringify(rows, { record_delimiter: '\r\n', quoted_match: /[\r\n]/ });
}

export function writeNdjson(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The parser is asked for one record at a time (10 µs): it cannot go on behind a broken one, and `Lines` can. */
function parseCells(text: string): string[] | undefined {
  try {
    return parse(text, { record_delimiter: '\n', relax_column_count: true })[0];
  } catch {
    return undefined;
  }
}

/** Far more than any table has. 1 MiB of commas would be parsed for 90 ms, in which nobody else is served. */
const MOST_CELLS = 1_000;
const TOO_MANY_CELLS = `has more than ${MOST_CELLS.toLocaleString('en')} cells`;

/** Counted by the commas outside quotes. */
function hasTooManyCells(text: string): boolean {
  if (text.length <= MOST_CELLS) return false;
  let isQuoted = false;
  let commas = 0;
  for (let at = 0; at < text.length && commas < MOST_CELLS; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (code === COMMA && !isQuoted) commas += 1;
  }
  return commas >= MOST_CELLS;
}

function invalidHeader(problem: string) {
  return invalid([{ path: 'The header', message: `${problem}: the first line must name the columns` }]);
}
