import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { type Condition, findRows, type RowPage } from '#libs/projections';
import { Resources } from '#libs/resources';
import { writeCsv, writeNdjson } from '#libs/records';
import { OneOf, Operation, StreamedAnswer } from '#libs/rpc';
import { contactConditions, ContactFilters, FILTER_SCOPES } from './filters/contact-filters.js';
import { CONTACT_COLUMNS, type ContactRecord, contactSchema } from './contact-record.js';
import { CONTACT_PAGE, type ContactRow, ContactsTable } from './contacts-table.js';

/** Contacts per query, and per chunk of the response. */
const PAGE = 1_000;

const FORMATS = {
  ndjson: { type: 'application/x-ndjson', header: '', write: writeNdjson },
  csv: {
    type: 'text/csv; charset=utf-8',
    header: writeCsv([CONTACT_COLUMNS]),
    write: (records: readonly ContactRecord[]) => writeCsv(records.map(cellsOf)),
  },
};

@Operation({
  method: 'GET',
  name: 'contact.export-contacts',
  object: 'contacts',
  summary: 'Export contacts',
  description:
    'Streams all contacts that match the filters, oldest first. NDJSON contains one record per line, in the ' +
    'format of get-contact. CSV contains the same fields as columns, with names in the first line and empty ' +
    'cells for unset fields. In CSV, values that a spreadsheet would run as a formula (starting with `=`, `+`, ' +
    '`-`, `@`, a tab or a carriage return) are prefixed with an apostrophe. import-contacts accepts both formats ' +
    'unchanged and removes that apostrophe. A response without its last chunk (RFC 9112, section 8) is ' +
    'incomplete: request it again.',
  answers: contactSchema,
  answerTypes: ['application/x-ndjson', 'text/csv'],
  fieldScopes: FILTER_SCOPES,
})
export class ExportContacts extends ContactFilters {
  @OneOf(Object.keys(FORMATS), { default: 'ndjson' })
  format!: keyof typeof FORMATS;

  /** Called after each page with the number of contacts so far. Not a field. */
  onProgress?: (contacts: number) => void;
}

@QueryHandler(ExportContacts)
export class ExportContactsHandler implements IQueryHandler<ExportContacts> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly contacts: ContactsTable,
  ) {}

  async execute(query: ExportContacts): Promise<StreamedAnswer> {
    const conditions = await contactConditions(query, this.resources);
    return new StreamedAnswer(
      FORMATS[query.format].type,
      `contacts.${query.format}`,
      this.write(query, conditions),
    );
  }

  private async *write(
    query: ExportContacts,
    conditions: readonly (Condition | undefined)[],
  ): AsyncGenerator<string> {
    const { header, write } = FORMATS[query.format];
    let contacts = 0;
    let after: RowPage<ContactRow>['next'];
    do {
      const page = { ...query, limit: PAGE, sort: 'createdAt', after };
      const { rows, next } = await findRows<ContactRow>(this.reads, page, CONTACT_PAGE, {
        conditions,
        kind: 'export',
      });
      // With the first page, so that an unreachable database is reported as such.
      const text = (after === undefined ? header : '') + write(rows.map((row) => this.contacts.record(row)));
      if (text !== '') yield text;
      contacts += rows.length;
      query.onProgress?.(contacts);
      after = next;
    } while (after !== undefined);
  }
}

function cellsOf(record: ContactRecord): (string | null)[] {
  return CONTACT_COLUMNS.map((column) => {
    const value = record[column];
    return value instanceof Date ? value.toISOString() : typeof value === 'boolean' ? String(value) : value;
  });
}
