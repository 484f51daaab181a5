import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { CreatedPageInput, Operation, type Page } from '#libs/rpc';
import { type MemberRecord, memberSchema } from './member-record.js';
import { Team } from './team.js';

@Operation({
  name: 'team.list-members',
  summary: 'List members',
  description: "Lists the organization's members. For pending invitations, use list-invitations.",
  answers: memberSchema,
  list: true,
})
export class ListMembers extends CreatedPageInput() {}

@QueryHandler(ListMembers)
export class ListMembersHandler implements IQueryHandler<ListMembers> {
  constructor(private readonly team: Team) {}

  execute(query: ListMembers): Promise<Page<MemberRecord>> {
    return this.team.listMembers(query);
  }
}
