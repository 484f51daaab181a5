import { Injectable } from '@nestjs/common';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type DomainEvent, EventStore, type Guard, readSignedIds, signIds } from '#libs/event-store';
import { newId } from '#libs/random';
import { type Input, inputOf, RpcError } from '#libs/rpc';
import { Consents, ContactsByEmail, createInline, type Evidence, InlineContact } from '../contacts/index.js';
import { Suppressions } from '../suppressions/index.js';
import {
  type ExpiryReason,
  type PendingRequest,
  type PersonDetails,
  type Requested,
  type RequestKind,
  type RequestState,
} from './request.js';

/** Identifies the request that a link in an email confirms. */
export type RequestName = { organizationId: string; requestId: string };
type Named = Pick<RequestKind, 'names'>;
/** A request with the version to append at. */
type Loaded<Data extends Requested, Person extends PersonDetails> = {
  requestId: string;
  state: RequestState<Data, Person>;
  version: number;
};

/** The result of following a confirmation link. */
export type Confirmed = 'CONFIRMED' | 'CLOSED' | 'EXPIRED' | 'UNKNOWN';

/**
 * The command that confirms a request. `isProved`: whether the person came by the link in the email. If not, anyone may have
 * entered the address: no detail of its contact is replaced, and nothing is published under its name.
 */
type Confirming = Input & { requestId: string; isProved: boolean };

/** Maximum replacements followed from an outdated link to the newest request. */
const MAX_STEPS = 100;

/** Requests that await confirmation, and their links. */
@Injectable()
export class Confirmations {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly consents: Consents,
    private readonly byEmail: ContactsByEmail,
    private readonly suppressions: Suppressions,
    private readonly store: EventStore,
  ) {}

  tokenOf({ names }: Named, { organizationId, requestId }: RequestName): string {
    return signIds(this.store.keyring, names.purpose, [organizationId, requestId]);
  }

  /** Undefined if the token was not issued here. */
  readToken({ names }: Named, token: string): RequestName | undefined {
    const ids = readSignedIds(this.store.keyring, names.purpose, 2, token);
    return ids && { organizationId: ids[0]!, requestId: ids[1]! };
  }

  async load<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    { organizationId, requestId }: RequestName,
  ): Promise<Loaded<Data, Person>> {
    const { state, version } = await this.records.load(kind.decider, organizationId, requestId);
    return { requestId, state, version };
  }

  /** The request a link leads to: the newest, if the person has requested again. */
  async latest<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    name: RequestName,
  ): Promise<Loaded<Data, Person>> {
    let found = await this.load(kind, name);
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      if (found.state.status !== 'EXPIRED' || found.state.by === null) break;
      found = await this.load(kind, { ...name, requestId: found.state.by });
    }
    return found;
  }

  /** The text next to the checkbox to subscribe, as the person saw it; undefined if there is none. */
  async agreedTo({ organizationId, requestId }: RequestName): Promise<string | undefined> {
    return (await this.consents.pending(organizationId, requestId))?.text;
  }

  /**
   * Stores a request. Does the same for everyone: whether the address is known is checked later, so neither the response nor its
   * timing reveals it.
   *
   * @param requested from `RequestKind.request`.
   * @param open the guard of its record, which must accept requests until it is stored. See `Commands.run`.
   * @param consent the text next to the checkbox, as the person saw it.
   */
  async request(
    { names: { streamType } }: Named,
    input: Input,
    requested: DomainEvent,
    open: (skipCache: boolean) => Promise<Guard>,
    consent?: Evidence,
  ): Promise<{ requestId: string }> {
    const { recordId } = await this.commands.run(input, async (skipCache) => {
      const requestId = newId();
      const events = [requested];
      const write = { streamType, streamId: requestId, expectedVersion: 0, events, subjectId: requestId };
      const guards = [await open(skipCache)];
      const { clientAddress: ip } = requested.personal as PersonDetails;
      const evidence = consent && { ...consent, ...(ip === null ? {} : { ip }) };
      const given = requested.data.subscribe as boolean;
      const recorded = this.consents.ofPending(input.organizationId, requestId, given, evidence);
      return { recordId: requestId, guards, writes: [write, ...recorded] };
    });
    return { requestId: recordId };
  }

  /**
   * Confirms a request. Idempotent.
   *
   * @param decide what confirming it changes. If its record does not exist or accepts nothing, throws NOT_FOUND or CONFLICT.
   */
  async confirm<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    command: Confirming,
    decide: (
      loaded: Loaded<Data, Person>,
      pending: PendingRequest<Data, Person>,
      skipCache: boolean,
    ) => Promise<Decision>,
  ): Promise<Confirmed> {
    let outcome: Confirmed = 'CONFIRMED';
    const { organizationId, requestId, context, isProved } = command;
    const { state } = await this.load(kind, { organizationId, requestId });
    // Subscribing lifts an earlier unsubscribe. This comes first: after a crash, a retry would find the
    // request confirmed and do nothing.
    if (isProved && state.status === 'PENDING' && state.subscribe && state.person)
      await this.suppressions.unsuppress(organizationId, state.person.email, context, 'UNSUBSCRIBED');
    try {
      await this.commands.run(command, async (skipCache) => {
        const loaded = await this.load(kind, { organizationId, requestId });
        const { state } = loaded;
        if (state.status === 'PENDING' && state.person)
          return decide(loaded, { ...state, person: state.person }, skipCache);
        outcome = state.status === 'PENDING' ? 'EXPIRED' : state.status;
        return { recordId: requestId, writes: [] };
      });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (error.code === 'CONFLICT') return 'CLOSED';
      // The petition or form was deleted.
      if (error.code === 'NOT_FOUND') return 'UNKNOWN';
      throw error;
    }
    return outcome;
  }

  /**
   * The decision for the contact of a request: the contact with its address, or a new one. A person is subscribed only if they
   * asked for it.
   *
   * @param decide for this contact. `changed`: what the request changes about it.
   */
  async forContact(
    command: Confirming,
    { person, subscribe }: PendingRequest<Requested, PersonDetails>,
    decide: (
      contactId: string,
      isNew: boolean,
      changed: Required<Pick<Decision, 'guards' | 'writes'>>,
    ) => Decision | Promise<Decision>,
  ): Promise<Decision> {
    const { organizationId, requestId, isProved, context } = command;
    const evidence = await this.consents.pending(organizationId, requestId);
    const { email, firstName, lastName, zip, city, region, country, phone, customFields } = person;
    const details = { email, firstName, lastName, zip, city, region, country, phone };
    const created = createInline(
      this.consents,
      command,
      inputOf(InlineContact, { ...details, subscribed: subscribe, consent: evidence }, context),
      async (owner) => {
        const answers = { subscribes: subscribe && isProved, isProved, evidence, customFields };
        const changed = await this.byEmail.answer(command, owner, email, answers);
        return changed && decide(owner, false, changed);
      },
      { values: { customFields } },
    );
    const decided = await decide(created.recordId, true, { guards: [], writes: created.writes });
    return { ...decided, claims: [...created.claims!, ...(decided.claims ?? [])] };
  }

  /** Ends the request, erases its data and releases all its keys. */
  confirmed<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    loaded: Loaded<Data, Person>,
    resultId: string,
  ): Decision {
    return ended(kind, loaded, kind.confirm(loaded.state, resultId));
  }

  /** Ends an unconfirmed request. @param by the request that replaces it */
  async expire<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    input: Input,
    requestId: string,
    reason: ExpiryReason,
    by: string | null = null,
  ): Promise<void> {
    const { organizationId } = input;
    await this.commands.run(input, async () => {
      const loaded = await this.load(kind, { organizationId, requestId });
      return ended(kind, loaded, kind.expire(loaded.state, reason, by));
    });
  }
}

function ended(
  { names: { streamType } }: Named,
  { requestId, version: expectedVersion }: { requestId: string; version: number },
  events: readonly DomainEvent[],
): Decision {
  if (events.length === 0) return { recordId: requestId, writes: [] };
  const write = { streamType, streamId: requestId, expectedVersion, events, subjectId: requestId };
  return { recordId: requestId, writes: [write], erases: [requestId], releasesAll: [requestId] };
}
