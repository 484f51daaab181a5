import { CsvError, type Options, parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalid } from '#libs/rpc';
import { type ImportAnswer } from '../../contacts/index.js';

/** What a column of a table may become: a field of contacts, as imports name them. */
export const IMPORTED = [
  'email',
  'firstName',
  'lastName',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'country',
  'bio',
  'subscribed',
  'tags',
] as const;
export type Imported = (typeof IMPORTED)[number];

/** How people call their columns, in small letters and digits alone; a translator adds others. */
const CALLED: Record<Imported, readonly string[]> = {
  email: [
    'email',
    'mail',
    'emailaddress',
    'mailaddress',
    'emailadresse',
    'mailadresse',
    'adresseemail',
    'correo',
  ],
  firstName: ['firstname', 'givenname', 'forename', 'vorname', 'prenom', 'nombre'],
  lastName: [
    'lastname',
    'surname',
    'familyname',
    'nachname',
    'familienname',
    'name',
    'nom',
    'apellido',
    'apellidos',
  ],
  phone: ['phone', 'telephone', 'tel', 'telefon', 'festnetz', 'telefono'],
  mobile: ['mobile', 'mobilephone', 'cell', 'cellphone', 'mobil', 'handy', 'mobiltelefon', 'movil'],
  address: ['address', 'street', 'adresse', 'strasse', 'straße', 'anschrift', 'rue', 'direccion'],
  zip: ['zip', 'zipcode', 'postcode', 'postalcode', 'plz', 'postleitzahl', 'codepostal', 'codigopostal'],
  city: ['city', 'town', 'ort', 'stadt', 'wohnort', 'ville', 'ciudad'],
  country: ['country', 'land', 'pays', 'pais'],
  bio: ['bio', 'notes', 'note', 'notizen', 'notiz', 'bemerkung', 'bemerkungen', 'remarques', 'notas'],
  subscribed: ['subscribed', 'newsletter'],
  tags: ['tags', 'tag', 'schlagworte', 'schlagwörter'],
};

/** What a column is by its name; undefined where nobody can tell. */
export function meaningOf(column: string): Imported | undefined {
  const name = column
    .toLowerCase()
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}]/gu, '');
  return IMPORTED.find((field) => CALLED[field].includes(name));
}

/** How people answer whether somebody gets mails, in small letters; a translator adds others. */
const YES = ['true', 'yes', 'y', '1', 'x', 'ja', 'j', 'wahr', 'oui', 'vrai', 'sí', 'si', 'verdadero'];
const NO = ['false', 'no', 'n', '0', 'nein', 'falsch', 'non', 'faux', 'falso'];

/** What imports take for it; what is neither stays as it is, so that the line is told. */
function trueOrFalse(cell: string): string {
  const answer = cell.trim().toLowerCase().normalize('NFC');
  if (YES.includes(answer)) return 'true';
  return NO.includes(answer) ? 'false' : answer;
}

const DELIMITERS = [',', ';', '\t'];

/** The text of a table: UTF-16 where it says so, UTF-8, or what spreadsheets on Windows write in place of it. */
export function textOf(bytes: Buffer): string {
  return new TextDecoder(encodingOf(bytes)).decode(bytes);
}

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

/** How workbooks begin: as a ZIP archive, or as those before 2007. */
const WORKBOOKS = ['504b0304', 'd0cf11e0'];

function isWorkbook(bytes: Buffer): boolean {
  return WORKBOOKS.includes(bytes.subarray(0, 4).toString('hex'));
}

/** A line before the header that says what stands between the cells: spreadsheets take it for that, and programs write it for them. */
const DELIMITER_LINE = /^"?sep=([^\w\s"]|\t)"?(?=[\r\n]|$)/i;

/** What stands between its cells: the first line tells. */
function delimiterOf(text: string): string {
  const [line = ''] = text
    .slice(0, LONGEST_ROW)
    .replace(/^[\r\n]+/, '')
    .split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** A row, and the line of the file in which it begins, from 1. */
type Row = { line: number; cells: string[] };

/**
 * The rows of a table, its first line too; without those in which nothing stands.
 *
 * @throws RpcError BAD_REQUEST where a row cannot be read, with the line in which it begins.
 */
async function* rowsOf(whole: string): AsyncGenerator<Row> {
  const said = DELIMITER_LINE.exec(whole);
  // Its line stays, with nothing in it: lines are counted as in the file.
  const text = said ? whole.slice(said[0].length) : whole;
  let lastLine = 0;
  const options: Options<object, string[]> = {
    delimiter: said?.[1] ?? delimiterOf(text),
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    max_record_size: LONGEST_ROW,
    // Called at once: of what waits in the stream, nothing is read any more when a row after it cannot be.
    on_record: (cells, { lines }) => {
      lastLine = lines;
      return { line: lines - breaksIn(cells), cells };
    },
  };
  const rows: AsyncIterable<Row> = Readable.from(piecesOf(text)).pipe(parse(options as object));
  try {
    yield* rows;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw refused(`has a row without an end in line ${await nextRow(text, lastLine)}`);
  }
}

function breaksIn(cells: readonly string[]): number {
  let breaks = 0;
  for (const cell of cells)
    for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) breaks += 1;
  return breaks;
}

/** The first line after this one in which something stands. */
async function nextRow(text: string, after: number): Promise<number> {
  let line = 1;
  for await (const piece of piecesOf(text))
    for (const character of piece) {
      if (character === '\n') line += 1;
      else if (line > after && !/[\s,;]/.test(character)) return line;
    }
  return line;
}

/**
 * A piece at a time, so that others are served between them. All line breaks become the same: csv-parse counts one of two characters
 * within a cell as two lines.
 */
async function* piecesOf(text: string): AsyncGenerator<string> {
  let end = 0;
  for (let at = 0; at < text.length; at = end) {
    end = Math.min(at + PIECE, text.length);
    // Neither a line break nor a character is cut in two.
    if (/\r\n|[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(end - 1, end + 1))) end += 1;
    yield text.slice(at, end).replace(/\r\n?/g, '\n');
    // Streams alone give nobody a turn until they have come to an end.
    await nextTurn();
  }
}
/** Characters, read in about 5 ms. */
const PIECE = 16 * 1_024;
/** Bytes of a row: contacts have fewer. What is longer lacks a quotation mark. */
const LONGEST_ROW = 256 * 1_024;

/** What somebody sees of a table before it is imported. */
export type Look = {
  columns: string[];
  /** The first rows. */
  examples: string[][];
  lines: number;
};

/** Rows of the preview. */
const EXAMPLES = 5;
const LONGEST_EXAMPLE = 100;
/** More than somebody would look through. */
const MOST_COLUMNS = 200;
const ADDRESS = /[^\s@]@[^\s@]+\.[^\s@]/;

/** @throws RpcError BAD_REQUEST where it is no table with a line under its header. */
export async function lookAt(bytes: Buffer): Promise<Look> {
  if (isWorkbook(bytes)) throw refused('is an Excel file');
  const text = textOf(bytes);
  if (text.includes('\0')) throw refused('is no table that can be read');
  let look: Look | undefined;
  for await (const { cells } of rowsOf(text)) {
    if (!look) look = { columns: columnsIn(cells), examples: [], lines: 0 };
    else addTo(look, cells);
  }
  if (!look || look.lines === 0) throw refused('has no line under its header');
  return look;
}

function columnsIn(header: readonly string[]): string[] {
  if (header.length > MOST_COLUMNS) throw refused('has more than 200 columns');
  // Otherwise the first person would be lost without a word.
  if (header.some((cell) => ADDRESS.test(cell))) throw refused('has an address in its first line');
  return header.map((name) => name.trim().slice(0, LONGEST_EXAMPLE));
}

function addTo(look: Look, cells: readonly string[]): void {
  const { columns, examples } = look;
  look.lines += 1;
  if (examples.length < EXAMPLES)
    examples.push(cells.slice(0, columns.length).map((cell) => cell.slice(0, LONGEST_EXAMPLE)));
}

function isBlank(cell: string | undefined): boolean {
  return cell === undefined || cell.trim() === '';
}

function refused(message: string) {
  return invalid([{ path: 'file', message }]);
}

/** What becomes of the columns of a table, in their order; what is null is left out. */
export type Meanings = readonly (Imported | null)[];

/** A row as it is handed to the import. */
type Handed = Row & {
  /** Its line in what is handed over; undefined for one that is held back, because cells stand beyond the last column. */
  at: number | undefined;
  address: string;
};

async function* handedRows(text: string, meanings: Meanings): AsyncGenerator<Handed> {
  const chosen = meanings.flatMap((meaning, column) => (meaning === null ? [] : [{ meaning, column }]));
  const header = chosen.map(({ meaning }) => meaning);
  const emailAt = meanings.indexOf('email');
  let at = 1;
  let isFirst = true;
  for await (const { line, cells: given } of rowsOf(text)) {
    if (isFirst) {
      isFirst = false;
      yield { line, at, address: '', cells: header };
      at += 1;
      continue;
    }
    const address = given[emailAt]?.trim() ?? '';
    if (given.slice(meanings.length).some((cell) => !isBlank(cell))) {
      yield { line, at: undefined, address, cells: [] };
      continue;
    }
    const cells = chosen.map(({ meaning, column }) => {
      const cell = given[column] ?? '';
      return meaning === 'subscribed' ? trueOrFalse(cell) : cell;
    });
    yield { line, at, address, cells };
    at += 1 + breaksIn(cells);
  }
}

/** A line that was not imported, as it stands in the file; without an address where it was told before there were any. */
export type WrongLine = { line: number; address?: string; message: string };

/** What became of the lines of a file. */
export type FileAnswer = Omit<ImportAnswer, 'failed'> & { failed: WrongLine[] };

export const OVERLONG = 'has cells beyond the last column';
/** Wrong lines that are told one by one: to be corrected and brought once more. Some 3 MB; of a larger number something else is wrong. */
export const MOST_TOLD = 10_000;
const LONGEST_ADDRESS = 254;

/** A table on its way into an import. */
export class ImportableTable {
  private heldBack = 0;

  constructor(
    private readonly text: string,
    private readonly meanings: Meanings,
  ) {}

  /** As imports take it: commas, and columns by the names of fields. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    let rows: string[][] = [];
    this.heldBack = 0;
    for await (const { at, cells } of handedRows(this.text, this.meanings)) {
      if (at === undefined) this.heldBack += 1;
      else rows.push(cells);
      if (rows.length < ROWS) continue;
      yield csvOf(rows);
      rows = [];
    }
    if (rows.length > 0) yield csvOf(rows);
  }

  /** What the import has answered, in the lines of the file. */
  async told(answer: ImportAnswer): Promise<FileAnswer> {
    const failedCount = answer.failedCount + this.heldBack;
    return { ...answer, failedCount, failed: failedCount === 0 ? [] : await this.wrongLines(answer) };
  }

  private async wrongLines({ failed }: ImportAnswer): Promise<WrongLine[]> {
    const messages = new Map(failed.map(({ line, message }) => [line, message]));
    const wrong: WrongLine[] = [];
    for await (const { line, at, address } of handedRows(this.text, this.meanings)) {
      const message = at === undefined ? OVERLONG : messages.get(at);
      if (message === undefined) continue;
      wrong.push({ line, address: address.slice(0, LONGEST_ADDRESS), message });
      if (wrong.length === Math.min(MOST_TOLD, failed.length + this.heldBack)) break;
    }
    return wrong;
  }
}

/** Quotation marks make a line of a cell in which nothing stands: without them it would be a blank one, and passed over. */
function csvOf(rows: string[][]): Buffer {
  return Buffer.from(stringify(rows, { quoted_empty: true }));
}
const ROWS = 200;
