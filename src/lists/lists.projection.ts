import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryWide, ReadSource } from '#libs/database';
import { type Past, type RecordedEvent } from '#libs/event-store';
import {
  countAt,
  hasGoneOn,
  type LinkChange,
  LinkTable,
  type Projection,
  type RecordRow,
  RecordTable,
  replayable,
  schemaOf,
} from '#libs/projections';
import { isId } from '#libs/rpc';
import { listRecord, type ListRecord } from './list-record.js';
import { list, type List, type ListEvent, noSuchList } from './list.js';
import { type MembershipEvent } from './membership.js';

/** The contacts module's event, as far as it matters here. */
type ContactErased = { type: 'ContactErased'; data: Record<string, never> };
type Event = ListEvent | MembershipEvent | ContactErased;

const lists = new RecordTable(
  list,
  'lists',
  { name: { type: 'text', index: true, search: true } },
  (state) => (state.status === 'standing' ? { name: state.name } : undefined),
  { ownColumns: ['contacts integer NOT NULL DEFAULT 0'] },
);

const AT_ERASURE = 'ends';
const members = new LinkTable('members', { table: 'lists', column: 'contacts' }, AT_ERASURE);

export const listsProjection: Projection<Event> = {
  name: 'lists',
  version: 3,
  handles: [
    'ListCreated',
    'ListUpdated',
    'ListDeleted',
    'ContactAddedToList',
    'ContactRemovedFromList',
    'ContactErased',
  ],
  tables: `
    ${lists.definition}
    ${members.definition}
  `,
  async apply(events, transaction, seal) {
    await lists.apply(events, transaction);
    await members.apply(events.flatMap(membershipChange), transaction, seal);
  },
  get snapshots() {
    return lists.snapshots(this);
  },
};

function membershipChange(event: RecordedEvent<Event>): LinkChange[] {
  switch (event.type) {
    case 'ContactAddedToList': {
      const { listId: recordId, contactId: subjectId } = event.data;
      return [{ kind: 'begins', event, recordId, subjectId }];
    }
    case 'ContactRemovedFromList': {
      const { listId: recordId, contactId: subjectId } = event.data;
      return [{ kind: 'ends', event, recordId, subjectId }];
    }
    case 'ContactErased':
      return [{ kind: 'erased', event }];
    case 'ListCreated':
    case 'ListUpdated':
    case 'ListDeleted':
      return [];
  }
}

/** Lists out of an exported history. */
export const replayableLists = replayable(
  'list',
  list,
  (organizationId, id, folded, count) =>
    folded.state.status === 'standing' ? listRecord(organizationId, id, folded, count) : undefined,
  { changes: (event) => (isMine(event) ? membershipChange(event) : []), atErasure: AT_ERASURE },
);

function isMine(event: RecordedEvent): event is RecordedEvent<Event> {
  return (listsProjection.handles as readonly string[]).includes(event.type);
}

export const LISTS_TABLE = `${schemaOf(listsProjection)}.lists`;
export const MEMBERS_TABLE = `${schemaOf(listsProjection)}.members`;

export type ListRow = RecordRow<List> & { contacts: number };

export function recordFromRow(row: ListRow): ListRecord {
  return listRecord(row.organization_id, row.id, lists.recordOf(row), row.contacts);
}

/** Reads the read model. */
@Injectable()
export class ListsTable {
  constructor(
    private readonly source: DataSource,
    private readonly reads: ReadSource,
  ) {}

  /** @throws RpcError NOT_FOUND unless the list stands. */
  async require(organizationId: string, listId: string): Promise<void> {
    const rows = isId(listId)
      ? await this.source.query<unknown[]>(
          `SELECT 1 FROM ${LISTS_TABLE} WHERE organization_id = $1 AND id = $2`,
          [organizationId, listId],
        )
      : [];
    if (rows.length === 0) throw noSuchList();
  }

  /** Undefined also where the history has gone on: then it knows more. */
  async find(organizationId: string, listId: string): Promise<ListRecord | undefined> {
    if (!isId(listId)) return undefined;
    const [row] = await this.source.query<ListRow[]>(
      `SELECT * FROM ${LISTS_TABLE} l WHERE organization_id = $1 AND id = $2 AND NOT ${hasGoneOn('l')}`,
      [organizationId, listId],
    );
    return row && recordFromRow(row);
  }

  /** The contacts on the list; 0 where there is no such list. */
  async count(organizationId: string, listId: string): Promise<number> {
    const [row] = await this.source.query<{ contacts: number }[]>(
      `SELECT contacts FROM ${LISTS_TABLE} WHERE organization_id = $1 AND id = $2`,
      [organizationId, listId],
    );
    return row?.contacts ?? 0;
  }

  async countAt(organizationId: string, listId: string, { moment, position }: Past): Promise<number> {
    const values = [organizationId, listId, moment, position];
    const query = countAt(MEMBERS_TABLE);
    const [row] = await queryWide<{ count: number }>(this.reads, organizationId, 'page', query, values);
    return row!.count;
  }
}
