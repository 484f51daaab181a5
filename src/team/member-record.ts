import { type Decider } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { recordSchema, timestamp } from '#libs/rpc';
import { expiryOf, exists, member, type Member, type MemberEvent } from './member.js';
import { type Role, ROLES } from './roles.js';

/** A member of an organization, as the API returns them. */
export type MemberRecord = {
  id: string;
  createdAt: string;
  userId: string;
  email: string | null;
  role: Role;
  joinedAt: string;
  organizationId: string;
};

/** An invitation, as the API returns it. */
export type InvitationRecord = {
  id: string;
  createdAt: string;
  userId: string;
  email: string | null;
  role: Role;
  expiresAt: string;
  organizationId: string;
};

const role = { type: 'string', enum: [...ROLES] };
const userId = {
  type: 'string',
  description: 'Identifies the same person in all organizations. Appears as the `actor` of their actions.',
};
const email = { type: ['string', 'null'], format: 'idn-email' };

export const memberSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  userId,
  email,
  role,
  joinedAt: timestamp,
  organizationId: { type: 'string' },
});

export const invitationSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  userId,
  email,
  role,
  expiresAt: {
    ...timestamp,
    description: 'When the link in the email expires. To send a new one, invite the person again.',
  },
  organizationId: { type: 'string' },
});

export const memberIdSchema = recordSchema({ memberId: { type: 'string' } });
export const invitationIdSchema = recordSchema({ invitationId: { type: 'string' } });

type Stored = { organizationId: string; id: string; createdAt: string; state: Member; email: string | null };

/** Undefined unless they are a member. */
export function memberOf({ organizationId, id, createdAt, state, email }: Stored): MemberRecord | undefined {
  if (state.status !== 'ACTIVE') return undefined;
  const { userId, role, joinedAt } = state;
  return { id, createdAt, userId, email, role, joinedAt, organizationId };
}

/** Undefined unless their invitation is pending. */
export function invitationOf(stored: Stored): InvitationRecord | undefined {
  const { organizationId, id, createdAt, state, email } = stored;
  if (state.status !== 'INVITED') return undefined;
  const { userId, role } = state;
  return { id, createdAt, userId, email, role, expiresAt: expiryOf(state).toISOString(), organizationId };
}

type WithAddress = { member: Member; email: string | null };

/** Adds the members' addresses, which projections store only encrypted. */
const memberWithAddress: Decider<WithAddress, MemberEvent> = {
  streamType: member.streamType,
  events: member.events,
  initial: { member: member.initial, email: null },
  evolve(state, event, at) {
    const email = event.type === 'MemberInvited' ? (event.personal?.email ?? null) : state.email;
    const next = member.evolve(state.member, event, at);
    return { member: next, email: exists(next) ? email : null };
  },
};

function replayableOf(object: string, recordOf: (stored: Stored) => object | undefined): Replayable {
  return {
    object,
    streamTypes: [member.streamType],
    start() {
      const { all, apply } = folding(memberWithAddress);
      return {
        apply,
        *records() {
          for (const [id, { organizationId, state, createdAt }] of all) {
            const stored = { organizationId, id, createdAt: createdAt!.toISOString() };
            const record = recordOf({ ...stored, state: state.member, email: state.email });
            if (record) yield record;
          }
        },
      };
    },
  };
}

export const replayableMembers = replayableOf('member', memberOf);
export const replayableInvitations = replayableOf('invitation', invitationOf);
