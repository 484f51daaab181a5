import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Input } from '#libs/rpc';
import { Confirmations, type Suspicion } from '../confirmations/index.js';
import { OpenPetitions } from './open-petitions.js';
import { type Appearance, signatureRequests, type SignerDetails, unasked } from './signature-request.js';

/**
 * Requests a signature on a petition's page. Not an operation of the API: clients with a key call
 * add-signature, which counts immediately.
 */
export class RequestSignature extends Input {
  petitionId!: string;
  email!: string;
  firstName!: string | null;
  lastName!: string | null;
  zip!: string | null;
  city?: string | null;
  region?: string | null;
  country!: string | null;
  phone?: string | null;
  comment!: string | null;
  isCommentPublic!: boolean;
  /** How the page names the signer. Default: by the first name next to a public comment. */
  appearance?: Appearance;
  /** Whether the signer subscribes to the organization's emails. */
  subscribe!: boolean;
  source!: string | null;
  /** The signature whose share link led the signer there. */
  via?: string | null;
  clientAddress!: string | null;
  /** Values of custom fields by the id of the field. */
  customFields?: SignerDetails['customFields'];
  language?: string | null;
  /** The text next to the checkbox, as the signer saw it. */
  consent?: { source: string; text: string; language: string };
  suspicion!: Suspicion[];
}

@CommandHandler(RequestSignature)
export class RequestSignatureHandler implements ICommandHandler<RequestSignature> {
  constructor(
    private readonly confirmations: Confirmations,
    private readonly open: OpenPetitions,
  ) {}

  /** @throws RpcError NOT_FOUND, or CONFLICT unless the petition accepts signatures. */
  execute(command: RequestSignature): Promise<{ requestId: string }> {
    const { organizationId, petitionId, email, firstName, lastName, comment, clientAddress } = command;
    const { zip, city = null, region = null, country, phone = null } = command;
    const { source, suspicion, isCommentPublic, subscribe, consent, via = null, customFields = {} } = command;
    const details = { email, firstName, lastName, zip, city, region, country, phone, comment };
    const preset = unasked({ isCommentPublic });
    const { appearance = preset.appearance, language = null } = command;
    const requested = signatureRequests.request(
      { petitionId, source, suspicion, isCommentPublic, subscribe, ...preset, appearance, via, language },
      { ...details, clientAddress, customFields },
    );
    const open = (skipCache: boolean) => this.open.guard(organizationId, petitionId, skipCache);
    return this.confirmations.request(signatureRequests, command, requested, open, consent);
  }
}
