import { readCsv, readNdjson, type ReadRecord } from '#libs/records';
import {
  Email,
  fieldsOf,
  invalid,
  Names,
  parseInput,
  type RequestContext,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { CONTACT_DETAILS } from './contact.js';
import { type NamedKind, type NamedRecords } from './imported-links.js';

/** A line of an import: a contact and what else it names, or why it is none. */
export type ImportedLine = { line: number } & (
  { contact: ImportedContact; names: NamedRecords } | { problem: string }
);

export class ImportedContact extends ContactFields {
  @Email()
  override email!: string;
}

/** What an export says of a contact and an import cannot: so that an export can be imported as it is. */
const IGNORED = ['id', 'createdAt', 'updatedAt'];
const COLUMNS: string[] = [...CONTACT_DETAILS, 'subscribed', 'organizationId', ...IGNORED];

/** The columns in which a line names records of other modules. */
const namingColumns = new Map<string, NamedKind>();

/** A line may name so many records of a kind. */
const MOST_NAMES = 100;

/**
 * Lets a column of imports name records of another module, which the contact is then linked to; a name that none of them
 * has is given to a new one, so names may be as long as those. To be called where the module is declared, before the first
 * request.
 */
export function importContactsByName(column: string, kind: NamedKind): void {
  const longest = fieldsOf(kind.create).get('name')!.schema.maxLength!;
  Names({ optional: true, max: MOST_NAMES, longest })(ImportedContact.prototype, column);
  COLUMNS.push(column);
  namingColumns.set(column, kind);
}

/** Of the columns that name records, for the documentation. */
export function describeNamingColumns(): string[] {
  return [...namingColumns].map(
    ([column, kind]) =>
      `\`${column}\` names each ${kind.resource.object} that the contact gets, also one that is \`unchanged\`: the oldest that ` +
      `has the name, or a new one (at most ${MOST_NAMES}; with commas between them in CSV, as a list or one such text in ` +
      `NDJSON). It needs the scope \`${scopeToName(kind)}\`.`,
  );
}

/**
 * Two calls of the event store, which is what a request of somebody else waits behind. Measured: 200 lines a page
 * import 10 % fewer a second, 1,000 import 12 % more, but others then wait behind five calls.
 */
const PAGE_LINES = 400;
const PAGE_NAMES = 400;
const PAGE_BYTES = 1024 * 1024;

/**
 * The lines of an import, in pages to be imported at once.
 *
 * @throws RpcError BAD_REQUEST when the columns of a CSV text cannot be taken.
 */
export async function* readImport(
  mediaType: string,
  bytes: AsyncIterable<Uint8Array>,
  context: RequestContext,
): AsyncGenerator<ImportedLine[], void> {
  const isCsv = mediaType === 'text/csv';
  const records = isCsv ? readCsv(bytes, (columns) => checkColumns(columns, context)) : readNdjson(bytes);
  let page: ImportedLine[] = [];
  let names = 0;
  let size = 0;
  for await (const record of records) {
    const line = readLine(record, isCsv ? 'query' : 'body', context);
    page.push(line);
    if ('names' in line) names += [...line.names.values()].flat().length;
    size += record.bytes;
    if (page.length < PAGE_LINES && names < PAGE_NAMES && size < PAGE_BYTES) continue;
    yield page;
    page = [];
    names = 0;
    size = 0;
  }
  if (page.length > 0) yield page;
}

function readLine(record: ReadRecord, source: 'query' | 'body', context: RequestContext): ImportedLine {
  if ('problem' in record) return record;
  const { line, fields } = record;
  for (const ignored of IGNORED) delete fields[ignored];
  for (const column of COLUMNS) {
    const saysNothing = fields[column] === null || fields[column] === '';
    if (saysNothing && column !== 'email') delete fields[column];
  }
  try {
    const contact = parseInput(ImportedContact, fields, source);
    contact.organizationId ??= context.organizationId;
    contact.context = context;
    if (contact.organizationId !== context.organizationId) {
      return { line, problem: 'organizationId is another organization than the one imported into' };
    }
    return { line, contact, names: takeNames(contact, context) };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { issues } = error.details;
    return { line, problem: issues?.map(describeIssue).slice(0, MOST_ISSUES).join('; ') ?? error.message };
  }
}

/** Takes what is no detail of the contact out of its fields. @throws RpcError INSUFFICIENT_PERMISSIONS */
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

/** A field's name that is no name at all may be somebody's data, in the wrong place. */
function describeIssue({ path, message }: { path: string; message: string }): string {
  return `${/^[A-Za-z]\w{0,50}$/.test(path) ? path : 'A field'} ${message}`;
}

function checkColumns(columns: readonly string[], { scopes }: RequestContext): void {
  for (const column of columns) {
    const kind = namingColumns.get(column);
    if (kind) requireScope(scopes, scopeToName(kind), column);
  }
  const issues = columns.flatMap((column, at) => {
    const path = column === '' ? `Column ${at + 1}` : column.slice(0, 100);
    if (column === '') return [{ path, message: 'has no name: name it or take it away' }];
    if (columns.indexOf(column) < at)
      return [{ path, message: 'is the name of two columns: keep one of them' }];
    if (!COLUMNS.includes(column))
      return [
        {
          path,
          message: column.includes(';')
            ? 'holds semicolons: separate the columns by commas'
            : 'is not a column of an import',
        },
      ];
    return [];
  });
  if (!columns.includes('email'))
    issues.push({ path: 'email', message: 'is missing among the columns: every import needs it' });
  if (issues.length === 0) return;
  const { message, details } = invalid(issues);
  throw new RpcError('BAD_REQUEST', `${message} The columns of an import are ${COLUMNS.join(', ')}.`, {
    issues: details.issues ?? [],
  });
}
