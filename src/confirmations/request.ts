import { type Decider, type DomainEvent } from '#libs/event-store';
import { type Counted, type Facts } from '#libs/links';
import { type PrintedLinks } from '#libs/projections';
import { type CustomValue } from '../fields/index.js';

/**
 * Reasons to review a submission: the hidden field was filled in; many came from the same network, or to the same page, within a
 * short time; the proof of work was missing.
 */
export const SUSPICIONS = ['HONEYPOT', 'MANY_FROM_NETWORK', 'MANY_AT_ONCE', 'NO_PROOF_OF_WORK'] as const;
export type Suspicion = (typeof SUSPICIONS)[number];

/** Days to confirm a request. Afterwards its data is destroyed. */
export const DAYS_TO_CONFIRM = 7;

/** What a person enters in a form of the site. */
export type PersonDetails = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  zip: string | null;
  city: string | null;
  region: string | null;
  country: string | null;
  phone: string | null;
  clientAddress: string | null;
  /** Values of custom fields by the id of the field. */
  customFields: { [fieldId: string]: CustomValue };
};

/**
 * TIME: it was not confirmed. ASKED_AGAIN: the person sent the form again. SIGNED_BEFORE: the same person has signed.
 * ERASED: the person was erased. PETITION_DELETED, FORM_DELETED: it can no longer be confirmed.
 */
export type ExpiryReason =
  | 'TIME'
  | 'ASKED_AGAIN'
  | 'SIGNED_BEFORE'
  | 'ERASED'
  | 'PETITION_DELETED'
  | 'FORM_DELETED';

type ExpiredEvent = {
  type: 'SignatureExpired' | 'SignUpExpired';
  data: {
    /** `TIME`: it was not confirmed in time. `ASKED_AGAIN`: the person sent the form again. `SIGNED_BEFORE`: the person has signed. */
    reason: ExpiryReason;
    /** With `ASKED_AGAIN`: the request that replaces it. */
    by: string | null;
  };
};

/** What every request contains. */
export type Requested = { suspicion: Suspicion[]; subscribe: boolean };

/**
 * `recordId`: the petition or form. `resultId`: what the confirmation created. `person`: null once destroyed.
 */
export type RequestState<Data extends Requested, Person extends PersonDetails> =
  | { status: 'UNKNOWN' }
  | (Data & { status: 'PENDING'; recordId: string; person: Person | null })
  | { status: 'CONFIRMED'; recordId: string; resultId: string }
  | { status: 'EXPIRED'; recordId: string; reason: ExpiryReason; by: string | null };

export type PendingRequest<Data extends Requested, Person extends PersonDetails> = Data & {
  recordId: string;
  person: Person;
};

type Names = {
  streamType: string;
  /** The types of its events. */
  requested: string;
  confirmed: string;
  expired: string;
  /** The fields of the events with the id of the petition or form, and of what the confirmation created. */
  recordField: string;
  resultField: string;
  /** The name of the person's details, and of all requests, in the export of a person. */
  person: string;
  exported: string;
  /** Sign the links, and name the timer. They never change. */
  purpose: string;
  timer: string;
  /** The unique key of a mailbox's latest open request for a record. */
  key: (recordId: string, mailbox: string) => string[];
  /** Why requests end when their record is deleted. */
  recordDeleted: ExpiryReason;
};

/**
 * A kind of requests that people send from a page of the site, and confirm by email. Each request has its own stream, and its
 * personal data has its own key. It creates no contact and leaves no data when it ends.
 */
export class RequestKind<Data extends Requested = Requested, Person extends PersonDetails = PersonDetails> {
  readonly decider: Decider<RequestState<Data, Person>, DomainEvent>;

  constructor(readonly names: Names) {
    const { streamType, requested, confirmed, expired, recordField, resultField } = names;
    this.decider = {
      streamType,
      initial: { status: 'UNKNOWN' },
      events: { [requested]: true, [confirmed]: true, [expired]: true },
      evolve(state, { type, data, personal }) {
        const recordId = data[recordField] as string;
        switch (type) {
          case requested:
            return {
              ...(data as object as Data),
              status: 'PENDING',
              recordId,
              person: personal as Person | null,
            };
          case confirmed:
            return { status: 'CONFIRMED', recordId, resultId: data[resultField] as string };
          default: {
            const { reason, by } = data as ExpiredEvent['data'];
            return state.status === 'PENDING' ? { status: 'EXPIRED', recordId, reason, by } : state;
          }
        }
      },
    };
  }

  request(data: Data, person: Person): DomainEvent {
    return { type: this.names.requested, data, personal: person };
  }

  /** Ended requests stay unchanged. */
  expire(state: RequestState<Data, Person>, reason: ExpiryReason, by: string | null = null): DomainEvent[] {
    if (state.status !== 'PENDING') return [];
    const { expired: type, recordField } = this.names;
    return [{ type, data: { [recordField]: state.recordId, reason, by } }];
  }

  confirm(state: RequestState<Data, Person>, resultId: string): DomainEvent[] {
    if (state.status !== 'PENDING') return [];
    const { confirmed: type, recordField, resultField } = this.names;
    return [{ type, data: { [recordField]: state.recordId, [resultField]: resultId } }];
  }

  /** Open requests as links of their record. Each is its own subject: when it ends, all its data is destroyed. */
  links(facts: Facts, printed?: PrintedLinks, detailOf?: (person: Person) => string | null): Counted {
    const { requested, confirmed, expired, recordField } = this.names;
    return {
      handles: [requested, confirmed, expired],
      atErasure: 'loses its name',
      isSuspendable: false,
      facts,
      printed,
      changes(event) {
        const recordId = event.data[recordField] as string;
        const subjectId = event.streamId;
        if (event.type === requested) {
          const person = event.personal as Person | null;
          const detail = person && detailOf ? detailOf(person) : null;
          return [{ kind: 'begins', event, recordId, subjectId, detail }];
        }
        if (event.type !== confirmed && event.type !== expired) return [];
        return [
          { kind: 'ends', event, recordId, subjectId },
          { kind: 'erased', event },
        ];
      },
    };
  }
}
