import { Injectable } from '@nestjs/common';
import { Commands } from '#libs/commands';
import { emailKeys } from '../contacts/index.js';
import { canonicalEmail } from '../contacts/index.js';
import { mailboxKey } from './mailbox-keys.js';
import { signature } from './petitions.js';

/** Finds signers by email address. */
@Injectable()
export class Signers {
  constructor(private readonly commands: Commands) {}

  /** Returns the valid signature of a contact, also under a former address. Undefined if none exists. */
  async findOf(
    organizationId: string,
    petitionId: string,
    { contactId, email }: { contactId: string; email: string | null },
  ): Promise<string | undefined> {
    const [own] = await this.commands.findOwners(organizationId, [signature.keyOf(petitionId, contactId)]);
    return own ?? (email === null ? undefined : this.find(organizationId, petitionId, email));
  }

  /**
   * Returns the valid signature of the person behind an address; undefined if none exists. It is one from the public
   * site with the same mailbox, or that of the contact with this address or its canonical form.
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
    const signatureIds = keys.length > 0 ? await this.commands.findOwners(organizationId, keys) : [];
    return signatureIds.find((id) => id !== undefined);
  }
}
