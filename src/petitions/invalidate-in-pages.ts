import { Injectable } from '@nestjs/common';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Input, inputOf } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { choiceOf, ChosenSignatures, PAGE } from './chosen-signatures.js';
import { type Invalidation, invalidateMore, invalidation, restoreMore } from './invalidation.js';

const NAME = 'signature-invalidations';
/**
 * After this time, the event of the last page resumes the work. Far below the time limit of a subscription.
 */
export const MAX_DURATION_MS = 10_000;

/** The command of this subscription. It is not an operation of the API. */
class InvalidateMore extends Input {
  invalidationId!: string;
}

/**
 * Continues invalidate-signatures and restore-signatures page by page. Each page is an event that triggers
 * the next one, so a crash never leaves them unfinished.
 */
@Injectable()
export class Invalidations implements Subscription {
  readonly name = NAME;
  readonly handles = ['SignaturesInvalidated', 'SignaturesRestored'];
  readonly begins = 'at the first event';

  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly chosen: ChosenSignatures,
    private readonly projections: Projections,
  ) {}

  /** Only the last event of each invalidation, which has the latest progress. */
  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    const last = new Map(events.map((event) => [event.streamId, event]));
    return [...last.values()].toSorted((one, other) => one.position - other.position);
  }

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    if (event.data.isLast) return;
    const { organizationId, streamId: invalidationId } = event;
    // The expected version of the stream makes each page idempotent. With the event's idempotency key, only
    // the first page would be appended.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    const input = inputOf(InvalidateMore, { invalidationId }, context);
    for (const endAt = Date.now() + MAX_DURATION_MS; Date.now() < endAt && !signal.aborted;) {
      const { decision } = await this.commands.run(input, async () => {
        const { state, version } = await this.records.load(invalidation, organizationId, invalidationId);
        const events = await this.next(organizationId, invalidationId, state);
        const writes = [writeTo(invalidation, invalidationId, version, events)];
        return { recordId: invalidationId, writes };
      });
      const [page] = decision?.writes.flatMap(({ events }) => events) ?? [];
      if (!page || page.data.isLast) return;
    }
  }

  private async next(organizationId: string, invalidationId: string, state: Invalidation) {
    // The projection may not have the previous page yet.
    await this.projections.catchUpWithLog();
    if (state.status === 'INVALIDATING') {
      const ids = await this.chosen.page(organizationId, choiceOf(state), state.last);
      return invalidateMore(state, ids, PAGE);
    }
    if (state.status !== 'RESTORING') return [];
    const ids = await this.chosen.invalidatedBy(organizationId, invalidationId);
    return restoreMore(state, ids, PAGE);
  }
}
