import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Operation } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { comparableEmail, contact, standing, updateContact } from './contact.js';
import { contactWrite, emailClaim, emailKey, emailTaken } from './contact-write.js';

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
    const { version } = await this.commands.run(command, async () => {
      const loaded = await this.commands.load(contact, organizationId, contactId);
      const state = standing(loaded.state);
      const before = state.details.email!;
      const after = changes.email ?? before;
      const moves = comparableEmail(after) !== comparableEmail(before);
      return {
        recordId: contactId,
        writes: [contactWrite(contactId, loaded.version, updateContact(state, changes))],
        claims: moves
          ? [
              emailClaim(after, contactId, () =>
                Promise.reject(emailTaken('Give another address, or delete one of the two contacts.')),
              ),
            ]
          : [],
        releases: moves ? [{ value: emailKey(before), streamId: contactId }] : [],
      };
    });
    // From the history, so that a repeated Idempotency-Key answers what the first request answered.
    const answered = await this.commands.load(contact, organizationId, contactId, { version });
    return recordFromHistory(organizationId, contactId, answered);
  }
}
