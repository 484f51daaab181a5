import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Operation } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { contact, standing, updateContact } from './contact.js';
import { emailTaken, moveEmail } from './contact-address.js';
import { contactWrite } from './contact-stream.js';

@Operation({
  method: 'POST',
  name: 'contact.update-contact',
  object: 'contact',
  summary: 'Change a contact',
  description: 'Only the fields given are changed; `null` clears an optional one. Answers the whole contact.',
  answers: contactSchema,
  reasons: ['EMAIL_TAKEN'],
})
export class UpdateContact extends ContactFields {
  @Id()
  contactId!: string;
}

@CommandHandler(UpdateContact)
export class UpdateContactHandler implements ICommandHandler<UpdateContact> {
  constructor(private readonly commands: Commands) {}

  async execute(command: UpdateContact): Promise<ContactRecord> {
    const { context, organizationId, contactId, ...changes } = command;
    const answered = await this.commands.change(
      contact,
      command,
      contactId,
      (state) => updateContact(standing(state), changes),
      (loaded, events) => {
        const before = standing(loaded.state).details.email!;
        return {
          writes: [contactWrite(contactId, loaded.version, events)],
          ...moveEmail(before, changes.email ?? before, contactId, () =>
            Promise.reject(emailTaken('Give another address, or delete one of the two contacts.')),
          ),
        };
      },
    );
    return recordFromHistory(organizationId, contactId, answered);
  }
}
