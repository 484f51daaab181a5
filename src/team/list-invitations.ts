import { CreatedPageInput, handlerOf, Operation } from '#libs/rpc';
import { invitationSchema } from './member-record.js';
import { Team } from './team.js';

@Operation({
  name: 'team.list-invitations',
  summary: 'List invitations',
  description: 'Lists invitations that were neither accepted nor revoked, including expired ones.',
  answers: invitationSchema,
  list: true,
})
export class ListInvitations extends CreatedPageInput() {}

export const ListInvitationsHandler = handlerOf(ListInvitations, [Team], (query, team) =>
  team.listInvitations(query),
);
