import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';

/** The kinds of records that deliveries can contain, and the scope that each needs. */
export const EXPANDED_SCOPES = { contact: 'contact:read', petition: 'petition:read' } as const;
export type ExpandedKind = keyof typeof EXPANDED_SCOPES;
export const EXPANDED_KINDS = Object.keys(EXPANDED_SCOPES) as ExpandedKind[];

/** Which records the deliveries of a webhook contain next to the event. */
export type WebhookExpansion = { expand: ExpandedKind[] };

export type WebhookExpansionEvent = {
  type: 'WebhookExpansionChanged';
  data: { webhookId: string; expand: ExpandedKind[] };
};

/** A stream next to the webhook's own, because version 0.8.0 rejects new fields of `WebhookCreated`. */
export const webhookExpansion: Decider<WebhookExpansion, WebhookExpansionEvent> = {
  streamType: 'webhook-expansion',
  initial: { expand: [] },
  events: { WebhookExpansionChanged: true },
  evolve: (_, { data: { expand } }) => ({ expand }),
};

/** Derived from the webhook's id. */
export function expansionId(webhookId: string): string {
  return streamIdOf(createHash('sha256').update(`webhook-expansion ${webhookId}`).digest());
}

/** @param given undefined: unchanged. */
export function changeExpansion(
  { expand }: WebhookExpansion,
  webhookId: string,
  given: readonly ExpandedKind[] | undefined,
): WebhookExpansionEvent[] {
  // In one order, so that the order of the request does not matter.
  const next = given && EXPANDED_KINDS.filter((kind) => given.includes(kind));
  if (!next || String(next) === String(expand)) return [];
  return [{ type: 'WebhookExpansionChanged', data: { webhookId, expand: next } }];
}
