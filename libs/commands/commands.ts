import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import {
  canonical,
  type AppendCommand,
  type AppendResult,
  type Decider,
  type DomainEvent,
  type EventStore,
  type Folded,
  GivenUp,
  type Guard,
  type JsonObject,
  type StreamWrite,
  unborn,
  type Until,
} from '#libs/event-store';
import { type Projections } from '#libs/projections';
import { Loader } from './loader.js';
import {
  type Input,
  operationOf,
  type Past,
  type RequestContext,
  RpcError,
  type StreamedInput,
} from '#libs/rpc';

/** What a command decided to do. */
export type Decision = {
  /** The record the answer is about. */
  recordId: string;
  writes: readonly StreamWrite[];
  /** Records that the decision rests on without changing them: they stay as they were until it is stored. */
  guards?: readonly Guard[];
  /**
   * Of creates: as long as the record stands and still has what names it, the same input again is the same
   * request, and answers this record instead of making another. See `Commands.named`.
   */
  creates?: TwinCheck;
  /** Values only one record of the organization may have, such as `['contact.email', address]`. */
  claims?: readonly Claim[];
  /** Values that these records no longer take. */
  releases?: readonly Pick<Claim, 'value' | 'streamId'>[];
  /** Records that end here: see `AppendCommand.ends`. */
  ends?: readonly string[];
};

export type Claim = {
  value: readonly string[];
  streamId: string;
  /** What to do when the record `owner` has it: decide again, or throw. */
  taken: (owner: string) => Promise<Decision> | Decision;
};

/** Whether a record that a create made before is still what the same create asks for, and its version when asked. */
export type TwinCheck = (recordId: string) => Promise<{ holds: boolean; version: number }>;

/** The record that a command was about, and its version when the command was first answered. */
export type Outcome = { recordId: string; version: number };

/** `recordedAt`: when the events were recorded that this very run decided on; undefined when it decided on none. */
type Answered = Outcome & { recordedAt?: Date };

/** Concurrent changes of one record that may get ahead of a command before it gives up. */
const MOST_ATTEMPTS = 200;
/** After so many attempts a command waits up to so many milliseconds: others then stand in each other's way less. */
const PATIENT_ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 40;

/** Runs commands: idempotency, load–decide–append with optimistic concurrency, read-your-writes. */
export class Commands {
  private readonly loader: Loader;

  constructor(
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {
    this.loader = new Loader(store, projections);
  }

  /**
   * Runs a decision until it is appended, and answers when every read model shows it.
   *
   * @param input the command; its fields are the request's identity, its context says who asks.
   * @param decide loads what it needs and decides; run again when another command got ahead.
   * @param visible false for one of many commands, after which the caller calls `catchUp` once.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, CONFLICT, and whatever `decide` throws.
   */
  async run(
    input: Input,
    decide: () => Promise<Decision> | Decision,
    { visible = true } = {},
  ): Promise<Answered> {
    const request = this.identify(input);
    if (!request.key) return this.attempt(input.context, request, decide, visible);

    const before = await this.findReplay(input.context, request);
    if (before) return before;
    try {
      return await this.attempt(input.context, request, decide, visible);
    } catch (error) {
      if (error instanceof GivenUp) throw error;
      // A twin may have won meanwhile and changed what this one decided on: then its answer is ours.
      const twin = await this.findReplay(input.context, request);
      if (twin) return twin;
      throw error;
    }
  }

  /** Creates one record, which its name names: the same input again answers this one, as long as it has that name. */
  create<State extends object, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    input: Input & { name: string },
    decide: () => NoInfer<Event>[],
  ): Promise<Outcome> {
    const { organizationId, name } = input;
    const creates = this.named(decider, organizationId, (state) => 'name' in state && state.name === name);
    return this.run(input, () => {
      const recordId = uuidv7();
      return { recordId, creates, writes: [writeTo(decider, recordId, 0, decide())] };
    });
  }

  /** For `Decision.creates`. @param holds whether a record in this state stands and has what names it. */
  named<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    holds: (state: State) => boolean,
  ): TwinCheck {
    return async (recordId) => {
      const { state, version } = await this.load(decider, organizationId, recordId);
      return { holds: holds(state), version };
    };
  }

  /**
   * Changes one record: loads it, decides on its state, answers it as the change left it. A repeated Idempotency-Key
   * is answered from the history with what the first request was answered.
   *
   * @param complete what the decision needs besides its events, from what it was made on.
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
    let loaded = unborn(decider);
    let events: Event[] = [];
    const { version, recordedAt } = await this.run(input, async () => {
      loaded = await this.load(decider, organizationId, recordId);
      events = decide(loaded.state);
      const writes = [writeTo(decider, recordId, loaded.version, events)];
      return { recordId, writes, ...(await complete(loaded, events)) };
    });
    if (version === loaded.version) return loaded;
    if (!recordedAt) return this.look(decider, organizationId, recordId, { version });
    // What was stored is what was decided: nothing need be read again.
    const state = events.reduce((before, event) => decider.evolve(before, event, recordedAt), loaded.state);
    return { state, version, createdAt: loaded.createdAt ?? recordedAt, updatedAt: recordedAt };
  }

  /** Ends one record: see `Decision.ends`. */
  async end<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    input: Input,
    recordId: string,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<void> {
    await this.run(input, async () => ({
      ...(await this.decideOn(decider, input, recordId, decide)),
      ends: [recordId],
    }));
  }

  private async decideOn<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    { organizationId }: Input,
    recordId: string,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<Decision> {
    const { state, version } = await this.load(decider, organizationId, recordId);
    return { recordId, writes: [writeTo(decider, recordId, version, decide(state))] };
  }

  /**
   * A figure in an answer that others' requests move on, such as a counter. Under an Idempotency-Key it is
   * the one that was answered first; otherwise the one of now.
   */
  async figure(input: Input, read: () => Promise<number>): Promise<number> {
    const key = this.keyOf(input.context);
    const now = await read();
    return key ? this.store.settleFigure(input.organizationId, key, now) : now;
  }

  /** The records that have these values of which only one may have each; undefined where nobody does. */
  async findOwners(
    organizationId: string,
    values: readonly (readonly string[])[],
  ): Promise<(string | undefined)[]> {
    return this.ownersOf(
      organizationId,
      values.map((value) => this.store.keyring.hash(...value)),
    );
  }

  /** Gives up values that a record still holds but has no more, if it is at this version still. */
  release({ context }: Input, guard: Guard, values: readonly (readonly string[])[]): Promise<void> {
    return this.releaseKeys(
      context,
      guard,
      values.map((value) => this.store.keyring.hash(...value)),
    );
  }

  private async ownersOf(organizationId: string, keys: readonly Buffer[]): Promise<(string | undefined)[]> {
    const owners = await this.store.findOwners(organizationId, keys);
    return keys.map((key) => owners.get(key.toString('hex')));
  }

  /**
   * The past of `asOf`, settled: moment and position together say for ever which events belong to it, also
   * those that were on their way when it was asked for. Every read model has it.
   */
  async past(asOf: string): Promise<Past> {
    const position = await this.store.horizon();
    await this.projections.catchUp(position);
    return { moment: new Date(asOf), position };
  }

  /**
   * A record as it is, to decide on.
   *
   * @throws NewerEvent where a later version of this program has written what this one does not know.
   */
  async load<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
  ): Promise<Folded<State>> {
    return this.loader.load(decider, organizationId, recordId, {}, 'refused');
  }

  /**
   * A record to be shown: as it is, at a version, or as it was at a moment. Events of types that this version does not
   * know are left out.
   *
   * @throws NewerEvent where an event has a shape that it does not know.
   */
  async look<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordId: string,
    until: Until = {},
  ): Promise<Folded<State>> {
    return this.loader.load(decider, organizationId, recordId, until, 'left out');
  }

  /**
   * The record that the same create made before, as long as it holds: for what is valid no more by the time it is
   * repeated. With an Idempotency-Key `run` has found it already.
   */
  async findTwin(input: Input, check: TwinCheck): Promise<string | undefined> {
    const key = this.identify(input).natural?.();
    const [twin] = key ? await this.ownersOf(input.organizationId, [key]) : [];
    return twin !== undefined && (await check(twin)).holds ? twin : undefined;
  }

  /** Many records at once, each as it is now. */
  async loadMany<State, Event extends DomainEvent>(
    decider: Decider<State, Event>,
    organizationId: string,
    recordIds: readonly string[],
  ): Promise<Map<string, Folded<State>>> {
    return this.loader.loadMany(decider, organizationId, recordIds);
  }

  /**
   * Runs a request whose body is streamed. With an Idempotency-Key its answer is kept, and the same fields and
   * bytes again are read without being worked on; without one, the work must be idempotent by its effect.
   *
   * @param work reads all bytes; its answer must hold no personal data, which no erasure would find there.
   * @throws RpcError IDEMPOTENCY_KEY_REUSED, and whatever `work` throws: then nothing is kept.
   */
  async runStreamed<Answer extends JsonObject>(
    input: StreamedInput,
    work: (bytes: AsyncIterable<Uint8Array>) => Promise<Answer>,
  ): Promise<Answer> {
    const { context, bytes, ...fields } = input;
    const { organizationId, actor, requestId, isGivenUp } = context;
    const key = this.keyOf(context);
    if (!key) return work(bytes);

    const { keyring } = this.store;
    const operation = operationOf(input.constructor)!.name;
    const body = createHash('sha256');
    const hashed = (async function* () {
      for await (const chunk of bytes) {
        body.update(chunk);
        yield chunk;
      }
    })();

    const before = await this.store.findIdempotent(organizationId, key);
    const answer = before ? await readToEnd(hashed) : await work(hashed);
    const fingerprint = keyring.hash('request', operation, canonical(fields), body.digest('hex'));
    if (before) return this.keptAnswer<Answer>(fingerprint, before);

    const idempotency = { key, fingerprint, result: answer! };
    const metadata = { actor, requestId };
    const kept = await this.store.append({ organizationId, metadata, writes: [], idempotency, isGivenUp });
    if (kept.status === 'appended') return answer!;
    if (kept.status !== 'replayed') throw new Error(`The answer could not be kept: ${kept.status}.`);
    // A twin was faster.
    return this.keptAnswer<Answer>(fingerprint, kept);
  }

  /** Resolves when every read model shows all that was stored before this call. */
  async catchUp(): Promise<void> {
    await this.projections.catchUp(await this.store.lastPosition());
  }

  private identify(input: Input): Identity {
    const { context, ...fields } = input;
    const operation = operationOf(input.constructor)?.name ?? input.constructor.name;
    const key = this.keyOf(context);
    if (key) {
      return { key, fingerprint: this.store.keyring.hash('request', operation, canonical(fields)) };
    }
    return {
      natural: () => this.store.keyring.hash('request', operation, canonical(withoutNulls(fields))),
    };
  }

  private keyOf({ idempotencyKey }: RequestContext): Buffer | undefined {
    return idempotencyKey === undefined ? undefined : this.store.keyring.hash('idempotency', idempotencyKey);
  }

  private async attempt(
    context: RequestContext,
    request: Identity,
    decide: () => Promise<Decision> | Decision,
    visible: boolean,
  ): Promise<Answered> {
    let decision = await decide();
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts += 1) {
      const outcome = { recordId: decision.recordId, version: versionAfter(decision) };
      if (decision.writes.every(({ events }) => events.length === 0) && !request.key) {
        if (visible) await this.catchUp();
        return outcome;
      }

      const natural = decision.creates ? request.natural?.() : undefined;
      const result = await this.store.append(this.toAppend(context, request, decision, outcome, natural));
      switch (result.status) {
        case 'appended':
          if (visible) await this.projections.catchUp(result.position ?? 0, eventTypes(decision));
          return { ...outcome, recordedAt: result.recordedAt };
        case 'replayed':
          return this.keptAnswer<Outcome>(request.fingerprint!, result);
        case 'taken': {
          const twin = result.keys.find(({ key }) => natural?.equals(key));
          if (!twin) {
            decision = await this.resolveTaken(decision, result);
            break;
          }
          const { holds, version } = await decision.creates!(twin.owner);
          if (holds) {
            await this.catchUp();
            return { recordId: twin.owner, version: 1 };
          }
          await this.releaseKeys(context, { streamId: twin.owner, version }, [twin.key]);
          decision = await decide();
          break;
        }
        case 'version':
        case 'retry':
          if (attempts >= PATIENT_ATTEMPTS) await sleep(Math.random() * LONGEST_PAUSE_MS);
          decision = await decide();
          break;
      }
    }
    throw new RpcError(
      'SERVICE_UNAVAILABLE',
      'This record is being changed by too many requests at once. Try again in a moment.',
      { reason: 'RECORD_BUSY', headers: { 'Retry-After': '1' } },
    );
  }

  /**
   * Takes keys from a stream that is at this version still; otherwise nothing happens. As a write without events:
   * with the stream's lock to itself, because keys of one stream released by two calls at once, in two orders, would
   * let them wait for each other in a circle.
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
    request: Identity,
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
      writes: decision.writes.filter(({ events }) => events.length > 0),
      // That there is nothing to do was decided on a version too.
      guards: [...(decision.guards ?? []), ...unchanged(decision.writes)],
      claims,
      releases: (decision.releases ?? []).map(({ value, streamId }) => ({
        key: keyring.hash(...value),
        streamId,
      })),
      ends: decision.ends ?? [],
      isGivenUp,
      ...(request.key
        ? { idempotency: { key: request.key, fingerprint: request.fingerprint!, result: outcome } }
        : {}),
    };
  }

  private resolveTaken(
    decision: Decision,
    { keys }: Extract<AppendResult, { status: 'taken' }>,
  ): Promise<Decision> | Decision {
    for (const claim of decision.claims ?? []) {
      const hash = this.store.keyring.hash(...claim.value);
      const lost = keys.find(({ key }) => key.equals(hash));
      if (lost) return claim.taken(lost.owner);
    }
    throw new Error('The store named a taken key that was not claimed.');
  }

  private async findReplay(
    { organizationId }: RequestContext,
    request: Identity,
  ): Promise<Outcome | undefined> {
    const found = await this.store.findIdempotent(organizationId, request.key!);
    return found && this.keptAnswer<Outcome>(request.fingerprint!, found);
  }

  private async keptAnswer<Answer extends JsonObject>(
    fingerprint: Buffer,
    kept: { fingerprint: Buffer; result: JsonObject },
  ): Promise<Answer> {
    if (!fingerprint.equals(kept.fingerprint)) {
      throw new RpcError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used before with another request. Send another key for another request.',
      );
    }
    // What it rests on was stored by another command, whose own catch-up may still be under way.
    await this.catchUp();
    return kept.result as Answer;
  }
}

/** As it is stored: -0 is 0, and the order of keys says nothing. */
function isSameJson(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** Events without personal data for one stream. */
export function writeTo<State, Event extends DomainEvent>(
  { streamType }: Decider<State, Event>,
  streamId: string,
  expectedVersion: number,
  events: readonly Event[],
): StreamWrite {
  return { streamType, streamId, expectedVersion, events };
}

/** Of the fields given, those that differ; undefined if none does. */
export function changedFields<Fields extends object>(
  before: Fields,
  given: Partial<Fields>,
): Partial<Fields> | undefined {
  const changed = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !isSameJson(value, before[name as keyof Fields]),
  );
  return changed.length > 0 ? (Object.fromEntries(changed) as Partial<Fields>) : undefined;
}

function unchanged(writes: readonly StreamWrite[]): Guard[] {
  return writes.flatMap(({ events, streamId, expectedVersion }) =>
    events.length === 0 && expectedVersion > 0 ? [{ streamId, version: expectedVersion }] : [],
  );
}

function eventTypes({ writes }: Decision): string[] {
  return writes.flatMap(({ events }) => events.map(({ type }) => type));
}

async function readToEnd(bytes: AsyncGenerator): Promise<undefined> {
  while (!(await bytes.next()).done);
}

/** What makes a request the same as another: its key, or (of creates) its input. */
type Identity = { key?: Buffer; fingerprint?: Buffer; natural?: () => Buffer };

function versionAfter({ recordId, writes, guards = [] }: Decision): number {
  const write = writes.find(({ streamId }) => streamId === recordId);
  if (write) return write.expectedVersion + write.events.length;
  return guards.find(({ streamId }) => streamId === recordId)?.version ?? 0;
}

/** A create treats a field that is null like one that is not there. */
function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
