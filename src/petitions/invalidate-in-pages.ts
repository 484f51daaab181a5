import { Injectable } from '@nestjs/common';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Input } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { choiceOf, ChosenSignatures, PAGE } from './chosen-signatures.js';
import { type Invalidation, invalidateMore, invalidation, restoreMore } from './invalidation.js';

const NAME = 'signature-invalidations';
/** Then whoever comes after the last page goes on: far less than the time that a reaction has. */
const LONGEST_MS = 10_000;

/** The command of this reaction; no operation, for nobody else may say so. */
class InvalidateMore extends Input {
  invalidationId!: string;
}

/**
 * Goes on with what invalidate-signatures and restore-signatures have begun, page by page, until the last one: each page is an event
 * by which this is called again, so that nothing is left half done, whoever dies.
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

  /** The last event of each: it tells how far that is. */
  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    const last = new Map(events.map((event) => [event.streamId, event]));
    return [...last.values()].toSorted((one, other) => one.position - other.position);
  }

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    if (event.data.isLast) return;
    const { organizationId, streamId: invalidationId } = event;
    // What is appended holds for one version of the stream only: a key of its own would end it after the first page.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    const input = Object.assign(new InvalidateMore(), { organizationId, invalidationId, context });
    for (const endAt = Date.now() + LONGEST_MS; Date.now() < endAt && !signal.aborted;) {
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
    // Whoever appended the page before may still be waiting for the read model to have it.
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
