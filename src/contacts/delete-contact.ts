import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { contactIdSchema } from './contact-record.js';
import { contact, eraseContact } from './contact.js';
import { contactWrite } from './contact-write.js';

@Operation({
  method: 'DELETE',
  name: 'contact.delete-contact',
  object: 'contact',
  summary: 'Erase a contact',
  description:
    "The person's data become unreadable everywhere, also in the history, which keeps its shape: the key " +
    'that they were encrypted with is destroyed. This cannot be taken back.',
  answers: contactIdSchema,
})
export class DeleteContact extends Input {
  @Id()
  contactId!: string;
}

@CommandHandler(DeleteContact)
export class DeleteContactHandler implements ICommandHandler<DeleteContact> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
  ) {}

  async execute(command: DeleteContact): Promise<{ contactId: string }> {
    const { organizationId, contactId } = command;
    const { recordId } = await this.commands.run(command, async () => {
      const { state, version } = await this.records.load(contact, organizationId, contactId);
      const events = eraseContact(state);
      return { recordId: contactId, writes: [contactWrite(contactId, version, events)], erases: [contactId] };
    });
    return { contactId: recordId };
  }
}
