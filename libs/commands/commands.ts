import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql } from '#libs/database';
import { newId } from '#libs/random';
import {
  type AppendCommand,
  type AppendResult,
  type Decider,
  type DomainEvent,
  type EventStore,
  type Folded,
  GivenUp,
  type Guard,
} from '#libs/event-store';
import { type Projections } from '#libs/projections';
import { entityTag, expectedVersionOf, type Input, type RequestContext, RpcError } from '#libs/rpc';
import {
  type Claim,
  type Decision,
  eventTypes,
  type Outcome,
  storedWrites,
  type TwinCheck,
  unchanged,
  versionBefore,
  versionAfter,
  writeTo,
} from './decision.js';
import { RecordReader } from './record-reader.js';
import { type Identity, Requests } from './requests.js';

/** `decision`, `recordedAt` and `position` describe what this attempt stored. They are undefined if it stored nothing. */
type Answered = Outcome & { decision?: Decision; recordedAt?: Date; position?: number };

/** @param isRetry false the first time. */
type Decide = (isRetry: boolean) => Promise<Decision> | Decision;

/** A command fails after losing to this many concurrent changes of its record. */
const MOST_ATTEMPTS = 200;
/** After this many attempts, a command pauses for a random time before each retry, to reduce contention. */
const ATTEMPTS_WITHOUT_PAUSE = 3;
const LONGEST_PAUSE_MS = 40;

/**
 * Runs commands: loads, decides and appends with optimistic concurrency, once per request, and provides read-your-writes.
 */
export class Commands {
  private readonly records: RecordReader;
  private readonly requests: Requests;

  constructor(
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {
    this.records = new RecordReader(store, projections);
    this.requests = new Requests(store, projections);
  }

  /**
   * Runs a decision until it is appended. Resolves when every projection shows it.
   *
   * @param input the command. Its fields identify the request, and its context contains the actor.
   * @param decide loads the records it needs and decides. It runs again if another command came first or changed one of
   *   these records.
   * @param visible false skips waiting for projections. After several such commands, the caller calls
   *   `Projections.catchUpWithLog` once.
   * @param eventId the id of the first event, by which a later attempt finds out that the command was stored
   *   (`EventStore.findStored`).
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, VERSION_MISMATCH, SERVICE_UNAVAILABLE (RECORD_BUSY), and the errors of `decide`.
   */
  async run(
    input: Input,
    decide: Decide,
    { visible = true, eventId }: { visible?: boolean; eventId?: string | undefined } = {},
  ): Promise<Answered> {
    const request: Identity & { eventId?: string | undefined } = {
      ...this.requests.identify(input),
      eventId,
    };
    const expected = expectedVersionOf(input);
    const checked: Decide = async (isRetry) => requireVersion(await decide(isRetry), expected);
    if (!request.key) return this.attempt(input.context, request, checked, visible);

    const before = await this.requests.findAnswer<Outcome>(input.context, request);
    if (before) return before;
    try {
      return await this.attempt(input.context, request, checked, visible);
    } catch (error) {
      if (error instanceof GivenUp) throw error;
      // A concurrent duplicate may have won and changed the record. Then return its result.
      const twin = await this.requests.findAnswer<Outcome>(input.context, request);
      if (twin) return twin;
      throw error;
    }
  }

  /**
   * Creates one record, identified by its name. The same input again returns this record, as long as it has that name.
   *
   * @param complete adds parts of the decision other than its events.
   * @param isRepeated returns false for a record that the same input does not return, but creates again.
   */
  create<State extends object, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    input: Input & { name: string },
    decide: () => NoInfer<Event>[] | Promise<NoInfer<Event>[]>,
    complete: (recordId: string, events: NoInfer<Event>[]) => Partial<Decision> = () => ({}),
    isRepeated: (state: State) => boolean = () => true,
  ): Promise<Outcome> {
    const { organizationId, name } = input;
    const creates = this.named(
      decider,
      organizationId,
      (state) => 'name' in state && state.name === name && isRepeated(state),
    );
    return this.run(input, async () => {
      const recordId = newId();
      const events = await decide();
      return {
        recordId,
        creates,
        writes: [writeTo(decider, recordId, 0, events)],
        ...complete(recordId, events),
      };
    });
  }

  /** For `Decision.creates`. @param holds whether a record in this state exists and still has its identifying value. */
  named<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    holds: (state: State) => boolean,
  ): TwinCheck {
    return async (recordId) => {
      const { state, version } = await this.records.load(decider, organizationId, recordId);
      return { holds: holds(state), version };
    };
  }

  /**
   * Stores those decisions that `check` allows while no one else can change their records, or write about the people whose
   * records they are: see `AppendQueue.appendIf`. Resolves when every projection shows them.
   *
   * @returns whether each decision was stored. If not, decide again.
   * @throws the errors of `requireAccess` and of `check`.
   */
  async storeIf(
    { context }: Input,
    decisions: readonly Decision[],
    check: (sql: Sql) => Promise<readonly boolean[]>,
  ): Promise<boolean[]> {
    if (decisions.length === 0) return [];
    const access = await context.requireAccess?.();
    const guarded = decisions.map((decision) => withGuards(decision, access));
    const commands = guarded.map((decision) =>
      this.toAppend(context, {}, decision, { recordId: decision.recordId, version: 0 }, undefined),
    );
    const results = await this.store.appendIf(commands, check);
    const positions = results.map((result) => (result?.status === 'appended' ? (result.position ?? 0) : 0));
    await this.projections.catchUp(Math.max(...positions), decisions.flatMap(eventTypes));
    return results.map((result) => result?.status === 'appended');
  }

  /**
   * Changes one record: loads it, decides on its state, and returns it as the change left it. For a repeated
   * Idempotency-Key, returns the first request's result from the history.
   *
   * @param complete adds parts of the decision other than its events, given the loaded record.
   */
  async change<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    input: Input,
    recordId: string,
    decide: (state: State) => NoInfer<Event>[],
    complete: (
      loaded: Folded<State>,
      events: NoInfer<Event>[],
    ) => Partial<Decision> | Promise<Partial<Decision>> = () => ({}),
  ): Promise<Folded<State>> {
    const { organizationId } = input;
    let loaded = undefined as Folded<State> | undefined;
    let events: Event[] = [];
    const { version, recordedAt } = await this.run(input, async () => {
      const before = await this.records.load(decider, organizationId, recordId);
      loaded = before;
      events = decide(before.state);
      const writes = [writeTo(decider, recordId, before.version, events)];
      return { recordId, writes, ...(await complete(before, events)) };
    });
    if (loaded?.version === version) return loaded;
    if (!loaded || !recordedAt) return this.records.look(decider, organizationId, recordId, { version });
    // The decision was stored unchanged, so nothing has to be read again.
    const state = events.reduce((before, event) => decider.evolve(before, event, recordedAt), loaded.state);
    return { state, version, createdAt: loaded.createdAt ?? recordedAt, updatedAt: recordedAt };
  }

  /** Ends one record and releases all its unique values. */
  async end<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    input: Input,
    recordId: string,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<void> {
    await this.run(input, async () => ({
      ...(await this.decideOn(decider, input, recordId, decide)),
      releasesAll: [recordId],
    }));
  }

  private async decideOn<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    { organizationId }: Input,
    recordId: string,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<Decision> {
    const { state, version } = await this.records.load(decider, organizationId, recordId);
    return { recordId, writes: [writeTo(decider, recordId, version, decide(state))] };
  }

  /** The records that own these unique values, in the same order; undefined for a value without an owner. */
  async findOwners(
    organizationId: string,
    values: readonly (readonly string[])[],
  ): Promise<(string | undefined)[]> {
    return this.ownersOf(
      organizationId,
      values.map((value) => this.store.keyring.hash(...value)),
    );
  }

  /** Releases unique values that a record no longer uses, if it is still at this version. */
  release({ context }: Input, guard: Guard, values: readonly (readonly string[])[]): Promise<void> {
    return this.releaseKeys(
      context,
      guard,
      values.map((value) => this.store.keyring.hash(...value)),
    );
  }

  /**
   * Claims a unique value for a record without an event, if it is still at this version.
   *
   * @returns the owner, which is the record or another one. Undefined if the record's version has changed.
   */
  async claim({ context }: Input, guard: Guard, value: readonly string[]): Promise<string | undefined> {
    const { organizationId, actor, requestId } = context;
    const { streamId, version } = guard;
    const key = this.store.keyring.hash(...value);
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts += 1) {
      const result = await this.store.append({
        organizationId,
        metadata: { actor, requestId },
        writes: [{ streamType: '', streamId, expectedVersion: version, events: [] }],
        claims: [{ key, streamId }],
      });
      if (result.status === 'appended') return streamId;
      if (result.status === 'taken') return result.keys[0]!.owner;
      if (result.status === 'version') return undefined;
    }
    throw new Error(`The claim could not be stored after ${MOST_ATTEMPTS} attempts.`);
  }

  private async ownersOf(organizationId: string, keys: readonly Buffer[]): Promise<(string | undefined)[]> {
    const owners = await this.store.findOwners(organizationId, keys);
    return keys.map((key) => owners.get(key.toString('hex')));
  }

  /**
   * The record that the same input created before, if `check` accepts it. For input that may be invalid by the time it is
   * repeated. With an Idempotency-Key, `run` finds the record.
   */
  async findTwin(input: Input, check: TwinCheck): Promise<string | undefined> {
    const key = this.requests.identify(input).natural?.();
    const [twin] = key ? await this.ownersOf(input.organizationId, [key]) : [];
    if (twin === undefined || !(await check(twin)).holds) return undefined;
    input.context.onReplay?.();
    return twin;
  }

  private async attempt(
    context: RequestContext,
    request: Identity & { eventId?: string | undefined },
    decide: Decide,
    visible: boolean,
  ): Promise<Answered> {
    const decideOn = async (isRetry: boolean) =>
      withGuards(await decide(isRetry), await context.requireAccess?.());
    let decision = await decideOn(false);
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts += 1) {
      const outcome = {
        recordId: decision.recordId,
        version: versionAfter(decision),
        created: versionBefore(decision) === 0,
      };
      if (decision.writes.every(({ events }) => events.length === 0) && !request.key) {
        if (visible) await this.projections.catchUpWithLog();
        return outcome;
      }

      const natural = decision.creates ? request.natural?.() : undefined;
      const result = await this.store.append(this.toAppend(context, request, decision, outcome, natural));
      switch (result.status) {
        case 'appended': {
          const { recordedAt, position } = result;
          if (visible) await this.projections.catchUp(position ?? 0, eventTypes(decision));
          return { ...outcome, decision, recordedAt, ...(position === null ? {} : { position }) };
        }
        case 'replayed':
          return this.requests.keptAnswer<Outcome>(context, request.fingerprint!, result);
        case 'taken': {
          const twin = result.keys.find(({ key }) => natural?.equals(key));
          if (!twin) {
            const resolved = await this.resolveTaken(decision, result);
            decision = resolved
              ? withGuards(resolved, await context.requireAccess?.())
              : await decideOn(true);
            break;
          }
          const { holds, version } = await decision.creates!(twin.owner);
          if (holds) {
            await this.projections.catchUpWithLog();
            context.onReplay?.();
            return { recordId: twin.owner, version: 1 };
          }
          await this.releaseKeys(context, { streamId: twin.owner, version }, [twin.key]);
          decision = await decideOn(true);
          break;
        }
        case 'version':
        case 'retry':
          if (attempts >= ATTEMPTS_WITHOUT_PAUSE) await sleep(Math.random() * LONGEST_PAUSE_MS);
          decision = await decideOn(true);
          break;
      }
    }
    throw new RpcError(
      'SERVICE_UNAVAILABLE',
      'Too many concurrent requests are changing this record. Try again in a moment.',
      { reason: 'RECORD_BUSY', headers: { 'Retry-After': '1' } },
    );
  }

  /**
   * Releases keys of a stream if it is still at this version. This is a write without events, which locks the stream
   * exclusively. Otherwise two calls that release a stream's keys in different orders could deadlock.
   */
  private async releaseKeys(
    { organizationId, actor, requestId }: RequestContext,
    { streamId, version }: Guard,
    keys: readonly Buffer[],
  ): Promise<void> {
    await this.store.append({
      organizationId,
      metadata: { actor, requestId },
      writes: [{ streamType: '', streamId, expectedVersion: version, events: [] }],
      releases: keys.map((key) => ({ key, streamId })),
    });
  }

  private toAppend(
    { organizationId, actor, requestId, isGivenUp }: RequestContext,
    request: Identity & { eventId?: string | undefined },
    decision: Decision,
    outcome: Outcome,
    natural: Buffer | undefined,
  ): AppendCommand {
    const { keyring } = this.store;
    const claims = (decision.claims ?? []).map(({ value, streamId }) => ({
      key: keyring.hash(...value),
      streamId,
    }));
    if (natural) claims.push({ key: natural, streamId: decision.recordId });
    return {
      organizationId,
      metadata: { actor, requestId },
      writes: storedWrites(decision),
      guards: [...(decision.guards ?? []), ...unchanged(decision)],
      claims,
      releases: (decision.releases ?? []).map(({ value, streamId }) => ({
        key: keyring.hash(...value),
        streamId,
      })),
      releasesAll: decision.releasesAll ?? [],
      erases: decision.erases ?? [],
      firstEventId: request.eventId,
      isGivenUp,
      ...(request.key
        ? { idempotency: { key: request.key, fingerprint: request.fingerprint!, result: outcome } }
        : {}),
    };
  }

  private resolveTaken(
    decision: Decision,
    { keys }: Extract<AppendResult, { status: 'taken' }>,
  ): ReturnType<Claim['taken']> {
    for (const claim of decision.claims ?? []) {
      const hash = this.store.keyring.hash(...claim.value);
      const lost = keys.find(({ key }) => key.equals(hash));
      if (lost) return claim.taken(lost.owner);
    }
    throw new Error('The store named a taken key that was not claimed.');
  }
}

/** Adds guards to a decision, except for streams that it writes to, whose versions are checked anyway. */
function withGuards(decision: Decision, added: readonly Guard[] = []): Decision {
  const guards = added.filter(({ streamId }) =>
    decision.writes.every((write) => write.streamId !== streamId),
  );
  return guards.length === 0 ? decision : { ...decision, guards: [...(decision.guards ?? []), ...guards] };
}

/**
 * A change that the record already has is not a mismatch, so a repeated request is answered like the first one (RFC
 * 9110, section 13.1.1).
 *
 * @throws RpcError VERSION_MISMATCH
 */
function requireVersion(decision: Decision, expected: number | undefined): Decision {
  if (expected === undefined || decision.writes.every(({ events }) => events.length === 0)) return decision;
  const version = versionBefore(decision);
  if (version === expected) return decision;
  throw new RpcError(
    'VERSION_MISMATCH',
    `The record has version ${version} now, so your change of version ${expected} was not applied. Read the record again, and send your change with its version.`,
    { fields: { version }, headers: { ETag: entityTag(version) } },
  );
}
