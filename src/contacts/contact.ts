import { type Decider, type JsonObject, type Upcasters } from '#libs/event-store';
import { comparableEmail, noSuch, RpcError } from '#libs/rpc';

/** All details that identify the person. They are erased with the contact. */
export const CONTACT_DETAILS = [
  'email',
  'firstName',
  'lastName',
  'bio',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'country',
] as const;

export type ContactDetails = { [detail in (typeof CONTACT_DETAILS)[number]]: string | null };
export type ContactChanges = Partial<ContactDetails> & { subscribed?: boolean };

export type ContactEvent =
  | {
      type: 'ContactCreated';
      data: { subscribed: boolean };
      personal: Partial<ContactDetails> | null;
    }
  | { type: 'ContactUpdated'; data: Record<string, never>; personal: Partial<ContactDetails> | null }
  | { type: 'ContactSubscribed'; data: Record<string, never> }
  | { type: 'ContactUnsubscribed'; data: Record<string, never> }
  /** Another contact of the same person replaces this one. `ContactErased` follows in the same command. */
  | { type: 'ContactMerged'; data: { into: string } }
  /** These contacts were merged into this one, whose key encrypts what they contained at that time. */
  | {
      type: 'DuplicatesMerged';
      data: { contactIds: string[] };
      personal: { duplicates: Duplicate[] } | null;
    }
  | { type: 'ContactErased'; data: Record<string, never> };

/** A contact that was merged into another one: every address that it ever had, and its record at that time. */
type Duplicate = { contactId: string; emails: string[]; record: JsonObject };

export type ExistingContact = { status: 'standing'; subscribed: boolean; details: ContactDetails };
/** `mergedInto`: the contact that replaces this one. */
type ErasedContact = { status: 'erased'; mergedInto?: string };
export type Contact = { status: 'unknown' } | ExistingContact | ErasedContact;

/** The release before reads these types and does not write them. */
export const contactShapes: Upcasters = {
  ContactMerged: { reads: [], writes: 'not yet' },
  DuplicatesMerged: { reads: [], writes: 'not yet' },
};

export const NO_DETAILS = Object.fromEntries(
  CONTACT_DETAILS.map((detail) => [detail, null]),
) as ContactDetails;

export const contact: Decider<Contact, ContactEvent> = {
  streamType: 'contact',
  initial: { status: 'unknown' },
  events: {
    ContactCreated: true,
    ContactUpdated: true,
    ContactSubscribed: true,
    ContactUnsubscribed: true,
    ContactMerged: true,
    DuplicatesMerged: true,
    ContactErased: true,
  },
  evolve(state, event) {
    if (event.type === 'ContactCreated') {
      const details = { ...NO_DETAILS, ...event.personal };
      return { status: 'standing', subscribed: event.data.subscribed, details };
    }
    if (state.status !== 'standing') return state;
    switch (event.type) {
      case 'ContactUpdated':
        return { ...state, details: { ...state.details, ...event.personal } };
      case 'ContactSubscribed':
        return { ...state, subscribed: true };
      case 'ContactUnsubscribed':
        return { ...state, subscribed: false };
      case 'ContactMerged':
        return { status: 'erased', mergedInto: event.data.into };
      case 'DuplicatesMerged':
        return state;
      case 'ContactErased':
        return { status: 'erased' };
    }
  },
};

export function createContact({ subscribed = true, ...details }: ContactChanges): ContactEvent[] {
  const given = Object.entries(details).filter(([, value]) => value !== null && value !== undefined);
  return [{ type: 'ContactCreated', data: { subscribed }, personal: Object.fromEntries(given) }];
}

/** Creates events only for real changes. An undefined field stays unchanged, and null clears it. */
export function updateContact(state: ExistingContact, changes: ContactChanges): ContactEvent[] {
  const events: ContactEvent[] = [];
  const changed = CONTACT_DETAILS.filter(
    (detail) => changes[detail] !== undefined && changes[detail] !== state.details[detail],
  );
  if (changed.length > 0) {
    const personal = Object.fromEntries(changed.map((detail) => [detail, changes[detail]!]));
    events.push({ type: 'ContactUpdated', data: {}, personal });
  }
  if (changes.subscribed !== undefined && changes.subscribed !== state.subscribed) {
    events.push({ type: changes.subscribed ? 'ContactSubscribed' : 'ContactUnsubscribed', data: {} });
  }
  return events;
}

/** Erasing an erased contact changes nothing. @throws RpcError NOT_FOUND if it never existed or was merged. */
export function eraseContact(state: Contact): ContactEvent[] {
  switch (state.status) {
    case 'unknown':
      throw noSuch('contact');
    case 'standing':
      return [{ type: 'ContactErased', data: {} }];
    case 'erased':
      // The person exists under the other id.
      if (state.mergedInto !== undefined) throw wasMerged(state.mergedInto);
      return [];
  }
}

/** @throws RpcError NOT_FOUND if the contact does not exist. */
export function existingContact(state: Contact): ExistingContact {
  if (state.status === 'standing') return state;
  throw state.status === 'erased' && state.mergedInto !== undefined
    ? wasMerged(state.mergedInto)
    : noSuch('contact');
}

function wasMerged(into: string): RpcError {
  return new RpcError('NOT_FOUND', `This contact was merged into the contact ${into}. Use that contactId.`);
}

/** Also false if the contact has another address by now, or was deleted. */
export function hasEmail(state: Contact, email: string): state is ExistingContact {
  if (state.status !== 'standing' || state.details.email === null) return false;
  return comparableEmail(state.details.email) === comparableEmail(email);
}
