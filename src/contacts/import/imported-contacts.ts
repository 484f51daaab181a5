import { readNdjson } from '#libs/records';
import {
  Email,
  fieldsOf,
  hasScope,
  invalid,
  type Issue,
  Names,
  parseInput,
  type RequestContext,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { type ConsentFields, MUST_BE_STATED } from '../consent/consent-fields.js';
import { ContactFields } from '../contact-fields.js';
import { CONTACT_DETAILS, type ContactExtras } from '../contact.js';
import {
  customFieldOf,
  externalIdsIn,
  isConsent,
  isEvidence,
  isMobile,
  isOfOneColumn,
  isOfSignature,
  losesAnswer,
  type Meaning,
  phoneKindOf,
  recognize,
  refusesIn,
  suggestsOptOut,
} from './columns.js';
import { type ColumnMap } from './column-map.js';
import { splitName, withoutFormatCharacters } from './names.js';
import { type Blocked, consentIn, isRefusalName, isRefusalNote, together } from './consent.js';
import { EVIDENCE_COLUMNS, EVIDENCE_FIELDS, momentIn } from './evidence.js';
import { completeRows, formatOf, headOf, rowsOf, type TableFormat, type TableHead } from './table.js';
import { type FieldDefinition, readValues, valueIn } from '../../fields/index.js';
import { type NamedKind, type NamedRecords } from './imported-links.js';
import { SIGNATURE_COLUMNS, type SignedRow, takeSignature } from './signed-rows.js';

/** The cells of a row, or the fields of an NDJSON line. */
export type LineSource = readonly string[] | Readonly<Record<string, unknown>>;

/** A line of an import: a contact and the records it names, or the problem. `address`: as in the line. */
export type ImportedLine = { line: number; bytes: number; address?: string; source?: LineSource } & (
  | { contact: ImportedContact; names: NamedRecords; blocked?: Blocked; signature?: SignedRow }
  | { problem: string }
);

/** How to interpret the lines of an import. */
export type Reading = {
  mediaType: string;
  context: RequestContext;
  /** Whether contacts are subscribed if their line does not state it. */
  subscribed?: boolean | undefined;
  /** How to handle unrecognized columns. */
  unknown?: 'refuse' | 'ignore' | undefined;
  /** How the columns are used, if that was decided before. */
  columns?: DecidedColumns | undefined;
  /** How the client uses some of the columns, if it was not decided before. */
  map?: ColumnMap | undefined;
  /** Lines up to this one are skipped. */
  after?: number | undefined;
  /** The custom fields of the organization. */
  fields: readonly FieldDefinition[];
  /** Whether each line is also a signature. */
  hasSignatures?: boolean | undefined;
};

/** How the columns of a table are used. */
export type DecidedColumns = {
  format?: TableFormat | undefined;
  meanings: readonly (Meaning | null)[];
  /** Columns that are not imported. A row with "unsubscribed" in one of them fails. */
  suspects?: readonly number[] | undefined;
};

export class ImportedContact extends ContactFields {
  @Email()
  override email!: string;

  /** `customFields` by the ids of their fields. Not a field. */
  values?: ContactExtras['customFields'];
}

/** The column of `import.get-import-problems` that states why a row was not imported. */
export const PROBLEM_COLUMN = 'importProblem';

/** Exported fields that an import ignores, so that exports can be imported unchanged. */
const IGNORED = ['id', 'createdAt', 'updatedAt', 'version', PROBLEM_COLUMN];
/** Exported fields of signatures that an import of signatures ignores too. */
const IGNORED_OF_SIGNATURES = 'petitionId contactId invalidationId suspicion commentState language'.split(
  ' ',
);
const COLUMNS: string[] = [
  ...CONTACT_DETAILS,
  'externalIds',
  'customFields',
  'subscribed',
  ...EVIDENCE_COLUMNS,
  'organizationId',
  ...IGNORED,
];

/** Fields of addresses and names, in which people compare what they see. */
const VISIBLE = ['email', 'firstName', 'lastName', 'name'];
/** Between several values in a cell of Google Contacts. */
const GOOGLE_SEPARATOR = ' ::: ';

function ignoredIn(hasSignatures = false): readonly string[] {
  return hasSignatures ? [...IGNORED, ...IGNORED_OF_SIGNATURES] : IGNORED;
}

/** The columns in which a line names records of other modules. */
const namingColumns = new Map<string, NamedKind>();

/** Maximum records of a kind that a line can name. */
const MOST_NAMES = 100;

/** Any other type of body is a table. */
export const NDJSON = 'application/x-ndjson';

/**
 * Lets a column of imports name records of another module, to which the contact is then linked. Missing records
 * are created, so the limit for their names applies. Call it where the module is declared, before the first
 * request.
 */
export function importContactsByName(column: string, kind: NamedKind): void {
  const longest = fieldsOf(kind.create).get('name')!.schema.maxLength!;
  Names({ optional: true, max: MOST_NAMES, longest })(ImportedContact.prototype, column);
  COLUMNS.push(column);
  namingColumns.set(column, kind);
}

/** The columns that name records, for the documentation. */
export function describeNamingColumns(): string[] {
  return [...namingColumns].map(
    ([column, kind]) =>
      `\`${column}\` contains the names of the ${kind.resource.object}s to assign to the contact, even if it is ` +
      '`unchanged`. If several have the same name, the oldest is used; those that do not exist are created. A line ' +
      `can name up to ${MOST_NAMES}, separated by commas, semicolons or pipes. An NDJSON line can also contain a list. ` +
      `Requires the scope \`${scopeToName(kind)}\`.`,
  );
}

/**
 * A page takes two calls of the event store, and other requests wait behind one. Compared with 400 lines per
 * page, 200 import 10 % fewer lines per second. With 1,000, it is 12 % more, but others wait behind five calls.
 */
const PAGE_LINES = 400;
const PAGE_NAMES = 400;
const PAGE_BYTES = 1024 * 1024;

/**
 * The lines of an import, in pages to be imported together.
 *
 * @throws RpcError BAD_REQUEST if the columns of a CSV text can't be imported. Also if it is undecided whether
 *   contacts agreed to email: neither the lines nor the user have stated it.
 */
export async function* readImport(
  bytes: AsyncIterable<Uint8Array>,
  reading: Reading,
): AsyncGenerator<ImportedLine[], void> {
  const lines = reading.mediaType === NDJSON ? readObjects(bytes, reading) : readTable(bytes, reading);
  let page: ImportedLine[] = [];
  let names = 0;
  let size = 0;
  for await (const line of lines) {
    page.push(line);
    if ('names' in line) names += [...line.names.values()].flat().length;
    size += line.bytes;
    if (page.length < PAGE_LINES && names < PAGE_NAMES && size < PAGE_BYTES) continue;
    yield page;
    page = [];
    names = 0;
    size = 0;
  }
  if (page.length > 0) yield page;
}

/** A line without its size. */
type ReadLine = ImportedLine extends infer One ? (One extends unknown ? Omit<One, 'bytes'> : never) : never;

async function* readObjects(
  bytes: AsyncIterable<Uint8Array>,
  reading: Reading,
): AsyncGenerator<ImportedLine> {
  const { subscribed, after = 0 } = reading;
  let isDecided = subscribed !== undefined;
  for await (const record of readNdjson(bytes)) {
    if ('problem' in record) {
      if (record.line > after) yield record;
      continue;
    }
    const { line, fields, bytes: size } = record;
    isDecided ||= typeof fields.subscribed === 'boolean';
    // Checked at the first person, so that no one is imported before this is decided.
    if (!isDecided && fields.email !== undefined)
      throw invalid([undecided('the first line does not state it')]);
    if (line <= after) continue;
    const sized = { bytes: size, source: { ...fields } };
    if (fields.subscribed === undefined && mentionsRefusal(fields)) fields.subscribed = false;
    const read = toLine(line, fields, reading);
    const isProvedOnly = 'contact' in read && read.contact.consent && read.contact.subscribed === undefined;
    if (isProvedOnly && subscribed === undefined)
      yield { line, ...sized, problem: `subscribed ${MUST_BE_STATED}` };
    else yield { ...read, ...sized };
  }
}

async function* readTable(bytes: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<ImportedLine> {
  const { context, columns: decided, after = 0 } = reading;
  const first = await headOf(bytes);
  const { head, all } = first;
  const format = decided?.format ?? formatOf(head);
  const values = decided ? [] : await valuesIn(first, format);
  let columns: readonly string[] = [];
  let meanings: readonly (string | null)[] = [];
  let suspicious: ReadonlySet<number> = new Set();
  let isStated = false;
  let phoneKinds: readonly (number | undefined)[] = [];
  const rows = rowsOf(all, format, (names) => {
    columns = names;
    meanings = decided?.meanings ?? meaningsOf(names, values, reading);
    isStated = meanings.some(isConsent);
    phoneKinds = names.map((_, n) => phoneKindOf(names, n));
    suspicious = new Set(decided ? decided.suspects : suspectsIn(names, reading));
  });
  for await (const row of rows) {
    if (row.line <= after) continue;
    const address = row.cells?.[meanings.indexOf('email')]?.trim() ?? '';
    if ('problem' in row) {
      const { line, bytes: size, problem, cells } = row;
      yield { line, bytes: size, address, problem, ...(cells && { source: cells }) };
      continue;
    }
    const { line, cells, bytes: size } = row;
    if (cells.every((cell) => cell.trim() === '')) continue;
    const sized = { line, bytes: size, address, source: cells };
    const fields: Record<string, unknown> = {};
    const customFields: Record<string, unknown> = {};
    const consents = [];
    const evidence: ConsentFields = {};
    let refusedAt: string | undefined;
    let isOtherRefusal = false;
    let problem: string | undefined;
    for (const [n, meaning] of meanings.entries()) {
      const cell = cells[n];
      if (isConsent(meaning)) {
        const consent = cell === undefined ? undefined : consentIn(meaning, cell);
        if (consent) {
          consents.push(consent);
          if (consent.subscribed === false && meaning !== 'subscribed') refusedAt ??= pastMomentIn(cell!);
        } else if (cell === undefined)
          problem ??= `has ${cells.length} cells, but the header has ${columns.length}`;
        else problem ??= NO_CONSENT;
      } else if (isEvidence(meaning)) {
        const said = cell?.trim();
        // Of two times, such as those of a double opt-in, the later one is used.
        if (said && meaning === 'consentTime') evidence.at = laterOf(evidence.at, said);
        else if (said) evidence[EVIDENCE_FIELDS[meaning]] ??= said;
      } else if (meaning !== null && cell !== undefined && cell.trim() !== '') {
        const kind = cells[phoneKinds[n] ?? -1]?.trim();
        const field = kind ? (isMobile(kind) ? 'mobile' : 'phone') : meaning;
        const custom = customFieldOf(meaning, reading.fields);
        if (custom || meaning === 'bio') isOtherRefusal ||= isRefusalNote(cell);
        if (custom) customFields[custom.key] = customValueIn(custom, cell);
        else if (meaning === 'externalIds')
          fields[meaning] = [...((fields[meaning] as string[]) ?? []), ...externalIdsIn(columns[n]!, cell)];
        else if (namingColumns.has(meaning)) {
          const names = namesIn(cell);
          fields[meaning] = names;
          isOtherRefusal ||= names.some(isRefusalName);
        } else fields[field] ??= cell.split(GOOGLE_SEPARATOR, 1)[0];
      } else if (meaning === null && cell?.trim() && suspicious.has(n) && columns[n] === '')
        problem ??= `has a value in column ${n + 1}, which has no name`;
      else if (meaning === null && cell && suspicious.has(n) && refusesIn(columns[n]!, cell, isStated))
        problem ??= `has "${cell.trim().slice(0, 30)}" in a column that is not imported: map that column to subscribed or optOut`;
    }
    const consent = together(consents);
    // A tag such as "Unsubscribed" and a note such as "No emails, please" count, unless a column states something else.
    if (isOtherRefusal) consent.subscribed ??= false;
    if (consent.subscribed !== undefined) fields.subscribed = consent.subscribed;
    // The place and time of an opt-in do not prove a refusal.
    if ((consent.subscribed ?? reading.subscribed) && Object.keys(evidence).length > 0) {
      if (evidence.at !== undefined) {
        const moment = momentIn(evidence.at);
        if (moment === undefined) problem ??= NO_TIME;
        evidence.at = moment;
      }
      fields.consent = evidence;
    } else if (consent.subscribed === false && refusedAt !== undefined) fields.consent = { at: refusedAt };
    fields.customFields = customFields;
    const read = inColumns(toLine(line, fields, reading));
    if (problem !== undefined) {
      yield { ...sized, problem: 'problem' in read ? `${problem}; ${read.problem}` : problem };
      continue;
    }
    const blocked = 'contact' in read ? consent.blocked : undefined;
    if (blocked) {
      // Requires another scope of the import, like a column of tags.
      if (!mayBlock(context))
        yield {
          ...sized,
          problem: `marks the address as ${blocked.toLowerCase()}, which requires the scope suppression:write`,
        };
      else yield { ...read, ...sized, blocked };
    } else yield { ...read, ...sized };
  }
}

const NO_MAP: ColumnMap = new Map();

/** Later rows may still contain "unsubscribed" in these columns, or a value in an empty column without a name. */
function suspectsIn(columns: readonly string[], { unknown = 'refuse', map = NO_MAP }: Reading): number[] {
  return columns.flatMap((name, n) => {
    if (map.has(name)) return [];
    const isSuspect = name === '' ? unknown === 'refuse' : suggestsOptOut(name, ['unsubscribed'], columns);
    return isSuspect ? [n] : [];
  });
}

/** Reports problems of `consent` by the column names. */
function inColumns(read: ReadLine): ReadLine {
  if (!('problem' in read)) return read;
  const problem = EVIDENCE_COLUMNS.reduce(
    (text, column) => text.replaceAll(`consent.${EVIDENCE_FIELDS[column]} `, `${column} `),
    read.problem,
  );
  return { ...read, problem };
}

/** Whether one of the tags, lists or notes of an NDJSON line states that this person gets no email. */
function mentionsRefusal(fields: Readonly<Record<string, unknown>>): boolean {
  const own = typeof fields.customFields === 'object' ? { ...fields.customFields } : {};
  const notes = [fields.bio, ...Object.values<unknown>(own)];
  if (notes.some((note) => typeof note === 'string' && isRefusalNote(note))) return true;
  return [...namingColumns.keys()].some((column) => {
    const given = fields[column];
    const names = typeof given === 'string' ? namesIn(given) : Array.isArray(given) ? given : [];
    return names.some((name) => typeof name === 'string' && isRefusalName(name));
  });
}

/** Separated by commas, semicolons or pipes; a name within quotation marks can contain these. */
function namesIn(cell: string): string[] {
  const names = cell
    .replaceAll(GOOGLE_SEPARATOR, ',')
    .matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=[,;|]|$)|([^,;|]+))/g);
  return [...names]
    .map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain!).trim())
    .filter((name) => name !== '' && !name.startsWith(GOOGLE_GROUP));
}
const GOOGLE_GROUP = '* ';

/** The time of a refusal is optional evidence, so an unclear or wrong one is ignored. */
function pastMomentIn(cell: string): string | undefined {
  const moment = momentIn(cell);
  return moment !== undefined && Date.parse(moment) <= Date.now() ? moment : undefined;
}

function laterOf(one: string | undefined, other: string): string {
  if (one === undefined) return other;
  const [before, after] = [momentIn(one), momentIn(other)];
  return before !== undefined && after !== undefined && after > before ? other : one;
}

const NO_TIME = 'consentTime must be an unambiguous date, such as 2024-05-31 or 2024-05-31 14:30';
const NO_CONSENT =
  'subscribed must be yes or no, or a status such as subscribed, unsubscribed, bounced, complained or pending';

function mayBlock({ scopes }: RequestContext): boolean {
  return hasScope(scopes, 'suppression:write');
}

function undecided(why: string): Issue {
  return {
    path: 'subscribed',
    message: `is missing: ${why}. Send subscribed=true if these people have agreed to get email, subscribed=false if not`,
  };
}

/** For each column, the values in the rows read so far. */
async function valuesIn(first: TableHead, format: TableFormat): Promise<string[][]> {
  const values: string[][] = [];
  let rows = 0;
  for await (const row of completeRows(first, (chunks) => rowsOf(chunks, format, () => undefined))) {
    row.cells?.forEach((cell, n) => (values[n] ??= []).push(cell));
    rows += 1;
    if (rows === MOST_EXAMPLES) break;
  }
  return values;
}
const MOST_EXAMPLES = 200;

/**
 * Decides how the columns of a table are used.
 *
 * @returns also the unrecognized columns, which are not imported.
 * @throws RpcError BAD_REQUEST if the columns can't be imported; INSUFFICIENT_PERMISSIONS if they need more scopes.
 */
export async function decideColumns(
  first: TableHead,
  format: TableFormat,
  reading: Reading,
): Promise<Required<DecidedColumns> & { columns: string[]; examples: string[][]; unrecognized: number[] }> {
  const values = await valuesIn(first, format);
  const examples: string[][] = [];
  let columns: string[] = [];
  const rows = (chunks: AsyncIterable<Uint8Array>) =>
    rowsOf(chunks, format, (names) => {
      columns = [...names];
    });
  for await (const row of completeRows(first, rows)) {
    if (!('problem' in row)) examples.push(row.cells.map((cell) => cell.slice(0, 100)));
    if (examples.length === 5) break;
  }
  const meanings = meaningsOf(columns, values, reading) as (Meaning | null)[];
  const { context, map = NO_MAP } = reading;
  if (meanings.some((meaning) => meaning === 'bounced' || meaning === 'complained'))
    requireScope(
      context.scopes,
      'suppression:write',
      columns[meanings.findIndex((one) => one === 'bounced' || one === 'complained')],
    );
  const suspects = suspectsIn(columns, reading).filter((n) => meanings[n] === null);
  const unrecognized = columns.flatMap((column, n) => {
    const isOpen =
      meanings[n] === null && !map.has(column) && !ignoredIn(reading.hasSignatures).includes(column);
    return isOpen && column !== '' && columns.indexOf(column) === n && recognize([column], [])[0] === null
      ? [n]
      : [];
  });
  return { format, columns, examples, meanings, suspects, unrecognized };
}

/**
 * Checks that the first person of an NDJSON file states `subscribed`, if that is not decided otherwise.
 *
 * @throws RpcError BAD_REQUEST
 */
export async function requireDecided(first: TableHead, reading: Reading): Promise<void> {
  const lines = completeRows(first, (chunks) => readObjects(chunks, reading));
  for await (const line of lines) if ('contact' in line) return;
}

/** By exact field names, or by the names that people and other systems use. @throws RpcError BAD_REQUEST */
function meaningsOf(
  columns: readonly string[],
  values: readonly (readonly string[])[],
  { context, subscribed, unknown = 'refuse', fields, map = NO_MAP, hasSignatures = false }: Reading,
): (string | null)[] {
  const missing = [...map.keys()].find((column) => !columns.includes(column));
  if (missing !== undefined) {
    const message = `names ${JSON.stringify(missing)}, which is not a column. The columns are: ${columns.join(', ')}`;
    throw invalid([{ path: 'map', message: message.slice(0, 1_000) }]);
  }
  const taken = new Set([...map.values()].filter(isOfOneColumn));
  const recognized = recognize(columns, values, fields, hasSignatures);
  const isKnown = (column: string) => COLUMNS.includes(column);
  const recognizedOrKnown = columns.map((column, n) => {
    if (isOfSignature(recognized[n]!)) return recognized[n];
    if (ignoredIn(hasSignatures).includes(column)) return null;
    const isRepeated = isOfOneColumn(column) && columns.indexOf(column) < n;
    if (isKnown(column)) return isRepeated && unknown === 'ignore' ? null : column;
    const meaning = recognized[n] ?? null;
    const isTaken = isOfOneColumn(meaning) && meaning !== column && columns.includes(meaning!);
    return isTaken ? null : meaning;
  });
  const meanings = columns.map((column, n) => {
    const meaning = map.get(column);
    if (meaning === undefined) {
      const other = recognizedOrKnown[n]!;
      return unknown === 'ignore' && taken.has(other as Meaning) ? null : other;
    }
    const isRepeated = isOfOneColumn(meaning) && columns.indexOf(column) < n;
    return isRepeated && unknown === 'ignore' ? null : meaning;
  });
  checkColumns(columns, meanings, values, {
    unknown,
    isDecided: subscribed !== undefined,
    isIgnored: (column) => map.has(column) || ignoredIn(hasSignatures).includes(column),
    accepted: [...COLUMNS, ...(hasSignatures ? SIGNATURE_COLUMNS : [])],
  });
  for (const meaning of meanings) {
    const kind = namingColumns.get(meaning ?? '');
    if (kind) requireScope(context.scopes, scopeToName(kind), meaning!);
  }
  return meanings;
}

function customValueIn(field: FieldDefinition, cell: string): unknown {
  const value = valueIn(field, cell, namesIn);
  // Tables have dates in other forms, and often with a time.
  return field.type === 'DATE' ? (momentIn(cell)?.slice(0, 10) ?? value) : value;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function toLine(
  line: number,
  fields: Record<string, unknown>,
  { context, fields: custom, hasSignatures = false }: Reading,
): ReadLine {
  for (const ignored of ignoredIn(hasSignatures)) delete fields[ignored];
  for (const column of [...COLUMNS, ...(hasSignatures ? SIGNATURE_COLUMNS : [])]) {
    const saysNothing = isEmpty(fields[column]);
    if (saysNothing && column !== 'email') delete fields[column];
  }
  for (const field of VISIBLE) {
    const text = fields[field];
    if (typeof text === 'string') fields[field] = withoutFormatCharacters(text);
  }
  if (typeof fields.name === 'string') {
    const { name, ...others } = fields;
    fields = { ...splitName(fields.name), ...others };
  }
  try {
    const signed = hasSignatures ? { signature: takeSignature(fields) } : {};
    const contact = parseInput(ImportedContact, fields, 'body');
    contact.organizationId ??= context.organizationId;
    contact.context = context;
    if (contact.organizationId !== context.organizationId) {
      return { line, problem: 'organizationId does not match the organization of this import' };
    }
    const { values, issues } = readValues(custom, contact.customFields ?? {});
    if (issues.length > 0) throw invalid(issues);
    delete contact.customFields;
    // Empty values are left unchanged, like every empty field.
    const set = Object.entries(values).filter(([, value]) => value !== null);
    if (set.length > 0) contact.values = Object.fromEntries(set);
    return { line, contact, names: takeNames(contact, context), ...signed };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { issues } = error.details;
    return { line, problem: issues?.map(describeIssue).slice(0, MOST_ISSUES).join('; ') ?? error.message };
  }
}

/** Removes everything from the fields that is not a detail of the contact. @throws RpcError INSUFFICIENT_PERMISSIONS */
function takeNames(contact: ImportedContact, { scopes }: RequestContext): NamedRecords {
  const names = new Map<NamedKind, readonly string[]>();
  const fields = contact as unknown as { [column: string]: string[] | undefined };
  for (const [column, kind] of namingColumns) {
    const given = fields[column];
    delete fields[column];
    if (given === undefined || given.length === 0) continue;
    requireScope(scopes, scopeToName(kind), column);
    names.set(kind, given);
  }
  return names;
}

function scopeToName({ resource }: NamedKind): string {
  return `${resource.object}:write`;
}

const MOST_ISSUES = 5;

/** An invalid field name may be someone's data in the wrong place, so it is not repeated. */
function describeIssue({ path, message }: { path: string; message: string }): string {
  return `${/^[A-Za-z][\w.]{0,50}$/.test(path) ? path : 'A field'} ${message}`;
}

const NOT_A_COLUMN = 'is not a column that can be imported';

type CheckColumnsOptions = {
  unknown: 'refuse' | 'ignore';
  isDecided: boolean;
  isIgnored: (column: string) => boolean;
  accepted: readonly string[];
};

function checkColumns(
  columns: readonly string[],
  meanings: readonly (string | null)[],
  values: readonly (readonly string[] | undefined)[],
  { unknown, isDecided, isIgnored, accepted }: CheckColumnsOptions,
): void {
  const issues = columns.flatMap((column, at): Issue[] => {
    const path = column === '' ? `Column ${at + 1}` : column.slice(0, 100);
    const meaning = meanings[at] ?? null;
    if (isOfOneColumn(meaning) && meanings.indexOf(meaning) < at)
      return [
        { path, message: `is the second column used as ${meaning}: keep one of them, or map one to ignore` },
      ];
    if (meaning !== null || isIgnored(column)) return [];
    if (suggestsOptOut(column, values[at] ?? [], columns))
      return [
        {
          path,
          message:
            'seems to state who is subscribed: map it to subscribed or optOut, or to ignore if it means something ' +
            'else',
        },
      ];
    if (unknown === 'ignore' && losesAnswer(column, values[at] ?? [], columns, meanings))
      return [
        {
          path,
          message:
            'answers a question with no, and no column states who is subscribed: map it to subscribed or optOut, ' +
            'or to ignore if it means something else',
        },
      ];
    if (unknown === 'ignore') return [];
    // Spreadsheets add empty columns.
    if (column === '' && (values[at] ?? []).every((cell) => cell.trim() === '')) return [];
    if (column === '') return [{ path, message: 'has no name: name or remove the column' }];
    return [{ path, message: NOT_A_COLUMN }];
  });
  if (!meanings.includes('email'))
    issues.push({ path: 'email', message: 'is missing from the columns: every import requires it' });
  if (!isDecided && !meanings.includes('subscribed')) {
    const states = meanings.includes('optOut')
      ? 'the columns only state who does not want email'
      : 'no column states it';
    issues.push(undecided(states));
  }
  if (issues.length === 0) return;
  const { message, details } = invalid(issues);
  const hint = issues.some((issue) => issue.message === NOT_A_COLUMN)
    ? ' To import the file without these columns, send unknown=ignore.'
    : '';
  throw new RpcError(
    'BAD_REQUEST',
    `${message}${hint} An import accepts these columns: ${accepted.join(', ')}.`,
    {
      issues: details.issues ?? [],
    },
  );
}
