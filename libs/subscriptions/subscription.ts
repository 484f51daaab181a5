import { type RecordedEvent } from '#libs/event-store';
import { type RequestContext } from '#libs/rpc';

/** Handles events outside of projections. Unlike a projection, it may have external effects. */
export type Subscription = {
  /** Stored in the database, so it never changes. */
  readonly name: string;
  /** Event types. */
  readonly handles: readonly string[];
  /** The start of a new subscription: the first event of the log, or only events from now on. */
  readonly begins: 'at the first event' | 'now';
  /**
   * Selects the events of a page to handle; by default all. For subscriptions to which only the current result
   * matters: of a hundred signatures of one petition, the last one suffices.
   */
  choose?(events: readonly RecordedEvent[]): readonly RecordedEvent[];
  /**
   * Runs at least once for each event, in order within a stream. Error messages are stored in the retry table
   * and shown to operators, so they must not contain personal data.
   *
   * @param signal aborted at the timeout. Then the attempt counts as failed and is repeated later.
   */
  handle(event: RecordedEvent, signal: AbortSignal): Promise<void>;
};

/**
 * The context of a command that handles an event. The program itself is the actor. The idempotency key depends
 * only on the event and the subscription, so handling the event again has no further effect.
 */
export function reactionTo({ organizationId, eventId }: RecordedEvent, subscription: string): RequestContext {
  return {
    organizationId,
    actor: { type: 'system', id: subscription },
    scopes: ['*'],
    requestId: `${subscription}-${eventId}`,
    idempotencyKey: `${subscription} ${eventId}`,
  };
}
