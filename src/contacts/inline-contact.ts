import { type Claim, type Decision } from '#libs/commands';
import { Email, Flag, type Input } from '#libs/rpc';
import { ContactFields } from './contact-fields.js';
import { type Consents } from './consent/consents.js';
import { newContact } from './contact-write.js';

/** A person given with another record: found by address, or created in the same command. */
export class InlineContact extends ContactFields {
  @Email({ example: 'ada@example.org' })
  override email!: string;

  @Flag({ optional: true, documentedDefault: true })
  override subscribed?: boolean;
}

/** Creates the contact, for a decision of another module. @param taken see `Claim.taken`. */
export function createInline(
  consents: Consents,
  { organizationId }: Input,
  { organizationId: _, context, ...fields }: InlineContact,
  taken: Claim['taken'],
): Decision {
  return newContact({ organizationId, consents }, fields, taken);
}
