import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, Requests, writeTo } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { ContactsTable, noSuchContact } from '../contacts/index.js';
import { petition, standingPetition } from './petition.js';
import { PetitionsTable } from './petitions.projection.js';
import { type SignatureAnswer, withdrawnAnswerSchema } from './signature-record.js';
import { signature, signatureKey, withdrawSignature } from './signature.js';

@Operation({
  method: 'DELETE',
  name: 'petition.remove-signature',
  object: 'signature',
  summary: 'Withdraw a signature',
  description:
    'The count goes down; the contact may sign again later. Where the contact has not signed, nothing happens.',
  answers: withdrawnAnswerSchema,
})
export class RemoveSignature extends Input {
  @Id()
  petitionId!: string;

  @Id()
  contactId!: string;
}

@CommandHandler(RemoveSignature)
export class RemoveSignatureHandler implements ICommandHandler<RemoveSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly contacts: ContactsTable,
    private readonly petitions: PetitionsTable,
  ) {}

  async execute(command: RemoveSignature): Promise<SignatureAnswer> {
    const { organizationId, petitionId, contactId } = command;
    const { recordId } = await this.commands.run(command, () => this.decide(command));
    return {
      signatureId: recordId === petitionId ? null : recordId,
      petitionId,
      contactId,
      signatures: await this.requests.figure(command, () =>
        this.petitions.countSignatures(organizationId, petitionId),
      ),
    };
  }

  private async decide({ organizationId, petitionId, contactId }: RemoveSignature): Promise<Decision> {
    standingPetition((await this.records.load(petition, organizationId, petitionId)).state);
    const [unknown] = await this.contacts.findUnknown(organizationId, [contactId]);
    if (unknown !== undefined) {
      const erased = await this.contacts.findErased(organizationId, [contactId]);
      if (!erased.has(contactId)) throw noSuchContact();
      // Their signature stays counted, without a name: nobody can say which it is.
      return { recordId: petitionId, writes: [] };
    }

    const key = signatureKey(petitionId, contactId);
    const [standing] = await this.commands.findOwners(organizationId, [key]);
    if (standing === undefined) {
      // A repeat answers like the first time; without any signature the answer is about the petition alone.
      const withdrawn = await this.petitions.findWithdrawn(organizationId, petitionId, contactId);
      return { recordId: withdrawn ?? petitionId, writes: [] };
    }
    const { state, version } = await this.records.load(signature, organizationId, standing);
    const events = withdrawSignature(state);
    return {
      recordId: standing,
      writes: [{ ...writeTo(signature, standing, version, events), subjectId: contactId }],
      // Withdrawn by somebody else meanwhile, it has no key to give up: another signature may have it.
      releases: events.length > 0 ? [{ value: key, streamId: standing }] : [],
    };
  }
}
