import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';

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

const DELIMITERS = [',', ';', '\t'];

/** The text of a table: UTF-8, or what spreadsheets on Windows write in place of it. */
export function textOf(bytes: Buffer): string {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : new TextDecoder('windows-1252').decode(bytes);
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** What stands between its cells: the first line tells. */
function delimiterOf(text: string): string {
  const [line = ''] = text.slice(0, LONGEST_ROW).split(/\r?\n/, 1);
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** The rows of a table, its first line too. */
export function rowsOf(text: string, upTo?: number): AsyncIterable<string[]> {
  const options = {
    delimiter: delimiterOf(text),
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: LONGEST_ROW,
  };
  return Readable.from(piecesOf(text)).pipe(parse(upTo === undefined ? options : { ...options, to: upTo }));
}

/** A piece at a time, so that others are served between them. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE) yield text.slice(at, at + PIECE);
}
const PIECE = 64 * 1_024;
/** Characters of a row: contacts have fewer. What is longer lacks a quotation mark. */
const LONGEST_ROW = 256 * 1_024;

/**
 * The table as imports take it: commas, and columns by the names of fields.
 *
 * @param meanings of its columns, in their order; undefined ones are left out.
 */
export async function* importable(
  text: string,
  meanings: readonly (Imported | undefined)[],
): AsyncGenerator<Uint8Array> {
  let lines: string[][] = [];
  let isFirst = true;
  for await (const row of rowsOf(text)) {
    const cells = isFirst ? meanings : row;
    isFirst = false;
    lines.push(meanings.flatMap((meaning, n) => (meaning === undefined ? [] : [cells[n] ?? ''])));
    if (lines.length < LINES) continue;
    yield Buffer.from(stringify(lines));
    lines = [];
  }
  if (lines.length > 0) yield Buffer.from(stringify(lines));
}
const LINES = 200;
