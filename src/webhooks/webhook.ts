import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

export type WebhookFields = {
  url: string;
  description: string | null;
  /** null: all. */
  eventTypes: string[] | null;
};

export type WebhookEvent =
  /** `personalData`: whether events are sent with what they say of persons, for which its maker had to have the scope. */
  | { type: 'WebhookCreated'; data: WebhookFields & { personalData: boolean } }
  | { type: 'WebhookUpdated'; data: Partial<WebhookFields> }
  | { type: 'WebhookPaused'; data: Record<string, never> }
  | { type: 'WebhookResumed'; data: Record<string, never> }
  /** By the program: nothing but failures for too long. */
  | { type: 'WebhookDisabled'; data: { failingSince: string } }
  /** Those before sign for `overlapSeconds` after this was recorded, too, unless they were to end sooner. */
  | { type: 'WebhookSecretRotated'; data: { overlapSeconds: number } }
  /** All events after this position are sent again. */
  | { type: 'WebhookReplayed'; data: { after: number } }
  /** Somebody asked that one event be sent once more. */
  | { type: 'WebhookRedelivered'; data: { eventId: string; position: number } }
  | { type: 'WebhookDeleted'; data: Record<string, never> };

export type ExistingWebhook = WebhookFields & {
  status: 'ACTIVE' | 'PAUSED' | 'DISABLED';
  personalData: boolean;
  /** Since when failures count: since it was made, resumed or given another address. RFC 3339. */
  countsSince: string;
  /** Which of its secrets it signs with: 1, 2, … */
  secretNumber: number;
  /** Which of before it signs with, too, the newest first, and until when. */
  earlierSecrets: { number: number; until: string }[];
};

export type Webhook = { status: 'UNKNOWN' } | ExistingWebhook | { status: 'DELETED' };

/** Each is a signature in the headers of every request. */
const MOST_EARLIER_SECRETS = 4;

export const webhook: Decider<Webhook, WebhookEvent> = {
  streamType: 'webhook',
  initial: { status: 'UNKNOWN' },
  events: {
    WebhookCreated: true,
    WebhookUpdated: true,
    WebhookPaused: true,
    WebhookResumed: true,
    WebhookDisabled: true,
    WebhookSecretRotated: true,
    WebhookReplayed: true,
    WebhookRedelivered: true,
    WebhookDeleted: true,
  },
  evolve(state, event, at) {
    if (event.type === 'WebhookCreated') {
      const countsSince = at.toISOString();
      return { ...event.data, status: 'ACTIVE', countsSince, secretNumber: 1, earlierSecrets: [] };
    }
    if (!exists(state)) return state;
    switch (event.type) {
      case 'WebhookUpdated': {
        const countsSince = event.data.url === undefined ? state.countsSince : at.toISOString();
        return { ...state, ...event.data, countsSince };
      }
      case 'WebhookPaused':
        return { ...state, status: 'PAUSED' };
      case 'WebhookResumed':
        return { ...state, status: 'ACTIVE', countsSince: at.toISOString() };
      case 'WebhookDisabled':
        return { ...state, status: 'DISABLED' };
      case 'WebhookSecretRotated': {
        const { secretNumber, earlierSecrets } = state;
        // From the log's own clock.
        const end = new Date(at.getTime() + event.data.overlapSeconds * 1_000).toISOString();
        // Whoever lost the answer rotates again: what receivers check with meanwhile is good until it was to end.
        const earlier = [{ number: secretNumber, until: end }, ...earlierSecrets]
          .map(({ number, until }) => ({ number, until: until < end ? until : end }))
          .filter(({ until }) => until > at.toISOString())
          .slice(0, MOST_EARLIER_SECRETS);
        return { ...state, secretNumber: secretNumber + 1, earlierSecrets: earlier };
      }
      case 'WebhookReplayed':
      case 'WebhookRedelivered':
        return state;
      case 'WebhookDeleted':
        return { status: 'DELETED' };
    }
  },
};

export function exists(state: Webhook): state is ExistingWebhook {
  return state.status !== 'UNKNOWN' && state.status !== 'DELETED';
}

/** @throws RpcError NOT_FOUND unless it stands. */
export function existingWebhook(state: Webhook): ExistingWebhook {
  if (!exists(state)) throw noSuch('webhook');
  return state;
}

/** A field that is not given stays. */
export function updateWebhook(state: Webhook, given: Partial<WebhookFields>): WebhookEvent[] {
  const { url, description, eventTypes } = existingWebhook(state);
  const data = changedFields({ url, description, eventTypes }, given);
  return data ? [{ type: 'WebhookUpdated', data }] : [];
}

/** What was disabled sends nothing either. */
export function pauseWebhook(state: Webhook): WebhookEvent[] {
  return existingWebhook(state).status === 'ACTIVE' ? [{ type: 'WebhookPaused', data: {} }] : [];
}

export function resumeWebhook(state: Webhook): WebhookEvent[] {
  return existingWebhook(state).status === 'ACTIVE' ? [] : [{ type: 'WebhookResumed', data: {} }];
}

/** Unless somebody has paused or deleted it meanwhile, or has done something about it. */
export function disableWebhook(state: Webhook, failingSince: Date): WebhookEvent[] {
  if (state.status !== 'ACTIVE' || failingSince < new Date(state.countsSince)) return [];
  return [{ type: 'WebhookDisabled', data: { failingSince: failingSince.toISOString() } }];
}

export function rotateSecret(state: Webhook, overlapSeconds: number): WebhookEvent[] {
  existingWebhook(state);
  return [{ type: 'WebhookSecretRotated', data: { overlapSeconds } }];
}

export function replayWebhook(state: Webhook, after: number): WebhookEvent[] {
  existingWebhook(state);
  return [{ type: 'WebhookReplayed', data: { after } }];
}

export function redeliver(state: Webhook, event: { eventId: string; position: number }): WebhookEvent[] {
  existingWebhook(state);
  return [{ type: 'WebhookRedelivered', data: event }];
}

/** Deleting the deleted changes nothing. */
export function deleteWebhook(state: Webhook): WebhookEvent[] {
  if (state.status === 'DELETED') return [];
  existingWebhook(state);
  return [{ type: 'WebhookDeleted', data: {} }];
}
