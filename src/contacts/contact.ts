import { type Decider } from '#libs/event-store';
import { comparableEmail, noSuch } from '#libs/rpc';

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
  | { type: 'ContactErased'; data: Record<string, never> };

export type ExistingContact = { status: 'standing'; subscribed: boolean; details: ContactDetails };
export type Contact = { status: 'unknown' } | ExistingContact | { status: 'erased' };

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

/** Erasing an erased contact changes nothing. */
export function eraseContact(state: Contact): ContactEvent[] {
  switch (state.status) {
    case 'unknown':
      throw noSuch('contact');
    case 'standing':
      return [{ type: 'ContactErased', data: {} }];
    case 'erased':
      return [];
  }
}

/** @throws RpcError NOT_FOUND if the contact does not exist. */
export function existingContact(state: Contact): ExistingContact {
  if (state.status !== 'standing') throw noSuch('contact');
  return state;
}

/** Also false if the contact has another address by now, or was deleted. */
export function hasEmail(state: Contact, email: string): state is ExistingContact {
  if (state.status !== 'standing' || state.details.email === null) return false;
  return comparableEmail(state.details.email) === comparableEmail(email);
}
