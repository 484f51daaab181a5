import { canonical, type Decider, type JsonObject, type Upcasters } from '#libs/event-store';
import { comparableEmail, invalid, noSuch, RpcError } from '#libs/rpc';
import { type CustomValue, MOST_VALUE_BYTES } from '../fields/index.js';

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
  'region',
  'country',
] as const;

export type ContactDetails = { [detail in (typeof CONTACT_DETAILS)[number]]: string | null };

/** Values by the id of their field. A key can be used again after its field was deleted. */
export type CustomValues = { [fieldId: string]: CustomValue };
/** Everything else about the person that events contain. */
export type ContactExtras = {
  /** The person's ids in other systems: `system:id`. */
  externalIds?: string[];
  /** Values to set, by the id of their field. null clears a value. */
  customFields?: { [fieldId: string]: CustomValue | null };
};
export type ContactPersonal = Partial<ContactDetails> & ContactExtras;
export type ContactChanges = ContactPersonal & { subscribed?: boolean };

export type ContactEvent =
  | {
      type: 'ContactCreated';
      data: { subscribed: boolean };
      personal: ContactPersonal | null;
    }
  | { type: 'ContactUpdated'; data: Record<string, never>; personal: ContactPersonal | null }
  | { type: 'ContactSubscribed'; data: Record<string, never> }
  | { type: 'ContactUnsubscribed'; data: Record<string, never> }
  | {
      type: 'ContactMerged';
      data: {
        /** The contact that replaces it. `ContactErased` follows in the same command. */
        into: string;
      };
    }
  /** The key of this contact encrypts what the others contained. */
  | {
      type: 'DuplicatesMerged';
      data: {
        /** The contacts that were merged into this one. */
        contactIds: string[];
      };
      personal: { duplicates: Duplicate[] } | null;
    }
  | { type: 'ContactErased'; data: Record<string, never> };

/** A contact that was merged into another one. */
type Duplicate = {
  contactId: string;
  /** Every address that it ever had. */
  emails: string[];
  /** Its record at the time of the merge. */
  record: JsonObject;
};

export type ExistingContact = {
  status: 'standing';
  subscribed: boolean;
  details: ContactDetails;
  externalIds: string[];
  customFields: CustomValues;
};
/** `mergedInto`: the contact that replaces this one. */
type ErasedContact = { status: 'erased'; mergedInto?: string };
export type Contact = { status: 'unknown' } | ExistingContact | ErasedContact;

/** The shapes of contacts' events, and of those about their consents. */
export const contactShapes: Upcasters = {
  // Contacts had no region, external ids or custom values before.
  ContactCreated: { reads: [(body) => body], writes: 'newest' },
  ContactUpdated: { reads: [(body) => body], writes: 'newest' },
  ConsentRetracted: { reads: [], writes: 'not yet' },
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
      const { externalIds = [], customFields = {}, ...details } = event.personal ?? {};
      return {
        status: 'standing',
        subscribed: event.data.subscribed,
        details: { ...NO_DETAILS, ...details },
        externalIds,
        customFields: withValues({}, customFields),
      };
    }
    if (state.status !== 'standing') return state;
    switch (event.type) {
      case 'ContactUpdated':
        return updated(state, event.personal ?? {});
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

function updated(
  state: ExistingContact,
  { externalIds = state.externalIds, customFields, ...details }: ContactPersonal,
): ExistingContact {
  return {
    ...state,
    details: { ...state.details, ...details },
    externalIds,
    customFields: customFields ? withValues(state.customFields, customFields) : state.customFields,
  };
}

function haveRoom(values: CustomValues): boolean {
  return Buffer.byteLength(JSON.stringify(values)) <= MOST_VALUE_BYTES;
}

/** @throws RpcError BAD_REQUEST if the values would take too much room together. */
function requireRoom(values: CustomValues): void {
  if (!haveRoom(values))
    throw invalid([
      { path: 'customFields', message: `would have more than ${MOST_VALUE_BYTES / 1024} KiB in total` },
    ]);
}

/** The values after these changes. */
function withValues(before: CustomValues, changes: NonNullable<ContactExtras['customFields']>): CustomValues {
  const after = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null);
  return Object.fromEntries(after) as CustomValues;
}

export function createContact({ subscribed = true, ...details }: ContactChanges): ContactEvent[] {
  const customFields = withValues({}, details.customFields ?? {});
  requireRoom(customFields);
  const isGiven = (value: unknown) =>
    value !== null && value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0);
  // A command also has fields that are not the person's own.
  const known: ContactPersonal = { externalIds: details.externalIds ?? [], customFields };
  for (const detail of CONTACT_DETAILS) known[detail] = details[detail] ?? null;
  const given = Object.entries(known).filter(([, value]) => isGiven(value));
  return [{ type: 'ContactCreated', data: { subscribed }, personal: Object.fromEntries(given) }];
}

/** Creates events only for real changes. An undefined field stays unchanged, and null clears it. */
export function updateContact(state: ExistingContact, changes: ContactChanges): ContactEvent[] {
  const events: ContactEvent[] = [];
  const changed = CONTACT_DETAILS.filter(
    (detail) => changes[detail] !== undefined && changes[detail] !== state.details[detail],
  );
  const personal: ContactPersonal = {
    ...Object.fromEntries(changed.map((detail) => [detail, changes[detail]!])),
    ...changedExtras(state, changes),
  };
  if (Object.keys(personal).length > 0) {
    events.push({ type: 'ContactUpdated', data: {}, personal });
  }
  if (changes.subscribed !== undefined && changes.subscribed !== state.subscribed) {
    events.push({ type: changes.subscribed ? 'ContactSubscribed' : 'ContactUnsubscribed', data: {} });
  }
  return events;
}

/**
 * The values of a form that its sender may set: those that the contact lacks, and all if the address is proved to be theirs.
 * None if they would take too much room, because the sender cannot know what is stored.
 */
export function answersFor(
  { customFields: before }: ExistingContact,
  answers: CustomValues,
  isProved: boolean,
): CustomValues {
  const allowed = Object.entries(answers).filter(([fieldId]) => isProved || !Object.hasOwn(before, fieldId));
  const values = Object.fromEntries(allowed);
  return haveRoom({ ...before, ...values }) ? values : {};
}

function changedExtras(state: ExistingContact, { externalIds, customFields }: ContactExtras): ContactExtras {
  const isSame = (one: unknown, other: unknown) => canonical(one) === canonical(other);
  const values = Object.entries(customFields ?? {}).filter(
    ([fieldId, value]) => !isSame(value, state.customFields[fieldId] ?? null),
  );
  const changes = Object.fromEntries(values);
  if (values.length > 0) requireRoom(withValues(state.customFields, changes));
  return {
    ...(externalIds && !isSame(externalIds, state.externalIds) ? { externalIds } : {}),
    ...(values.length > 0 ? { customFields: changes } : {}),
  };
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
  const message = `This contact was merged into the contact ${into}. Use that contactId.`;
  return new RpcError('NOT_FOUND', message, { reason: 'MERGED', fields: { mergedInto: into } });
}

/** Also false if the contact has another address by now, or was deleted. */
export function hasEmail(state: Contact, email: string): state is ExistingContact {
  if (state.status !== 'standing' || state.details.email === null) return false;
  return comparableEmail(state.details.email) === comparableEmail(email);
}
