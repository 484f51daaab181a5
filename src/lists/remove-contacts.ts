import { unlinkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'DELETE',
  name: 'list.remove-contacts',
  object: 'list',
  summary: 'Remove contacts from a list',
  description:
    'Removes all of the contacts or none: if one never existed, the request returns 404 and names it. Contacts ' +
    'that are not on the list are ignored. The contacts themselves are kept.',
  answers: listSchema,
})
export class RemoveContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const RemoveContactsHandler = unlinkHandler(RemoveContacts, lists, ({ contactIds }) => contactIds);
