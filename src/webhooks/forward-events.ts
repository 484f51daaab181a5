import { setTimeout as sleep } from 'node:timers/promises';
import { type EventStore } from '#libs/event-store';
import { type WebhookBody, webhookBody } from './webhook-body.js';
import { Destinations } from './destinations.js';
import { secretOf } from './signatures.js';
import { type ExistingWebhook } from './webhook.js';
import { type Attempt, WebhookRequests } from './webhook-requests.js';

const POLL_MS = 500;
/** Events per page. */
const PAGE = 100;

export type Forwarded = Pick<WebhookBody, 'position' | 'type'> &
  Pick<Attempt, 'delivered' | 'statusCode' | 'ms' | 'reason'>;

/** The secret that signs forwarded events. It is the same each time, so a developer configures it once. */
export function forwardingSecret(store: EventStore, organizationId: string): string {
  return secretOf(store.keyring, organizationId, 1);
}

/**
 * Sends the events of an organization to an address in order, one at a time, until the signal aborts. Failures are
 * reported and not repeated.
 *
 * @param url http or https; any address, such as of this machine.
 * @param range.after a position; undefined: from now. `types`: undefined for all.
 */
export async function* forwardEvents(
  store: EventStore,
  organizationId: string,
  url: string,
  { after, types }: { after?: number | undefined; types?: readonly string[] | undefined },
  signal: AbortSignal,
): AsyncGenerator<Forwarded> {
  const requests = new WebhookRequests(store, new Destinations(true));
  const webhook: ExistingWebhook = {
    url,
    description: null,
    eventTypes: null,
    status: 'ACTIVE',
    personalData: true,
    countsSince: new Date().toISOString(),
    secretNumber: 1,
    earlierSecrets: [],
  };
  const stop = () => requests.end();
  signal.addEventListener('abort', stop, { once: true });
  try {
    let reached = after ?? (await store.horizon());
    while (!signal.aborted) {
      const range = { after: reached, upTo: await store.horizon() };
      const { events, hasMore } = await store.readHistory(organizationId, range, PAGE, { type: types });
      for (const event of events) {
        const body = webhookBody(event);
        const attempt = await requests.send(organizationId, webhook, {
          id: body.id,
          body: JSON.stringify(body),
        });
        if (!attempt) return;
        const { delivered, statusCode, ms, reason } = attempt;
        yield { position: body.position, type: body.type, delivered, statusCode, ms, reason };
      }
      reached = hasMore ? events.at(-1)!.position : Math.max(reached, range.upTo);
      if (!hasMore) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    requests.end();
  }
}
