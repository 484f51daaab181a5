import { Injectable } from '@nestjs/common';
import { writeCsv, writeNdjson } from '#libs/records';
import { StreamedAnswer } from '#libs/rpc';
import { ContactsTable } from '../../contacts-table.js';
import { NDJSON } from '../imported-contacts.js';
import { type Outcome } from './attempt.js';
import { ImportJobs } from './import-jobs.js';

/** How problems are written. */
type Style = {
  /** The name of the column with the reason. */
  column: string;
  /** The reason, in a language. */
  reasonOf?: (message: string) => string;
  /** Converts the rows of a table to a file. */
  write?: (rows: readonly (readonly (string | null)[])[], isFirst: boolean) => string;
};

/** Rows that were not imported, to be corrected and imported again. */
@Injectable()
export class ImportProblems {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly contacts: ContactsTable,
  ) {}

  /** @throws RpcError NOT_FOUND if the import does not exist or has expired. */
  async file(
    organizationId: string,
    importId: string,
    { column, reasonOf = (message) => message, write = (rows) => writeCsv(rows) }: Style,
  ): Promise<StreamedAnswer> {
    const { plan, pages } = await this.jobs.outcomes(organizationId, importId);
    const failures = async function* (this: ImportProblems) {
      for await (const { rows } of pages) {
        const failed = rows.filter((row) => row.did === 'failed');
        if (failed.length > 0) yield await this.withoutErased(organizationId, failed);
      }
    }.bind(this);

    async function* lines(): AsyncGenerator<string> {
      for await (const failed of failures()) {
        yield writeNdjson(
          failed.map(({ source, message }) => ({ ...(source as object), [column]: reasonOf(message) })),
        );
      }
    }
    async function* table(): AsyncGenerator<string> {
      const { columns } = plan;
      yield write([[...columns, column]], true);
      for await (const failed of failures()) {
        const rows = failed.map(({ source, message }) => {
          const cells = Array.isArray(source) ? (source as string[]) : [];
          const padded = columns.map((_, n) => cells[n] ?? '');
          return [...padded, reasonOf(message), ...cells.slice(columns.length)];
        });
        if (rows.length > 0) yield write(rows, false);
      }
    }
    return plan.mediaType === NDJSON
      ? new StreamedAnswer(NDJSON, 'not-imported.ndjson', lines())
      : new StreamedAnswer('text/csv; charset=utf-8', 'not-imported.csv', table());
  }

  private async withoutErased(
    organizationId: string,
    failed: readonly (Outcome & { did: 'failed' })[],
  ): Promise<(Outcome & { did: 'failed' })[]> {
    const contactIds = failed.flatMap(({ contactId }) => contactId ?? []);
    const gone =
      contactIds.length === 0
        ? new Set<string>()
        : new Set(await this.contacts.findUnknown(organizationId, contactIds));
    return failed.filter(({ contactId }) => contactId === null || !gone.has(contactId));
  }
}
