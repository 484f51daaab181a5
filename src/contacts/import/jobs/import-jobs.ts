import { Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { describeError, IncidentLog, ReadSource } from '#libs/database';
import { type Actor, EventStore } from '#libs/event-store';
import { type BackgroundWork } from '#libs/modules';
import { compare, findRows } from '#libs/projections';
import { newId } from '#libs/random';
import {
  invalid,
  listingOf,
  OperationRunner,
  type Page,
  pageOf,
  type RequestContext,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { Worker } from '#libs/work';
import { ImportContacts } from '../import-contacts.js';
import { ImportedSignatures } from '../imported-signatures.js';
import { FormatDetector, formatOf, headOf, lookAt } from '../table.js';
import { ContactUpdateRuns } from './contact-update-runs.js';
import { ImportAccess } from './import-access.js';
import { ImportFiles, type ImportKey, tooSlow } from './import-files.js';
import { CustomFields } from '../../../fields/index.js';
import {
  columnsOf,
  decide,
  type Decisions,
  type ImportChoices,
  type ImportPlan,
  planFor,
  scopesFor,
} from './import-plan.js';
import { Attempt, type OutcomePage } from './attempt.js';
import { LEASE_SECONDS } from './import-lease.js';
import { type StoredImport, type StoredStatus } from './import-record.js';
import {
  COLUMNS,
  findRow,
  findStarted,
  idsOf,
  type ImportRow,
  LIST,
  openImport,
  QUEUED,
  sealJson,
  UNFINISHED,
} from './import-table.js';
import { ImportUndos, IS_UNDO_FREE } from './import-undos.js';

/** Maximum bytes of a table that a user uploads, because a preview reads all of it. */
export const LARGEST_TABLE = 20 * 1_024 * 1_024;
/** Days for which the outcomes of an import are kept, and the file of one that never ends. */
const KEPT_DAYS = 7;
/** Hours for which a table waits for its user's decisions. */
const PREVIEW_HOURS = 24;
const MOST_LISTED = 50;
/** Limits: previews per user, and waiting and running imports per organization. */
const [MOST_KEPT, MOST_RUNNING] = [5, 20];
/** Imports that an instance runs at the same time, so that a short one does not wait for a long one. */
const AT_ONCE = 2;
const LOOK_MS = 1_000;
const TIDY_MS = 10 * 60_000;

type User = { organizationId: string; userId: string };

/** 0.7.0 would import the contacts without their signatures. */
function queuedStatus({ petitionId, changes }: ImportPlan): StoredStatus {
  return petitionId === undefined && changes === undefined ? 'QUEUED' : 'TO_SIGN';
}

/** SQL for metrics: the number of unfinished imports and undos, and the seconds since any process worked on the oldest one. */
export const IMPORT_BACKLOG = `
  SELECT count(*) AS "importsRunning",
    coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(greatest(lease_expires_at, made_at)))), 0) AS "importSeconds"
  FROM (
    (SELECT lease_expires_at, made_at FROM contact_imports
     WHERE status IN (${UNFINISHED}) ORDER BY lease_expires_at LIMIT 10000)
    UNION ALL
    (SELECT lease_expires_at, lease_expires_at FROM contact_imports
     WHERE undo_status IN ('QUEUED', 'RUNNING') ORDER BY lease_expires_at LIMIT 10000)
  ) AS running`;

/**
 * Imports in the background. A file is stored encrypted, and any instance imports it page by page. If that
 * instance dies, another one continues after the last finished page. It recognizes rows of the interrupted page
 * by the ids of their events, so each row is imported and counted once.
 */
@Injectable()
export class ImportJobs implements BackgroundWork {
  private readonly logger = new Logger('imports');
  private readonly watch;
  private readonly worker: Worker;
  private tidyAt = 0;

  constructor(
    private readonly source: DataSource,
    private readonly reads: ReadSource,
    private readonly store: EventStore,
    private readonly files: ImportFiles,
    private readonly access: ImportAccess,
    private readonly runner: OperationRunner,
    private readonly fields: CustomFields,
    private readonly signatures: ImportedSignatures,
    private readonly updates: ContactUpdateRuns,
    private readonly undos: ImportUndos,
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error) => {
      const message = 'processing imports failed: it will be retried';
      this.logger.warn({ message, reason: describeError(error) });
    }, incidents);
    this.watch = store.pulse.watch(
      `EXISTS (SELECT FROM contact_imports WHERE ${IS_FREE}) OR EXISTS (SELECT FROM contact_imports WHERE ${IS_UNDO_FREE})`,
    );
  }

  /**
   * Stores a file. Without `queue` or `keep`, it is deleted some time later.
   *
   * @param see called with each chunk; may throw.
   * @throws RpcError RATE_LIMIT_EXCEEDED if too many imports of the organization have not ended, and the errors of
   *   the bytes and of `see`. Then nothing is stored.
   */
  async upload<Plan>(
    { organizationId, actor }: { organizationId: string; actor: Actor },
    bytes: AsyncIterable<Uint8Array>,
    see: (chunk: Uint8Array) => Promise<void> | void,
    finish: (stored: ImportKey, size: number) => Promise<Plan>,
  ): Promise<Plan> {
    const id = newId();
    const { key, wrapped } = this.store.keyring.newSubjectKey(id);
    const made = await this.source.query<unknown[]>(
      `INSERT INTO contact_imports (id, organization_id, user_id, api_key_id, wrapped_key, about, status, lines,
         kept_until, leased_until, lease_expires_at)
       SELECT $1, $2, $3, $4, $5, '', 'UPLOADING', 0, until, until, clock_timestamp() + interval '10 minutes'
       FROM (SELECT clock_timestamp() + make_interval(days => ${KEPT_DAYS}) AS until) AS kept
       WHERE (SELECT count(*) FROM contact_imports
              WHERE organization_id = $2 AND status IN (${UNFINISHED})) < ${MOST_RUNNING}
       RETURNING id`,
      [id, organizationId, ...idsOf(actor), wrapped],
    );
    if (made.length === 0) throw tooMany();
    const stored = { organizationId, id, key };
    try {
      return await finish(stored, await this.files.write(stored, bytes, see));
    } catch (error) {
      await this.source
        .query('DELETE FROM contact_imports WHERE organization_id = $1 AND id = $2', [organizationId, id])
        .catch(() => undefined);
      throw error;
    }
  }

  /** Starts the import of an uploaded file. */
  async queue({ organizationId, id, key }: ImportKey, plan: ImportPlan, bytes: number): Promise<void> {
    const [, count] = await this.source.query<[unknown, number]>(
      `UPDATE contact_imports SET status = $5, about = $3, bytes = $4, lease_expires_at = '-infinity'
       WHERE organization_id = $1 AND id = $2 AND status = 'UPLOADING'`,
      [organizationId, id, sealJson(key, id, 'about', plan), bytes, queuedStatus(plan)],
    );
    if (count === 0) throw tooSlow();
    this.watch.wake();
  }

  /**
   * Stores a table for its preview. Each user has at most `MOST_KEPT`: the oldest are deleted.
   *
   * @returns the import's id. @throws RpcError BAD_REQUEST if it is not a table, or too many imports of the organization are running.
   */
  async keep(
    { organizationId, userId }: User,
    chosen: ImportChoices,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<string> {
    if (chosen.petitionId !== undefined) await this.signatures.require(organizationId, chosen.petitionId);
    const actor = { type: 'user', id: userId } as const;
    const detector = new FormatDetector();
    const see = (chunk: Uint8Array) => detector.see(chunk);
    const stored = this.upload({ organizationId, actor }, bytes, see, async (kept, size) => {
      const { id, key } = kept;
      const fields = await this.fields.definitions(organizationId);
      const look = await lookAt(this.files.read(kept, true), detector.format());
      const about = sealJson(key, id, 'about', planFor(look, chosen, fields));
      await this.source.query(
        `WITH given_up AS (
           DELETE FROM contact_imports WHERE id IN (
             SELECT id FROM contact_imports WHERE organization_id = $2 AND user_id = $3 AND status = 'KEPT'
             ORDER BY made_at DESC OFFSET ${MOST_KEPT - 1})
         )
         UPDATE contact_imports SET status = 'KEPT', about = $4, bytes = $5, lines = $6, lease_expires_at = '-infinity'
         WHERE id = $1 AND organization_id = $2`,
        [id, organizationId, userId, about, size, look.lines],
      );
      return id;
    });
    return stored.catch((error: unknown) => {
      const isTooMany = error instanceof RpcError && error.code === 'RATE_LIMIT_EXCEEDED';
      throw isTooMany ? invalid([{ path: 'file', message: 'has to wait for other imports' }]) : error;
    });
  }

  /**
   * Reads the table of a preview in another character set. Nothing changes if its import was started.
   *
   * @throws RpcError NOT_FOUND if it does not exist or has expired; BAD_REQUEST if it is no table in this character set.
   */
  async readAs(organizationId: string, id: string, charset: string): Promise<void> {
    const row = await findRow(this.source, organizationId, id);
    if (row.status !== 'KEPT') return;
    const stored = { organizationId, id, key: this.store.keyring.unwrap(row.wrapped_key, id) };
    const { file, onConflict, listId, petitionId } = this.open(row).plan;
    const { head, all } = await headOf(this.files.read(stored, true));
    const look = await lookAt(all, formatOf(head, { charset }));
    const fields = await this.fields.definitions(organizationId);
    const plan = planFor(look, { file, onConflict, listId, petitionId }, fields);
    await this.source.query(
      `UPDATE contact_imports SET about = $3, lines = $4 WHERE organization_id = $1 AND id = $2 AND status = 'KEPT'`,
      [organizationId, id, sealJson(stored.key, id, 'about', plan), look.lines],
    );
  }

  /** @throws RpcError NOT_FOUND if it does not exist, is not stored yet or has expired. */
  async find(organizationId: string, id: string): Promise<StoredImport> {
    return this.open(await findRow(this.source, organizationId, id));
  }

  private open(row: ImportRow): StoredImport {
    return openImport(this.store.keyring, row);
  }

  /** The imports that were started. */
  async list(
    query: Parameters<typeof listingOf>[0] & Parameters<typeof findRows>[1],
  ): Promise<Page<StoredImport>> {
    const conditions = [compare('status <> ALL (?::text[])', ['UPLOADING', 'KEPT'])];
    const { rows, next } = await findRows<ImportRow>(this.reads, listingOf(query), LIST, { conditions });
    return pageOf(
      query,
      rows.map((row) => this.open(row)),
      next,
    );
  }

  /** The newest imports that were started, for the dashboard. */
  async listStarted(organizationId: string): Promise<StoredImport[]> {
    const rows = await this.source.query<ImportRow[]>(
      `SELECT ${COLUMNS} FROM contact_imports
       WHERE organization_id = $1 AND status NOT IN ('KEPT', 'UPLOADING')
         AND made_at > clock_timestamp() - make_interval(days => ${KEPT_DAYS})
       ORDER BY created_at DESC, id DESC LIMIT ${MOST_LISTED}`,
      [organizationId],
    );
    return rows.map((row) => this.open(row));
  }

  /**
   * The outcomes of all processed rows, page by page.
   *
   * @throws RpcError NOT_FOUND if the import does not exist.
   */
  async outcomes(
    organizationId: string,
    id: string,
  ): Promise<{ plan: ImportPlan; pages: AsyncIterable<OutcomePage> }> {
    const row = await findStarted(this.source, organizationId, id);
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const { plan } = this.open(row);
    return { plan, pages: this.files.pages<OutcomePage>({ organizationId, id, key }) };
  }

  /**
   * Starts the import of a kept table. Idempotent.
   *
   * @throws RpcError NOT_FOUND if it does not exist or has expired; BAD_REQUEST as `decide` does;
   *   INSUFFICIENT_PERMISSIONS if the columns need more than the user may do.
   */
  async begin({ organizationId, userId }: User, id: string, decisions: Decisions): Promise<void> {
    const row = await findRow(this.source, organizationId, id);
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const plan = decide(this.open(row).plan, decisions);
    const own = await this.access.scopesOf(organizationId, { type: 'user', id: userId });
    plan.scopes = scopesFor(plan, own);
    for (const scope of plan.scopes) requireScope(own, scope);
    await this.source.query(
      `UPDATE contact_imports SET status = $5, about = $3, user_id = $4, made_at = clock_timestamp(),
         created_at = clock_timestamp(), kept_until = until, leased_until = until
       FROM (SELECT clock_timestamp() + make_interval(days => ${KEPT_DAYS}) AS until) AS kept
       WHERE organization_id = $1 AND id = $2 AND status = 'KEPT'`,
      [organizationId, id, sealJson(key, id, 'about', plan), userId, queuedStatus(plan)],
    );
    this.watch.wake();
  }

  /**
   * Cancels the import. An instance that is working on it finishes the rows in progress first. Idempotent.
   *
   * @throws RpcError NOT_FOUND if it does not exist or has expired.
   */
  async cancel(organizationId: string, id: string): Promise<void> {
    await findStarted(this.source, organizationId, id);
    const [[row]] = await this.source.query<[{ status: StoredStatus }[], number]>(
      `UPDATE contact_imports SET is_cancelled = true,
         status = CASE WHEN status IN (${QUEUED}) THEN 'CANCELLED' ELSE status END,
         finished_at = CASE WHEN status IN (${QUEUED}) THEN clock_timestamp() END
       WHERE organization_id = $1 AND id = $2 AND status IN (${UNFINISHED}) RETURNING status`,
      [organizationId, id],
    );
    if (row?.status === 'CANCELLED')
      await this.source.query('DELETE FROM contact_import_chunks WHERE import_id = $1', [id]);
  }

  /** See `ImportUndos.request`. */
  async undo(organizationId: string, id: string, actor: Actor): Promise<void> {
    await this.undos.request(organizationId, id, actor);
    this.watch.wake();
  }

  start(): void {
    for (let n = 1; n <= AT_ONCE; n += 1) {
      this.worker.start(
        () => this.turn(),
        async (hasFailed) => {
          if (hasFailed) await this.worker.pause(LOOK_MS);
          await this.watch.next(this.worker.signal, TIDY_MS);
        },
        `import ${n}`,
      );
    }
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  private async turn(): Promise<void> {
    if (performance.now() >= this.tidyAt) {
      this.tidyAt = performance.now() + TIDY_MS;
      await this.source.query(
        `DELETE FROM contact_imports
         WHERE lease_expires_at < clock_timestamp() AND (
           kept_until < clock_timestamp() OR status = 'UPLOADING'
           OR (kept_until IS NULL OR status = 'KEPT')
             AND made_at < clock_timestamp() - make_interval(hours => ${PREVIEW_HOURS})
             AND (kept_until IS NOT NULL OR leased_until < clock_timestamp()))`,
      );
    }
    const { signal } = this.worker;
    while (!signal.aborted && [await this.importNext(), await this.undos.runNext(signal)].includes(true));
  }

  /** @returns false if no import waits. */
  private async importNext(): Promise<boolean> {
    const row = await this.take();
    if (row && !this.worker.signal.aborted) await this.importOne(row);
    return row !== undefined;
  }

  /** Leases an import that no other instance works on. Instances of the version before leave it alone from then on. */
  private async take(): Promise<(ImportRow & { lease: string }) | undefined> {
    const lease = randomUUID();
    const [[row]] = await this.source.query<[ImportRow[], number]>(
      `UPDATE contact_imports SET lease = $1, attempts = attempts + 1,
         status = CASE status WHEN 'WAITING' THEN 'WORKING' WHEN 'TO_SIGN' THEN 'SIGNING' WHEN 'QUEUED' THEN 'RUNNING'
           ELSE status END,
         lease_expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
         started_at = coalesce(started_at, clock_timestamp()),
         lines_done = CASE WHEN kept_until IS NULL THEN 0 ELSE lines_done END,
         kept_until = coalesce(kept_until, until), leased_until = coalesce(kept_until, until)
       FROM (SELECT clock_timestamp() + make_interval(days => ${KEPT_DAYS}) AS until) AS kept
       WHERE id = (
         SELECT id FROM contact_imports WHERE ${IS_FREE}
         ORDER BY lease_expires_at, created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING ${COLUMNS}`,
      [lease],
    );
    return row && { ...row, lease };
  }

  private async importOne({ lease, ...row }: ImportRow & { lease: string }): Promise<void> {
    const { id } = row;
    let opened: StoredImport;
    try {
      opened = this.open(row);
    } catch (error) {
      // Its key was wrapped with a master key that no longer exists.
      this.logger.warn({ message: 'an import cannot be decrypted and fails', reason: describeError(error) });
      await this.source.query(`UPDATE contact_imports SET status = 'FAILED' WHERE id = $1 AND lease = $2`, [
        id,
        lease,
      ]);
      return;
    }
    const { organizationId } = opened;
    const stored = { organizationId, id, key: this.store.keyring.unwrap(row.wrapped_key, id) };
    const run = new Attempt(this.source, this.files, stored, { ...row, lease }, opened.result?.answer);
    const ended = await run.renewDuring(() => this.import(opened, stored, run), this.worker.signal);
    if (ended) await run.end(ended.failure);
  }

  /**
   * Runs the operation with the current permissions of the caller who started the import.
   *
   * @throws Cancelled; RpcError NOT_FOUND if the user is no longer a member; otherwise as the operation does.
   */
  private async import(
    { organizationId, actor, plan }: StoredImport,
    stored: ImportKey,
    run: Attempt,
  ): Promise<void> {
    const { agreed, listId, petitionId, mediaType = 'text/csv' } = plan;
    const own = await this.access.scopesOf(organizationId, actor);
    const scopes = plan.scopes ?? own;
    for (const scope of scopes) requireScope(own, scope);
    const context: RequestContext = {
      organizationId,
      actor,
      scopes,
      requestId: stored.id,
      isGivenUp: () => run.isGivenUp || this.worker.signal.aborted,
    };
    // A caller who loses access while the import runs can no longer store anything.
    context.requireAccess = this.access.guardOf(context, (error) => run.endWith(error));
    const check = setInterval(() => void context.requireAccess!().catch(() => undefined), LOOK_MS);
    if (plan.changes) {
      const ids = this.files.read(stored, true);
      const updating = this.updates.run(plan.changes, ids, context, run.forOperation(false));
      return await updating.finally(() => clearInterval(check));
    }
    const fields = {
      onConflict: plan.onConflict === 'update' ? 'update' : 'fail',
      ...(agreed !== undefined && { subscribed: String(agreed) }),
      ...(listId !== null && { listId }),
    };
    const columns = columnsOf(plan);
    const body = {
      bytes: this.files.read(stored, plan.isCompressed === true),
      mediaType,
      contentType: mediaType,
      ...(columns && { columns }),
      // The list gets everyone, including contacts that are left unchanged.
      linksTaken: true,
      run: run.forOperation(plan.isDryRun === true),
      ...(petitionId !== undefined && {
        signing: {
          petitionId,
          keepsDetails: plan.onConflict === 'keep',
          signatureIdOf: (line: number) => run.idOf('signature', line),
        },
      }),
    } satisfies Partial<ImportContacts>;
    try {
      await this.runner.run(ImportContacts, fields, context, body);
    } finally {
      clearInterval(check);
    }
  }
}

function tooMany(): RpcError {
  return new RpcError(
    'RATE_LIMIT_EXCEEDED',
    `Your organization has ${MOST_RUNNING} imports waiting or running, which is the limit. Try again when one has finished.`,
    { reason: 'STREAM_LIMIT', headers: { 'Retry-After': '5' } },
  );
}

const IS_FREE = `status IN (${UNFINISHED}) AND lease_expires_at < clock_timestamp()
  AND (kept_until IS NOT NULL OR leased_until < clock_timestamp())`;
