import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'GET',
  name: 'list.get-list',
  object: 'list',
  summary: 'Retrieve a list',
  description: 'To list its contacts, use contact.list-contacts with `listId`.',
  answers: listSchema,
})
export class GetList extends Input {
  @Id()
  listId!: string;

  @Timestamp({ optional: true, description: 'Returns the list as it was at this time.' })
  asOf?: string;
}

export const GetListHandler = getHandler(GetList, lists);
