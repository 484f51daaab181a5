import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { invalid } from '#libs/rpc';
import { type Line, Lines, UNCLOSED } from './lines.js';

const QUOTE = 0x22;

/** A record: its fields, or a problem, whose description quotes none of its contents. */
export type ReadRecord = {
  /** The number of its first line, from 1. */
  line: number;
  bytes: number;
} & ({ fields: Record<string, unknown> } | { problem: string });

/** Newline-delimited JSON: one object per line. */
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

/** A row of a table: its cells, at most as many as the header has, or a problem. */
export type ReadRow = { line: number; bytes: number } & (
  | { cells: string[] }
  | { problem: string; cells?: string[] }
);

export type CsvOptions = {
  /** One character. Default: a comma. */
  delimiter?: string;
  /** Lines before the header. */
  skip?: number;
};

/**
 * CSV (RFC 4180) whose first line names the columns. A row can have fewer cells than the header. Cells lose the apostrophe that
 * `writeCsv` puts before a formula. A quotation mark inside an unquoted cell is part of its text; one that breaks a row costs only that row.
 *
 * @param checkColumns throws if it rejects the columns.
 * @throws RpcError BAD_REQUEST if there is no header, or it cannot be read.
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  checkColumns: (columns: readonly string[]) => void,
  { delimiter = ',', skip = 0 }: CsvOptions = {},
): AsyncGenerator<ReadRow> {
  const lines = new Lines(true);
  let columns: string[] | undefined;
  for await (const record of lines.of(chunks)) {
    const { line, bytes } = record;
    if (line <= skip) {
      // A quotation mark in a title must not join it with the header.
      if ('text' in record) lines.rereadFromSecondLine();
      continue;
    }
    const parsed = parseRow(record, delimiter, columns?.length);
    if (parsed.endsEarly) lines.rereadFromSecondLine();
    if (!columns) {
      if ('problem' in parsed) throw invalidHeader(parsed.problem);
      columns = parsed.cells.map((name) => name.trim());
      checkColumns(columns);
    } else {
      const { endsEarly, ...row } = parsed;
      yield { line, bytes, ...row, ...(row.cells && { cells: row.cells.map(unescapeFormula) }) };
    }
  }
  if (!columns) throw invalidHeader('is missing');
}

/** `endsEarly`: what follows the first line is not part of this row. */
type ParsedRow = { endsEarly?: boolean } & ({ cells: string[] } | { problem: string; cells?: string[] });

/** @param width cells of the header; undefined for the header itself. */
function parseRow(record: Line, delimiter: string, width: number | undefined): ParsedRow {
  if (!('text' in record)) {
    const first = record.firstLine === undefined ? undefined : parseCells(record.firstLine, delimiter, width);
    return first && fits(first, width) ? { cells: first.slice(0, width) } : { problem: record.problem };
  }
  const { text } = record;
  if (hasTooManyCells(text, delimiter)) return { endsEarly: true, problem: TOO_MANY_CELLS };
  const cells = parseCells(text, delimiter, width);
  const lineEnd = text.indexOf('\n');
  // Several lines that are not one row: a stray quotation mark has joined them.
  if (lineEnd !== -1 && (!cells || mayBeSeveral(cells, delimiter, width))) {
    const first = parseCells(text.slice(0, lineEnd).replace(/\r$/, ''), delimiter, width);
    return first && fits(first, width)
      ? { endsEarly: true, cells: first.slice(0, width) }
      : { endsEarly: true, problem: UNCLOSED };
  }
  if (!cells) return { endsEarly: true, problem: UNCLOSED };
  if (cells.some((cell) => mayContainRow(cell, delimiter))) return { problem: TWO_ROWS, cells };
  if (fits(cells, width)) return { cells: cells.slice(0, width) };
  const problem = `has ${cells.length} cells, but the header has ${width}`;
  return { endsEarly: true, problem, cells };
}

/** In a row with too few cells, a line break next to a delimiter in a cell may separate two rows. */
function mayBeSeveral(cells: readonly string[], delimiter: string, width = cells.length): boolean {
  if (cells.length >= width) return !fits(cells, width);
  return cells.some((cell) => cell.includes('\n') && cell.includes(delimiter));
}

/**
 * Two stray quotation marks can join two rows into one of the usual width, which would then give one person the consent of
 * another. Such a row has an address next to a delimiter in a cell of several lines. It may also be a long note, so its other
 * lines are not read as rows of their own.
 */
function mayContainRow(cell: string, delimiter: string): boolean {
  if (!cell.includes('\n') || !cell.includes('@') || !cell.includes(delimiter)) return false;
  return cell.split('\n').some((line) => line.includes(delimiter) && ADDRESS.test(line));
}
const ADDRESS = /[^\s@]@[^\s@]+\.[^\s@]/;
const TWO_ROWS =
  'has a cell of several lines that seems to contain another row: check its quotes, or remove the line breaks';

/** Spreadsheets leave out empty cells at the end of a row, or add some. */
function fits(cells: readonly string[], width: number | undefined): boolean {
  return width === undefined || cells.slice(width).every((cell) => cell.trim() === '');
}

/**
 * Matches cells that a spreadsheet would run as a formula, which can be a person's name. Leading apostrophes are included,
 * so that removing one from a written cell always restores the original.
 */
const FORMULA = /^'*[=+\-@\t\r]/;

function escapeFormula(cell: string | null): string | null {
  return cell !== null && FORMULA.test(cell) ? `'${cell}` : cell;
}

function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}

/**
 * Records as CSV lines, with cells in the order of the columns. A cell that a spreadsheet would run as a formula gets a
 * leading apostrophe, which `readCsv` removes.
 *
 * @param isSafe false writes all cells unchanged.
 */
export function writeCsv(
  table: readonly (readonly (string | null)[])[],
  { isSafe = true }: { isSafe?: boolean } = {},
): string {
  const rows = table.map((cells) => (isSafe ? cells.map(escapeFormula) : [...cells]));
  // Line breaks in cells are quoted, even if they differ from the record delimiter.
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

/**
 * Parses one record at a time (10 µs), because the parser cannot continue after a broken one, whereas `Lines` can.
 *
 * @returns undefined unless the text is one row.
 */
function parseCells(text: string, delimiter: string, width?: number): string[] | undefined {
  // Most rows have no quotation mark. For them, this is ten times as fast.
  if (!text.includes('"')) return text.split(delimiter);
  const strict = hasTooManyCells(text, delimiter) ? undefined : parseQuoted(text, delimiter, false);
  // In several lines, a stray quotation mark would swallow rows.
  if (strict || text.includes('\n')) return strict;
  // For the relaxed parser, a stray quotation mark opens no quote, so any delimiter may separate cells.
  if (hasTooManyCells(text.replaceAll('"', ''), delimiter)) return undefined;
  const relaxed = parseQuoted(text, delimiter, true);
  // A stray quotation mark may have joined two cells: those after them would count as values of other columns.
  const mayBeJoined = (cell: string) => cell.includes('"') && cell.includes(delimiter);
  return relaxed?.length !== width && relaxed?.some(mayBeJoined) ? undefined : relaxed;
}

function parseQuoted(text: string, delimiter: string, relax_quotes: boolean): string[] | undefined {
  try {
    const rows = parse(text, { delimiter, record_delimiter: '\n', relax_column_count: true, relax_quotes });
    return rows.length === 1 ? rows[0] : undefined;
  } catch {
    return undefined;
  }
}

/** Far more than any table has. Parsing 1 MiB of commas would block all other requests for 90 ms. */
const MOST_CELLS = 1_000;
const TOO_MANY_CELLS = `has more than ${MOST_CELLS.toLocaleString('en')} cells`;

/** Counts the delimiters outside quotes. */
function hasTooManyCells(text: string, delimiter: string): boolean {
  return text.length > MOST_CELLS && delimitersIn(text, delimiter, MOST_CELLS) >= MOST_CELLS;
}

/** The number of delimiters outside quotes. @param most counting stops at this number. */
export function delimitersIn(text: string, delimiter: string, most = Infinity): number {
  const wanted = delimiter.charCodeAt(0);
  let isQuoted = false;
  let count = 0;
  for (let at = 0; at < text.length && count < most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (code === wanted && !isQuoted) count += 1;
  }
  return count;
}

function invalidHeader(problem: string) {
  return invalid([{ path: 'The header', message: `${problem}: the first line must name the columns` }]);
}
