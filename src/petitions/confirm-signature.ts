import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision } from '#libs/commands';
import { EventStore, type Guard } from '#libs/event-store';
import { Input, inputOf, RpcError } from '#libs/rpc';
import { Consents, ContactsByEmail, createInline, type Evidence, InlineContact } from '../contacts/index.js';
import { Suppressions } from '../suppressions/index.js';
import { canonicalEmail } from '../contacts/index.js';
import { signedBy } from './client-networks.js';
import { mailboxKey } from './mailbox-keys.js';
import { OpenPetitions } from './open-petitions.js';
import { signature, signedWith } from './petitions.js';
import { type Requested, type SignerDetails } from './signature-request.js';
import { SignatureRequests } from './signature-requests.js';
import { Signers } from './signers.js';

/** The result of following a confirmation link. */
export type Confirmed = 'SIGNED' | 'CLOSED' | 'EXPIRED' | 'UNKNOWN';

/**
 * Confirms a signature from a petition's page. Not an operation of the API: the link in the email authorizes
 * it.
 */
export class ConfirmSignature extends Input {
  requestId!: string;
  /**
   * Whether the signer came by the link in the email. If not, anyone may have entered the address: no detail of
   * its contact is replaced, and the comment is not published under its name.
   */
  isProved!: boolean;
}

type Pending = Requested & { signer: SignerDetails };

@CommandHandler(ConfirmSignature)
export class ConfirmSignatureHandler implements ICommandHandler<ConfirmSignature> {
  constructor(
    private readonly commands: Commands,
    private readonly requests: SignatureRequests,
    private readonly signers: Signers,
    private readonly byEmail: ContactsByEmail,
    private readonly consents: Consents,
    private readonly open: OpenPetitions,
    private readonly store: EventStore,
    private readonly suppressions: Suppressions,
  ) {}

  /** Idempotent. */
  async execute(command: ConfirmSignature): Promise<Confirmed> {
    let outcome: Confirmed = 'SIGNED';
    const { organizationId, requestId, context, isProved } = command;
    const { state } = await this.requests.load({ organizationId, requestId });
    // Subscribing lifts an earlier unsubscribe. This comes first: after a crash, a retry would find the
    // signature confirmed and do nothing.
    if (isProved && state.status === 'PENDING' && state.subscribe && state.signer)
      await this.suppressions.unsuppress(organizationId, state.signer.email, context, 'UNSUBSCRIBED');
    try {
      await this.commands.run(command, async (skipCache) => {
        const decided = await this.decide(command, skipCache);
        if (typeof decided !== 'string') return decided;
        outcome = decided;
        return { recordId: command.requestId, writes: [] };
      });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (error.code === 'CONFLICT') return 'CLOSED';
      // The petition was deleted.
      if (error.code === 'NOT_FOUND') return 'UNKNOWN';
      throw error;
    }
    return outcome;
  }

  private async decide(command: ConfirmSignature, skipCache: boolean): Promise<Decision | Confirmed> {
    const { organizationId, requestId } = command;
    const loaded = await this.requests.load({ organizationId, requestId });
    const { state } = loaded;
    if (state.status === 'CONFIRMED') return 'SIGNED';
    if (state.status !== 'PENDING') return state.status;
    const { petitionId, signer } = state;
    if (!signer) return 'EXPIRED';
    const { isProved } = command;
    const isCommentPublic = state.isCommentPublic && isProved;
    const open = await this.open.guard(organizationId, petitionId, skipCache);
    const signatureId = await this.signers.find(organizationId, petitionId, signer.email);
    if (signatureId !== undefined) return this.requests.confirmed(loaded, signatureId);

    const already = (signatureId: string) => this.requests.confirmed(loaded, signatureId);
    const sign = (
      contactId: string,
      guards: readonly Guard[],
      ofContact: Decision['writes'] = [],
    ): Decision => {
      const added = this.beginSignature({ ...state, signer, isCommentPublic }, contactId, already);
      const ended = this.requests.confirmed(loaded, added.linkId);
      return {
        ...ended,
        guards,
        writes: [...ofContact, added.write, ...ended.writes],
        claims: [
          added.claim,
          {
            value: mailboxKey(petitionId, canonicalEmail(signer.email)),
            streamId: added.linkId,
            taken: already,
          },
        ],
      };
    };
    const evidence = await this.consents.pending(organizationId, requestId);
    const { customFields } = signer;
    const contact = contactOf(command, { ...state, signer }, evidence);
    const created = createInline(
      this.consents,
      command,
      contact,
      async (owner) => {
        const answers = { subscribes: state.subscribe && isProved, isProved, evidence, customFields };
        const answered = await this.byEmail.answer(command, owner, signer.email, answers);
        return answered && sign(owner, [open, ...answered.guards], answered.writes);
      },
      { values: { customFields } },
    );
    const signed = sign(created.recordId, [open]);
    return {
      ...signed,
      writes: [...created.writes, ...signed.writes],
      claims: [...created.claims!, ...signed.claims!],
    };
  }

  private beginSignature(
    { petitionId, signer, subscribe: _, ...requested }: Pending,
    contactId: string,
    taken: (signatureId: string) => Decision,
  ): ReturnType<typeof signature.begin> {
    const personal = signedBy(this.store.keyring, signer);
    return signature.begin(petitionId, contactId, taken, personal, signedWith(requested));
  }
}

/** A signer is subscribed only if they asked for it. */
function contactOf(
  { context }: ConfirmSignature,
  { signer, subscribe }: Pending,
  consent: Evidence | undefined,
): InlineContact {
  const { comment: _, clientAddress: _address, customFields: _values, ...details } = signer;
  return inputOf(InlineContact, { ...details, subscribed: subscribe, consent }, context);
}
