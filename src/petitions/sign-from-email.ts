import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Input, noSuch, RpcError } from '#libs/rpc';
import { canonicalEmail, findMerged } from '../contacts/index.js';
import { signedBy } from './client-networks.js';
import { mailboxKey } from './mailbox-keys.js';
import { OpenPetitions } from './open-petitions.js';
import { signature, signedWith } from './petitions.js';
import { Signers } from './signers.js';

/** Signs by the personal link in a broadcast. Not an operation of the API: the link authorizes it. */
export class SignFromEmail extends Input {
  petitionId!: string;
  /** The contact that the link was sent to. */
  contactId!: string;
  broadcastId!: string;
  clientAddress!: string | null;
  language!: string;
}

@CommandHandler(SignFromEmail)
export class SignFromEmailHandler implements ICommandHandler<SignFromEmail> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly signers: Signers,
    private readonly open: OpenPetitions,
    private readonly store: EventStore,
  ) {}

  /** Idempotent. @returns false if the petition is closed, or if it or the contact was deleted. */
  async execute(command: SignFromEmail): Promise<boolean> {
    try {
      await this.commands.run(command, (skipCache) => this.decide(command, skipCache));
      return true;
    } catch (error) {
      if (error instanceof RpcError && ['CONFLICT', 'NOT_FOUND'].includes(error.code)) return false;
      throw error;
    }
  }

  private async decide(command: SignFromEmail, skipCache: boolean): Promise<Decision> {
    const { organizationId, petitionId, broadcastId, clientAddress, language } = command;
    const open = await this.open.guard(organizationId, petitionId, skipCache);
    const signer = await findMerged(this.records, organizationId, command.contactId);
    if (!signer) throw noSuch('contact');
    const { contactId, state, version } = signer;
    const { email } = state.details;
    const already = (recordId: string): Decision => ({ recordId, writes: [] });
    const before = await this.signers.findOf(organizationId, petitionId, { contactId, email });
    if (before !== undefined) return already(before);
    const { linkId, write, claim } = signature.begin(
      petitionId,
      contactId,
      already,
      signedBy(this.store.keyring, { clientAddress }),
      signedWith({ source: 'email', broadcastId, language }),
    );
    const mailbox = email === null ? [] : [mailboxKey(petitionId, canonicalEmail(email))];
    return {
      recordId: linkId,
      guards: [open, { streamId: contactId, version }],
      writes: [write],
      claims: [claim, ...mailbox.map((value) => ({ value, streamId: linkId, taken: already }))],
    };
  }
}
