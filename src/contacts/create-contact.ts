import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { type Decision, Commands } from '#libs/commands';
import { Email, Flag, Id, OneOf, Operation } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { contactIdSchema } from './contact-record.js';
import { contact, type ContactChanges, createContact, updateContact } from './contact.js';
import { contactWrite, emailClaim, emailTaken } from './contact-write.js';

@Operation({
  method: 'POST',
  name: 'contact.create-contact',
  object: 'contact',
  summary: 'Create a contact',
  description:
    'One contact per e-mail address (compared without regard to case). With `onConflict: update` the ' +
    'details given are merged into the contact that has the address; it is subscribed again only by an ' +
    'explicit `subscribed: true`.',
  answers: contactIdSchema,
})
export class CreateContact extends ContactFields {
  @Id({ description: "Your key's organization." })
  override organizationId!: string;

  @Email({ example: 'ada@example.org' })
  override email!: string;

  @Flag({ optional: true, documentedDefault: true })
  override subscribed?: boolean;

  @OneOf(['fail', 'update'], { default: 'fail' })
  onConflict!: 'fail' | 'update';
}

@CommandHandler(CreateContact)
export class CreateContactHandler implements ICommandHandler<CreateContact> {
  constructor(private readonly commands: Commands) {}

  async execute(command: CreateContact): Promise<{ contactId: string }> {
    // The default belongs to a new contact: an existing one is subscribed again by an explicit true alone.
    if (command.onConflict === 'fail') command.subscribed ??= true;
    const { recordId } = await this.commands.run(command, () => this.decide(command));
    return { contactId: recordId };
  }

  private decide(command: CreateContact): Decision {
    const { context, organizationId, onConflict, ...changes } = command;
    const contactId = uuidv7();
    return {
      recordId: contactId,
      writes: [contactWrite(contactId, 0, createContact(changes))],
      // An update may have to happen again after the record changed: only its effect is idempotent.
      creates: onConflict === 'fail',
      claims: [
        emailClaim(command.email, contactId, (owner) => {
          if (onConflict === 'fail')
            throw emailTaken('Use update-contact, or create-contact with onConflict: update.');
          return this.merge(command, owner, changes);
        }),
      ],
    };
  }

  private async merge(command: CreateContact, contactId: string, changes: ContactChanges): Promise<Decision> {
    const { state, version } = await this.commands.load(contact, command.organizationId, contactId);
    // Erased since: its address is free again.
    if (state.status !== 'standing') return this.decide(command);
    const given = Object.entries(changes).filter(([, value]) => value !== null);
    // The address is the same but perhaps for case, and stays as the person's record has it.
    const details = { ...(Object.fromEntries(given) as ContactChanges), email: undefined };
    return {
      recordId: contactId,
      writes: [contactWrite(contactId, version, updateContact(state, details))],
    };
  }
}
