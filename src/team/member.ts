import { type Decider } from '#libs/event-store';
import { noSuch, RpcError } from '#libs/rpc';
import { type Role } from './roles.js';

/** Days for which an invitation is valid. */
export const DAYS_TO_ACCEPT = 7;

type Nothing = Record<string, never>;

/** The member's own key encrypts the address. */
export type MemberEvent =
  | {
      type: 'MemberInvited';
      data: {
        /** A person is the same user in all organizations. */
        userId: string;
        role: Role;
      };
      personal: { email: string } | null;
    }
  /** It is valid for the full period again. */
  | { type: 'InvitationRenewed'; data: { role: Role } }
  | { type: 'InvitationAccepted'; data: Nothing }
  | { type: 'InvitationRevoked'; data: Nothing }
  | { type: 'MemberRoleChanged'; data: { role: Role } }
  | { type: 'MemberRemoved'; data: Nothing };

type Person = {
  userId: string;
  role: Role;
  /** RFC 3339. */
  invitedAt: string;
};

export type Invited = Person & { status: 'INVITED' };
/** `roleChangedAt`: sessions that began earlier are no longer valid. */
export type Active = Person & { status: 'ACTIVE'; joinedAt: string; roleChangedAt: string | null };

export type Member = { status: 'UNKNOWN' } | Invited | Active | { status: 'ENDED' };

/** A person in an organization, from invitation to removal. */
export const member: Decider<Member, MemberEvent> = {
  streamType: 'member',
  initial: { status: 'UNKNOWN' },
  events: {
    MemberInvited: true,
    InvitationRenewed: true,
    InvitationAccepted: true,
    InvitationRevoked: true,
    MemberRoleChanged: true,
    MemberRemoved: true,
  },
  evolve(state, event, at) {
    const moment = at.toISOString();
    if (event.type === 'MemberInvited') return { status: 'INVITED', ...event.data, invitedAt: moment };
    if (!exists(state)) return state;
    switch (event.type) {
      case 'InvitationRenewed':
        return { ...state, ...event.data, invitedAt: moment };
      case 'InvitationAccepted':
        return { ...state, status: 'ACTIVE', joinedAt: moment, roleChangedAt: null };
      case 'MemberRoleChanged':
        return state.status === 'ACTIVE' ? { ...state, ...event.data, roleChangedAt: moment } : state;
      case 'InvitationRevoked':
      case 'MemberRemoved':
        return { status: 'ENDED' };
    }
  },
};

export function exists(state: Member): state is Invited | Active {
  return state.status === 'INVITED' || state.status === 'ACTIVE';
}

/** @throws RpcError NOT_FOUND unless they are a member. */
export function activeMember(state: Member): Active {
  if (state.status !== 'ACTIVE') throw noSuch('member');
  return state;
}

/** Whether an invitation can no longer be accepted. */
export function hasExpired({ invitedAt }: Pick<Person, 'invitedAt'>, now: Date): boolean {
  return now.getTime() >= expiryOf({ invitedAt }).getTime();
}

export function expiryOf({ invitedAt }: Pick<Person, 'invitedAt'>): Date {
  return new Date(Date.parse(invitedAt) + DAYS_TO_ACCEPT * 24 * 3_600_000);
}

/** Accepting an accepted invitation changes nothing. @throws RpcError NOT_FOUND if it no longer exists. */
export function acceptInvitation(state: Member, now: Date): MemberEvent[] {
  if (state.status === 'ACTIVE') return [];
  if (state.status !== 'INVITED' || hasExpired(state, now)) throw noSuch('invitation');
  return [{ type: 'InvitationAccepted', data: {} }];
}

/** Revoking an ended invitation changes nothing. Accepted ones are removed as members. */
export function revokeInvitation(state: Member): MemberEvent[] {
  switch (state.status) {
    case 'UNKNOWN':
      throw noSuch('invitation');
    case 'ENDED':
      return [];
    case 'INVITED':
      return [{ type: 'InvitationRevoked', data: {} }];
    case 'ACTIVE':
      throw new RpcError(
        'CONFLICT',
        'This invitation was already accepted. To remove the member, use remove-member.',
        {
          reason: 'INVITATION_ACCEPTED',
        },
      );
  }
}

export function changeRole(state: Member, role: Role): MemberEvent[] {
  return activeMember(state).role === role ? [] : [{ type: 'MemberRoleChanged', data: { role } }];
}

/** Removing a removed member changes nothing. */
export function removeMember(state: Member): MemberEvent[] {
  if (state.status === 'ENDED') return [];
  activeMember(state);
  return [{ type: 'MemberRemoved', data: {} }];
}
