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
import { type ContactChange } from '../contact-stream.js';
import { contact, type Contact, type ContactEvent } from '../contact.js';

/** Consent or refusal in the history: its evidence, or the change without evidence. */
export type ConsentChange = RecordedEvent<Recorded> | RecordedEvent<ContactEvent>;

type Recorded = Extract<ConsentEvent, { type: 'ConsentRecorded' }>;

/**
 * The start of a page: the position before which it begins, and the contact's version that the event there
 * proves; 0 if none.
 */
type Place = { before: number | undefined; proved: number };

export function isGiven(event: ConsentChange): boolean {
  if (event.type === 'ConsentRecorded') return event.data.given;
  if (event.type === 'ContactCreated') return event.data.subscribed;
  return event.type === 'ContactSubscribed';
}

function isRecorded(event: RecordedEvent): event is RecordedEvent<Recorded> {
  return event.type === RECORDED && isKnown<Consent, ConsentEvent>(consent, event);
}

/** Retractions read per contact. Each undone import of the contact retracts at most one piece of evidence. */
const MOST_RETRACTED = 1_000;
/** Consents of each contact that a merge copies. */
const MOST_COPIED = 100;

const RECORDED = 'ConsentRecorded' satisfies ConsentEvent['type'];
const RETRACTED = 'ConsentRetracted' satisfies ConsentEvent['type'];
const TYPES = [...CONSENT_CHANGES, RECORDED];

/** Which contacts agreed to receive email, and the evidence. */
@Injectable()
export class Consents {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  ofNew(organizationId: string, contactId: string, given: boolean, evidence?: Evidence): StreamWrite[] {
    if (!evidence) return [];
    const id = consentIdOf(this.store.keyring, organizationId, contactId, given, evidence);
    return [consentWrite(id, contactId, 0, recordConsent(consent.initial, given, 1, evidence))];
  }

  /** The write for an existing contact. Evidence that was recorded before and changes nothing is not recorded again. */
  async ofChange(
    organizationId: string,
    { contactId, version, events }: ContactChange,
    given: boolean,
    evidence?: Evidence,
  ): Promise<StreamWrite[]> {
    if (!evidence) return [];
    const id = consentIdOf(this.store.keyring, organizationId, contactId, given, evidence);
    const recorded = await this.records.load(consent, organizationId, id);
    const recording = recordConsent(recorded.state, given, changeIn(version, events), evidence);
    return recording.length > 0 ? [consentWrite(id, contactId, recorded.version, recording)] : [];
  }

  /**
   * The writes that record for a contact what was recorded for others, oldest first: the newest hundred of each. Evidence keeps
   * its time. A change without evidence becomes evidence of its time.
   */
  async copies(
    organizationId: string,
    contactId: string,
    otherIds: readonly string[],
  ): Promise<StreamWrite[]> {
    const said: ConsentChange[] = [];
    for (const otherId of otherIds)
      said.push(...(await this.list(organizationId, otherId, MOST_COPIED)).said);
    const copies = said
      .toSorted((one, other) => one.position - other.position)
      .map((event) => {
        const { at = event.recordedAt.toISOString(), ...proof } =
          event.type === 'ConsentRecorded' ? (event.personal ?? {}) : {};
        const evidence: Evidence = { ...proof, at };
        const given = isGiven(event);
        return {
          id: consentIdOf(this.store.keyring, organizationId, contactId, given, evidence),
          given,
          evidence,
        };
      });
    const recorded = await this.records.loadMany(
      consent,
      organizationId,
      copies.map(({ id }) => id),
    );
    const distinct = new Map(copies.map((copy) => [copy.id, copy]));
    return [...distinct.values()]
      .filter(({ id }) => !recorded.get(id)!.state.isOnRecord)
      .map(({ id, given, evidence }) => {
        const { state, version } = recorded.get(id)!;
        return consentWrite(id, contactId, version, recordConsent(state, given, null, evidence));
      });
  }

  /** Whether this evidence is stored for the contact. */
  async isRecorded(
    organizationId: string,
    contactId: string,
    given: boolean,
    evidence: Evidence,
  ): Promise<boolean> {
    const id = consentIdOf(this.store.keyring, organizationId, contactId, given, evidence);
    return (await this.records.load(consent, organizationId, id)).state.isOnRecord;
  }

  /** The write for a person who is not a contact yet. @param subjectId a stream of the same command, whose key encrypts it. */
  ofPending(organizationId: string, subjectId: string, given: boolean, evidence?: Evidence): StreamWrite[] {
    if (!evidence) return [];
    const id = pendingConsentIdOf(this.store.keyring, organizationId, subjectId);
    return [consentWrite(id, subjectId, 0, recordConsent(consent.initial, given, null, evidence))];
  }

  /** The evidence written by `ofPending`, with its time; undefined if there is none. */
  async pending(organizationId: string, subjectId: string): Promise<Evidence | undefined> {
    const id = pendingConsentIdOf(this.store.keyring, organizationId, subjectId);
    const { state, createdAt } = await this.records.load(consent, organizationId, id);
    return state.evidence && createdAt ? { ...state.evidence, at: createdAt.toISOString() } : undefined;
  }

  /**
   * Each time a contact agreed or refused, newest first. A change with evidence is listed once, as its evidence.
   *
   * @returns `next`: start of the next page; undefined if there is none.
   */
  async list(
    organizationId: string,
    contactId: string,
    limit: number,
    { before, proved }: Place = { before: undefined, proved: 0 },
  ): Promise<{ said: ConsentChange[]; next: Place | undefined }> {
    const most = 2 * limit + 1;
    const { events, hasMore } = await this.store.readAbout(organizationId, contactId, most, before, TYPES);
    const retracted = events.some(isRecorded) ? await this.retractions(organizationId, contactId) : new Map();
    const said: ConsentChange[] = [];
    let last: Place = { before, proved };
    for (const event of events) {
      const isEvidence = isRecorded(event) && event.version > (retracted.get(event.streamId) ?? 0);
      const isChange = isKnown<Contact, ContactEvent>(contact, event) && event.version !== last.proved;
      if ((isEvidence || isChange) && said.length === limit) return { said, next: last };
      if (isEvidence || isChange) said.push(event);
      last = { before: event.position, proved: isEvidence ? (event.data.contactVersion ?? 0) : 0 };
    }
    return { said, next: hasMore ? last : undefined };
  }

  /** The versions at which evidence about a contact was last retracted, by its stream. */
  private async retractions(organizationId: string, contactId: string): Promise<Map<string, number>> {
    const { events } = await this.store.readAbout(organizationId, contactId, MOST_RETRACTED, undefined, [
      RETRACTED,
    ]);
    return new Map(events.toReversed().map(({ streamId, version }) => [streamId, version]));
  }
}
