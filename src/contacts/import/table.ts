import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { delimitersIn, readCsv, type ReadRow } from '#libs/records';
import { invalid, RpcError } from '#libs/rpc';
import { isOptOutWord } from './consent.js';

/** How to decode the bytes of a table. */
export type TableFormat = { encoding: string; delimiter: string; skip: number; endsInReturns: boolean };

/** Bytes used to detect the format, if the table is longer. */
const HEAD = 256 * 1024;
const DELIMITERS = [',', ';', '\t', '|'];
/** The first bytes of Excel files: a ZIP archive, or the format before 2007. */
const WORKBOOKS = ['504b0304', 'd0cf11e0'];
/** Excel's line before the header that names the delimiter. */
const DELIMITER_LINE = /^"?sep=([^\w\s"]|\t)"?(?=[\r\n]|$)/i;
/** Letters of Windows-1250 that Windows-1252 decodes as symbols, which no word contains. */
const CENTRAL_EUROPEAN = /\p{L}[£³¿¯¹¥¼¾]|[£³¿¯¹¥¼¾]\p{Ll}/u;

/**
 * Detects the format of a table from its first bytes, which must include the header.
 *
 * @throws RpcError BAD_REQUEST if it is an Excel file or not text.
 */
export function formatOf(bytes: Buffer): TableFormat {
  if (WORKBOOKS.includes(bytes.subarray(0, 4).toString('hex')))
    throw refused('is an Excel file: save it as CSV');
  const head = bytes.subarray(0, HEAD);
  const encoding = encodingOf(head);
  const text = new TextDecoder(encoding).decode(head, { stream: true });
  if (text.includes('\0')) throw refused('is not a readable table');
  const named = DELIMITER_LINE.exec(text);
  const endsInReturns = !text.includes('\n') && text.includes('\r');
  return {
    encoding,
    delimiter: named?.[1] ?? delimiterOf(text),
    skip: named ? 1 : 0,
    endsInReturns,
  };
}

function encodingOf(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  // The last character may be incomplete.
  if ([0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, head.length - cut)))) return 'utf-8';
  return CENTRAL_EUROPEAN.test(new TextDecoder('windows-1252').decode(head))
    ? 'windows-1250'
    : 'windows-1252';
}

/** The delimiter that occurs most often in the header outside quotation marks. */
function delimiterOf(text: string): string {
  const [header = ''] = text.replace(/^[\uFEFF\r\n]+/, '').split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => delimitersIn(header, delimiter));
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** The first chunks of a table until its header is whole, the whole lines among them, and all chunks. */
export async function headOf(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ head: Buffer; lines: Buffer; all: AsyncIterable<Uint8Array> }> {
  const source = chunks[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  let isWhole = false;
  // A return at the end of a chunk may be half of a line end.
  const endsALine = (chunk: Uint8Array) => chunk.includes(0x0a) || chunk.subarray(0, -1).includes(0x0d);
  while (!isWhole && size < HEAD && !first.some(endsALine)) {
    const next = await source.next();
    if (next.done) isWhole = true;
    else {
      first.push(next.value);
      size += next.value.length;
    }
  }
  async function* all() {
    try {
      yield* first;
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  const head = Buffer.concat(first);
  const end = Math.max(head.lastIndexOf(0x0a), head.lastIndexOf(0x0d));
  return { head, lines: isWhole ? head : head.subarray(0, end + 1), all: all() };
}

/**
 * The rows of a table, without its header.
 *
 * @param checkColumns throws if it rejects the columns.
 */
export function rowsOf(
  chunks: AsyncIterable<Uint8Array>,
  { encoding, delimiter, skip, endsInReturns }: TableFormat,
  checkColumns: (columns: readonly string[]) => void,
): AsyncGenerator<ReadRow> {
  const isPlain = encoding === 'utf-8' && !endsInReturns;
  const bytes = isPlain ? chunks : asUtf8(chunks, encoding, endsInReturns);
  return readCsv(bytes, checkColumns, { delimiter, skip });
}

async function* asUtf8(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string,
  endsInReturns: boolean,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  const encoded = (text: string) => Buffer.from(endsInReturns ? text.replaceAll('\r', '\n') : text);
  for await (const chunk of chunks) yield encoded(decoder.decode(chunk, { stream: true }));
  yield encoded(decoder.decode());
}

/** In pieces, so that reading a long table does not block others. */
export async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    yield bytes.subarray(at, at + PIECE);
    await nextTurn();
  }
}
const PIECE = 64 * 1024;

/** The preview of a table before its import. */
export type Look = {
  format: TableFormat;
  columns: string[];
  /** The first rows. */
  examples: string[][];
  /** Example values of each column, to recognize it: the first rows, and each value that looks like an opt-out. */
  values: string[][];
  lines: number;
};

/** Rows of the preview. */
const EXAMPLES = 5;
const LONGEST_EXAMPLE = 100;
/** Values kept per column. */
const MOST_VALUES = 200;
const LONGEST_WORD = 30;
/** More than a user would review. */
const MOST_COLUMNS = 200;
const ADDRESS = /[^\s@]@[^\s@]+\.[^\s@]/;

/** @throws RpcError BAD_REQUEST unless it is a table with a row below its header. */
export async function lookAt(bytes: Buffer): Promise<Look> {
  const format = formatOf(bytes);
  // The whole file is available, and a non-ASCII letter may come late.
  if (format.encoding === 'utf-8' && !isUtf8(bytes)) format.encoding = encodingOf(bytes);
  let columns: string[] = [];
  const look: Omit<Look, 'columns' | 'values'> = { format, examples: [], lines: 0 };
  const values: Set<string>[] = [];
  const rows = rowsOf(piecesOf(bytes), format, (names) => (columns = columnsIn(names)));
  const first = await rows.next().catch((error: unknown) => {
    throw isHeaderFault(error) ? refused('has a first row that cannot be read') : error;
  });
  for (let next = first; !next.done; next = await rows.next()) {
    const row = next.value;
    look.lines += 1;
    if ('problem' in row) continue;
    const cells = row.cells.map((cell) => cell.slice(0, LONGEST_EXAMPLE));
    if (cells.every((cell) => cell.trim() === '')) {
      look.lines -= 1;
      continue;
    }
    if (look.examples.length < EXAMPLES) look.examples.push(cells);
    cells.forEach((cell, n) => {
      const some = (values[n] ??= new Set());
      if (cell.trim() === '') return;
      if (some.size < MOST_VALUES || (cell.length < LONGEST_WORD && isOptOutWord(cell))) some.add(cell);
    });
  }
  if (look.lines === 0) throw refused('has no lines below its header');
  return { ...look, columns, values: Array.from(values, (some) => [...(some ?? [])]) };
}

/** @throws RpcError BAD_REQUEST if these cannot be column names. */
function columnsIn(header: readonly string[]): string[] {
  if (header.length > MOST_COLUMNS) throw refused('has more than 200 columns');
  // Otherwise, the first person would be silently lost.
  if (header.some((cell) => ADDRESS.test(cell)))
    throw refused('has an address in its first line: add a header line');
  return header.map((name) => name.trim().slice(0, LONGEST_EXAMPLE));
}

function isHeaderFault(error: unknown): boolean {
  return error instanceof RpcError && error.details.issues?.[0]?.path === 'The header';
}

function refused(message: string) {
  return invalid([{ path: 'file', message }]);
}
