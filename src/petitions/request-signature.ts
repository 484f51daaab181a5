import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { newId } from '#libs/random';
import { Input } from '#libs/rpc';
import { Consents } from '../contacts/index.js';
import { OpenPetitions } from './open-petitions.js';
import {
  NOT_ASKED_FOR,
  signatureRequest,
  type SignatureRequestEvent,
  type SignerDetails,
  type Suspicion,
  unasked,
} from './signature-request.js';

/**
 * Requests a signature on a petition's page. Not an operation of the API: clients with a key call
 * add-signature, which counts immediately.
 *
 * Does the same for everyone. Whether the address has signed or requested before is checked later, so neither
 * the response nor its timing reveals it.
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
  /** Whether the signer subscribes to the organization's emails. */
  subscribe!: boolean;
  source!: string | null;
  clientAddress!: string | null;
  /** Values of custom fields by the id of the field. */
  customFields?: SignerDetails['customFields'];
  /** The text next to the checkbox, as the signer saw it. */
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

  /** @throws RpcError NOT_FOUND, or CONFLICT unless the petition accepts signatures. */
  async execute(command: RequestSignature): Promise<{ requestId: string }> {
    const { organizationId, petitionId, email, firstName, lastName, zip, country, comment, clientAddress } =
      command;
    const { source, suspicion, isCommentPublic, subscribe, consent, customFields = {} } = command;
    const evidence = consent && { ...consent, ...(clientAddress === null ? {} : { ip: clientAddress }) };
    const details = { ...NOT_ASKED_FOR, email, firstName, lastName, zip, country, comment };
    const requested: SignatureRequestEvent = {
      type: 'SignatureRequested',
      data: { petitionId, source, suspicion, isCommentPublic, subscribe, ...unasked({ isCommentPublic }) },
      personal: { ...details, clientAddress, customFields },
    };
    const { recordId } = await this.commands.run(command, async (skipCache) => {
      const requestId = newId();
      const write = {
        streamType: signatureRequest.streamType,
        streamId: requestId,
        expectedVersion: 0,
        events: [requested],
        subjectId: requestId,
      };
      const guards = [await this.open.guard(organizationId, petitionId, skipCache)];
      const consent = this.consents.ofPending(organizationId, requestId, subscribe, evidence);
      return { recordId: requestId, guards, writes: [write, ...consent] };
    });
    return { requestId: recordId };
  }
}
