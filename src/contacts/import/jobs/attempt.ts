import { createHmac } from 'node:crypto';
import { type DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { RpcError } from '#libs/rpc';
import { type FinishedPage, type FinishedRow, type ImportRun } from '../import-contacts.js';
import { type LineSource } from '../imported-contacts.js';
import { type ImportFiles, type ImportKey } from './import-files.js';
import { ImportLease, LeaseLost, RENEWED } from './import-lease.js';
import { type ImportCounts, type ImportResult } from './import-record.js';
import { type ImportRow, sealJson } from './import-table.js';

const LONGEST_ADDRESS = 254;
/** Failed rows in a result. The pages of outcomes contain all of them. */
const MOST_SHOWN = 100;

/** Outcomes of the rows of a page, as they are stored. */
export type OutcomePage = { rows: Outcome[] };
export type Outcome = { line: number; contactId: string | null } & (
  | { did: 'created' | 'updated' | 'unchanged' }
  | { did: 'failed'; message: string; source?: LineSource }
);

/** One attempt to run an import, from its lease until it ends or is interrupted. */
export class Attempt extends ImportLease {
  private pages: number;
  private linesDone: number;
  private bytesDone: number;
  private readonly counts: ImportCounts;

  constructor(
    source: DataSource,
    private readonly files: ImportFiles,
    private readonly stored: ImportKey,
    private readonly row: ImportRow & { lease: string },
    before: ImportCounts | null | undefined,
  ) {
    super(source, stored.id, row.lease, 'import');
    this.pages = row.pages;
    this.linesDone = row.lines_done;
    this.bytesDone = Number(row.bytes_done);
    const none = { created: 0, updated: 0, unchanged: 0, failed: [], failedCount: 0 };
    this.counts = before && row.pages > 0 ? before : none;
  }

  forOperation(isDry: boolean): ImportRun {
    return {
      after: this.row.last_line,
      isRepeated: this.row.attempts > 1 && !isDry,
      isDry,
      eventIdOf: (line) => this.idOf('event', line),
      finish: (page) => this.finish(page),
      ending: () => this.ending,
    };
  }

  /** The id of what a line stores. It is the same in each attempt. Signatures are listed in the order of their lines. */
  idOf(kind: 'event' | 'signature', line: number): string {
    const { id, key } = this.stored;
    const random = createHmac('sha256', key).update(`${kind} of line ${line}`).digest();
    return uuidv7({
      random: random.subarray(0, 16),
      msecs: Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16),
      seq: kind === 'signature' ? line & 0x7fffffff : random.readUInt32BE(16) & 0x7fffffff,
    });
  }

  /** Records a page: its rows, the counts and the place to continue from, all or nothing. */
  private async finish({ lastLine, bytes, rows }: FinishedPage): Promise<void> {
    const { id, key } = this.stored;
    const { counts } = this;
    for (const row of rows) {
      if ('did' in row) {
        counts[row.did] += 1;
        if (row.hasSigned) counts.signed = (counts.signed ?? 0) + 1;
      } else {
        counts.failedCount += 1;
        const { line, address, problem } = row;
        if (counts.failed.length < MOST_SHOWN)
          counts.failed.push({ line, address: address.slice(0, LONGEST_ADDRESS), message: problem });
      }
    }
    this.linesDone += rows.length;
    this.bytesDone += bytes;
    const page = await this.files.sealPage(this.stored, this.pages, { rows: rows.map(outcomeOf) });
    const result: ImportResult = { answer: counts, failure: null };
    await this.update(
      `lines_done = $3, bytes_done = $4, last_line = $5, result = $6, pages = pages + 1, ${RENEWED}`,
      [this.linesDone, this.bytesDone, lastLine, sealJson(key, id, 'result', result), this.pages, page],
      `, page AS (
         INSERT INTO contact_import_pages (import_id, number, sealed) SELECT id, $7, $8 FROM updated)`,
    );
    this.pages += 1;
    if (this.isLost) throw new LeaseLost();
  }

  /** @param failure undefined if all rows were processed. */
  async end(failure: Error | undefined): Promise<void> {
    const { id, key } = this.stored;
    const error = failure instanceof RpcError ? failure : undefined;
    const hasEnded = failure === undefined ? 'DONE' : error ? 'FAILED' : 'CANCELLED';
    const isEmpty = this.pages === 0 && failure !== undefined;
    const result: ImportResult = {
      answer: isEmpty ? null : this.counts,
      failure: error?.message ?? null,
      ...(error && { code: error.code }),
    };
    await this.update(
      `status = $3, result = $4, lines_done = $5, finished_at = clock_timestamp(), lease_expires_at = '-infinity'`,
      [hasEnded, sealJson(key, id, 'result', result), this.linesDone],
      `, chunks AS (DELETE FROM contact_import_chunks WHERE import_id IN (SELECT id FROM updated))`,
    );
  }
}

function outcomeOf(row: FinishedRow): Outcome {
  if ('did' in row) return row;
  const { line, contactId, problem, source } = row;
  return { line, contactId, did: 'failed', message: problem, ...(source && { source }) };
}
