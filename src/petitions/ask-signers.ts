import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { inputOf, OperationRunner } from '#libs/rpc';
import { type Due, type Subscription, type Timer } from '#libs/subscriptions';
import { AskToConfirm, EndRequests } from '../confirmations/index.js';
import { ConfirmSignature } from './confirm-signature.js';
import { PetitionAddress } from './petition-address.js';
import { exists, petition } from './petition.js';
import { inLanguage, languageQuery } from './petition-language.js';
import { petitions } from './petitions.js';
import { signatureRequests } from './signature-request.js';
import { Signers } from './signers.js';

/** Emails signers on a petition's page a link to confirm their signature. */
@Injectable()
export class AskSigners implements Subscription {
  readonly name = 'signature-requests';
  readonly handles = ['SignatureRequested'];
  readonly begins = 'at the first event';

  constructor(
    private readonly asking: AskToConfirm,
    private readonly runner: OperationRunner,
    private readonly records: RecordReader,
    private readonly signers: Signers,
    private readonly addresses: PetitionAddress,
  ) {}

  handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { name } = this;
    return this.asking.ask(signatureRequests, event, signal, {
      name,
      mail: 'signature',
      find: async (organizationId, petitionId, { language }) => {
        const { state } = await this.records.look(petition, organizationId, petitionId);
        if (!exists(state)) return undefined;
        const { title, confirmation } = language === null ? state : inLanguage(state, language);
        const url = await this.addresses.of(organizationId, petitionId, state);
        return { title, confirmation, url, language, query: languageQuery(state, language) };
      },
      confirm: ({ requestId, context }) =>
        this.runner.execute(inputOf(ConfirmSignature, { requestId, isProved: false }, context)),
      isDone: async (...signer) => (await this.signers.find(...signer)) !== undefined,
    });
  }
}

@Injectable()
export class SignatureExpiry implements Timer {
  readonly name = signatureRequests.names.timer;

  constructor(private readonly requests: EndRequests) {}

  fire(due: Due): Promise<void> {
    return this.requests.overdue(signatureRequests, due);
  }
}

/** When a petition is deleted, ends the signatures that await confirmation. */
@Injectable()
export class PetitionDeletions implements Subscription {
  readonly name = 'petition-deletions';
  readonly handles = ['PetitionDeleted'];
  readonly begins = 'at the first event';

  constructor(private readonly requests: EndRequests) {}

  handle(event: RecordedEvent): Promise<void> {
    return this.requests.ofDeleted(signatureRequests, petitions, event, this.name);
  }
}
