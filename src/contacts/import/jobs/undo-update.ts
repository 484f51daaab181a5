import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { RecordReader, Requests } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { invalid, noSuch, Operation, RecordInput, recordSchema, requireScope, RpcError } from '#libs/rpc';
import { ContactUpdates } from '../../contact-updates.js';
import { ContactsTable } from '../../contacts-table.js';
import { type Change, fieldsOfChange } from '../../groups/assigned-groups.js';
import { type Group } from '../../groups/group.js';
import { type LinkedKind, linkedKinds } from '../../linked-kinds.js';
import { MOST_UPDATED } from './contact-update-runs.js';
import { ImportJobs } from './import-jobs.js';
import { planOfUpdate, SCOPE } from './import-plan.js';

/** Events of the update that are read at once. */
const PAGE_EVENTS = 1_000;
const DAY_MS = 24 * 60 * 60_000;

/** A contact to add to a group, or to remove from it. */
type Reversal = { change: Change; kind: LinkedKind; recordId: string; contactId: string };
/** All reversals of one group, with the contacts of the first ones. */
type Reversals = Omit<Reversal, 'contactId'> & { contactIds: string[]; count: number };
type UndoAnswer = { changes: number; operationIds: string[] };

@Operation({
  name: 'contact.undo-update',
  object: 'undo',
  scope: SCOPE,
  summary: 'Undo a change to tags and lists',
  description:
    'Removes the tags and lists that contact.update-contacts added, and adds those that it removed. Contacts that had a tag ' +
    'before the update keep it. Possible for 24 hours after the update ended. Requires the scope `tag:write` if the update changed ' +
    'tags, and `list:write` if it changed lists.\n\nIt keeps what has changed since: a tag that was removed and added again, or ' +
    'added again and removed. Deleted contacts, tags and lists are left out. Other fields keep their values.\n\nUp to ' +
    '1,000 contacts of a tag or list are changed immediately. Others are changed in the background, where each of the ' +
    '`operationIds` is the id of an import. Repeating the request is safe.',
  answers: recordSchema({
    changes: {
      type: 'integer',
      description: 'The number of times that a contact gains or loses a tag or list.',
    },
    operationIds: { type: 'array', items: { type: 'string' } },
  }),
  reasons: ['IMPORT_UNFINISHED', 'UNDO_EXPIRED'],
})
export class UndoUpdate extends RecordInput('updateId') {}

@CommandHandler(UndoUpdate)
export class UndoUpdateHandler implements ICommandHandler<UndoUpdate> {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly projections: Projections,
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly requests: Requests,
    private readonly updates: ContactUpdates,
    private readonly contacts: ContactsTable,
    private readonly jobs: ImportJobs,
  ) {}

  execute(command: UndoUpdate): Promise<UndoAnswer> {
    return this.requests.runOutside(command, async () => {
      await this.requireUndoable(command);
      // The tables of links must contain everything that the update linked.
      await this.projections.catchUpWithLog();
      const all = new Map<string, Reversals>();
      for await (const { contactId, ...group } of this.reversals(command)) {
        const key = `${group.change} ${group.recordId}`;
        const reversals = all.get(key) ?? { ...group, contactIds: [], count: 0 };
        if (reversals.count < MOST_UPDATED) reversals.contactIds.push(contactId);
        reversals.count += 1;
        all.set(key, reversals);
      }
      for (const { kind } of all.values())
        requireScope(command.context.scopes, `${kind.object}:write`, 'updateId');
      const answer: UndoAnswer = { changes: 0, operationIds: [] };
      for (const reversals of all.values()) {
        const operationId = await this.reverse(command, reversals);
        if (operationId === false) continue;
        answer.changes += reversals.count;
        if (operationId !== undefined) answer.operationIds.push(operationId);
      }
      return answer;
    });
  }

  /** @throws RpcError NOT_FOUND if there is no such update; CONFLICT if it has not ended, or ended too long ago. */
  private async requireUndoable({ organizationId, updateId }: UndoUpdate): Promise<void> {
    const job = await this.jobs.find(organizationId, updateId).catch((error: unknown) => {
      if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
    if (job?.status === 'QUEUED' || job?.status === 'RUNNING') {
      const message = 'This update has not ended. Cancel it with import.cancel-import, and undo it then.';
      throw new RpcError('CONFLICT', message, { reason: 'IMPORT_UNFINISHED' });
    }
    const [first] = await this.store.listOfRequest(organizationId, updateId, 0, 1);
    const endedAt = job?.finishedAt ?? first?.recordedAt;
    if (!endedAt) throw noSuch('update');
    if (endedAt.getTime() > Date.now() - DAY_MS) {
      if (job && !job.plan.changes) throw noSuch('update');
      return;
    }
    const message = `This update ended at ${endedAt.toISOString()}. An update can be undone for 24 hours.`;
    throw new RpcError('CONFLICT', message, { reason: 'UNDO_EXPIRED' });
  }

  /** @throws RpcError NOT_FOUND if the id belongs to another request than contact.update-contacts. */
  private async *reversals({ organizationId, updateId }: UndoUpdate): AsyncGenerator<Reversal> {
    const kinds = linkedKinds().filter(({ link }) => link.atErasure === 'ends');
    const known = new Set([
      'ContactUpdated',
      ...kinds.flatMap(({ link, decider }) => [...link.handles, ...Object.keys(decider.events)]),
    ]);
    for (let after = 0; ;) {
      const events = await this.store.listOfRequest(organizationId, updateId, after, PAGE_EVENTS);
      const last = events.at(-1);
      if (!last) return;
      if (events.some(({ type }) => !known.has(type))) throw noSuch('update');
      for (const kind of kinds) {
        const [begins, ends] = kind.link.handles;
        for (const [change, type] of [
          ['remove', begins],
          ['add', ends],
        ] as const) {
          const changed = events.filter((event) => event.type === type);
          if (changed.length === 0) continue;
          const ids = changed.map(({ streamId }) => streamId);
          const positions = changed.map(({ position }) => position);
          for (const { record_id: recordId, subject_id: contactId } of await this.unchangedSince(
            kind,
            change,
            [organizationId, ids, positions],
          ))
            yield { change, kind, recordId, contactId };
        }
      }
      after = last.position;
    }
  }

  /** Of these links, those that still are as these events left them. */
  private unchangedSince(
    { linkTable }: LinkedKind,
    change: Change,
    values: [organizationId: string, ids: string[], positions: number[]],
  ): Promise<{ record_id: string; subject_id: string }[]> {
    const isUnchanged =
      change === 'remove'
        ? 'l.ended_at IS NULL AND l.created_position = e.position'
        : `l.ended_position = e.position AND NOT EXISTS (
             SELECT FROM ${linkTable} n WHERE n.organization_id = $1 AND n.subject_id = l.subject_id
               AND n.record_id = l.record_id AND n.created_position > e.position)`;
    return this.source.query(
      `SELECT l.record_id, l.subject_id FROM unnest($2::uuid[], $3::bigint[]) AS e(id, position)
       JOIN ${linkTable} l ON l.organization_id = $1 AND l.id = e.id
       WHERE l.subject_id IS NOT NULL AND ${isUnchanged}`,
      values,
    );
  }

  /** @returns the id of the background operation; undefined if all contacts were changed; false if the group was deleted. */
  private async reverse(command: UndoUpdate, reversals: Reversals): Promise<string | undefined | false> {
    const { organizationId, context } = command;
    const { change, kind, recordId, contactIds, count } = reversals;
    const { state } = await this.records.load(kind.decider, organizationId, recordId);
    const group = state as Group;
    if (group.status !== 'standing') return false;
    const { idempotencyKey: _key, onReplay: _replay, ...own } = context;
    if (count <= MOST_UPDATED) {
      const gone = new Set(await this.contacts.findUnknown(organizationId, contactIds));
      const present = contactIds.filter((id) => !gone.has(id));
      if (present.length === 0) return false;
      await this.updates.changeGroup(own, change, { resource: kind, id: recordId }, present);
      return undefined;
    }
    const name = group.name as string;
    const fields = fieldsOfChange(change, kind, { id: recordId, name });
    const named = await this.resources.findByName(kind, organizationId, [name]);
    if (named.get(name) !== recordId && !Object.values(fields).flat().includes(recordId)) {
      const message = `changed a ${kind.object} that shares its name with another one: rename one of them`;
      throw invalid([{ path: 'updateId', message }]);
    }
    const lines = async function* (this: UndoUpdateHandler): AsyncGenerator<Uint8Array> {
      for await (const one of this.reversals(command))
        if (one.change === change && one.recordId === recordId) yield Buffer.from(`${one.contactId}\n`);
    }.bind(this);
    return this.jobs.upload(
      context,
      lines(),
      () => undefined,
      async (stored, size) => {
        await context.requireAccess?.();
        await this.jobs.queue(stored, planOfUpdate(fields, [SCOPE, `${kind.object}:write`]), size);
        return stored.id;
      },
    );
  }
}
