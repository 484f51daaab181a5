import { linkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'POST',
  name: 'list.add-contacts',
  object: 'list',
  summary: 'Add contacts to a list',
  description:
    'Adds all of the contacts or none: if one is unknown, the request returns 404 and names it. Contacts already ' +
    'on the list stay on it.',
  answers: listSchema,
})
export class AddContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const AddContactsHandler = linkHandler(AddContacts, lists, ({ contactIds }) => contactIds);
