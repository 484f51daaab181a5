import { canonical, type Decider, type Keyring, streamIdOf, type StreamWrite } from '#libs/event-store';
import { type ContactEvent } from '../contact.js';

/** Proof that a person agreed or refused. `language`: of `text`, if a page of this server showed it. */
const EVIDENCE = ['source', 'text', 'language', 'at', 'ip'] as const;
export type Evidence = { [field in (typeof EVIDENCE)[number]]?: string };

export type ConsentEvent =
  | {
      type: 'ConsentRecorded';
      data: {
        /** Whether the person agreed; false: refused. */
        given: boolean;
        /** The `version` of the contact's event that this proves. null: the contact's setting did not change. */
        contactVersion: number | null;
      };
      personal: Evidence | null;
    }
  /** The evidence came from an import that was undone. It can be recorded again. */
  | { type: 'ConsentRetracted'; data: Record<string, never> };

/** `isOnRecord`: the evidence is recorded, and was not retracted since. It may be erased. */
export type Consent = { evidence: Evidence | null; isOnRecord: boolean };

/**
 * Evidence of consent or refusal. The id of its stream is derived from its content, so evidence sent twice is
 * recorded once. The contact is its subject, so erasing the contact destroys it.
 */
export const consent: Decider<Consent, ConsentEvent> = {
  streamType: 'consent',
  initial: { evidence: null, isOnRecord: false },
  events: { ConsentRecorded: true, ConsentRetracted: true },
  evolve(_, event) {
    switch (event.type) {
      case 'ConsentRecorded':
        return { evidence: event.personal, isOnRecord: true };
      case 'ConsentRetracted':
        return { evidence: null, isOnRecord: false };
    }
  },
};

/** Events of a contact that state consent or refusal. */
export const CONSENT_CHANGES = ['ContactCreated', 'ContactSubscribed', 'ContactUnsubscribed'];

/** A keyed hash: the id reveals nothing about the evidence, even after it was erased. */
export function consentIdOf(
  keyring: Keyring,
  organizationId: string,
  contactId: string,
  given: boolean,
  evidence: Evidence,
): string {
  return streamIdOf(keyring.hash('consent', organizationId, contactId, String(given), canonical(evidence)));
}

/** A person who is not yet a contact has a single pending consent. */
export function pendingConsentIdOf(keyring: Keyring, organizationId: string, subjectId: string): string {
  return streamIdOf(keyring.hash('pending consent', organizationId, subjectId));
}

/** Evidence on record is recorded again only if it proves another change of the contact. */
export function recordConsent(
  { isOnRecord }: Consent,
  given: boolean,
  contactVersion: number | null,
  evidence: Evidence,
): ConsentEvent[] {
  if (isOnRecord && contactVersion === null) return [];
  return [{ type: 'ConsentRecorded', data: { given, contactVersion }, personal: evidence }];
}

/** The version of the contact after its last event about consent; null if there is none among these. */
export function changeIn(version: number, events: readonly ContactEvent[]): number | null {
  const index = events.findLastIndex(({ type }) => CONSENT_CHANGES.includes(type));
  return index === -1 ? null : version + index + 1;
}

/** @param subjectId the contact, or the request that may create it. */
export function consentWrite(
  streamId: string,
  subjectId: string,
  expectedVersion: number,
  events: readonly ConsentEvent[],
): StreamWrite {
  return { streamType: consent.streamType, streamId, expectedVersion, events, subjectId };
}
