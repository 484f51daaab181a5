import { type RecordedEvent } from '#libs/event-store';
import { type RequestContext } from '#libs/rpc';

/** What reacts to events outside of a read model: unlike a projection it may act on the world. */
export type Subscription = {
  /** In the database: it never changes. */
  readonly name: string;
  /** Types of events. */
  readonly handles: readonly string[];
  /** Where it begins when it is new: with the first event that there ever was, or with what comes from then on. */
  readonly begins: 'at the first event' | 'now';
  /**
   * Of a page of events those that are handled; all, where it is left out. For what looks at where events have led: of a hundred
   * signatures of one petition the last says as much as all of them.
   */
  choose?(events: readonly RecordedEvent[]): readonly RecordedEvent[];
  /**
   * Runs at least once for each event, in their order for those of one stream. What it rejects with stands in the retry table
   * and is told to operators: it may hold nothing personal.
   *
   * @param signal aborted when its time is over: then it counts as failed, and runs again later.
   */
  handle(event: RecordedEvent, signal: AbortSignal): Promise<void>;
};

/**
 * What a reaction that is a command is asked as: by the program itself, and once by effect, because the key is the same
 * however often the event is handled.
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
