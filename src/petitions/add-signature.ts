import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { Commands, type Decision, RecordReader, Requests, writeTo } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { Id, Input, invalid, isId, Nested, Operation, RpcError, Text } from '#libs/rpc';
import {
  ContactsByEmail,
  ContactsTable,
  createInline,
  emailKeys,
  InlineContact,
  noSuchContact,
} from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import { PetitionsTable } from './petitions.projection.js';
import { type SignatureAnswer, signatureAnswerSchema } from './signature-record.js';
import { signature, signatureKey, signPetition } from './signature.js';

@Operation({
  method: 'POST',
  name: 'petition.add-signature',
  object: 'signature',
  summary: 'Sign a petition',
  description:
    'Only while the petition is published. The signer is a contact (`contactId`), or a person (`contact`) who is ' +
    'found by e-mail address or created in the same step; what is known of a contact is not changed. One ' +
    'standing signature per contact: signing again answers the first one, also after the close, and a new comment ' +
    'is not taken (withdraw and sign again).',
  answers: signatureAnswerSchema,
  reasons: ['PETITION_NOT_PUBLISHED', 'PETITION_CLOSED'],
  // It makes contacts, and its answer tells whether somebody was one.
  fieldScopes: { contact: 'contact:write' },
})
export class AddSignature extends Input {
  @Id()
  petitionId!: string;

  @Id({ optional: true, description: 'Either this or `contact`.' })
  contactId?: string;

  @Nested(() => InlineContact, { optional: true, description: 'Either this or `contactId`.' })
  contact?: InlineContact;

  @Text({ max: 10_000, optional: true, nullable: true })
  comment?: string | null;
}

@CommandHandler(AddSignature)
export class AddSignatureHandler implements ICommandHandler<AddSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly contacts: ContactsTable,
    private readonly byEmail: ContactsByEmail,
    private readonly petitions: PetitionsTable,
    private readonly open: OpenPetitions,
  ) {}

  async execute(command: AddSignature): Promise<SignatureAnswer> {
    const { organizationId, petitionId, contactId, contact } = command;
    if ((contactId === undefined) === (contact === undefined)) {
      throw invalid([{ path: 'contactId', message: 'or contact must be given: one of them, not both' }]);
    }
    if (contact?.organizationId !== undefined && contact.organizationId !== organizationId) {
      throw new RpcError(
        'FORBIDDEN',
        'contact.organizationId is another organization than the key’s. Leave it out, or name that of the key.',
      );
    }

    const signers = new Map<string, string>();
    let attempts = 0;
    const { recordId: signatureId } = await this.commands.run(command, () =>
      this.decide(command, attempts++ > 0, signers),
    );
    return {
      signatureId,
      petitionId,
      contactId: contactId ?? signers.get(signatureId) ?? (await this.signerOf(organizationId, signatureId)),
      signatures: await this.requests.figure(command, () =>
        this.petitions.countSignatures(organizationId, petitionId),
      ),
    };
  }

  /**
   * @param afresh false at the first attempt, which believes what it was told and what is remembered: the
   *   append refuses if that is wrong, and the next attempt looks.
   * @param signers gets the contact of the signature decided on.
   */
  private async decide(
    command: AddSignature,
    afresh: boolean,
    signers: Map<string, string>,
  ): Promise<Decision> {
    const { organizationId, petitionId, contactId, contact, comment = null } = command;
    const sign = (signer: string, guards: Guard[], created?: Decision): Decision => {
      const signatureId = uuidv7();
      signers.set(signatureId, signer);
      const write = writeTo(signature, signatureId, 0, signPetition(petitionId, signer, comment));
      return {
        recordId: signatureId,
        guards,
        writes: [...(created?.writes ?? []), { ...write, subjectId: signer }],
        claims: [
          ...(created?.claims ?? []),
          {
            value: signatureKey(petitionId, signer),
            streamId: signatureId,
            taken: (standing) => ({ recordId: standing, writes: [] }),
          },
        ],
      };
    };

    let guard: Guard;
    try {
      guard = await this.open.guard(organizationId, petitionId, afresh);
    } catch (error) {
      // Who signed while it was open is answered as then: the request may be a repeat.
      const standing = isConflict(error) ? await this.findStanding(command) : undefined;
      if (standing === undefined) throw error;
      return { recordId: standing, writes: [] };
    }
    if (contact) {
      const created = createInline(contact, async (owner) => {
        const known = await this.byEmail.hold(command, owner, contact.email);
        return known ? sign(owner, [guard, known]) : this.decide(command, true, signers);
      });
      return sign(created.recordId, [guard], created);
    }
    if (afresh || !isId(contactId!)) {
      const [unknown] = await this.contacts.findUnknown(organizationId, [contactId!]);
      if (unknown !== undefined) throw noSuchContact();
    }
    return sign(contactId!, [guard]);
  }

  private async findStanding(command: AddSignature): Promise<string | undefined> {
    const { organizationId, petitionId, contactId, contact } = command;
    const owners = contact
      ? await this.commands.findOwners(organizationId, emailKeys(contact.email))
      : [contactId];
    const signer = owners.find((id) => id !== undefined);
    if (signer === undefined) return undefined;
    const [standing] = await this.commands.findOwners(organizationId, [signatureKey(petitionId, signer)]);
    return standing;
  }

  private async signerOf(organizationId: string, signatureId: string): Promise<string> {
    const { state } = await this.records.look(signature, organizationId, signatureId);
    return state.status === 'unknown' ? '' : state.contactId;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof RpcError && error.code === 'CONFLICT';
}
