import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { momentAsText, ReadSource } from '#libs/database';
import { EventStore, type Guard, wrappedKeyOf } from '#libs/event-store';
import { compare, findRows, type ListedTable, Projections } from '#libs/projections';
import {
  type Caller,
  listingOf,
  noSuch,
  type Page,
  pageOf,
  type RequestContext,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { hasExpired, type Invited, member, type Member, type MemberEvent } from './member.js';
import { type InvitationRecord, invitationOf, type MemberRecord, memberOf } from './member-record.js';
import { MEMBERS_TABLE, SEALED_EMAIL } from './members.projection.js';
import { type Membership, membershipsOf } from './membership.js';
import { type Role, scopesOf } from './roles.js';

type ListQuery = Parameters<typeof listingOf>[0] & Parameters<typeof findRows>[1];

/** A member to whom emails can be sent. */
export type Recipient = { memberId: string; userId: string; role: Role; email: string };

type Row = {
  id: string;
  organization_id: string;
  created_at: string;
  state: Member;
  sealed_email: Buffer | null;
  wrapped_key: Buffer | null;
};

const PAGE: ListedTable = {
  table: MEMBERS_TABLE,
  columns: `id, organization_id, ${momentAsText('page.created_at')} AS created_at, state, sealed_email,
    CASE WHEN sealed_email IS NOT NULL THEN ${wrappedKeyOf('page', 'id')} END AS wrapped_key`,
  bytes: 'bytes + coalesce(octet_length(sealed_email), 0)',
  widest: 4 * 254 + 2_000,
};

/** All members of an organization. */
@Injectable()
export class Team {
  constructor(
    private readonly records: RecordReader,
    private readonly projections: Projections,
    private readonly source: DataSource,
    private readonly reads: ReadSource,
    private readonly store: EventStore,
  ) {}

  listMembers(query: ListQuery): Promise<Page<MemberRecord>> {
    return this.list(query, 'ACTIVE', memberOf);
  }

  listInvitations(query: ListQuery): Promise<Page<InvitationRecord>> {
    return this.list(query, 'INVITED', invitationOf);
  }

  private async list<Listed>(
    query: ListQuery,
    status: Member['status'],
    recordOf: (stored: Parameters<typeof memberOf>[0]) => Listed | undefined,
  ): Promise<Page<Listed>> {
    const conditions = [compare('status = ?', status)];
    const { rows, next } = await findRows<Row>(this.reads, listingOf(query), PAGE, { conditions });
    const records = rows.flatMap(({ id, organization_id, created_at, state, sealed_email, wrapped_key }) => {
      const isReadable = sealed_email !== null && wrapped_key !== null;
      const email = isReadable ? this.store.opener(id, wrapped_key)(SEALED_EMAIL, sealed_email) : null;
      return recordOf({ organizationId: organization_id, id, createdAt: created_at, state, email }) ?? [];
    });
    return pageOf(query, records, next);
  }

  /** A person's memberships, from this instance's projection. */
  async membershipsOf(userId: string): Promise<Membership[]> {
    const [row] = await this.source.query<[{ memberships: Membership[] }]>(
      `SELECT ${membershipsOf('$1')} AS memberships`,
      [userId],
    );
    return row.memberships;
  }

  /** A member as a caller of operations, with the current permissions of their role. Undefined unless they are a member. */
  async callerOf(organizationId: string, userId: string): Promise<Caller | undefined> {
    const own = (await this.membershipsOf(userId)).find((one) => one.organizationId === organizationId);
    return own && { organizationId, actor: { type: 'user', id: userId }, scopes: scopesOf(own.role) };
  }

  async addressesOf(
    organizationId: string,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    if (userIds.length === 0) return new Map();
    const members = await this.reachable(organizationId, userIds);
    return new Map(members.map(({ userId, email }) => [userId, email]));
  }

  /**
   * Members whose address is known, in the order in which they were invited.
   *
   * @param userIds undefined for all members.
   */
  async reachable(organizationId: string, userIds?: readonly string[]): Promise<Recipient[]> {
    type Address = Pick<Row, 'id' | 'sealed_email' | 'wrapped_key'> & { user_id: string; role: Role };
    const rows = await this.reads.query<Address[]>(
      `SELECT id, user_id, role, sealed_email, ${wrappedKeyOf('page', 'id')} AS wrapped_key FROM ${MEMBERS_TABLE} page
       WHERE organization_id = $1 AND user_id = ANY(coalesce($2, ARRAY[user_id])) AND status = 'ACTIVE' ORDER BY created_at`,
      [organizationId, userIds ?? null],
    );
    return rows.flatMap(({ id, user_id: userId, role, sealed_email, wrapped_key }) =>
      sealed_email === null || wrapped_key === null
        ? []
        : {
            memberId: id,
            userId,
            role,
            email: this.store.opener(id, wrapped_key)(SEALED_EMAIL, sealed_email),
          },
    );
  }

  /** Undefined unless they are a member. */
  async find(organizationId: string, memberId: string): Promise<MemberRecord | undefined> {
    const { state, createdAt } = await this.load(organizationId, memberId);
    if (state.status !== 'ACTIVE') return undefined;
    const email = await this.emailOf(organizationId, memberId);
    return memberOf({ organizationId, id: memberId, createdAt: createdAt!.toISOString(), state, email });
  }

  /** Invitations that can still be accepted. */
  async invitedBy(organizationId: string, invitationId: string): Promise<Invited | undefined> {
    const { state } = await this.load(organizationId, invitationId);
    return state.status === 'INVITED' && !hasExpired(state, new Date()) ? state : undefined;
  }

  /** The address of a member or invited person; null if it was destroyed. */
  async emailOf(organizationId: string, memberId: string): Promise<string | null> {
    const [first] = await this.store.readStream<MemberEvent>(organizationId, memberId);
    return first?.type === 'MemberInvited' ? (first.personal?.email ?? null) : null;
  }

  /** The state for decisions. */
  load(organizationId: string, memberId: string) {
    return this.records.load(member, organizationId, memberId);
  }

  /**
   * Ensures that an organization keeps an owner: another owner exists, and must still exist when the command
   * is stored.
   *
   * @throws RpcError CONFLICT if no other owner exists.
   */
  async guardOfOtherOwner(organizationId: string, memberId: string): Promise<Guard> {
    await this.projections.catchUpWithLog();
    const owners = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${MEMBERS_TABLE}
       WHERE organization_id = $1 AND status = 'ACTIVE' AND role = 'OWNER' AND id <> $2 ORDER BY created_at LIMIT 20`,
      [organizationId, memberId],
    );
    for (const { id } of owners) {
      const { state, version } = await this.load(organizationId, id);
      if (state.status === 'ACTIVE' && state.role === 'OWNER') return { streamId: id, version };
    }
    throw new RpcError(
      'CONFLICT',
      'An organization must keep at least one owner. Make another member an owner first.',
      { reason: 'LAST_OWNER' },
    );
  }

  /**
   * Guards that the caller is still a member with the scopes of the request, and must still be when the
   * command is stored.
   *
   * @throws RpcError NOT_FOUND if they are no longer a member; INSUFFICIENT_PERMISSIONS if they have lost a
   * scope.
   */
  async guardOfActor({ organizationId, actor, scopes }: RequestContext): Promise<Guard[]> {
    const own = (await this.membershipsOf(actor.id!)).find((one) => one.organizationId === organizationId);
    const loaded = own && (await this.load(organizationId, own.memberId));
    if (loaded?.state.status !== 'ACTIVE') throw noSuch('member');
    const now = scopesOf(loaded.state.role);
    for (const scope of scopes) requireScope(now, scope);
    return [{ streamId: own!.memberId, version: loaded.version }];
  }
}
