import { changedFields } from '#libs/commands';
import { type Decider, type Upcasters } from '#libs/event-store';
import { noSuch, RpcError } from '#libs/rpc';

/**
 * The audience: contacts selected by `all`, by their ids or by the records that they belong to (`listIds`), minus the exclusions
 * (`excludeListIds`). The kinds of records are those of `chooseContactsBy`.
 */
export type Audience = {
  /** Everyone who is subscribed. */
  all?: boolean;
  filter?: { country?: string; city?: string; zip?: string };
  [recordIds: `${string}Ids`]: string[];
};

/** The fields of an audience for a kind of records. @param kind the name of one record: `list`. */
export function audienceFields(kind: string): { chosen: `${string}Ids`; excluded: `${string}Ids` } {
  return { chosen: `${kind}Ids`, excluded: `exclude${kind.charAt(0).toUpperCase()}${kind.slice(1)}Ids` };
}

/** The first audiences had lists, petitions and contacts only. Their meaning has not changed. `countClicks` came later. */
export const broadcastShapes: Upcasters = {
  BroadcastCreated: {
    reads: [(body) => body, ({ data, personal }) => ({ data: { ...data, countClicks: false }, personal })],
    writes: 'newest',
  },
  BroadcastUpdated: { reads: [(body) => body, (body) => body], writes: 'newest' },
};

export type Format = 'MARKDOWN' | 'HTML';

export type BroadcastFields = {
  name: string;
  subject: string;
  preheader: string | null;
  content: string;
  format: Format;
  audience: Audience;
  /** Whether clicks on its links are counted, without recording who clicked. */
  countClicks: boolean;
};

/** The results of the recipients in the history: as of the end or cancellation of sending. */
export type Figures = { sent: number; failed: number; skipped: number; inDoubt: number };

/** Why a broadcast cannot be sent. */
const BLOCKERS = [
  'NO_SUBJECT',
  'NO_CONTENT',
  'NO_SENDER',
  'NO_POSTAL_ADDRESS',
  'NO_PUBLIC_URL',
  'NO_RECIPIENTS',
  'UNKNOWN_MERGE_FIELD',
  'TEMPLATE_INVALID',
] as const;
export type Blocker = (typeof BLOCKERS)[number];

export type BroadcastEvent =
  | { type: 'BroadcastCreated'; data: BroadcastFields }
  | { type: 'BroadcastUpdated'; data: Partial<BroadcastFields> }
  | { type: 'BroadcastScheduled'; data: { sendAt: string } }
  | {
      type: 'BroadcastHindered';
      data: {
        /** Why it could not be sent at its time. */
        hindrances: Blocker[];
      };
    }
  | {
      type: 'BroadcastStarted';
      data: {
        /** Names the list of recipients and their results. */
        sendingId: string;
        /** The recipients follow from the events up to this position. */
        position: number;
        /** Their number. */
        recipients: number;
        /** The digest of their ids, to verify a recomputed list. */
        digest: string;
      };
    }
  | { type: 'BroadcastPaused'; data: Record<string, never> }
  | { type: 'BroadcastResumed'; data: Record<string, never> }
  | { type: 'BroadcastCancelled'; data: Record<string, never> }
  | {
      type: 'BroadcastRetried';
      data: {
        /** Recipients with this status are retried. */
        status: 'FAILED' | 'IN_DOUBT';
      };
    }
  | { type: 'BroadcastSent'; data: Figures }
  | { type: 'BroadcastDeleted'; data: Record<string, never> };

/**
 * The moment from which `inLast` of segments counts back, so that an auditor counts from it too. It is the time in the
 * sending's id, a UUIDv7 (RFC 9562, section 5.7).
 */
export function momentOfSending(sendingId: string): Date {
  return new Date(Number.parseInt(sendingId.replaceAll('-', '').slice(0, 12), 16));
}

export const STATUSES = ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED'] as const;
export type BroadcastStatus = (typeof STATUSES)[number];

export type ExistingBroadcast = BroadcastFields & {
  status: BroadcastStatus;
  sendAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** The results of its recipients; null before sending starts. */
  sendingId: string | null;
  recipients: ({ total: number } & Partial<Figures>) | null;
};
export type Broadcast = ExistingBroadcast | { status: 'UNKNOWN' } | { status: 'DELETED' };

export const broadcast: Decider<Broadcast, BroadcastEvent> = {
  streamType: 'broadcast',
  initial: { status: 'UNKNOWN' },
  events: {
    BroadcastCreated: true,
    BroadcastUpdated: true,
    BroadcastScheduled: true,
    BroadcastHindered: true,
    BroadcastStarted: true,
    BroadcastPaused: true,
    BroadcastResumed: true,
    BroadcastCancelled: true,
    BroadcastRetried: true,
    BroadcastSent: true,
    BroadcastDeleted: true,
  },
  evolve(state, event, at) {
    if (event.type === 'BroadcastCreated') {
      const unsent = { sendAt: null, startedAt: null, finishedAt: null, sendingId: null, recipients: null };
      return { ...event.data, status: 'DRAFT', ...unsent };
    }
    if (!exists(state)) return state;
    switch (event.type) {
      case 'BroadcastUpdated':
        return { ...state, ...event.data };
      case 'BroadcastScheduled':
        return { ...state, status: 'SCHEDULED', sendAt: event.data.sendAt };
      case 'BroadcastHindered':
        return { ...state, status: 'DRAFT', sendAt: null };
      case 'BroadcastStarted': {
        const { sendingId, recipients: total } = event.data;
        return { ...state, status: 'SENDING', startedAt: at.toISOString(), sendingId, recipients: { total } };
      }
      case 'BroadcastPaused':
        return { ...state, status: 'PAUSED' };
      case 'BroadcastResumed':
        return { ...state, status: 'SENDING' };
      case 'BroadcastCancelled':
        return { ...state, status: 'CANCELLED', finishedAt: at.toISOString() };
      case 'BroadcastRetried':
        return { ...state, status: state.status === 'SENT' ? 'SENDING' : state.status, finishedAt: null };
      case 'BroadcastSent': {
        const recipients = { total: state.recipients?.total ?? 0, ...event.data };
        return { ...state, status: 'SENT', finishedAt: at.toISOString(), recipients };
      }
      case 'BroadcastDeleted':
        return { status: 'DELETED' };
    }
  },
};

export function exists(state: Broadcast): state is ExistingBroadcast {
  return state.status !== 'UNKNOWN' && state.status !== 'DELETED';
}

/** @throws RpcError NOT_FOUND if the broadcast does not exist. */
export function existingBroadcast(state: Broadcast): ExistingBroadcast {
  if (!exists(state)) throw noSuch('broadcast');
  return state;
}

/** The first event of a copy. */
export function duplicateBroadcast(state: Broadcast, name: string): BroadcastEvent {
  const { subject, preheader, content, format, audience, countClicks } = existingBroadcast(state);
  return {
    type: 'BroadcastCreated',
    data: { name, subject, preheader, content, format, audience, countClicks },
  };
}

/** Fields that are not given stay unchanged. Only before sending starts. */
export function updateBroadcast(state: Broadcast, given: Partial<BroadcastFields>): BroadcastEvent[] {
  const before = existingBroadcast(state);
  const data = changedFields<BroadcastFields>(before, given);
  if (!data) return [];
  if (!isUnsent(before)) throw alreadyBegun('its content and audience can no longer be changed');
  return [{ type: 'BroadcastUpdated', data }];
}

/** Schedules or reschedules a broadcast. */
export function scheduleBroadcast(state: Broadcast, sendAt: string): BroadcastEvent[] {
  const { status, sendAt: before } = requireUnsent(state);
  return status === 'SCHEDULED' && before === sendAt
    ? []
    : [{ type: 'BroadcastScheduled', data: { sendAt } }];
}

/** @throws RpcError CONFLICT once sending has started. */
export function requireUnsent(state: Broadcast): ExistingBroadcast {
  const existing = existingBroadcast(state);
  if (!isUnsent(existing)) throw alreadyBegun('it cannot be sent again');
  return existing;
}

/** Pausing a paused broadcast changes nothing. */
export function pauseBroadcast(state: Broadcast): BroadcastEvent[] {
  const { status } = existingBroadcast(state);
  if (status === 'PAUSED') return [];
  if (status !== 'SENDING') throw notSending('paused');
  return [{ type: 'BroadcastPaused', data: {} }];
}

/** Resuming a broadcast that is being sent changes nothing. */
export function resumeBroadcast(state: Broadcast): BroadcastEvent[] {
  const { status } = existingBroadcast(state);
  if (status === 'SENDING') return [];
  if (status !== 'PAUSED') throw notSending('resumed');
  return [{ type: 'BroadcastResumed', data: {} }];
}

/** Allowed in any state except SENT. Cancelling a cancelled broadcast changes nothing. */
export function cancelBroadcast(state: Broadcast): BroadcastEvent[] {
  const { status } = existingBroadcast(state);
  if (status === 'CANCELLED') return [];
  if (status === 'SENT') {
    throw new RpcError('CONFLICT', 'This broadcast was already sent and cannot be cancelled.', {
      reason: 'BROADCAST_BEGUN',
    });
  }
  return [{ type: 'BroadcastCancelled', data: {} }];
}

/** @throws RpcError CONFLICT unless it is being sent, is paused or was sent. */
export function retryBroadcast(state: Broadcast, status: 'FAILED' | 'IN_DOUBT'): BroadcastEvent[] {
  if (!['SENDING', 'PAUSED', 'SENT'].includes(existingBroadcast(state).status)) throw notSending('retried');
  return [{ type: 'BroadcastRetried', data: { status } }];
}

/** Returns no events if it is no longer being sent. */
export function finishBroadcast(state: Broadcast, figures: Figures): BroadcastEvent[] {
  return exists(state) && state.status === 'SENDING' ? [{ type: 'BroadcastSent', data: figures }] : [];
}

/** Only drafts and cancelled broadcasts can be deleted. Deleting a deleted broadcast changes nothing. */
export function deleteBroadcast(state: Broadcast): BroadcastEvent[] {
  if (state.status === 'DELETED') return [];
  const { status } = existingBroadcast(state);
  if (status === 'DRAFT' || status === 'CANCELLED') return [{ type: 'BroadcastDeleted', data: {} }];
  throw new RpcError(
    'CONFLICT',
    'Only draft and cancelled broadcasts can be deleted. Cancel this broadcast first. Sent broadcasts cannot be ' +
      'deleted.',
    { reason: 'BROADCAST_BEGUN' },
  );
}

function isUnsent({ status }: ExistingBroadcast): boolean {
  return status === 'DRAFT' || status === 'SCHEDULED';
}

function alreadyBegun(what: string): RpcError {
  return new RpcError(
    'CONFLICT',
    `This broadcast is being sent, was sent or was cancelled: ${what}. Create a new broadcast.`,
    {
      reason: 'BROADCAST_BEGUN',
    },
  );
}

function notSending(what: string): RpcError {
  return new RpcError('CONFLICT', `This broadcast is not being sent, so it cannot be ${what}.`, {
    reason: 'BROADCAST_NOT_SENDING',
  });
}
