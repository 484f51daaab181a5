import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { ResourceCommands, Resources } from '#libs/resources';
import { Id, noSuch, Operation, RecordInput } from '#libs/rpc';
import { ContactsTable } from '../contacts/index.js';
import { petition, existingPetition } from './petition.js';
import { petitions, signature } from './petitions.js';
import { type SignatureAnswer, withdrawnAnswerSchema } from './signature-record.js';

@Operation({
  name: 'petition.remove-signature',
  summary: 'Withdraw a signature',
  description:
    'Lowers the count. The contact can sign again later. If the contact has not signed, nothing happens.',
  answers: withdrawnAnswerSchema,
})
export class RemoveSignature extends RecordInput('petitionId') {
  @Id()
  contactId!: string;
}

@CommandHandler(RemoveSignature)
export class RemoveSignatureHandler implements ICommandHandler<RemoveSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly answers: ResourceCommands,
    private readonly contacts: ContactsTable,
  ) {}

  async execute(command: RemoveSignature): Promise<SignatureAnswer> {
    const { petitionId, contactId } = command;
    const { recordId, position } = await this.commands.run(command, (skipCache) =>
      this.decide(command, skipCache),
    );
    return {
      signatureId: recordId === petitionId ? null : recordId,
      petitionId,
      contactId,
      signatures: await this.answers.count(petitions, command, position),
    };
  }

  private async decide(command: RemoveSignature, skipCache: boolean): Promise<Decision> {
    const { organizationId, petitionId, contactId } = command;
    existingPetition((await this.records.load(petition, organizationId, petitionId)).state);
    const [unknown] = await this.contacts.findUnknown(organizationId, [contactId]);
    if (unknown !== undefined) {
      const erased = await this.contacts.findErased(organizationId, [contactId]);
      if (!erased.has(contactId)) throw noSuch('contact');
      // The signature of an erased contact still counts, but without a name no one can find it.
      return { recordId: petitionId, writes: [] };
    }

    const key = signature.keyOf(petitionId, contactId);
    const [signatureId] = await this.commands.findOwners(organizationId, [key]);
    if (signatureId === undefined) {
      // A repeat returns the same response. If there was no signature, the response contains only the
      // petition.
      const withdrawn = await this.resources.findEndedLink(petitions, organizationId, petitionId, contactId);
      return { recordId: withdrawn ?? petitionId, writes: [] };
    }
    // A valid signature has more than its first event only if it was moved to this contact.
    let version = 1;
    if (skipCache) {
      const current = await this.records.load(signature.decider, organizationId, signatureId);
      // Another request has withdrawn it since its key was read.
      if (current.state.status === 'ended') return { recordId: signatureId, writes: [] };
      ({ version } = current);
    }
    const { write } = signature.end(signatureId, petitionId, contactId, version);
    // This also releases the mailbox's key, if the petition was signed on the public site.
    return { recordId: signatureId, writes: [write], releasesAll: [signatureId] };
  }
}
