import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Decision, Commands } from '#libs/commands';
import { Email, Flag, Id, OneOf, Operation, recordSchema, type RpcError } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { requireStated } from './consent/consent-fields.js';
import { Consents } from './consent/consents.js';
import { CustomFields } from '../fields/index.js';
import { externalIdTaken } from './external-ids.js';
import { contact, hasEmail } from './contact.js';
import { ContactsByEmail, emailTaken } from './contact-address.js';
import { mergeContact, newContact } from './contact-write.js';
import { AcceptsGroups, ASSIGNED_SCOPES, AssignedGroups, withAssignment } from './groups/assigned-groups.js';

@Operation({
  name: 'contact.create-contact',
  summary: 'Create a contact',
  description:
    'Each email address can belong to one contact. Addresses are compared without regard to case, Unicode forms, ' +
    'invisible characters or the spelling of international domains. With `onConflict: update`, your details are ' +
    'merged into the existing contact. That contact is resubscribed only if you send `subscribed: true`. ' +
    'Without an `Idempotency-Key`, sending the same body again returns the first contact, as long as it still has ' +
    'the address. If a contact has one of the `externalIds`, `onConflict` applies to that contact, even if its ' +
    'address differs.',
  answers: recordSchema({
    contactId: { type: 'string' },
    created: {
      type: 'boolean',
      description: 'False if the contact existed already, which only `onConflict: update` accepts.',
    },
  }),
  reasons: ['EMAIL_TAKEN', 'EXTERNAL_ID_TAKEN'],
  fieldScopes: ASSIGNED_SCOPES,
})
@AcceptsGroups
export class CreateContact extends ContactFields {
  @Id({
    description: "Your key's organization.",
    ifMissing: 'organization.get-organization returns it as id',
  })
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
  constructor(
    private readonly commands: Commands,
    private readonly byEmail: ContactsByEmail,
    private readonly consents: Consents,
    private readonly groups: AssignedGroups,
    private readonly fields: CustomFields,
  ) {}

  async execute(command: CreateContact): Promise<{ contactId: string; created: boolean }> {
    requireStated(command);
    // The default applies to new contacts only: an existing one is resubscribed only by an explicit true.
    if (command.onConflict === 'fail') command.subscribed ??= true;
    const { recordId, created = true } = await this.commands.run(command, () => this.decide(command));
    return { contactId: recordId, created };
  }

  private async decide(command: CreateContact): Promise<Decision> {
    const { context, organizationId, onConflict, customFields, ...others } = command;
    const given = { ...others, ...(await this.fields.read(organizationId, customFields)) };
    const writing = { organizationId, consents: this.consents };
    type Found = Awaited<ReturnType<ContactsByEmail['find']>>;
    const meet = async (
      contactId: string,
      found: Found,
      conflict: RpcError,
    ): Promise<Decision | undefined> => {
      if (!found) return undefined;
      if (onConflict === 'fail') throw conflict;
      const merged = await mergeContact(writing, contactId, found, given);
      return withAssignment(merged, await this.groups.of(command, contactId, false));
    };
    const single = newContact(
      writing,
      given,
      async (contactId) =>
        meet(
          contactId,
          await this.byEmail.find(command, contactId, command.email),
          emailTaken(contactId, 'Use update-contact, or create-contact with onConflict: update.'),
        ),
      async (contactId, externalId) =>
        meet(
          contactId,
          await this.byEmail.findByExternalId(command, contactId, externalId),
          externalIdTaken(externalId, contactId),
        ),
    );
    const created = withAssignment(single, await this.groups.of(command, single.recordId, true));
    // An update may have to run again after the record changed: only its effect is idempotent.
    if (onConflict === 'update') return created;
    const { email } = command;
    const creates = this.commands.named(contact, organizationId, (state) => hasEmail(state, email));
    return { ...created, creates };
  }
}
