import { CreatedPageInput, handlerOf, Operation } from '#libs/rpc';
import { memberSchema } from './member-record.js';
import { Team } from './team.js';

@Operation({
  name: 'team.list-members',
  summary: 'List members',
  description: "Lists the organization's members. For pending invitations, use list-invitations.",
  answers: memberSchema,
  list: true,
})
export class ListMembers extends CreatedPageInput() {}

export const ListMembersHandler = handlerOf(ListMembers, [Team], (query, team) => team.listMembers(query));
