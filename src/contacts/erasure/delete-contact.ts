import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import { Operation, RecordInput } from '#libs/rpc';
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

@CommandHandler(DeleteContact)
export class DeleteContactHandler implements ICommandHandler<DeleteContact> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly erasure: ContactErasure,
  ) {}

  async execute(command: DeleteContact): Promise<{ contactId: string }> {
    const { organizationId, contactId } = command;
    const { recordId } = await this.commands.run(command, async () => {
      const loaded = await this.records.load(contact, organizationId, contactId);
      return this.erasure.decide(organizationId, contactId, loaded);
    });
    return { contactId: recordId };
  }
}
