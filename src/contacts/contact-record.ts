import { type Folded } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { type FieldSchema, recordSchema, recordVersion } from '#libs/rpc';
import { type CustomValue, field, namedValues } from '../fields/index.js';
import { contact, type Contact, type ContactDetails, existingContact } from './contact.js';

/** A contact as the API returns it. */
export type ContactRecord = {
  id: string;
  /** A string if the record is only returned: see `momentAsText`. */
  createdAt: Date | string;
  updatedAt: Date | string;
  version: number;
  organizationId: string;
  subscribed: boolean;
  externalIds: string[];
  /** The values, by the keys of their fields. */
  customFields: { [key: string]: CustomValue };
} & ContactDetails;

const time: FieldSchema = { type: 'string', format: 'date-time' };
const detail: FieldSchema = { type: ['string', 'null'] };

const fields = {
  id: { type: 'string' },
  createdAt: time,
  updatedAt: time,
  version: recordVersion,
  email: {
    type: ['string', 'null'],
    format: 'idn-email',
    description: 'With `asOf`, null if the contact has since been erased.',
  },
  firstName: detail,
  lastName: detail,
  bio: detail,
  phone: detail,
  mobile: detail,
  address: detail,
  zip: detail,
  city: detail,
  region: detail,
  country: detail,
  externalIds: {
    type: 'array',
    items: { type: 'string', format: undefined },
    description: 'The ids of the person in other systems, like `civicrm:123`.',
  },
  customFields: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'array'], items: { type: 'string' } },
    description: 'The values of custom fields by their keys. Contains only fields that have a value.',
  },
  organizationId: { type: 'string' },
  subscribed: { type: 'boolean' },
} satisfies { [field in keyof ContactRecord]: FieldSchema };

export const contactSchema = recordSchema(fields);

/** The fields of a record, in the order of the response. */
export const CONTACT_COLUMNS = Object.keys(fields) as (keyof ContactRecord)[];

export const contactIdSchema = recordSchema({ contactId: { type: 'string' } });

/** Contacts from an exported history. Their values are named by the custom fields in the same history. */
export const replayableContacts: Replayable = {
  object: 'contact',
  streamTypes: [contact.streamType, field.streamType],
  start() {
    const contacts = folding(contact);
    const fields = folding(field);
    return {
      apply: (event) => (event.streamType === field.streamType ? fields : contacts).apply(event),
      *records() {
        const keys = new Map(
          [...fields.all].flatMap(([id, { state }]) => (state.status === 'active' ? [[id, state.key]] : [])),
        );
        for (const [id, folded] of contacts.all) {
          if (folded.state.status !== 'standing') continue;
          const record = recordFromHistory(folded.organizationId, id, folded);
          yield { ...record, customFields: namedValues(record.customFields, keys) };
        }
      },
    };
  },
};

/** The record from its history, with its values by the ids of their fields: see `CustomFields.name`. @throws RpcError NOT_FOUND if the contact did not exist then. */
export function recordFromHistory(
  organizationId: string,
  contactId: string,
  { state, version, createdAt, updatedAt }: Folded<Contact>,
): ContactRecord {
  const { details, subscribed, externalIds, customFields } = existingContact(state);
  return {
    id: contactId,
    createdAt: createdAt!,
    updatedAt: updatedAt!,
    version,
    ...details,
    externalIds,
    customFields,
    organizationId,
    subscribed,
  };
}
