import { unlinkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'DELETE',
  name: 'list.remove-contacts',
  object: 'list',
  summary: 'Remove contacts from a list',
  description:
    'Who is not on the list is left alone; who never was a contact is 404 and named, and nobody is removed. The ' +
    'contacts themselves remain.',
  answers: listSchema,
})
export class RemoveContacts extends Input {
  @Id()
  listId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const RemoveContactsHandler = unlinkHandler(RemoveContacts, lists, ({ contactIds }) => contactIds);
