import { Injectable } from '@nestjs/common';
import {
  type Actor,
  EventStore,
  isObject,
  type JsonObject,
  type RecordedEvent,
  withoutSalt,
} from '#libs/event-store';

/** An event without its personal data. */
export type ActivityEvent = {
  type: string;
  position: number;
  recordedAt: Date;
  actor: Actor;
  /** Null if the stored value was altered and is not an object. */
  data: JsonObject | null;
  /** Names of its fields, including those of its personal data; empty if they were erased. */
  fields: readonly string[];
};

/** Most events of a record that is part of another one. */
const MOST_OF_PART = 50;

/**
 * What happened to a record, for people who may see the record. Like `asOf`, it requires no `history:read` and records no
 * `HistoryRead`, which is for reading other people's activity.
 */
@Injectable()
export class Activity {
  constructor(private readonly store: EventStore) {}

  /**
   * The newest events of a record, newest first. A person's activity includes events of other records that concern them.
   *
   * @param limit most events. @param before only events before this position.
   * @param others events of other records that users see as part of this one.
   */
  async of(
    organizationId: string,
    recordId: string,
    {
      limit,
      before,
      others,
    }: { limit: number; before?: number | undefined; others: Promise<readonly ActivityEvent[]> },
  ): Promise<{ events: ActivityEvent[]; hasMore: boolean }> {
    const [own, beside] = await Promise.all([
      this.store.readAbout(organizationId, recordId, limit, before),
      others,
    ]);
    const all = [
      ...own.events.map(activityEvent),
      ...beside.filter(({ position }) => before === undefined || position < before),
    ].toSorted((one, other) => other.position - one.position);
    return { events: all.slice(0, limit), hasMore: own.hasMore || all.length > limit };
  }

  /** The newest events of each of these records, at most 50 of each. */
  async latestOf(organizationId: string, recordIds: readonly string[]): Promise<ActivityEvent[]> {
    const read = recordIds.map((id) => this.store.readAbout(organizationId, id, MOST_OF_PART));
    return (await Promise.all(read)).flatMap(({ events }) => events.map(activityEvent));
  }

  /** The first event of each type of each of these records: one event, however many others follow from it. */
  async beginningsOf(organizationId: string, recordIds: readonly string[]): Promise<ActivityEvent[]> {
    return (await this.store.readBeginnings(organizationId, recordIds)).map(activityEvent);
  }
}

function activityEvent({
  type,
  position,
  recordedAt,
  metadata,
  data,
  personal,
}: RecordedEvent): ActivityEvent {
  const known = isObject(data) ? data : null;
  const fields = known ? [...Object.keys(known), ...Object.keys(withoutSalt(personal ?? null) ?? {})] : [];
  return { type, position, recordedAt, actor: metadata.actor, data: known, fields };
}
