import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Decision } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Input } from '#libs/rpc';
import { type Confirmed, Confirmations, type PendingRequest } from '../confirmations/index.js';
import { canonicalEmail } from '../contacts/index.js';
import { signedBy } from './client-networks.js';
import { mailboxKey } from './mailbox-keys.js';
import { OpenPetitions } from './open-petitions.js';
import { signature, signedWith } from './petitions.js';
import { Recruiting } from './recruiting.js';
import { type Requested, signatureRequests, type SignerDetails } from './signature-request.js';
import { Signers } from './signers.js';

/**
 * Confirms a signature from a petition's page. Not an operation of the API: the link in the email authorizes
 * it.
 */
export class ConfirmSignature extends Input {
  requestId!: string;
  /** Whether the signer came by the link in the email: see `Confirmations.confirm`. */
  isProved!: boolean;
}

type Pending = PendingRequest<Requested, SignerDetails>;

@CommandHandler(ConfirmSignature)
export class ConfirmSignatureHandler implements ICommandHandler<ConfirmSignature> {
  constructor(
    private readonly confirmations: Confirmations,
    private readonly signers: Signers,
    private readonly open: OpenPetitions,
    private readonly store: EventStore,
    private readonly recruiting: Recruiting,
  ) {}

  execute(command: ConfirmSignature): Promise<Confirmed> {
    const { organizationId, isProved } = command;
    return this.confirmations.confirm(signatureRequests, command, async (loaded, pending, skipCache) => {
      const { petitionId, person } = pending;
      const open = await this.open.guard(organizationId, petitionId, skipCache);
      const already = (signatureId: string) =>
        this.confirmations.confirmed(signatureRequests, loaded, signatureId);
      const signatureId = await this.signers.find(organizationId, petitionId, person.email);
      if (signatureId !== undefined) return already(signatureId);

      const isCommentPublic = pending.isCommentPublic && isProved;
      return this.confirmations.forContact(command, pending, async (contactId, _, changed) => {
        const via = await this.recruiting.recruiterOf(organizationId, petitionId, {
          via: pending.via,
          signerId: contactId,
        });
        const { linkId, write, claim } = this.begin({ ...pending, isCommentPublic, via }, contactId, already);
        const ended = already(linkId);
        const value = mailboxKey(petitionId, canonicalEmail(person.email));
        return {
          ...ended,
          guards: [open, ...changed.guards],
          writes: [...changed.writes, write, ...ended.writes],
          claims: [claim, { value, streamId: linkId, taken: already }],
        };
      });
    });
  }

  private begin(
    { petitionId, person, subscribe: _, recordId: _record, ...requested }: Pending,
    contactId: string,
    taken: (signatureId: string) => Decision,
  ): ReturnType<typeof signature.begin> {
    const personal = signedBy(this.store.keyring, person);
    return signature.begin(petitionId, contactId, taken, personal, signedWith(requested));
  }
}
