import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { findRows, type RowPage } from '#libs/projections';
import { writeCsv, writeNdjson } from '#libs/records';
import { Resources } from '#libs/resources';
import { CreationFilters, Flag, Id, OneOf, Operation, StreamedAnswer, textOrNull } from '#libs/rpc';
import { type ContactRecord, ContactsByIds, writeNames } from '../contacts/index.js';
import { CustomFields, type CustomValue } from '../fields/index.js';
import { petitions } from './petitions.js';
import { type SignatureRecord, signatureSchema } from './signature-record.js';
import { signatureRecord, type SignatureRow, SIGNATURES } from './signature-rows.js';

/** Signatures per query, and per chunk of the response. */
const PAGE = 1_000;

/** The signer's fields. */
const SIGNER_FIELDS = ['email', 'firstName', 'lastName', 'zip', 'city', 'country'] as const;
type Signer = { [field in (typeof SIGNER_FIELDS)[number]]: string | null } & Pick<
  ContactRecord,
  'customFields'
>;
const NO_SIGNER = {
  ...Object.fromEntries(SIGNER_FIELDS.map((field) => [field, null])),
  customFields: {},
} as Signer;

const OF_SIGNATURE = Object.keys(signatureSchema.properties!) as (keyof SignatureRecord)[];

type Exported = SignatureRecord & Partial<Signer>;

@Operation({
  name: 'petition.export-signatures',
  summary: 'Export the signatures of a petition',
  description:
    'Streams all signatures, oldest first. NDJSON contains one per line, in the format of list-signatures. ' +
    'CSV contains the same fields as columns, with names in the first line and empty cells for unset ' +
    'fields. `contacts` adds the signer to each signature, except for erased contacts. A spreadsheet could ' +
    'run text written by signers as a formula; `safe` adds an apostrophe before it. A response without its ' +
    'last chunk (RFC 9112, section 8) is incomplete: request it again.',
  answers: {
    ...signatureSchema,
    properties: {
      ...signatureSchema.properties,
      ...Object.fromEntries(
        SIGNER_FIELDS.map((field) => [field, { ...textOrNull, description: 'Only with `contacts`.' }]),
      ),
      customFields: {
        type: 'object',
        additionalProperties: true,
        description:
          'Values of the signer by the keys of custom fields. Only with `contacts`. In CSV, each field has a column, such as `fields.shoeSize`.',
      },
    },
  },
  answerTypes: ['application/x-ndjson', 'text/csv'],
  fieldScopes: { contacts: 'contact:read' },
})
export class ExportSignatures extends CreationFilters {
  @Id()
  petitionId!: string;

  @OneOf(Object.keys(SIGNATURES), { optional: true, documentedDefault: 'CONFIRMED' })
  status?: SignatureRecord['status'];

  @Flag({ optional: true, description: 'Includes the contact behind each signature.' })
  contacts?: boolean;

  @OneOf(['ndjson', 'csv'], { default: 'ndjson' })
  format!: 'ndjson' | 'csv';

  @Flag({
    optional: true,
    description: 'CSV only: adds an apostrophe before `=`, `+`, `-`, `@`, a tab or a carriage return.',
  })
  safe?: boolean;
}

@QueryHandler(ExportSignatures)
export class ExportSignaturesHandler implements IQueryHandler<ExportSignatures> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly store: EventStore,
    private readonly contacts: ContactsByIds,
    private readonly fields: CustomFields,
  ) {}

  async execute(query: ExportSignatures): Promise<StreamedAnswer> {
    const { organizationId, petitionId, format } = query;
    await this.resources.require(petitions, organizationId, petitionId);
    const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
    return new StreamedAnswer(type, `signatures.${format}`, this.write(query));
  }

  private async *write(query: ExportSignatures): AsyncGenerator<string> {
    const {
      organizationId,
      petitionId,
      status = 'CONFIRMED',
      contacts = false,
      format,
      safe = false,
    } = query;
    const columns = [...OF_SIGNATURE, ...(contacts ? SIGNER_FIELDS : [])];
    const keys = contacts && format === 'csv' ? [...(await this.fields.keysOf(organizationId)).values()] : [];
    const write = (records: readonly Exported[]) =>
      format === 'csv'
        ? writeCsv(
            records.map((record) => [
              ...columns.map((column) => cellOf(record[column])),
              ...keys.map((key) => {
                const value = record.customFields?.[key];
                return Array.isArray(value) ? writeNames(value) : cellOf(value);
              }),
            ]),
            { isSafe: safe },
          )
        : writeNdjson(records);
    let after: RowPage<SignatureRow>['next'];
    do {
      const listing = { ...query, within: petitionId, limit: PAGE, sort: 'createdAt', after };
      const { rows, next } = await findRows<SignatureRow>(this.reads, listing, SIGNATURES[status], {
        kind: 'export',
      });
      const records = rows.map((row) => signatureRecord(row, status, this.store));
      // Written with the first page, so that an unreachable database is still reported as an error.
      const header =
        after === undefined && format === 'csv'
          ? writeCsv([[...columns, ...keys.map((key) => `fields.${key}`)]])
          : '';
      const text = header + write(contacts ? await this.withSigners(organizationId, records) : records);
      if (text !== '') yield text;
      after = next;
    } while (after !== undefined);
  }

  private async withSigners(
    organizationId: string,
    records: readonly SignatureRecord[],
  ): Promise<Exported[]> {
    const ids = records.flatMap(({ contactId }) => contactId ?? []);
    const contacts = await this.contacts.find(organizationId, ids);
    return records.map((record) => ({ ...record, ...signerOf(contacts.get(record.contactId ?? '')) }));
  }
}

function cellOf(value: CustomValue | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? value.join(' ') : String(value);
}

function signerOf(contact: ContactRecord | undefined): Signer {
  if (!contact) return NO_SIGNER;
  const { customFields } = contact;
  return {
    ...Object.fromEntries(SIGNER_FIELDS.map((field) => [field, contact[field]])),
    customFields,
  } as Signer;
}
