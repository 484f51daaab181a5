import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { EventStore, isKnown, type RecordedEvent, type StreamWrite } from '#libs/event-store';
import {
  changeIn,
  type Consent,
  consent,
  CONSENT_CHANGES,
  type ConsentEvent,
  consentIdOf,
  consentWrite,
  type Evidence,
  pendingConsentIdOf,
  recordConsent,
} from './consent.js';
import { type ContactChange } from './contact-stream.js';
import { contact, type Contact, type ContactEvent } from './contact.js';

/** A yes or no, as the history has it: with its evidence, or the change alone. */
export type ConsentChange = RecordedEvent<ConsentEvent> | RecordedEvent<ContactEvent>;

/** Before which position a page begins, and which version of the contact the event at that position proves; 0: none. */
type Place = { before: number | undefined; proved: number };

export function isGiven(event: ConsentChange): boolean {
  if (event.type === 'ConsentRecorded') return event.data.given;
  if (event.type === 'ContactCreated') return event.data.subscribed;
  return event.type === 'ContactSubscribed';
}

const TYPES = [...CONSENT_CHANGES, ...Object.keys(consent.events)];

/** Who has agreed to get email, and what proves it. */
@Injectable()
export class Consents {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  /** What records the evidence for a new contact's yes or no. */
  ofNew(organizationId: string, contactId: string, given: boolean, evidence?: Evidence): StreamWrite[] {
    if (!evidence) return [];
    const id = consentIdOf(this.store.keyring, organizationId, contactId, given, evidence);
    return [consentWrite(id, contactId, 0, recordConsent(0, given, 1, evidence))];
  }

  /** The same for a contact that exists. Evidence that changes nothing and was recorded before is not recorded again. */
  async ofChange(
    organizationId: string,
    { contactId, version, events }: ContactChange,
    given: boolean,
    evidence?: Evidence,
  ): Promise<StreamWrite[]> {
    if (!evidence) return [];
    const id = consentIdOf(this.store.keyring, organizationId, contactId, given, evidence);
    const { version: recorded } = await this.records.load(consent, organizationId, id);
    const recording = recordConsent(recorded, given, changeIn(version, events), evidence);
    return recording.length > 0 ? [consentWrite(id, contactId, recorded, recording)] : [];
  }

  /** What keeps the evidence of a person who is no contact yet. Its key is theirs: `subjectId`, a stream of the same command. */
  ofPending(organizationId: string, subjectId: string, given: boolean, evidence?: Evidence): StreamWrite[] {
    if (!evidence) return [];
    const id = pendingConsentIdOf(this.store.keyring, organizationId, subjectId);
    return [consentWrite(id, subjectId, 0, recordConsent(0, given, null, evidence))];
  }

  /** What `ofPending` has kept, with its time; undefined if there is none. */
  async pending(organizationId: string, subjectId: string): Promise<Evidence | undefined> {
    const id = pendingConsentIdOf(this.store.keyring, organizationId, subjectId);
    const { state, createdAt } = await this.records.load(consent, organizationId, id);
    return state.evidence && createdAt ? { ...state.evidence, at: createdAt.toISOString() } : undefined;
  }

  /**
   * What a contact has said, newest first: one event for each. Where there is evidence of a change, that stands for both.
   *
   * @returns `next`: where the next page begins; undefined if there is none.
   */
  async list(
    organizationId: string,
    contactId: string,
    limit: number,
    { before, proved }: Place = { before: undefined, proved: 0 },
  ): Promise<{ said: ConsentChange[]; next: Place | undefined }> {
    const most = 2 * limit + 1;
    const { events, hasMore } = await this.store.readAbout(organizationId, contactId, most, before, TYPES);
    const said: ConsentChange[] = [];
    let last: Place = { before, proved };
    for (const event of events) {
      const isEvidence = isKnown<Consent, ConsentEvent>(consent, event);
      const isChange = isKnown<Contact, ContactEvent>(contact, event) && event.version !== last.proved;
      if ((isEvidence || isChange) && said.length === limit) return { said, next: last };
      if (isEvidence || isChange) said.push(event);
      last = { before: event.position, proved: isEvidence ? (event.data.contactVersion ?? 0) : 0 };
    }
    return { said, next: hasMore ? last : undefined };
  }
}
