import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

export type WebhookFields = {
  url: string;
  description: string | null;
  /** null: all types. */
  eventTypes: string[] | null;
};

export type WebhookEvent =
  | {
      type: 'WebhookCreated';
      data: WebhookFields & {
        /** Whether deliveries contain personal data: whether its creator had the scope `history:read`. */
        personalData: boolean;
      };
    }
  | { type: 'WebhookUpdated'; data: Partial<WebhookFields> }
  | { type: 'WebhookPaused'; data: Record<string, never> }
  | { type: 'WebhookResumed'; data: Record<string, never> }
  | {
      type: 'WebhookDisabled';
      data: {
        /** Every delivery has failed since. */
        failingSince: string;
      };
    }
  | {
      type: 'WebhookSecretRotated';
      data: {
        /** Earlier secrets keep signing for this long after the event, unless they expire sooner. */
        overlapSeconds: number;
      };
    }
  | {
      type: 'WebhookReplayed';
      data: {
        /** All events after this position are sent again. */
        after: number;
      };
    }
  | { type: 'WebhookRedelivered'; data: { eventId: string; position: number } }
  | { type: 'WebhookDeleted'; data: Record<string, never> };

export type ExistingWebhook = WebhookFields & {
  status: 'ACTIVE' | 'PAUSED' | 'DISABLED';
  personalData: boolean;
  /** Failures count from here: since it was created, resumed or given another address. RFC 3339. */
  countsSince: string;
  /** The number of the secret that it signs with: 1, 2, … */
  secretNumber: number;
  /** The earlier secrets that still sign, newest first, and until when. */
  earlierSecrets: { number: number; until: string }[];
};

export type Webhook = { status: 'UNKNOWN' } | ExistingWebhook | { status: 'DELETED' };

/** Each one adds a signature to the headers of every request. */
const MAX_EARLIER_SECRETS = 4;

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
        // `at` is from the log's clock.
        const end = new Date(at.getTime() + event.data.overlapSeconds * 1_000).toISOString();
        // If the response was lost, the client rotates again. Secrets in use by the receiver then stay valid
        // until their end.
        const earlier = [{ number: secretNumber, until: end }, ...earlierSecrets]
          .map(({ number, until }) => ({ number, until: until < end ? until : end }))
          .filter(({ until }) => until > at.toISOString())
          .slice(0, MAX_EARLIER_SECRETS);
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

/** @throws RpcError NOT_FOUND if the webhook does not exist. */
export function existingWebhook(state: Webhook): ExistingWebhook {
  if (!exists(state)) throw noSuch('webhook');
  return state;
}

/**
 * Fields that are not given stay unchanged.
 *
 * @param hasOtherChange whether a stream next to this one changes, which also makes it a new version of the webhook.
 */
export function updateWebhook(
  state: Webhook,
  given: Partial<WebhookFields>,
  hasOtherChange = false,
): WebhookEvent[] {
  const { url, description, eventTypes } = existingWebhook(state);
  const data = changedFields({ url, description, eventTypes }, given);
  return data || hasOtherChange ? [{ type: 'WebhookUpdated', data: data ?? {} }] : [];
}

/** A disabled webhook sends nothing anyway, so pausing it changes nothing. */
export function pauseWebhook(state: Webhook): WebhookEvent[] {
  return existingWebhook(state).status === 'ACTIVE' ? [{ type: 'WebhookPaused', data: {} }] : [];
}

export function resumeWebhook(state: Webhook): WebhookEvent[] {
  return existingWebhook(state).status === 'ACTIVE' ? [] : [{ type: 'WebhookResumed', data: {} }];
}

/** Does nothing if the webhook was paused, deleted, resumed or given another address in the meantime. */
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

/** Deleting a deleted webhook changes nothing. */
export function deleteWebhook(state: Webhook): WebhookEvent[] {
  if (state.status === 'DELETED') return [];
  existingWebhook(state);
  return [{ type: 'WebhookDeleted', data: {} }];
}
