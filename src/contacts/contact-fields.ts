import { Email, Flag, Input, Nested, Text } from '#libs/rpc';
import { ConsentFields } from './consent/consent-fields.js';

/** The fields that describe a contact, shared by create-contact and update-contact. All optional. */
export abstract class ContactFields extends Input {
  @Email({ optional: true, example: 'ada@example.org' })
  email?: string;

  @Flag({ optional: true, description: 'Whether the person wants to receive email from the organization.' })
  subscribed?: boolean;

  @Nested(() => ConsentFields, {
    optional: true,
    description: 'Evidence that the person gave or refused consent. Requires `subscribed`.',
  })
  consent?: ConsentFields;

  @Text({ max: 200, optional: true, nullable: true, example: 'Ada' })
  firstName?: string | null;

  @Text({ max: 200, optional: true, nullable: true, example: 'Lovelace' })
  lastName?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  bio?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  phone?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  mobile?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  address?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  zip?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  city?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;
}
