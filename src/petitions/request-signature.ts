import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { newId } from '#libs/random';
import { Input } from '#libs/rpc';
import { Consents } from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import { signatureRequest, type SignatureRequestEvent, type Suspicion } from './signature-request.js';

/**
 * Somebody signs on a petition's page. No operation: whoever has a key says add-signature, which counts at once.
 *
 * It does the same whoever asks: whether the address has signed before, or asked before, is looked at behind its back, so that
 * neither answer nor time tells.
 */
export class RequestSignature extends Input {
  petitionId!: string;
  email!: string;
  firstName!: string | null;
  lastName!: string | null;
  zip!: string | null;
  country!: string | null;
  comment!: string | null;
  isCommentPublic!: boolean;
  /** Whether they want to hear from the organization. */
  subscribe!: boolean;
  source!: string | null;
  clientAddress!: string | null;
  /** What they saw where they said whether they want that. */
  consent?: { source: string; text: string; language: string };
  suspicion!: Suspicion[];
}

@CommandHandler(RequestSignature)
export class RequestSignatureHandler implements ICommandHandler<RequestSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly open: OpenPetitions,
    private readonly consents: Consents,
  ) {}

  /** @throws RpcError NOT_FOUND, or CONFLICT unless the petition takes signatures. */
  async execute(command: RequestSignature): Promise<{ requestId: string }> {
    const { organizationId, petitionId, email, firstName, lastName, zip, country, comment, clientAddress } =
      command;
    const { source, suspicion, isCommentPublic, subscribe, consent } = command;
    const evidence = consent && { ...consent, ...(clientAddress === null ? {} : { ip: clientAddress }) };
    const requested: SignatureRequestEvent = {
      type: 'SignatureRequested',
      data: { petitionId, source, suspicion, isCommentPublic, subscribe },
      personal: { email, firstName, lastName, zip, country, comment, clientAddress },
    };
    const { recordId } = await this.commands.run(command, async (afresh) => {
      const requestId = newId();
      const write = {
        streamType: signatureRequest.streamType,
        streamId: requestId,
        expectedVersion: 0,
        events: [requested],
        subjectId: requestId,
      };
      const guards = [await this.open.guard(organizationId, petitionId, afresh)];
      const kept = this.consents.ofPending(organizationId, requestId, subscribe, evidence);
      return { recordId: requestId, guards, writes: [write, ...kept] };
    });
    return { requestId: recordId };
  }
}
