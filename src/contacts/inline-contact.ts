import { type Claim, type Commands, type Decision } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { Email, Flag, type Input } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { findByEmail, newContact } from './contact-write.js';

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
  input: Input,
  contactId: string,
  email: string,
): Promise<Guard | undefined> {
  const found = await findByEmail(commands, input, contactId, email);
  return found && { streamId: contactId, version: found.version };
}
