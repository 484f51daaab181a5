import { isUnavailable } from '#libs/database';
import {
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

/** Streams of one query: 100 contacts with all that they may hold are 6 MB. */
const MOST_AT_ONCE = 100;

/**
 * What becomes of events whose types only a later version of this program knows, and of damaged ones. Whoever decides
 * refuses the record: what the event forbids or ends cannot be known here, and what is decided against it is in the history
 * for ever. Whoever shows it leaves them out.
 */
type Unknown = 'refused' | 'left out';

/**
 * Reads records. As they are now: from the row of their read model and the few events after it, whatever the length of
 * their streams; where no read model has them, and as they were: from the whole stream, page by page.
 *
 * A row that lags behind is no mistake, because the events after its version are read along with it; and a decision
 * made on any version is stored only if that is still the stream's.
 */
export class RecordReader {
  constructor(
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  /**
   * A record as it is, to decide on.
   *
   * @throws NewerEvent where a later version of this program has written what this one does not know.
   */
  load<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
  ): Promise<Folded<State>> {
    return this.read(decider, organizationId, recordId, {}, 'refused');
  }

  /** Many records at once, each as it is now, to decide on. */
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
        records.set(id, await this.foldNow(decider, organizationId, id, stream, {}, 'refused'));
      }
    }
    return records;
  }

  /**
   * A record to be shown: as it is, at a version, or as it was at a moment. Events of types that this version does not
   * know are left out.
   *
   * @throws NewerEvent where an event has a shape that it does not know.
   */
  look<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    until: Until = {},
  ): Promise<Folded<State>> {
    return this.read(decider, organizationId, recordId, until, 'left out');
  }

  /**
   * The past of `asOf`, settled: moment and position together say for ever which events belong to it, also
   * those that were on their way when it was asked for. Every read model has it.
   *
   * @returns undefined where `asOf` is: what is asked for is the present.
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
      return this.foldRest(decider, organizationId, recordId, initialState(decider), until, unknown);
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
      // Commands do not need their read model.
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
    // The row has gone on, beyond the version or (see `Snapshots`) beyond what it knows: only the history knows the rest.
    if (snapshot && (snapshot.version > version || isOvertaken)) {
      return this.foldRest(decider, organizationId, recordId, initialState(decider), until, unknown);
    }
    let before = initialState(decider);
    if (snapshot) {
      const { keyring } = this.store;
      const state = this.projections.snapshotsOf(decider.streamType)!.read(snapshot.state, keyring) as State;
      before = { ...snapshot, state };
    } else if (!isOwn(decider, events)) {
      return before;
    }
    const loaded = fold(
      decider,
      events.filter((event) => event.version <= version),
      before,
    );
    if (isWhole || loaded.version >= version) return loaded;
    return this.foldRest(decider, organizationId, recordId, loaded, until, unknown);
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

/** @returns whether there are events of types that are not known. */
function requireKnown<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: readonly RecordedEvent<Event>[],
  unknown: Unknown,
): boolean {
  const newer: RecordedEvent | undefined = events.find((event: RecordedEvent) => !isKnown(decider, event));
  if (newer && unknown === 'refused') {
    throw isObject(newer.data) ? new NewerEvent(newer.type, newer.schema) : new DamagedEvent(newer);
  }
  return newer !== undefined;
}

/** An id of another kind of record is no record of this one. */
function isOwn<State, Event extends DomainEvent>(
  { streamType }: Decider<State, Event>,
  [first]: readonly RecordedEvent<Event>[],
): boolean {
  return first === undefined || first.streamType === streamType;
}
