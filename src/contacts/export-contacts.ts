import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { compare, type Condition, findRows, type RowPage } from '#libs/projections';
import { Resources } from '#libs/resources';
import { writeCsv, writeNdjson } from '#libs/records';
import { Ids, isId, OneOf, Operation, StreamedAnswer } from '#libs/rpc';
import { CustomFields, type CustomValue } from '../fields/index.js';
import { writeNames } from './import/name-cells.js';
import { contactConditions, ContactFilters, FILTER_SCOPES } from './filters/contact-filters.js';
import { CONTACT_COLUMNS, type ContactRecord, contactSchema } from './contact-record.js';
import { CONTACT_PAGE, type ContactRow, ContactsTable } from './contacts-table.js';

/** Contacts per query, and per chunk of the response. */
const PAGE = 1_000;

const FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv; charset=utf-8' };
const CSV_COLUMNS = CONTACT_COLUMNS.filter((column) => column !== 'customFields');

@Operation({
  name: 'contact.export-contacts',
  summary: 'Export contacts',
  description:
    'Streams all contacts that match the filters, oldest first. NDJSON contains one record per line, in the ' +
    'format of get-contact. CSV contains the same fields as columns, with names in the first line and empty ' +
    'cells for unset fields. Each custom field has a column named by its key. Some values would run as a formula in a spreadsheet, because ' +
    'they begin with `=`, `+`, `-`, `@`, a tab or a carriage return. In CSV, an apostrophe is put before them. import-contacts accepts both formats ' +
    'unchanged and removes that apostrophe. A response without its last chunk (RFC 9112, section 8) is ' +
    'incomplete: request it again.',
  answers: contactSchema,
  answerTypes: ['application/x-ndjson', 'text/csv'],
  fieldScopes: FILTER_SCOPES,
})
export class ExportContacts extends ContactFilters {
  @Ids({ max: 1_000, optional: true, namesRecord: false, description: 'Only these contacts.' })
  contactIds?: string[];

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
    private readonly fields: CustomFields,
  ) {}

  async execute(query: ExportContacts): Promise<StreamedAnswer> {
    const conditions = [
      compare('id = ANY (?::uuid[])', query.contactIds?.filter(isId)),
      ...(await contactConditions(query, this.resources)),
    ];
    return new StreamedAnswer(
      FORMATS[query.format],
      `contacts.${query.format}`,
      this.write(query, conditions),
    );
  }

  private async *write(
    query: ExportContacts,
    conditions: readonly (Condition | undefined)[],
  ): AsyncGenerator<string> {
    const { organizationId, format } = query;
    const keys = format === 'csv' ? [...(await this.fields.keysOf(organizationId)).values()] : [];
    const header = format === 'csv' ? writeCsv([[...CSV_COLUMNS, ...keys]]) : '';
    const write = (records: readonly ContactRecord[]) =>
      format === 'csv' ? writeCsv(records.map((record) => cellsOf(record, keys))) : writeNdjson(records);
    let contacts = 0;
    let after: RowPage<ContactRow>['next'];
    do {
      const page = { ...query, limit: PAGE, sort: 'createdAt', after };
      const { rows, next } = await findRows<ContactRow>(this.reads, page, CONTACT_PAGE, {
        conditions,
        kind: 'export',
      });
      // With the first page, so that an unreachable database is reported as such.
      const records = rows.map((row) => this.contacts.record(row));
      const text =
        (after === undefined ? header : '') + write(await this.fields.name(organizationId, records));
      if (text !== '') yield text;
      contacts += rows.length;
      query.onProgress?.(contacts);
      after = next;
    } while (after !== undefined);
  }
}

/** @param keys of the custom fields, which follow the other columns. */
function cellsOf(record: ContactRecord, keys: readonly string[]): (string | null)[] {
  return [
    ...CSV_COLUMNS.map((column) => cellOf(record[column])),
    ...keys.map((key) => cellOf(record.customFields[key])),
  ];
}

function cellOf(value: ContactRecord[(typeof CSV_COLUMNS)[number]] | CustomValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? writeNames(value) : String(value);
}
