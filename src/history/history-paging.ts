import { Injectable } from '@nestjs/common';
import { EventStore } from '#libs/event-store';
import { type Page } from '#libs/rpc';
import { type EventRecord } from './event-record.js';

export type EventFilter = {
  type?: string | undefined;
  recordType?: string | undefined;
  recordId?: string | undefined;
  actorId?: string | undefined;
  requestId?: string | undefined;
  occurredAfter?: string | undefined;
  occurredBefore?: string | undefined;
};

/** `after` or `before` a position; without both, the newest events. */
type Place = { after: number | undefined; before: number | undefined };

/** Newest first. */
export type EventPage = { events: EventRecord[]; hasOlder: boolean; hasNewer: boolean };

/** Runs `history.list-events`, which records the read. */
type ListEvents = (filter: EventFilter & { after: number; limit: number }) => Promise<Page<EventRecord>>;

/**
 * Pages of the history, newest first. The operation lists the oldest events first. The start of the last page is looked up, so the end
 * of a long history is as fast to reach as its beginning.
 */
@Injectable()
export class HistoryPaging {
  constructor(private readonly store: EventStore) {}

  /** @param filter checked by the caller: the look-up uses its values in SQL without the checks of the operation. */
  async page(
    organizationId: string,
    listEvents: ListEvents,
    { after, before }: Place,
    limit: number,
    filter: EventFilter,
  ): Promise<EventPage> {
    if (after !== undefined) {
      const { records, pagination } = await listEvents({ ...filter, after, limit });
      return { events: records.toReversed(), hasOlder: after > 0, hasNewer: pagination.hasMore };
    }
    const horizon = await this.store.horizon();
    const upTo = before === undefined ? horizon : Math.min(horizon, before - 1);
    const start = await this.store.startOfLast(organizationId, { after: 0, upTo }, limit, filter);
    const events: EventRecord[] = [];
    // Large events need several responses.
    for (let position = start.after, hasMore = true; hasMore;) {
      const rest = Math.max(1, start.events - events.length);
      const { records, pagination } = await listEvents({ ...filter, after: position, limit: rest });
      events.push(...records.filter((event) => event.position <= upTo));
      position = records.at(-1)?.position ?? upTo;
      hasMore = pagination.hasMore && events.length < start.events && position < upTo;
    }
    return { events: events.toReversed(), hasOlder: start.after > 0, hasNewer: before !== undefined };
  }
}
