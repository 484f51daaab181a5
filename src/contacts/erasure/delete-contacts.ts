import { Commands, RecordReader } from '#libs/commands';
import { handlerOf, Ids, Input, isId, noSuch, Operation, recordSchema } from '#libs/rpc';
import { contact } from '../contact.js';
import { ContactErasure } from './contact-erasure.js';

@Operation({
  name: 'contact.delete-contacts',
  object: 'deletion',
  summary: 'Delete many contacts',
  description:
    'Permanently erases the data of up to 1,000 people everywhere, like `contact.delete-contact`: of all or of none. ' +
    "Contacts that are already deleted are left as they are. You can't undo this.",
  answers: recordSchema({
    contacts: {
      type: 'integer',
      description: 'The number of contacts, including those that were already deleted.',
    },
  }),
  reasons: ['MERGED'],
})
export class DeleteContacts extends Input {
  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const DeleteContactsHandler = handlerOf(
  DeleteContacts,
  [Commands, RecordReader, ContactErasure],
  async (command, commands, records, erasure) => {
    const { organizationId } = command;
    const contactIds = [...new Set(command.contactIds)];
    if (!contactIds.every(isId)) throw noSuch('contact');
    await commands.run(command, async () => {
      const loaded = await records.loadMany(contact, organizationId, contactIds);
      return erasure.decideTogether(organizationId, [...loaded]);
    });
    return { contacts: contactIds.length };
  },
);
