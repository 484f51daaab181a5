import { v7 as uuidv7 } from 'uuid';
import { type Claim, type Commands } from '#libs/commands';
import { type Guard, type StreamWrite } from '#libs/event-store';
import { Email, Flag } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { contactWrite, emailClaim } from './contact-write.js';
import { contact, createContact, hasEmail } from './contact.js';

/** A person given along with another record: found by the address, or created in the same command. */
export class InlineContact extends ContactFields {
  @Email({ example: 'ada@example.org' })
  override email!: string;

  @Flag({ optional: true, documentedDefault: true })
  override subscribed?: boolean;
}

/** What creates the contact, for a decision of another module's. @param taken see `Claim.taken`. */
export function createInline(
  { organizationId, context, ...fields }: InlineContact,
  taken: Claim['taken'],
): { contactId: string; write: StreamWrite; claim: Claim } {
  const contactId = uuidv7();
  return {
    contactId,
    write: contactWrite(contactId, 0, createContact(fields)),
    claim: emailClaim(fields.email, contactId, taken),
  };
}

/**
 * What must stay as it is for somebody to be found by this address; undefined if the contact has another one
 * by now, or is no more.
 */
export async function holdContact(
  commands: Commands,
  organizationId: string,
  contactId: string,
  email: string,
): Promise<Guard | undefined> {
  const { state, version } = await commands.load(contact, organizationId, contactId);
  return hasEmail(state, email) ? { streamId: contactId, version } : undefined;
}
