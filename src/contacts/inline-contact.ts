import { type Claim, type Decision } from '#libs/commands';
import { Email, Flag, type Input } from '#libs/rpc';
import { type CustomFields } from '../fields/index.js';
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

/**
 * Creates the contact, for a decision of another module.
 *
 * @param taken see `Claim.taken`.
 * @param more `values`: its `customFields` as `CustomFields.read` returns them. `idTaken`: see `newContact`.
 */
export function createInline(
  consents: Consents,
  { organizationId }: Input,
  { organizationId: _, context, customFields: _unread, ...fields }: InlineContact,
  taken: Claim['taken'],
  more: {
    values?: Awaited<ReturnType<CustomFields['read']>>;
    idTaken?: Parameters<typeof newContact>[3];
  } = {},
): Decision {
  return newContact({ organizationId, consents }, { ...fields, ...more.values }, taken, more.idTaken);
}
