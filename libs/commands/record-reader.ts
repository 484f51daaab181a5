import { isUnavailable } from '#libs/database';
import {
  begunBy,
  DamagedEvent,
  type Decider,
  type DomainEvent,
  type EventStore,
  fold,
  type Folded,
  isKnown,
  isObject,
  NewerEvent,
  type Past,
  type RecordedEvent,
  type StreamNow,
  initialState,
  type Until,
} from '#libs/event-store';
import { type Projections } from '#libs/projections';
import { isId } from '#libs/rpc';

/** Streams per query. 100 contacts of maximum size are 6 MB. */
const MOST_AT_ONCE = 100;

/**
 * How to handle damaged events and those of types that only a later version of this program knows. Commands reject the
 * record: the effect of the event is unknown, and a wrong decision would stay in the history forever. Reads skip the event.
 */
type Unknown = 'rejected' | 'skipped';

/**
 * Reads records. The current state comes from the projection's row and the few events after it, however long the stream is.
 * Past states, and records without a projection, are read from the whole stream, page by page.
 *
 * A row may lag behind, because the events after its version are read along with it. A decision is stored only if the
 * stream is still at the version that it is based on.
 */
export class RecordReader {
  constructor(
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  /**
   * The current state of a record, for decisions.
   *
   * @throws NewerEvent if a later version of this program wrote an unknown event, and DamagedEvent if one was altered.
   */
  load<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
  ): Promise<Folded<State>> {
    return this.read(decider, organizationId, recordId, {}, 'rejected');
  }

  /** The current states of many records, for decisions. Throws like `load`. */
  async loadMany<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordIds: readonly string[],
  ): Promise<Map<string, Folded<State>>> {
    const ids = [...new Set(recordIds)];
    const records = new Map<string, Folded<State>>();
    for (let n = 0; n < ids.length; n += MOST_AT_ONCE) {
      const page = ids.slice(n, n + MOST_AT_ONCE);
      for (const [id, stream] of await this.now<Event>(decider.streamType, organizationId, page)) {
        records.set(id, await this.foldNow(decider, organizationId, id, stream, {}, 'rejected'));
      }
    }
    return records;
  }

  /**
   * A record's current or past state, for display. Events of unknown types are skipped.
   *
   * @throws NewerEvent if an event has an unknown shape.
   */
  look<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    until: Until = {},
  ): Promise<Folded<State>> {
    return this.read(decider, organizationId, recordId, until, 'skipped');
  }

  /** The past states of many records, for display. Throws like `look`. */
  async lookMany<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordIds: readonly string[],
    past: Past,
  ): Promise<Map<string, Folded<State>>> {
    const records = new Map<string, Folded<State>>();
    if (recordIds.length === 0) return records;
    const isLater = ({ recordedAt, position }: RecordedEvent) =>
      recordedAt > past.moment || position > past.position;
    const streams = await this.store.readStreamsThen<Event>(organizationId, recordIds);
    for (const [id, { events, isWhole }] of streams) {
      const before = await this.start(decider, organizationId, id, past);
      if (!isWhole) {
        records.set(id, await this.foldRest(decider, organizationId, id, before, past, 'skipped'));
      } else if (isOwn(decider, events)) {
        const end = events.findIndex(isLater);
        records.set(id, fold(decider, end === -1 ? events : events.slice(0, end), before));
      }
    }
    return records;
  }

  /**
   * The present or past states of records for display, in the order of the ids. Missing records have the initial state. The
   * present takes one query, unless a later version wrote to one of the records.
   */
  async lookAll<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordIds: readonly string[],
    past?: Past,
  ): Promise<State[]> {
    const found = past
      ? undefined
      : await this.loadMany(decider, organizationId, recordIds).catch((error: unknown) => {
          if (error instanceof NewerEvent || error instanceof DamagedEvent) return undefined;
          throw error;
        });
    const states = recordIds.map(
      async (id) => (found?.get(id) ?? (await this.look(decider, organizationId, id, past))).state,
    );
    return Promise.all(states);
  }

  /**
   * The past at `asOf`. Moment and position together determine forever which events belong to it, even if some were not
   * yet committed at the time of the call. Waits until every projection contains it.
   *
   * @returns undefined if `asOf` is undefined, which means the present.
   */
  async past(asOf: string | undefined): Promise<Past | undefined> {
    if (asOf === undefined) return undefined;
    const position = await this.store.horizon();
    await this.projections.catchUp(position);
    return { moment: new Date(asOf), position };
  }

  private async read<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    until: Until,
    unknown: Unknown,
  ): Promise<Folded<State>> {
    if (!isId(recordId)) return initialState(decider);
    if (until.moment !== undefined || until.position !== undefined) {
      const before = await this.start(decider, organizationId, recordId, until);
      return this.foldRest(decider, organizationId, recordId, before, until, unknown);
    }
    const streams = await this.now<Event>(decider.streamType, organizationId, [recordId]);
    return this.foldNow(decider, organizationId, recordId, streams.get(recordId)!, until, unknown);
  }

  private async now<Event extends DomainEvent>(
    streamType: string,
    organizationId: string,
    ids: readonly string[],
  ): Promise<Map<string, StreamNow<Event>>> {
    const snapshots = this.projections.snapshotsOf(streamType);
    try {
      return await this.store.readStreamsNow<Event>(organizationId, ids, snapshots?.sql);
    } catch (error) {
      // Commands work without their projection.
      if (!snapshots || isUnavailable(error) || error instanceof NewerEvent) throw error;
      return this.store.readStreamsNow<Event>(organizationId, ids);
    }
  }

  private async foldNow<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    { snapshot, events, isWhole }: StreamNow<Event>,
    { version = Infinity }: Until,
    unknown: Unknown,
  ): Promise<Folded<State>> {
    const until = version === Infinity ? {} : { version };
    const isOvertaken = isOwn(decider, events) && requireKnown(decider, events, unknown);
    // The row is beyond the requested version, or has skipped an event (see `Snapshots`). Read the history instead.
    if (snapshot && (snapshot.version > version || isOvertaken)) {
      const before = await this.start(decider, organizationId, recordId);
      return this.foldRest(decider, organizationId, recordId, before, until, unknown);
    }
    let before: Folded<State>;
    if (snapshot) {
      const { keyring } = this.store;
      const state = this.projections.snapshotsOf(decider.streamType)!.read(snapshot.state, keyring) as State;
      before = { ...snapshot, state };
    } else {
      before = await this.start(decider, organizationId, recordId);
    }
    if (!isOwn(decider, events)) return before;
    const loaded = fold(
      decider,
      events.filter((event) => event.version <= version),
      before,
    );
    if (isWhole || loaded.version >= version) return loaded;
    return this.foldRest(decider, organizationId, recordId, loaded, until, unknown);
  }

  /** The record before its own events. */
  private async start<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    { moment, position }: Until = {},
  ): Promise<Folded<State>> {
    if (decider.builtIn?.idIn(organizationId) !== recordId) return initialState(decider);
    const first = { version: 1, moment, position };
    const [event] = await this.store.readStream(organizationId, organizationId, first);
    return (event && begunBy(decider, event)) ?? initialState(decider);
  }

  private async foldRest<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    before: Folded<State>,
    until: Until,
    unknown: Unknown,
  ): Promise<Folded<State>> {
    let folded = before;
    const range = { ...until, after: before.version };
    for await (const events of this.store.readStreamPages<Event>(organizationId, recordId, range)) {
      if (!isOwn(decider, events)) break;
      requireKnown(decider, events, unknown);
      folded = fold(decider, events, folded);
    }
    return folded;
  }
}

/** @returns whether there are unknown or damaged events. */
function requireKnown<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: readonly RecordedEvent<Event>[],
  unknown: Unknown,
): boolean {
  const newer: RecordedEvent | undefined = events.find((event: RecordedEvent) => !isKnown(decider, event));
  if (newer && unknown === 'rejected') {
    throw isObject(newer.data) ? new NewerEvent(newer.type, newer.schema) : new DamagedEvent(newer);
  }
  return newer !== undefined;
}

/** The id may belong to a record of another kind. */
function isOwn<State, Event extends DomainEvent>(
  { streamType }: Decider<State, Event>,
  [first]: readonly RecordedEvent<Event>[],
): boolean {
  return first === undefined || first.streamType === streamType;
}
