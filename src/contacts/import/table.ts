import { isAscii, isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { delimitersIn, readCsv, type ReadRow } from '#libs/records';
import { invalid, RpcError } from '#libs/rpc';
import { decoderOf } from './encodings.js';
import { isEmailName } from './columns.js';
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
/** What Windows-1252 makes of Polish, Czech, Slovak and Hungarian words in Windows-1250, and no Western language has. */
const CENTRAL_EUROPEAN = new RegExp(
  [
    // Symbols within words.
    String.raw`\p{L}[£³¿¯¹¥¼¾\x8d\x8f\x9d]|[£³¿¯¹¥¼¾\x8d\x8f\x9d]\p{Ll}`,
    // ź, ś and Ś: a capital after a small letter, œ at the end of a word, Œ before a consonant.
    String.raw`\p{Ll}Ÿ|\p{L}œ(?!\p{L})|Œ[bcdfghjklmnpqrstvwxz]`,
    // ř and č next to long vowels; ě and ů, which Italian and French have at the end of words only.
    String.raw`[øè][íáéý]|[íáéýú]ø|[ìù]\p{Ll}`,
  ].join('|'),
  'v',
);
/** ő: also a letter of Portuguese, before e, and of Estonian. */
const HUNGARIAN = /õ(?!e)/;
const HUNGARIAN_DIGRAPHS = /sz|gy|cs|zs|ny/i;

const ADDRESS = /[^\s@]@[^\s@]+\.[^\s@]/;
/** Characters of a line in which its columns are recognized. */
const LONGEST_HEADER = 64 * 1024;

/** Lines above the header, such as the title of a report. */
const MOST_TITLES = 20;

/** The parts of a format that the client knows. */
export type KnownFormat = { charset?: string | undefined; delimiter?: string | undefined };

/**
 * Detects the format of a table from its first bytes, which must include the header.
 *
 * @throws RpcError BAD_REQUEST if it is an Excel file or not text.
 */
export function formatOf(bytes: Buffer, known: KnownFormat = {}): TableFormat {
  if (WORKBOOKS.includes(bytes.subarray(0, 4).toString('hex')))
    throw refused(
      'is an Excel file: open it, choose "Save as" and the format "CSV UTF-8", and send that file',
    );
  const head = bytes.subarray(0, HEAD);
  const encoding = known.charset ?? encodingOf(head);
  const text = decoderOf(encoding).decode(head, { stream: true });
  if (text.includes('\0')) throw refused('is not a readable table');
  const named = DELIMITER_LINE.exec(text)?.[1];
  const endsInReturns = hasReturnsOnly(text);
  const lines = text.replace(/^\uFEFF/, '').split(endsInReturns ? '\r' : /\r?\n/, MOST_TITLES + 2);
  return { encoding, endsInReturns, ...headerIn(lines, { named, delimiter: known.delimiter ?? named }) };
}

/** Excel for Mac ends rows with CR, and writes line breaks inside cells as LF. */
function hasReturnsOnly(text: string): boolean {
  if (!text.includes('\n')) return text.includes('\r');
  // The header shows it. Cells may have unquoted line breaks, and stray quotation marks.
  const [, end] = /^(?:"[^"]*"|[^"\r\n])*?(\r\n?|\n)/.exec(text) ?? [];
  return end === '\r' && text.indexOf('\r') !== text.lastIndexOf('\r');
}

/**
 * The header is the first line that names a column of addresses, below the title of a report if there is one.
 * If no line does, it is the first line.
 *
 * @returns also the lines above it.
 */
function headerIn(
  lines: readonly string[],
  { named, delimiter: known }: { named: string | undefined; delimiter: string | undefined },
): Pick<TableFormat, 'delimiter' | 'skip'> {
  const first = named === undefined ? 0 : 1;
  const delimiters = known === undefined ? DELIMITERS : [known];
  for (const [skip, line] of lines.entries()) {
    if (skip < first) continue;
    const namesAddresses = (delimiter: string) => cellsOf(line, delimiter).some(isEmailName);
    const fitting = delimiters.filter(namesAddresses);
    if (fitting.length > 0) return { skip, delimiter: mostFrequent(line, fitting) };
    // A person: the header is above, and has other names.
    if (ADDRESS.test(line)) break;
  }
  const header = lines.slice(first).find((line) => line !== '') ?? '';
  return { skip: first, delimiter: mostFrequent(header, delimiters) };
}

function cellsOf(line: string, delimiter: string): string[] {
  const cells = [''];
  let isQuoted = false;
  for (const character of line.slice(0, LONGEST_HEADER)) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character === delimiter && !isQuoted) cells.push('');
    else cells[cells.length - 1] += character;
  }
  return cells;
}

/** The delimiter that occurs most often outside quotation marks. */
function mostFrequent(line: string, delimiters: readonly string[]): string {
  const counts = delimiters.map((delimiter) => delimitersIn(line, delimiter));
  return delimiters[counts.indexOf(Math.max(...counts))]!;
}

function encodingOf(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const half = head.length / 2;
  const zeros = (offset: 0 | 1) => head.filter((byte, at) => byte === 0 && at % 2 === offset).length;
  // Every other byte of Western letters is 0.
  if (head.includes(0) && zeros(1) > half / 2) return 'utf-16le';
  if (head.includes(0) && zeros(0) > half / 2) return 'utf-16be';
  // The last character may be incomplete.
  const [incomplete = ''] = /[\xc2-\xf4][\x80-\xbf]{0,2}$/.exec(head.subarray(-3).toString('latin1')) ?? [];
  if (isUtf8(head) || isUtf8(head.subarray(0, head.length - incomplete.length))) return 'utf-8';
  const western = decoderOf('windows-1252').decode(head);
  const isHungarian = HUNGARIAN.test(western) && HUNGARIAN_DIGRAPHS.test(western);
  return CENTRAL_EUROPEAN.test(western) || isHungarian ? 'windows-1250' : 'windows-1252';
}

/** Detects the format of a table whose chunks are seen once, in bounded memory. */
export class FormatDetector {
  private readonly first: Uint8Array[] = [];
  private readonly beyondAscii: Uint8Array[] = [];
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });
  private sizes = { first: 0, beyondAscii: 0 };
  private isUtf8 = true;

  see(chunk: Uint8Array): void {
    this.keep('first', chunk);
    if (!isAscii(chunk)) this.keep('beyondAscii', chunk);
    this.check(chunk);
  }

  get head(): Buffer {
    return Buffer.concat(this.first);
  }

  /** Whether the bytes from which columns are recognized have been seen. */
  get hasHead(): boolean {
    return this.sizes.first >= HEAD;
  }

  /** @throws as `formatOf`. */
  format(known: KnownFormat = {}): TableFormat {
    const { head } = this;
    const format = formatOf(head, known);
    // The first letter that is not ASCII may come late.
    const isLate = known.charset === undefined && !this.isUtf8 && isAscii(head);
    return isLate ? { ...format, encoding: encodingOf(Buffer.concat(this.beyondAscii)) } : format;
  }

  private keep(which: 'first' | 'beyondAscii', chunk: Uint8Array): void {
    if (this.sizes[which] >= HEAD) return;
    this[which].push(chunk);
    this.sizes[which] += chunk.length;
  }

  private check(chunk: Uint8Array): void {
    if (!this.isUtf8) return;
    try {
      this.decoder.decode(chunk, { stream: true });
    } catch {
      this.isUtf8 = false;
    }
  }
}

/** The first bytes of a file, and whether they are all of it. */
export type TableHead = { head: Buffer; isWhole: boolean };

/** The first bytes of a table, which include its header, whether they are all of it, and all chunks. */
export async function headOf(
  chunks: AsyncIterable<Uint8Array>,
): Promise<TableHead & { all: AsyncIterable<Uint8Array> }> {
  const source = chunks[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  let ends = 0;
  let isWhole = false;
  // A line end can have two characters, and can be cut by the end of a chunk.
  while (!isWhole && size < HEAD && ends <= 2 * (MOST_TITLES + 2)) {
    const next = await source.next();
    if (next.done) isWhole = true;
    else {
      first.push(next.value);
      size += next.value.length;
      ends += Buffer.from(next.value).filter((byte) => byte === 0x0a || byte === 0x0d).length;
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
  return { head: Buffer.concat(first), isWhole, all: all() };
}

/** Thrown after the bytes of a head, so that an incomplete last row is not read as a row. */
class HeadEnds extends Error {}

/** The rows that are complete within the first bytes of a table. @param read reads rows from these chunks. */
export async function* completeRows<Row>(
  { head, isWhole }: TableHead,
  read: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Row>,
): AsyncGenerator<Row> {
  function* chunks() {
    yield head;
    if (!isWhole) throw new HeadEnds();
  }
  try {
    yield* read(Readable.from(chunks()));
  } catch (error) {
    if (!(error instanceof HeadEnds)) throw error;
  }
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
  const decoder = decoderOf(encoding);
  const encoded = (text: string) => Buffer.from(endsInReturns ? text.replaceAll('\r', '\n') : text);
  for await (const chunk of chunks) yield encoded(decoder.decode(chunk, { stream: true }));
  yield encoded(decoder.decode());
}

/** The preview of a table before its import. */
export type Look = {
  format: TableFormat;
  columns: string[];
  /** The first rows. */
  examples: string[][];
  /** Example values of each column, to recognize it: the first rows, and each value that looks like an opt-out. */
  values: string[][];
  lines: number;
  /** Cells with letters that look different in another character set. */
  beyondAscii: string[];
};

/** Rows of the preview. */
const EXAMPLES = 5;
const MOST_BEYOND_ASCII = 3;
const LONGEST_EXAMPLE = 100;
/** Values kept per column, and as many that look like an opt-out. */
const MOST_VALUES = 200;
/** More than a user would review. */
const MOST_COLUMNS = 200;
/** @throws RpcError BAD_REQUEST unless it is a table with a row below its header. */
export async function lookAt(chunks: AsyncIterable<Uint8Array>, format: TableFormat): Promise<Look> {
  let columns: string[] = [];
  const look: Omit<Look, 'columns' | 'values'> = { format, examples: [], lines: 0, beyondAscii: [] };
  const values: Set<string>[] = [];
  const rows = rowsOf(chunks, format, (names) => (columns = columnsIn(names)));
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
    const others =
      look.beyondAscii.length < MOST_BEYOND_ASCII ? cells.filter((cell) => /[^\0-\x7f]/.test(cell)) : [];
    look.beyondAscii = [...new Set([...look.beyondAscii, ...others])].slice(0, MOST_BEYOND_ASCII);
    cells.forEach((cell, n) => {
      const some = (values[n] ??= new Set());
      if (cell.trim() === '') return;
      const most = some.size < MOST_VALUES || !isOptOutWord(cell) ? MOST_VALUES : 2 * MOST_VALUES;
      if (some.size < most) some.add(cell);
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
