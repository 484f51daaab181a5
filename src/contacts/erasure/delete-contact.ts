import { Commands, RecordReader } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
import { contactIdSchema } from '../contact-record.js';
import { contact } from '../contact.js';
import { ContactErasure } from './contact-erasure.js';

@Operation({
  name: 'contact.delete-contact',
  summary: 'Delete a contact',
  description:
    "Permanently erases the person's data everywhere, including the history, by destroying its encryption key. " +
    "The history keeps its structure. You can't undo this.",
  answers: contactIdSchema,
  reasons: ['MERGED'],
})
export class DeleteContact extends RecordInput('contactId') {}

export const DeleteContactHandler = handlerOf(
  DeleteContact,
  [Commands, RecordReader, ContactErasure],
  async (command, commands, records, erasure) => {
    const { organizationId, contactId } = command;
    const { recordId } = await commands.run(command, async () => {
      const loaded = await records.load(contact, organizationId, contactId);
      return erasure.decide(organizationId, contactId, loaded);
    });
    return { contactId: recordId };
  },
);
