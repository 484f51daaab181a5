import { Injectable } from '@nestjs/common';
import { Commands } from '#libs/commands';
import { emailKeys } from '../contacts/index.js';
import { canonicalEmail } from './canonical-email.js';
import { mailboxKey } from './mailbox-keys.js';
import { signature } from './petitions.js';

/** Who has signed a petition, by their addresses. */
@Injectable()
export class Signers {
  constructor(private readonly commands: Commands) {}

  /**
   * The standing signature of the person behind an address: given on the public site from the same mailbox, or by the contact with this
   * address or the mailbox's plain one. Undefined where there is none.
   */
  async find(organizationId: string, petitionId: string, email: string): Promise<string | undefined> {
    const mailbox = canonicalEmail(email);
    const addresses = [...new Set([...emailKeys(email), ...emailKeys(mailbox)].map((key) => key.join(' ')))];
    const [byMailbox, ...contactIds] = await this.commands.findOwners(organizationId, [
      mailboxKey(petitionId, mailbox),
      ...addresses.map((key) => key.split(' ')),
    ]);
    if (byMailbox !== undefined) return byMailbox;
    const keys = contactIds.filter((id) => id !== undefined).map((id) => signature.keyOf(petitionId, id));
    const standing = keys.length > 0 ? await this.commands.findOwners(organizationId, keys) : [];
    return standing.find((id) => id !== undefined);
  }
}
