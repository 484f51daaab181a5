import { linkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'POST',
  name: 'list.add-contacts',
  object: 'list',
  summary: 'Add contacts to a list',
  description: 'All of them or none: an unknown one is 404 and named. Who is on the list already stays.',
  answers: listSchema,
})
export class AddContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const AddContactsHandler = linkHandler(AddContacts, lists, ({ contactIds }) => contactIds);
