import { Injectable, Logger } from '@nestjs/common';
import { createHmac, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { DataSource } from 'typeorm';
import { describeError, IncidentLog, ReadSource } from '#libs/database';
import { type Actor, EventStore, openBytes, sealBytes } from '#libs/event-store';
import { type BackgroundWork } from '#libs/modules';
import { compare, findRows, type ListedTable } from '#libs/projections';
import { newId } from '#libs/random';
import {
  invalid,
  isId,
  listingOf,
  noSuch,
  OperationRunner,
  type Page,
  pageOf,
  type RequestContext,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { Worker } from '#libs/work';
import { type FinishedPage, type FinishedRow, ImportContacts, type ImportRun } from '../import-contacts.js';
import { type LineSource } from '../imported-contacts.js';
import { ImportedSignatures } from '../imported-signatures.js';
import { FormatDetector, lookAt } from '../table.js';
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
import {
  type ImportCounts,
  type ImportResult,
  type StoredImport,
  type StoredStatus,
} from './import-record.js';

const LONGEST_ADDRESS = 254;

/** Maximum bytes of a table that a user uploads, because a preview reads all of it. */
export const LARGEST_TABLE = 20 * 1_024 * 1_024;
/** Failed rows in a result. The pages of outcomes contain all of them. */
const MOST_SHOWN = 100;
/** Days for which the outcomes of an import are kept, and the file of one that never ends. */
const KEPT_DAYS = 7;
/** Hours for which a table waits for its user's decisions. */
const PREVIEW_HOURS = 24;
/** Seconds after which another instance takes over an import whose instance has died. */
const LEASE_SECONDS = 30;
const MOST_LISTED = 50;
/** Limits: previews per user, and waiting and running imports per organization. */
const [MOST_KEPT, MOST_RUNNING] = [5, 20];
/** Imports that an instance runs at the same time, so that a short one does not wait for a long one. */
const AT_ONCE = 2;
/** Delay before a retry after an internal error. */
const AGAIN_SECONDS = 30;
const LOOK_MS = 1_000;
const TIDY_MS = 10 * 60_000;

/** The user who imports. */
type User = { organizationId: string; userId: string };

/** Outcomes of the rows of a page, as they are stored. */
export type OutcomePage = { rows: Outcome[] };
export type Outcome = { line: number; contactId: string | null } & (
  | { did: 'created' | 'updated' | 'unchanged' }
  | { did: 'failed'; message: string; source?: LineSource }
);

type Row = {
  id: string;
  organization_id: string;
  user_id: string | null;
  api_key_id: string | null;
  wrapped_key: Buffer;
  about: Buffer;
  status: StoredStatus;
  lines: number;
  lines_done: number;
  bytes: string;
  bytes_done: string;
  last_line: number;
  pages: number;
  attempts: number;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  seconds: number | null;
  result: Buffer | null;
};
const COLUMNS = `id, organization_id, user_id, api_key_id, wrapped_key, about, status, lines, lines_done, bytes,
  bytes_done, last_line, pages, attempts, created_at, started_at, finished_at, result,
  extract(epoch FROM coalesce(finished_at, clock_timestamp()) - started_at)::float8 AS seconds`;

const LIST: ListedTable = {
  table: 'contact_imports',
  columns: COLUMNS,
  bytes: 'octet_length(about) + coalesce(octet_length(result), 0)',
};

/** SQL: the statuses of imports that wait, of those that run, and of both. */
const QUEUED = `'QUEUED', 'WAITING', 'TO_SIGN'`;
const RUNNING = `'RUNNING', 'WORKING', 'SIGNING'`;
const UNFINISHED = `${QUEUED}, ${RUNNING}`;
const SHOWN: { [stored in StoredStatus]?: StoredStatus } = {
  WAITING: 'QUEUED',
  WORKING: 'RUNNING',
  TO_SIGN: 'QUEUED',
  SIGNING: 'RUNNING',
};

/** 0.7.0 would import the contacts without their signatures. */
function queuedStatus({ petitionId, changes }: ImportPlan): StoredStatus {
  return petitionId === undefined && changes === undefined ? 'QUEUED' : 'TO_SIGN';
}

/** SQL for metrics: the number of unfinished imports, and the seconds since any process worked on the oldest one. */
export const IMPORT_BACKLOG = `
  SELECT count(*) AS "importsRunning",
    coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(greatest(lease_expires_at, made_at)))), 0) AS "importSeconds"
  FROM (SELECT lease_expires_at, made_at FROM contact_imports
        WHERE status IN (${UNFINISHED}) ORDER BY lease_expires_at LIMIT 10000) AS running`;

/** The reason why a cancelled import ends. */
class Cancelled extends Error {}

/** Another instance continues the import. */
class LeaseLost extends Error {}

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
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error) => {
      const message = 'processing imports failed: it will be retried';
      this.logger.warn({ message, reason: describeError(error) });
    }, incidents);
    this.watch = store.pulse.watch(`EXISTS (SELECT FROM contact_imports WHERE ${IS_FREE})`);
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
      [
        id,
        organizationId,
        actor.type === 'user' ? actor.id : null,
        actor.type === 'user' ? null : actor.id,
        wrapped,
      ],
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

  /** @throws RpcError NOT_FOUND if it does not exist, is not stored yet or has expired. */
  async find(organizationId: string, id: string): Promise<StoredImport> {
    return this.openedOf(await this.row(organizationId, id));
  }

  private async row(organizationId: string, id: string): Promise<Row> {
    const [row] = isId(id)
      ? await this.source.query<Row[]>(
          `SELECT ${COLUMNS} FROM contact_imports WHERE organization_id = $1 AND id = $2 AND status <> 'UPLOADING'`,
          [organizationId, id],
        )
      : [];
    if (!row) throw noSuch('import');
    return row;
  }

  private openedOf(row: Row): StoredImport {
    const { id } = row;
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const actor: Actor =
      row.user_id === null ? { type: 'api-key', id: row.api_key_id } : { type: 'user', id: row.user_id };
    return {
      id,
      organizationId: row.organization_id,
      actor,
      status: SHOWN[row.status] ?? row.status,
      createdAt: row.created_at,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      lines: row.lines,
      linesDone: row.lines_done,
      bytes: Number(row.bytes),
      bytesDone: Number(row.bytes_done),
      seconds: row.seconds,
      plan: openJson<ImportPlan>(key, id, 'about', row.about),
      result: row.result && openJson<ImportResult>(key, id, 'result', row.result),
    };
  }

  /** The imports that were started. */
  async list(
    query: Parameters<typeof listingOf>[0] & Parameters<typeof findRows>[1],
  ): Promise<Page<StoredImport>> {
    const conditions = [compare('status <> ALL (?::text[])', ['UPLOADING', 'KEPT'])];
    const { rows, next } = await findRows<Row>(this.reads, listingOf(query), LIST, { conditions });
    return pageOf(
      query,
      rows.map((row) => this.openedOf(row)),
      next,
    );
  }

  /** The newest imports that were started, for the dashboard. */
  async listStarted(organizationId: string): Promise<StoredImport[]> {
    const rows = await this.source.query<Row[]>(
      `SELECT ${COLUMNS} FROM contact_imports
       WHERE organization_id = $1 AND status NOT IN ('KEPT', 'UPLOADING')
         AND made_at > clock_timestamp() - make_interval(days => ${KEPT_DAYS})
       ORDER BY created_at DESC, id DESC LIMIT ${MOST_LISTED}`,
      [organizationId],
    );
    return rows.map((row) => this.openedOf(row));
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
    const row = await this.row(organizationId, id);
    if (row.status === 'KEPT') throw noSuch('import');
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const { plan } = this.openedOf(row);
    return { plan, pages: this.files.pages<OutcomePage>({ organizationId, id, key }) };
  }

  /**
   * Starts the import of a kept table. Idempotent.
   *
   * @throws RpcError NOT_FOUND if it does not exist or has expired; BAD_REQUEST as `decide` does;
   *   INSUFFICIENT_PERMISSIONS if the columns need more than the user may do.
   */
  async begin({ organizationId, userId }: User, id: string, decisions: Decisions): Promise<void> {
    const row = await this.row(organizationId, id);
    const key = this.store.keyring.unwrap(row.wrapped_key, id);
    const plan = decide(this.openedOf(row).plan, decisions);
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
    const { status } = await this.row(organizationId, id);
    if (status === 'KEPT') throw noSuch('import');
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
    for (let row = await this.take(); row && !this.worker.signal.aborted; row = await this.take())
      await this.importOne(row);
  }

  /** Leases an import that no other instance works on. Instances of the version before leave it alone from then on. */
  private async take(): Promise<(Row & { lease: string }) | undefined> {
    const lease = randomUUID();
    const [[row]] = await this.source.query<[Row[], number]>(
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

  private async importOne({ lease, ...row }: Row & { lease: string }): Promise<void> {
    const { id } = row;
    let opened: StoredImport;
    try {
      opened = this.openedOf(row);
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
    const timer = setInterval(() => void run.renew().catch(() => undefined), LOOK_MS);
    let failure: Error | undefined;
    try {
      await run.renew();
      await this.import(opened, stored, run);
    } catch (error) {
      // Another instance continues, or this one once the database is available again.
      if (run.isLost || this.worker.signal.aborted) return await this.release(id, lease);
      const isFinal = error instanceof Cancelled || (error instanceof RpcError && error.status < 500);
      if (!isFinal) {
        await this.release(id, lease, AGAIN_SECONDS);
        throw error;
      }
      failure = error;
    } finally {
      clearInterval(timer);
    }
    await run.end(failure);
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

  /** @param seconds after which an instance may lease it again. */
  private async release(id: string, lease: string, seconds = 0): Promise<void> {
    await this.source
      .query(
        `UPDATE contact_imports SET lease_expires_at = clock_timestamp() + make_interval(secs => $3)
         WHERE id = $1 AND lease = $2`,
        [id, lease, seconds],
      )
      .catch(() => undefined);
  }
}

/** One attempt to run an import, from its lease until it ends or is interrupted. */
class Attempt {
  /** Whether another instance has the lease. */
  isLost = false;
  private ending: Error | undefined;
  private leaseEnds = Infinity;
  private pages: number;
  private linesDone: number;
  private bytesDone: number;
  private readonly counts: ImportCounts;

  constructor(
    private readonly source: DataSource,
    private readonly files: ImportFiles,
    private readonly stored: ImportKey,
    private readonly row: Row & { lease: string },
    before: ImportCounts | null | undefined,
  ) {
    this.pages = row.pages;
    this.linesDone = row.lines_done;
    this.bytesDone = Number(row.bytes_done);
    const none = { created: 0, updated: 0, unchanged: 0, failed: [], failedCount: 0 };
    this.counts = before && row.pages > 0 ? before : none;
  }

  /** Whether nothing more may be stored. A process that was suspended finds its lease expired. */
  get isGivenUp(): boolean {
    return this.isLost || this.ending !== undefined || performance.now() > this.leaseEnds;
  }

  endWith(reason: Error): void {
    this.ending ??= reason;
  }

  async renew(): Promise<void> {
    const asked = performance.now();
    const [rows] = await this.source.query<[{ is_cancelled: boolean }[], number]>(
      `UPDATE contact_imports SET lease_expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
       WHERE id = $1 AND lease = $2 AND status IN (${RUNNING}) RETURNING is_cancelled`,
      [this.stored.id, this.row.lease],
    );
    this.noteLease(asked, rows[0]);
  }

  private noteLease(asked: number, found: { is_cancelled: boolean } | undefined): void {
    if (!found) this.isLost = true;
    else this.leaseEnds = asked + LEASE_SECONDS * 1_000;
    if (found?.is_cancelled) this.endWith(new Cancelled());
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
    const asked = performance.now();
    const [found] = await this.source.query<{ is_cancelled: boolean }[]>(
      `WITH finished AS (
         UPDATE contact_imports SET lines_done = $3, bytes_done = $4, last_line = $5, result = $6, pages = pages + 1,
           lease_expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
         WHERE id = $1 AND lease = $2 AND status IN (${RUNNING}) RETURNING id, is_cancelled),
       page AS (
         INSERT INTO contact_import_pages (import_id, number, sealed) SELECT id, $7, $8 FROM finished)
       SELECT is_cancelled FROM finished`,
      [
        id,
        this.row.lease,
        this.linesDone,
        this.bytesDone,
        lastLine,
        sealJson(key, id, 'result', result),
        this.pages,
        page,
      ],
    );
    this.pages += 1;
    this.noteLease(asked, found);
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
    await this.source.query(
      `WITH ended AS (
         UPDATE contact_imports SET status = $3, result = $4, lines_done = $5, finished_at = clock_timestamp(),
           lease_expires_at = '-infinity'
         WHERE id = $1 AND lease = $2 AND status IN (${RUNNING}) RETURNING id)
       DELETE FROM contact_import_chunks WHERE import_id IN (SELECT id FROM ended)`,
      [id, this.row.lease, hasEnded, sealJson(key, id, 'result', result), this.linesDone],
    );
  }
}

function outcomeOf(row: FinishedRow): Outcome {
  if ('did' in row) return row;
  const { line, contactId, problem, source } = row;
  return { line, contactId, did: 'failed', message: problem, ...(source && { source }) };
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

function sealJson(key: Buffer, id: string, name: string, value: object): Buffer {
  return sealBytes(key, Buffer.from(JSON.stringify(value)), `${id} ${name}`);
}

function openJson<Value>(key: Buffer, id: string, name: string, sealed: Buffer): Value {
  return JSON.parse(openBytes(key, sealed, `${id} ${name}`).toString('utf8')) as Value;
}
