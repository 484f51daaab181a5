import { type Claim, type Commands, type Decision } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { Email, Flag } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { newContact } from './contact-write.js';
import { contact, hasEmail } from './contact.js';

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
): Decision {
  return newContact(fields, taken);
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
