import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type Guard, type StreamWrite } from '#libs/event-store';
import { ResourceCommands } from '#libs/resources';
import { Id, isId, Nested, noSuch, Operation, RecordInput, RpcError, Text } from '#libs/rpc';
import {
  AcceptsGroups,
  ASSIGNED_SCOPES,
  AssignedGroups,
  type Assignment,
  Consents,
  contactWrite,
  ContactsByEmail,
  ContactsTable,
  createInline,
  emailKeys,
  evidenceOf,
  type ExistingContact,
  externalIdKey,
  InlineContact,
  requireStated,
  updateContact,
  withAssignment,
} from '../contacts/index.js';
import { CustomFields } from '../fields/index.js';
import { OpenPetitions } from './open-petitions.js';
import { petitions, signature, signedWith } from './petitions.js';
import { type SignatureAnswer, signatureAnswerSchema } from './signature-record.js';

@Operation({
  name: 'petition.add-signature',
  summary: 'Sign a petition',
  description:
    'Requires a published petition. The signer is an existing contact (`contactId`) or a person (`contact`). ' +
    'That person is matched by email address, or created as a contact; existing details are not changed. A ' +
    'contact has one active signature per petition. Signing again returns the existing signature, even after the ' +
    'petition is closed, and ignores a new comment: withdraw the signature and sign again. A ' +
    'refusal with `contact.consent` unsubscribes an existing contact. A signature never resubscribes an unsubscribed ' +
    'contact: `consentRecorded` is then false. To resubscribe the contact, use contact.create-contact with ' +
    '`onConflict: update`. `tags` and `listIds` are added to the signer in the same transaction.',
  answers: signatureAnswerSchema,
  exactlyOne: ['contactId', 'contact'],
  reasons: ['PETITION_NOT_PUBLISHED', 'PETITION_CLOSED'],
  // It can create contacts, and its response reveals whether someone already was one.
  get fieldScopes() {
    return { contact: 'contact:write', ...ASSIGNED_SCOPES };
  },
})
@AcceptsGroups
export class AddSignature extends RecordInput('petitionId') {
  @Id({ optional: true, description: 'An existing contact. Send either this or `contact`.' })
  contactId?: string;

  @Nested(() => InlineContact, { optional: true, description: 'Send either this or `contactId`.' })
  contact?: InlineContact;

  @Text({ max: 10_000, optional: true, nullable: true })
  comment?: string | null;

  @Text({
    max: 100,
    optional: true,
    nullable: true,
    example: 'newsletter',
    description: 'The source that led the signer to the petition, for petition.get-stats.',
  })
  source?: string | null;
}

@CommandHandler(AddSignature)
export class AddSignatureHandler implements ICommandHandler<AddSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly resources: ResourceCommands,
    private readonly contacts: ContactsTable,
    private readonly byEmail: ContactsByEmail,
    private readonly consents: Consents,
    private readonly open: OpenPetitions,
    private readonly groups: AssignedGroups,
    private readonly fields: CustomFields,
  ) {}

  async execute(command: AddSignature): Promise<SignatureAnswer> {
    requireOwnOrganization(command);
    if (command.contact) requireStated(command.contact, 'contact.');
    const { recordId, decision, position } = await this.commands.run(command, (skipCache) =>
      this.decide(command, skipCache),
    );
    const write = decision?.writes.find(({ streamId }) => streamId === recordId);
    const contactId = command.contactId ?? write?.subjectId ?? (await this.signerOf(command, recordId));
    return {
      signatureId: recordId,
      petitionId: command.petitionId,
      contactId,
      signatures: await this.resources.count(petitions, command, position),
      consentRecorded: await this.isConsentRecorded(command, contactId),
    };
  }

  private async isConsentRecorded(
    { organizationId, contact }: AddSignature,
    contactId: string,
  ): Promise<boolean | null> {
    const evidence = evidenceOf(contact?.consent);
    if (!evidence) return null;
    return this.consents.isRecorded(organizationId, contactId, contact!.subscribed!, evidence);
  }

  /** @param skipCache false on the first attempt, which trusts given and cached values. */
  private async decide(command: AddSignature, skipCache: boolean): Promise<Decision> {
    const { organizationId, petitionId, contactId } = command;
    let open: Guard;
    try {
      open = await this.open.guard(organizationId, petitionId, skipCache);
    } catch (error) {
      // If they signed before the close, they get the same response as then: the request may be a retry.
      const signatureId = isConflict(error) ? await this.findSignature(command) : undefined;
      if (signatureId === undefined) throw error;
      return { recordId: signatureId, writes: [] };
    }
    if (contactId === undefined) return this.signAsPerson(command, open);
    if (skipCache || !isId(contactId)) await this.requireContact(organizationId, contactId);
    return sign(command, contactId, [open], await this.groups.of(command, contactId, false));
  }

  /** Creates a contact and its signature. If a contact already has the address or an external id, that contact signs. */
  private async signAsPerson(command: AddSignature, open: Guard): Promise<Decision> {
    const contact = command.contact!;
    const values = await this.fields.read(command.organizationId, contact.customFields, 'contact.');
    type Found = Awaited<ReturnType<ContactsByEmail['find']>>;
    const signAs = async (owner: string, found: Found): Promise<Decision | undefined> => {
      if (!found) return undefined;
      const { writes, claims, guards } = await this.groups.of(command, owner, false);
      const stated = await this.consentOf(command, owner, found);
      const isChanged = stated.some(({ streamId }) => streamId === owner);
      const ofContact = {
        writes: [...stated, ...writes],
        claims,
        guards: [...(isChanged ? [] : [{ streamId: owner, version: found.version }]), ...guards],
      };
      return sign(command, owner, [open], ofContact);
    };
    const created = createInline(
      this.consents,
      command,
      contact,
      async (owner) => signAs(owner, await this.byEmail.find(command, owner, contact.email)),
      {
        values,
        idTaken: async (owner, externalId) =>
          signAs(owner, await this.byEmail.findByExternalId(command, owner, externalId)),
      },
    );
    const signed = sign(command, created.recordId, [open]);
    return withAssignment(
      {
        ...signed,
        writes: [...created.writes, ...signed.writes],
        claims: [...created.claims!, ...signed.claims!],
      },
      await this.groups.of(command, created.recordId, true),
    );
  }

  /**
   * What a signer stated about email, if they are a contact. Without evidence, the contact stays unchanged. With it, a refusal
   * unsubscribes them. Agreement is recorded for a subscribed contact only, because anyone may sign with an address.
   */
  private async consentOf(
    { organizationId, contact }: AddSignature,
    contactId: string,
    { state, version }: { state: ExistingContact; version: number },
  ): Promise<StreamWrite[]> {
    const evidence = evidenceOf(contact!.consent);
    const subscribed = contact!.subscribed === true;
    if (!evidence || (subscribed && !state.subscribed)) return [];
    const events = updateContact(state, { subscribed });
    const change = { contactId, version, events };
    const recorded = await this.consents.ofChange(organizationId, change, subscribed, evidence);
    return [...(events.length > 0 ? [contactWrite(contactId, version, events)] : []), ...recorded];
  }

  private async requireContact(organizationId: string, contactId: string): Promise<void> {
    const [unknown] = await this.contacts.findUnknown(organizationId, [contactId]);
    if (unknown !== undefined) throw noSuch('contact');
  }

  private async findSignature(command: AddSignature): Promise<string | undefined> {
    const { organizationId, petitionId, contactId, contact } = command;
    const owners = contact
      ? await this.commands.findOwners(organizationId, [
          ...(contact.externalIds ?? []).map(externalIdKey),
          ...emailKeys(contact.email),
        ])
      : [contactId];
    const signer = owners.find((id) => id !== undefined);
    if (signer === undefined) return undefined;
    const [signatureId] = await this.commands.findOwners(organizationId, [
      signature.keyOf(petitionId, signer),
    ]);
    return signatureId;
  }

  private async signerOf({ organizationId }: AddSignature, signatureId: string): Promise<string> {
    const { state } = await this.records.look(signature.decider, organizationId, signatureId);
    return state.status === 'unknown' ? '' : state.subjectId;
  }
}

/** Creates a signature, or returns the existing one. @param ofContact what changes about the signer in either case. */
function sign(
  { petitionId, comment, source = null }: AddSignature,
  contactId: string,
  guards: readonly Guard[],
  ofContact: Assignment = { writes: [], claims: [], guards: [] },
): Decision {
  const personal = comment === undefined || comment === null ? null : { comment };
  const taken = (signatureId: string) => ({ recordId: signatureId, ...ofContact });
  const more = signedWith({ source });
  const { linkId, write, claim } = signature.begin(petitionId, contactId, taken, personal, more);
  return withAssignment({ recordId: linkId, guards, writes: [write], claims: [claim] }, ofContact);
}

function requireOwnOrganization({ organizationId, contact }: AddSignature): void {
  if (contact?.organizationId !== undefined && contact.organizationId !== organizationId) {
    throw new RpcError(
      'FORBIDDEN',
      "contact.organizationId does not match the organization of your API key. Omit it, or use the key's " +
        'organization.',
    );
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof RpcError && error.code === 'CONFLICT';
}
