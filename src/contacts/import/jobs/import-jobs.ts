import { Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { describeError, IncidentLog } from '#libs/database';
import { EventStore, openBytes, sealBytes } from '#libs/event-store';
import { type BackgroundWork } from '#libs/modules';
import { newId } from '#libs/random';
import {
  type ErrorCode,
  hasScope,
  invalid,
  noSuch,
  operationOf,
  OperationRunner,
  type RequestContext,
  RpcError,
  scopeOf,
} from '#libs/rpc';
import { Worker } from '#libs/work';
import { Team } from '../../../team/index.js';
import { type ImportAnswer, ImportContacts } from '../import-contacts.js';
import { piecesOf } from '../table.js';
import { decide, type Decisions, type ImportPlan, planFor, type UploadedTable } from './import-plan.js';

/** A row that was not imported, by its line in the file. Earlier versions stored no address. */
type FailedRow = { line: number; address?: string; message: string };
type FileResult = Omit<ImportAnswer, 'failed'> & { failed: FailedRow[] };
/** Limit of failed rows that are kept for correction: some 3 MB. More of them mean that the file itself is wrong. */
export const MOST_FAILED = 10_000;
const LONGEST_ADDRESS = 254;

/** Maximum bytes of a table, and bytes of each stored chunk. */
export const LARGEST_TABLE = 20 * 1_024 * 1_024;
const CHUNK = 512 * 1_024;
/** Failed rows in a result, which its page shows, and in each chunk of the others, which only the download contains. */
const [MOST_SHOWN, MOST_TOGETHER] = [100, 1_000];
/** Hours for which a table and, later, its result are kept. */
const KEPT_HOURS = 24;
/** Seconds after which another instance takes over an import whose instance has died. */
const LEASE_SECONDS = 30;
const MOST_LISTED = 50;
/** Limits: previews per user, and running imports per organization. */
const [MOST_KEPT, MOST_RUNNING] = [5, 20];
/** Delay before a retry after an internal error. */
const AGAIN_SECONDS = 30;
const LOOK_MS = 1_000;
const TIDY_MS = 10 * 60_000;

export type ContactImport = {
  id: string;
  status: 'KEPT' | 'RUNNING' | 'DONE' | 'FAILED';
  lines: number;
  linesDone: number;
  about: ImportPlan;
  /** `code` is the error code of the failure. Earlier versions stored none. */
  result: { answer: FileResult | null; failure: string | null; code?: ErrorCode | undefined } | null;
};

/** A started import, as its list shows it. */
type StartedImport = {
  id: string;
  status: Exclude<ContactImport['status'], 'KEPT'>;
  file: string;
  madeAt: Date;
};

/** The user who imports. */
type User = { organizationId: string; userId: string };

type Row = {
  id: string;
  organization_id: string;
  user_id: string;
  wrapped_key: Buffer;
  about: Buffer;
  status: ContactImport['status'];
  lines: number;
  lines_done: number;
  result: Buffer | null;
};

/** SQL for metrics: the number of running imports, and the seconds since any process worked on the oldest one. */
export const IMPORT_BACKLOG = `
  SELECT count(*) AS "importsRunning",
    coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(greatest(leased_until, made_at)))), 0) AS "importSeconds"
  FROM (SELECT leased_until, made_at FROM contact_imports WHERE status = 'RUNNING' ORDER BY leased_until LIMIT 10000) AS running`;

/**
 * Imports of uploaded tables in the background. A table is stored encrypted, and any instance imports it. If that instance dies,
 * another one starts the import again: rows that were already imported then count as `unchanged`.
 */
@Injectable()
export class ImportJobs implements BackgroundWork {
  private readonly logger = new Logger('imports');
  private readonly watch;
  private readonly worker: Worker;
  private tidyAt = 0;

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly team: Team,
    private readonly runner: OperationRunner,
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error) => {
      const message = 'processing dashboard imports failed: it will be retried';
      this.logger.warn({ message, reason: describeError(error) });
    }, incidents);
    this.watch = store.pulse.watch(`EXISTS (SELECT FROM contact_imports WHERE ${IS_FREE})`);
  }

  /**
   * Stores a table for its preview. Each user has at most `MOST_KEPT`: the oldest are deleted.
   *
   * @returns the import's id. @throws RpcError BAD_REQUEST if it is not a table, or too many imports of the organization are running.
   */
  async keep({ organizationId, userId }: User, table: UploadedTable): Promise<string> {
    const [plan, lines] = await planFor(table);
    const { bytes } = table;
    const id = newId();
    const { key, wrapped } = this.store.keyring.newSubjectKey(id);
    await this.source.transaction(async (transaction) => {
      const [{ count }] = await transaction.query<[{ count: number }]>(
        `WITH given_up AS (
           DELETE FROM contact_imports WHERE id IN (
             SELECT id FROM contact_imports WHERE organization_id = $1 AND user_id = $2 AND status = 'KEPT'
             ORDER BY made_at DESC OFFSET $3)
         )
         SELECT count(*)::int FROM contact_imports WHERE organization_id = $1 AND status = 'RUNNING'`,
        [organizationId, userId, MOST_KEPT - 1],
      );
      if (count >= MOST_RUNNING) throw invalid([{ path: 'file', message: 'has to wait for other imports' }]);
      await transaction.query(
        `INSERT INTO contact_imports (id, organization_id, user_id, wrapped_key, about, status, lines)
         VALUES ($1, $2, $3, $4, $5, 'KEPT', $6)`,
        [id, organizationId, userId, wrapped, sealJson(key, id, 'about', plan), lines],
      );
      for (let number = 0; number * CHUNK < bytes.length; number += 1) {
        const chunk = bytes.subarray(number * CHUNK, (number + 1) * CHUNK);
        await transaction.query(INSERT_PIECE, [id, number, sealBytes(key, chunk, `${id} ${number}`)]);
      }
    });
    return id;
  }

  /** @throws RpcError NOT_FOUND if it does not exist or has expired. */
  async find(organizationId: string, id: string): Promise<ContactImport> {
    const { row, key } = await this.opened(organizationId, id);
    return {
      id,
      status: row.status,
      lines: row.lines,
      linesDone: row.lines_done,
      about: openJson<ImportPlan>(key, id, 'about', row.about),
      result: row.result && openJson<NonNullable<ContactImport['result']>>(key, id, 'result', row.result),
    };
  }

  private async opened(organizationId: string, id: string): Promise<{ row: Row; key: Buffer }> {
    const [row] = await this.source.query<Row[]>(
      'SELECT * FROM contact_imports WHERE organization_id = $1 AND id = $2',
      [organizationId, id],
    );
    if (!row) throw noSuch('import');
    return { row, key: this.store.keyring.unwrap(row.wrapped_key, id) };
  }

  /**
   * The rows that were not imported, in file order, at most `MOST_FAILED`.
   *
   * @throws RpcError NOT_FOUND if there are none.
   */
  async findFailed(organizationId: string, id: string): Promise<{ about: ImportPlan; wrong: FailedRow[] }> {
    const { row, key } = await this.opened(organizationId, id);
    const { answer } = row.result
      ? openJson<NonNullable<ContactImport['result']>>(key, id, 'result', row.result)
      : { answer: null };
    if (!answer || answer.failed.length === 0) throw noSuch('import');
    const others = await this.piecesOf(id);
    const wrong = [
      ...answer.failed,
      ...others.flatMap(({ number, sealed }) => openJson<FailedRow[]>(key, id, `wrong ${number}`, sealed)),
    ];
    return { about: openJson<ImportPlan>(key, id, 'about', row.about), wrong };
  }

  /** The imports started within the last day, newest first. */
  async listStarted(organizationId: string): Promise<StartedImport[]> {
    const rows = await this.source.query<(Row & { status: StartedImport['status']; made_at: Date })[]>(
      `SELECT id, wrapped_key, about, status, made_at FROM contact_imports
       WHERE organization_id = $1 AND status <> 'KEPT' AND made_at > clock_timestamp() - make_interval(hours => $2)
       ORDER BY made_at DESC LIMIT $3`,
      [organizationId, KEPT_HOURS, MOST_LISTED],
    );
    return rows.map(({ id, wrapped_key: wrapped, about, status, made_at: madeAt }) => {
      const { file } = openJson<ImportPlan>(this.store.keyring.unwrap(wrapped, id), id, 'about', about);
      return { id, status, file, madeAt };
    });
  }

  /**
   * Starts the import. Idempotent.
   *
   * @throws RpcError NOT_FOUND if it does not exist or has expired; BAD_REQUEST as `decide` does.
   */
  async begin({ organizationId, userId }: User, id: string, decisions: Decisions): Promise<void> {
    const { row, key } = await this.opened(organizationId, id);
    const plan = decide(openJson<ImportPlan>(key, id, 'about', row.about), decisions);
    await this.source.query(
      `UPDATE contact_imports SET status = 'RUNNING', about = $3, user_id = $4, made_at = clock_timestamp()
       WHERE organization_id = $1 AND id = $2 AND status = 'KEPT'`,
      [organizationId, id, sealJson(key, id, 'about', plan), userId],
    );
    this.watch.wake();
  }

  start(): void {
    this.worker.start(
      () => this.turn(),
      async (hasFailed) => {
        if (hasFailed) await this.worker.pause(LOOK_MS);
        await this.watch.next(this.worker.signal, TIDY_MS);
      },
    );
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  private async turn(): Promise<void> {
    if (performance.now() >= this.tidyAt) {
      this.tidyAt = performance.now() + TIDY_MS;
      await this.source.query(
        `DELETE FROM contact_imports
         WHERE made_at < clock_timestamp() - make_interval(hours => $1) AND leased_until < clock_timestamp()`,
        [KEPT_HOURS],
      );
    }
    for (let row = await this.take(); row && !this.worker.signal.aborted; row = await this.take())
      await this.importOne(row);
  }

  /** Leases an import that no other instance works on. */
  private async take(): Promise<(Row & { lease: string }) | undefined> {
    const lease = randomUUID();
    const [[row]] = await this.source.query<[Row[], number]>(
      `UPDATE contact_imports SET lease = $1, leased_until = clock_timestamp() + make_interval(secs => $2), lines_done = 0
       WHERE id = (
         SELECT id FROM contact_imports WHERE ${IS_FREE}
         ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING *`,
      [lease, LEASE_SECONDS],
    );
    return row && { ...row, lease };
  }

  private async importOne({ lease, ...row }: Row & { lease: string }): Promise<void> {
    const { id, organization_id: organizationId, user_id: userId } = row;
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const about = openJson<ImportPlan>(key, id, 'about', row.about);
    let done = 0;
    let isLost = false;
    // The import stops if its user was removed or lost the permission.
    let isForbidden = false;
    const renew = async () => {
      const [, count] = await this.source.query<[unknown, number]>(
        `UPDATE contact_imports SET leased_until = clock_timestamp() + make_interval(secs => $3), lines_done = $4
         WHERE id = $1 AND lease = $2`,
        [id, lease, LEASE_SECONDS, done],
      );
      isLost ||= count === 0;
      isForbidden ||= !hasScope((await this.team.callerOf(organizationId, userId))?.scopes ?? [], SCOPE);
    };
    const timer = setInterval(() => void renew().catch(() => undefined), LOOK_MS);
    let answer: FileResult | null = null;
    let failure: RpcError | null = null;
    try {
      const isGivenUp = () => isLost || isForbidden || this.worker.signal.aborted;
      const failed: FailedRow[] = [];
      const imported = await this.import(row, about, isGivenUp, {
        bytes: piecesOf(await this.bytesOf(id, key)),
        onFailure: ({ address, ...failure }) => {
          if (failed.length < MOST_FAILED)
            failed.push({ ...failure, address: address.slice(0, LONGEST_ADDRESS) });
        },
        onProgress: ({ created, updated, unchanged, failedCount }) => {
          done = created + updated + unchanged + failedCount;
        },
      });
      answer = { ...imported, failed };
    } catch (error) {
      // Another instance continues, or this one once the database is available again.
      if (isLost || this.worker.signal.aborted) return await this.release(id, lease);
      if (isForbidden) failure = noSuch('member');
      else if (!(error instanceof RpcError) || error.status >= 500) {
        await this.release(id, lease, AGAIN_SECONDS);
        throw error;
      } else failure = error;
    } finally {
      clearInterval(timer);
    }
    const wrong = answer?.failed ?? [];
    const shown = answer && { ...answer, failed: wrong.slice(0, MOST_SHOWN) };
    await this.source.transaction(async (transaction) => {
      const [, count] = await transaction.query<[unknown, number]>(
        `UPDATE contact_imports SET status = $3, result = $4, lines_done = $5 WHERE id = $1 AND lease = $2`,
        [
          id,
          lease,
          failure === null ? 'DONE' : 'FAILED',
          sealJson(key, id, 'result', {
            answer: shown,
            failure: failure?.message ?? null,
            code: failure?.code,
          }),
          done,
        ],
      );
      if (count === 0) return;
      await transaction.query('DELETE FROM contact_import_chunks WHERE import_id = $1', [id]);
      // The other failed rows replace the table. An instance of the previous version shows only those of the result.
      for (let from = MOST_SHOWN, number = 0; from < wrong.length; from += MOST_TOGETHER, number += 1) {
        const piece = sealJson(key, id, `wrong ${number}`, wrong.slice(from, from + MOST_TOGETHER));
        await transaction.query(INSERT_PIECE, [id, number, piece]);
      }
    });
  }

  /**
   * Runs the operation with the current permissions of the user's role.
   *
   * @throws RpcError NOT_FOUND if the user is no longer a member; otherwise as the operation does.
   */
  private async import(
    { id, organization_id: organizationId, user_id: userId }: Row,
    { onConflict, agreed, listId, meanings, format }: ImportPlan,
    isGivenUp: () => boolean,
    input: Pick<ImportContacts, 'bytes' | 'onFailure' | 'onProgress'>,
  ): Promise<ImportAnswer> {
    const caller = await this.team.callerOf(organizationId, userId);
    if (!caller) throw noSuch('member');
    const context: RequestContext = {
      ...caller,
      requestId: id,
      isGivenUp,
      // A user who is removed while the import runs can no longer store anything.
      requireAccess: () => this.team.guardOfActor(context),
    };
    const fields = {
      onConflict,
      subscribed: String(agreed === true),
      ...(listId === null ? {} : { listId }),
    };
    const mediaType = 'text/csv';
    const body = {
      ...input,
      mediaType,
      contentType: mediaType,
      meanings,
      ...(format && { format }),
      // The list gets everyone, including contacts that are left unchanged.
      linksTaken: true,
    } satisfies Partial<ImportContacts>;
    return this.runner.run(ImportContacts, fields, context, body);
  }

  /** @param seconds after which an instance may lease it again. */
  private async release(id: string, lease: string, seconds = 0): Promise<void> {
    await this.source
      .query(
        `UPDATE contact_imports SET leased_until = clock_timestamp() + make_interval(secs => $3)
         WHERE id = $1 AND lease = $2`,
        [id, lease, seconds],
      )
      .catch(() => undefined);
  }

  private async bytesOf(id: string, key: Buffer): Promise<Buffer> {
    const rows = await this.piecesOf(id);
    return Buffer.concat(rows.map(({ number, sealed }) => openBytes(key, sealed, `${id} ${number}`)));
  }

  /** The chunks of the table or, once it is imported, of the failed rows beyond the result. */
  private piecesOf(id: string): Promise<{ number: number; sealed: Buffer }[]> {
    return this.source.query(
      'SELECT number, sealed FROM contact_import_chunks WHERE import_id = $1 ORDER BY number',
      [id],
    );
  }
}

const SCOPE = scopeOf(operationOf(ImportContacts)!);
const IS_FREE = `status = 'RUNNING' AND leased_until < clock_timestamp()`;
const INSERT_PIECE = 'INSERT INTO contact_import_chunks (import_id, number, sealed) VALUES ($1, $2, $3)';

function sealJson(key: Buffer, id: string, name: string, value: object): Buffer {
  return sealBytes(key, Buffer.from(JSON.stringify(value)), `${id} ${name}`);
}

function openJson<Value>(key: Buffer, id: string, name: string, sealed: Buffer): Value {
  return JSON.parse(openBytes(key, sealed, `${id} ${name}`).toString('utf8')) as Value;
}
