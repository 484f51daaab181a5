import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { CreatedPageInput, Operation, type Page } from '#libs/rpc';
import { type InvitationRecord, invitationSchema } from './member-record.js';
import { Team } from './team.js';

@Operation({
  name: 'team.list-invitations',
  summary: 'List invitations',
  description: 'Lists invitations that were neither accepted nor revoked, including expired ones.',
  answers: invitationSchema,
  list: true,
})
export class ListInvitations extends CreatedPageInput() {}

@QueryHandler(ListInvitations)
export class ListInvitationsHandler implements IQueryHandler<ListInvitations> {
  constructor(private readonly team: Team) {}

  execute(query: ListInvitations): Promise<Page<InvitationRecord>> {
    return this.team.listInvitations(query);
  }
}
