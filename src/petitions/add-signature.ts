import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { ResourceCommands } from '#libs/resources';
import { Id, Input, invalid, isId, Nested, noSuch, Operation, RpcError, Text } from '#libs/rpc';
import {
  Consents,
  ContactsByEmail,
  ContactsTable,
  createInline,
  emailKeys,
  evidenceOf,
  InlineContact,
  requireStated,
} from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import { petitions, signature } from './petitions.js';
import { type SignatureAnswer, signatureAnswerSchema } from './signature-record.js';

@Operation({
  method: 'POST',
  name: 'petition.add-signature',
  object: 'signature',
  summary: 'Sign a petition',
  description:
    'Requires a published petition. The signer is an existing contact (`contactId`) or a person (`contact`). ' +
    'That person is matched by email address, or created as a contact; existing details are not changed. A ' +
    'contact has one active signature per petition. Signing again returns the existing signature, even after the ' +
    'petition is closed, and ignores a new comment: withdraw the signature and sign again. For ' +
    'an existing contact, `contact.consent` is recorded only if `contact.subscribed` matches its current state. A ' +
    'signature never resubscribes a contact; contact.create-contact does, with `onConflict: update`.',
  answers: signatureAnswerSchema,
  reasons: ['PETITION_NOT_PUBLISHED', 'PETITION_CLOSED'],
  // It can create contacts, and its response reveals whether someone already was one.
  fieldScopes: { contact: 'contact:write' },
})
export class AddSignature extends Input {
  @Id()
  petitionId!: string;

  @Id({ optional: true, description: 'Send either this or `contact`.' })
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
    description: 'What led the signer to the petition, for petition.get-stats.',
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
  ) {}

  async execute(command: AddSignature): Promise<SignatureAnswer> {
    requireOneSigner(command);
    if (command.contact) requireStated(command.contact, 'contact.');
    const { recordId, decision, position } = await this.commands.run(command, (skipCache) =>
      this.decide(command, skipCache),
    );
    const write = decision?.writes.find(({ streamId }) => streamId === recordId);
    return {
      signatureId: recordId,
      petitionId: command.petitionId,
      contactId: command.contactId ?? write?.subjectId ?? (await this.signerOf(command, recordId)),
      signatures: await this.resources.count(petitions, command, position),
    };
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
    return sign(command, contactId, [open]);
  }

  /** Creates a contact and its signature. If a contact already has the address, that contact signs. */
  private signAsPerson(command: AddSignature, open: Guard): Decision {
    const contact = command.contact!;
    const created = createInline(this.consents, command, contact, async (owner) => {
      const found = await this.byEmail.find(command, owner, contact.email);
      if (!found) return undefined;
      const signed = sign(command, owner, [open, { streamId: owner, version: found.version }]);
      // The existing contact stays unchanged, but evidence for its existing consent can be added.
      if (contact.subscribed !== found.state.subscribed || signed.writes.length === 0) return signed;
      const same = { contactId: owner, version: found.version, events: [] };
      const { organizationId } = command;
      const evidence = evidenceOf(contact.consent);
      const recorded = await this.consents.ofChange(organizationId, same, contact.subscribed, evidence);
      return { ...signed, writes: [...signed.writes, ...recorded] };
    });
    const signed = sign(command, created.recordId, [open]);
    return {
      ...signed,
      writes: [...created.writes, ...signed.writes],
      claims: [...created.claims!, ...signed.claims!],
    };
  }

  private async requireContact(organizationId: string, contactId: string): Promise<void> {
    const [unknown] = await this.contacts.findUnknown(organizationId, [contactId]);
    if (unknown !== undefined) throw noSuch('contact');
  }

  private async findSignature(command: AddSignature): Promise<string | undefined> {
    const { organizationId, petitionId, contactId, contact } = command;
    const owners = contact
      ? await this.commands.findOwners(organizationId, emailKeys(contact.email))
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

/** Creates a signature, or returns the existing one. */
function sign(
  { petitionId, comment, source = null }: AddSignature,
  contactId: string,
  guards: readonly Guard[],
): Decision {
  const personal = comment === undefined || comment === null ? null : { comment };
  const taken = (signatureId: string) => ({ recordId: signatureId, writes: [] });
  const more = { source, suspicion: [], isCommentPublic: false };
  const { linkId, write, claim } = signature.begin(petitionId, contactId, taken, personal, more);
  return { recordId: linkId, guards, writes: [write], claims: [claim] };
}

function requireOneSigner({ organizationId, contactId, contact }: AddSignature): void {
  if ((contactId === undefined) === (contact === undefined)) {
    throw invalid([{ path: 'contactId', message: 'or contact is required: send one of them, not both' }]);
  }
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
