import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type Actor, DamagedEvent, EventStore, type Folded, NewerEvent } from '#libs/event-store';
import { type Link } from '#libs/links';
import { Projections } from '#libs/projections';
import { Input, inputOf, type RequestContext, RpcError } from '#libs/rpc';
import { contact, type Contact } from '../../contact.js';
import { ContactErasure } from '../../erasure/contact-erasure.js';
import { linkedKinds, linksOf } from '../../linked-kinds.js';
import { ImportAccess } from './import-access.js';
import { ImportLease, LEASE_SECONDS, LeaseLost, RENEWED } from './import-lease.js';
import { SCOPE } from './import-plan.js';
import {
  actorOf,
  COLUMNS,
  findStarted,
  idsOf,
  type ImportRow,
  IS_RECENT,
  isUnfinished,
} from './import-table.js';

/** Events of the import that are read at once. */
const PAGE_EVENTS = 1_000;
/** Contacts deleted in one transaction. Other requests for one of them wait for it. */
const TOGETHER = 200;
/** Attempts to delete a contact that other requests keep changing, or for which the caller's access keeps changing. */
const MOST_ATTEMPTS = 20;
/** Pages of events that a preview reads. */
const MOST_PREVIEWED = 10;

/** SQL: an undo that no instance works on. */
export const IS_UNDO_FREE = `undo_status IN ('QUEUED', 'RUNNING') AND lease_expires_at < clock_timestamp()`;

/** The commands of an undo. They are not operations of the API. */
class UndoImportStep extends Input {}

/** What an undo would do. */
export type UndoPreview = { deleted: number; kept: number };

/**
 * Undoes imports: deletes the contacts that an import created, if no other events concern them. The history shows
 * which these are, because all events of an import have its id as their request. The outcomes of rows do not: they lack rows
 * that were stored just before a crash.
 */
@Injectable()
export class ImportUndos {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly projections: Projections,
    private readonly erasure: ContactErasure,
    private readonly access: ImportAccess,
  ) {}

  /**
   * Queues the undo of an import. A failed undo resumes. Otherwise idempotent.
   *
   * @throws RpcError NOT_FOUND if the import does not exist or has expired; CONFLICT if it has not ended, or ended more than
   *   24 hours ago.
   */
  async request(organizationId: string, id: string, actor: Actor): Promise<void> {
    const row = await findStarted(this.source, organizationId, id);
    const [, count] = await this.source.query<[unknown, number]>(
      `UPDATE contact_imports SET undo_status = 'QUEUED', undo_user_id = $3, undo_api_key_id = $4,
         undo_failure = NULL, undo_finished_at = NULL, lease_expires_at = clock_timestamp()
       WHERE organization_id = $1 AND id = $2 AND ${IS_RECENT} AND coalesce(undo_status, 'FAILED') = 'FAILED'`,
      [organizationId, id, ...idsOf(actor)],
    );
    if (count > 0 || (row.undo_status !== null && row.undo_status !== 'FAILED')) return;
    const now = await findStarted(this.source, organizationId, id);
    if (now.undo_status !== row.undo_status) return;
    // The import ended between the two statements.
    if (isUnfinished(row) && !isUnfinished(now)) return this.request(organizationId, id, actor);
    throw isUnfinished(now) ? unfinished() : expired(now);
  }

  /** @returns what an undo would do now. Undefined if the import stored too many events to find out within a request. */
  async preview(organizationId: string, id: string): Promise<UndoPreview | undefined> {
    const preview = { deleted: 0, kept: 0 };
    let position = 0;
    for (let pages = 0; pages < MOST_PREVIEWED; pages += 1) {
      const page = await this.createdAfter(organizationId, id, position);
      if (!page) return preview;
      const touched = await this.store.findTouched(organizationId, page.contactIds, id);
      preview.deleted += page.contactIds.length - touched.size;
      preview.kept += touched.size;
      ({ position } = page);
    }
    return undefined;
  }

  /**
   * Undoes the next import that no other instance works on.
   *
   * @returns false if there is none. @throws errors after which the undo is continued later.
   */
  async runNext(signal: AbortSignal): Promise<boolean> {
    const lease = randomUUID();
    const [[row]] = await this.source.query<[ImportRow[], number]>(
      `UPDATE contact_imports SET lease = $1, undo_status = 'RUNNING',
         lease_expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
         undo_started_at = coalesce(undo_started_at, clock_timestamp())
       WHERE id = (
         SELECT id FROM contact_imports WHERE ${IS_UNDO_FREE}
         ORDER BY lease_expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING ${COLUMNS}`,
      [lease],
    );
    if (!row) return false;
    const attempt = new UndoAttempt(this.source, row.id, lease, 'undo');
    const ended = await attempt.renewDuring(() => this.undo(row, attempt, signal), signal);
    if (ended) await attempt.end(ended.failure);
    return true;
  }

  /** With the current permissions of the caller who undoes the import. */
  private async undo(row: ImportRow, attempt: UndoAttempt, signal: AbortSignal): Promise<void> {
    const { id, organization_id: organizationId } = row;
    const actor = actorOf(row.undo_user_id, row.undo_api_key_id);
    const context: RequestContext = {
      organizationId,
      actor,
      scopes: [SCOPE],
      requestId: id,
      isGivenUp: () => attempt.isGivenUp || signal.aborted,
      // Not cached, so that an attempt to delete contacts again has the current guards.
      requireAccess: () => this.access.guards(context, 'undid'),
    };
    await context.requireAccess!();
    // The tables of links must contain everything that the import linked.
    await this.projections.catchUpWithLog();
    let position = Number(row.undo_position);
    let [deleted, kept] = [row.undo_deleted, row.undo_kept];
    for (;;) {
      const page = await this.createdAfter(organizationId, id, position);
      if (!page) return;
      for (let n = 0; n < page.contactIds.length; n += TOGETHER) {
        const contactIds = page.contactIds.slice(n, n + TOGETHER);
        const count = await this.deleteUntouched(inputOf(UndoImportStep, {}, context), contactIds);
        deleted += count;
        kept += contactIds.length - count;
      }
      ({ position } = page);
      await attempt.record(position, deleted, kept);
    }
  }

  /** @returns the contacts that the import's next events created, and where these events end. Undefined at their end. */
  private async createdAfter(
    organizationId: string,
    id: string,
    after: number,
  ): Promise<{ contactIds: string[]; position: number } | undefined> {
    const events = await this.store.listOfRequest(organizationId, id, after, PAGE_EVENTS);
    const last = events.at(-1);
    if (!last) return undefined;
    const contactIds = events.flatMap(({ type, streamId }) => (type === 'ContactCreated' ? [streamId] : []));
    return { contactIds, position: last.position };
  }

  /** @returns the number of contacts that this undo has deleted, now or before a crash. */
  private async deleteUntouched(input: Input, contactIds: readonly string[]): Promise<number> {
    const { organizationId, context } = input;
    const findTouched = (...[ids, sql]: [readonly string[], Parameters<EventStore['findTouched']>[3]?]) =>
      this.store.findTouched(organizationId, ids, context.requestId, sql);
    let deleted = 0;
    let rest = contactIds;
    for (let attempts = 0; rest.length > 0; attempts += 1) {
      if (attempts === MOST_ATTEMPTS) throw new Error('Contacts of the import keep changing.');
      const touched = await findTouched(rest);
      const loaded = await this.load(
        organizationId,
        rest.filter((id) => !touched.has(id)),
      );
      const existing = loaded.filter(([, { state }]) => state.status === 'standing');
      // The others have an event of this undo.
      deleted += loaded.length - existing.length;
      const erasures = await this.erasure.decideAll(organizationId, existing);
      const decisions = await this.withSignatures(
        organizationId,
        erasures.filter(({ isAwaited }) => !isAwaited),
      );
      const ids = decisions.map(({ recordId }) => recordId);
      const isStored = await this.commands.storeIf(input, decisions, async (sql) => {
        const late = await findTouched(ids, sql);
        return ids.map((id) => !late.has(id));
      });
      rest = ids.filter((_, n) => !isStored[n]);
      deleted += ids.length - rest.length;
    }
    return deleted;
  }

  /** Also withdraws the signatures that the import added, because those of erased contacts count. */
  private async withSignatures(organizationId: string, erasures: readonly Decision[]): Promise<Decision[]> {
    const contactIds = erasures.map(({ recordId }) => recordId);
    const ends = new Map<string, ReturnType<Link['end']>[]>(contactIds.map((id) => [id, []]));
    for (const kind of linkedKinds().filter(({ link }) => link.atErasure === 'loses its name')) {
      for (const { id, record_id, subject_id } of await linksOf(
        this.source,
        kind,
        organizationId,
        contactIds,
      ))
        ends.get(subject_id)!.push(kind.link.end(id, record_id, subject_id));
    }
    return erasures.map((erasure) => {
      const ended = ends.get(erasure.recordId)!;
      const writes = [...ended.map(({ write }) => write), ...erasure.writes];
      return { ...erasure, writes, releases: ended.map(({ release }) => release) };
    });
  }

  /** Leaves out contacts that this version cannot read, or whose events were altered. */
  private async load(
    organizationId: string,
    contactIds: readonly string[],
  ): Promise<(readonly [string, Folded<Contact>])[]> {
    try {
      return [...(await this.records.loadMany(contact, organizationId, contactIds))];
    } catch (error) {
      if (!(error instanceof NewerEvent || error instanceof DamagedEvent)) throw error;
      if (contactIds.length === 1) return [];
      return (await Promise.all(contactIds.map((id) => this.load(organizationId, [id])))).flat();
    }
  }
}

class UndoAttempt extends ImportLease {
  async record(position: number, deleted: number, kept: number): Promise<void> {
    await this.update(`undo_position = $3, undo_deleted = $4, undo_kept = $5, ${RENEWED}`, [
      position,
      deleted,
      kept,
    ]);
    if (this.isLost) throw new LeaseLost();
  }

  /** @param failure undefined if the import was undone. */
  async end(failure: Error | undefined): Promise<void> {
    await this.update(
      `undo_status = $3, undo_failure = $4, undo_finished_at = clock_timestamp(), lease_expires_at = '-infinity'`,
      [failure ? 'FAILED' : 'DONE', failure?.message ?? null],
    );
  }
}

function unfinished(): RpcError {
  const message = 'This import has not ended. Cancel it with import.cancel-import, and undo it then.';
  return new RpcError('CONFLICT', message, { reason: 'IMPORT_UNFINISHED' });
}

function expired({ finished_at, created_at }: ImportRow): RpcError {
  const ended = (finished_at ?? created_at).toISOString();
  const message = `This import ended at ${ended}. An import can be undone for 24 hours. Delete its contacts one by one: import.get-import-rows names them.`;
  return new RpcError('CONFLICT', message, { reason: 'UNDO_EXPIRED' });
}
