import { Email, Flag, Input, Keyed, Names, Nested, Text } from '#libs/rpc';
import { type GivenValues, MOST_VALUE_BYTES } from '../fields/index.js';
import { LONGEST_EXTERNAL_ID, MOST_EXTERNAL_IDS } from './contact-columns.js';
import { EXTERNAL_ID, EXTERNAL_ID_RULE } from './external-ids.js';
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

  @Text({ max: 500, optional: true, nullable: true, description: 'State, county or province.' })
  region?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;

  @Names({
    optional: true,
    nullable: true,
    max: MOST_EXTERNAL_IDS,
    longest: LONGEST_EXTERNAL_ID,
    pattern: EXTERNAL_ID,
    rule: EXTERNAL_ID_RULE,
    example: ['civicrm:123'],
    description:
      'The ids of the person in other systems: the name of the system, a colon, and the id. Each belongs to one ' +
      'contact. Replaces all previous ones.',
  })
  externalIds?: string[];

  @Keyed({
    optional: true,
    nullable: true,
    maxBytes: MOST_VALUE_BYTES,
    values: { type: ['string', 'number', 'boolean', 'array', 'null'], items: { type: 'string' } },
    example: { shoeSize: 42 },
    description:
      'Values of custom fields by their keys. Fields that you leave out keep their value; `null` clears one. The values ' +
      `of a contact can have up to ${MOST_VALUE_BYTES / 1024} KiB in total.`,
  })
  customFields?: GivenValues | null;
}
