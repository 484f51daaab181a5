import { canonical, type Decider, type Keyring, streamIdOf, type StreamWrite } from '#libs/event-store';
import { type ContactEvent } from './contact.js';

/** What proves that a person said yes or no. `language`: of the text, if one of our own pages showed it. */
const EVIDENCE = ['source', 'text', 'language', 'at', 'ip'] as const;
export type Evidence = { [field in (typeof EVIDENCE)[number]]?: string };

export type ConsentEvent = {
  type: 'ConsentRecorded';
  /** `contactVersion`: the event of the contact that it proves; null if the contact had said the same before. */
  data: { given: boolean; contactVersion: number | null };
  personal: Evidence | null;
};

export type Consent = { evidence: Evidence | null };

/**
 * Evidence for a yes or a no. A stream of its own, because its id follows from what it contains: the same evidence sent twice is
 * recorded once. The contact is its subject, so an erasure destroys it.
 */
export const consent: Decider<Consent, ConsentEvent> = {
  streamType: 'consent',
  initial: { evidence: null },
  events: { ConsentRecorded: true },
  evolve(_, { personal }) {
    return { evidence: personal };
  },
};

/** Events of a contact that say yes or no. */
export const CONSENT_CHANGES = ['ContactCreated', 'ContactSubscribed', 'ContactUnsubscribed'];

/** A keyed hash: the id reveals nothing of what was recorded, also after an erasure. */
export function consentIdOf(
  keyring: Keyring,
  organizationId: string,
  contactId: string,
  given: boolean,
  evidence: Evidence,
): string {
  return streamIdOf(keyring.hash('consent', organizationId, contactId, String(given), canonical(evidence)));
}

/** Of a person who is no contact yet there is one. */
export function pendingConsentIdOf(keyring: Keyring, organizationId: string, subjectId: string): string {
  return streamIdOf(keyring.hash('pending consent', organizationId, subjectId));
}

/** @param recorded how often the same evidence was recorded before. */
export function recordConsent(
  recorded: number,
  given: boolean,
  contactVersion: number | null,
  evidence: Evidence,
): ConsentEvent[] {
  if (recorded > 0 && contactVersion === null) return [];
  return [{ type: 'ConsentRecorded', data: { given, contactVersion }, personal: evidence }];
}

/** The version that a contact has after the event that says yes or no; null if none of these does. */
export function changeIn(version: number, events: readonly ContactEvent[]): number | null {
  const index = events.findLastIndex(({ type }) => CONSENT_CHANGES.includes(type));
  return index === -1 ? null : version + index + 1;
}

/** @param subjectId the contact, or who waits to become one. */
export function consentWrite(
  streamId: string,
  subjectId: string,
  expectedVersion: number,
  events: readonly ConsentEvent[],
): StreamWrite {
  return { streamType: consent.streamType, streamId, expectedVersion, events, subjectId };
}
