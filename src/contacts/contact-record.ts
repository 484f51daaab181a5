import { type Folded } from '#libs/event-store';
import { replayable } from '#libs/projections';
import { type FieldSchema, recordSchema } from '#libs/rpc';
import { contact, type Contact, type ContactDetails, existingContact } from './contact.js';

/** A contact as the API returns it. */
export type ContactRecord = {
  id: string;
  /** A string if the record is only returned: see `momentAsText`. */
  createdAt: Date | string;
  updatedAt: Date | string;
  organizationId: string;
  subscribed: boolean;
} & ContactDetails;

const time: FieldSchema = { type: 'string', format: 'date-time' };
const detail: FieldSchema = { type: ['string', 'null'] };

const fields = {
  id: { type: 'string' },
  createdAt: time,
  updatedAt: time,
  email: {
    type: ['string', 'null'],
    format: 'email',
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
  country: detail,
  organizationId: { type: 'string' },
  subscribed: { type: 'boolean' },
} satisfies { [field in keyof ContactRecord]: FieldSchema };

export const contactSchema = recordSchema(fields);

/** The fields of a record, in the order of the response. */
export const CONTACT_COLUMNS = Object.keys(fields) as (keyof ContactRecord)[];

export const contactIdSchema = recordSchema({ contactId: { type: 'string' } });

/** Contacts from an exported history. */
export const replayableContacts = replayable('contact', contact, (organizationId, id, folded) =>
  folded.state.status === 'standing' ? recordFromHistory(organizationId, id, folded) : undefined,
);

/** The record from its history. @throws RpcError NOT_FOUND if the contact did not exist then. */
export function recordFromHistory(
  organizationId: string,
  contactId: string,
  { state, createdAt, updatedAt }: Folded<Contact>,
): ContactRecord {
  const { details, subscribed } = existingContact(state);
  return {
    id: contactId,
    createdAt: createdAt!,
    updatedAt: updatedAt!,
    ...details,
    organizationId,
    subscribed,
  };
}
