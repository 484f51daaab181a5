import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Commands, type Decision, type Outcome, RecordReader, Requests } from '#libs/commands';
import { type DomainEvent, type Folded } from '#libs/event-store';
import { type Input, LONGEST_SLUG } from '#libs/rpc';
import { type Resource, type ResourceRecord } from './resource.js';
import { idIn, Resources } from './resources.js';
import { isLedToBy, type Slugged, slugTaken } from './slugs.js';

/** A slug derived from a name gets a number up to this one if it is taken, then random digits. */
const MOST_NUMBERED = 9;
/** The figure stored with an Idempotency-Key combines two counts: first + second × this. */
const COUNT_LIMIT = 2 ** 32;
const OTHER_COUNT_LIMIT = 2 ** 20;

/** Commands on records of every kind: find the record in the input, and return it in the API's format. */
@Injectable()
export class ResourceCommands {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly resources: Resources,
  ) {}

  /**
   * Creates a record and returns its id. See `Commands.create`.
   *
   * @param require throws if something that the input refers to is missing. Not called for repeated requests.
   */
  create<Event extends DomainEvent>(
    resource: Resource<object, Event>,
    input: Input & { name: string },
    event: NoInfer<Event>,
    require?: () => Promise<unknown>,
  ): Promise<Record<string, string>> {
    return this.begin(resource, input, async () => {
      await require?.();
      await this.requireReferred(resource, input, [event]);
      return event;
    });
  }

  /**
   * Creates a copy of the input's record and returns its id. The copy may refer to records that were deleted since, as the
   * original does. See `Commands.create`.
   *
   * @param copy returns its first event.
   * @throws RpcError NOT_FOUND if the original does not exist.
   */
  duplicate<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input & { name: string },
    copy: (state: State) => NoInfer<Event>,
  ): Promise<Record<string, string>> {
    return this.begin(resource, input, async () => {
      const id = idIn(input, resource);
      const { state } = await this.records.load(resource.decider, input.organizationId, id);
      resource.existing(state);
      return copy(state);
    });
  }

  /** @param first returns the record's first event. Not called for repeated requests. */
  private async begin<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input & { name: string },
    first: () => Promise<NoInfer<Event>>,
  ): Promise<Record<string, string>> {
    // A derived slug is changed if another record has it. A chosen one is rejected.
    const isChosen = 'slug' in input && typeof input.slug === 'string';
    let attempt = 0;
    const { recordId } = await this.commands.create(
      resource.decider,
      input,
      async () => {
        const event = await first();
        const { slug } = event.data;
        if (isChosen || typeof slug !== 'string') return [event];
        return [{ ...event, data: { ...event.data, slug: numbered(slug, attempt) } }];
      },
      (id, [created]) => {
        attempt += 1;
        if (!resource.hasSlug) return {};
        return this.claimSlug(resource, input, id, created!.data.slug as string | null, isChosen);
      },
      (state) => resource.isRepeated(state),
    );
    return { [resource.idField]: recordId };
  }

  /** Changes the input's record and returns it. See `Commands.change`. @param require see `create`. */
  async change<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    decide: (state: State) => NoInfer<Event>[],
    require?: () => Promise<unknown>,
  ): Promise<ResourceRecord> {
    const complete = async ({ state }: Folded<State>, events: NoInfer<Event>[]) => {
      await require?.();
      await this.requireReferred(resource, input, events);
      return resource.hasSlug ? this.moveSlug(resource, input, state, events) : {};
    };
    const changed = await this.commands.change(
      resource.decider,
      input,
      idIn(input, resource),
      decide,
      complete,
    );
    return this.answer(resource, input, changed);
  }

  /** @throws RpcError NOT_FOUND unless all records that the events refer to exist; or as `Resources.check`. */
  private async requireReferred<Event extends DomainEvent>(
    resource: Pick<Resource<never, Event>, 'referred'>,
    { organizationId }: Input,
    events: readonly Event[],
  ): Promise<void> {
    for (const { resource: referred, id } of resource.referred(events))
      await this.resources.require(referred, organizationId, id);
    await this.resources.check(resource, organizationId, events);
  }

  private moveSlug<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    before: State,
    events: readonly Event[],
  ): Partial<Decision> {
    if (!events.some(({ data }) => 'slug' in data)) return {};
    const now = new Date();
    const after = events.reduce((state, event) => resource.decider.evolve(state, event, now), before);
    const id = idIn(input, resource);
    const [had, has] = [before, after].map((state) => slugsOf(state as unknown as Slugged));
    const next = (after as unknown as Slugged).slug;
    return {
      ...this.claimSlug(resource, input, id, next !== null && had!.includes(next) ? null : next, true),
      releases: had!
        .filter((slug) => !has!.includes(slug))
        .map((slug) => ({ value: resource.keyOfSlug(slug), streamId: id })),
    };
  }

  /** @param isChosen rejects the slug if another record has it. A derived slug is changed instead. */
  private claimSlug<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    streamId: string,
    slug: string | null,
    isChosen: boolean,
  ): Pick<Decision, 'claims'> {
    if (slug === null) return {};
    const value = resource.keyOfSlug(slug);
    const taken = async (owner: string) => {
      const { state, version } = await this.records.load(resource.decider, input.organizationId, owner);
      const isHeld = resource.exists(state) && isLedToBy(state as unknown as Slugged, slug, new Date());
      if (isHeld && isChosen) throw slugTaken(slug);
      if (!isHeld) await this.commands.release(input, { streamId: owner, version }, [value]);
      return undefined;
    };
    return { claims: [{ value, streamId, taken }] };
  }

  /** Deletes the input's record and returns its id. See `Commands.end`. */
  async end<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<Record<string, string>> {
    const id = idIn(input, resource);
    await this.commands.end(resource.decider, input, id, decide);
    return { [resource.idField]: id };
  }

  /** A command's record in the state after the command. */
  async look(resource: Resource, input: Input, { version }: Outcome): Promise<ResourceRecord> {
    const { organizationId } = input;
    const folded = await this.records.look(resource.decider, organizationId, idIn(input, resource), {
      version,
    });
    return this.answer(resource, input, folded);
  }

  private async answer<State extends object>(
    resource: Resource<State>,
    input: Input,
    folded: Folded<State>,
  ): Promise<ResourceRecord> {
    const { organizationId } = input;
    const counts = await this.counts(resource, input);
    const record = resource.record(organizationId, idIn(input, resource), folded, counts);
    return this.resources.complete(resource, organizationId, record);
  }

  /**
   * The number of active links of the input's record, for this command's response.
   *
   * @param position of the command's last event. The instance that projected it knows the number without a query.
   */
  async count(resource: Resource, input: Input, position: number | undefined): Promise<number> {
    const { organizationId } = input;
    const id = idIn(input, resource);
    const known = position === undefined ? undefined : resource.countSince(id, position);
    const read = async () => known ?? (await this.resources.counts(resource, organizationId, id))[0]!;
    return (await this.requests.figure(input, read)) % COUNT_LIMIT;
  }

  private async counts(resource: Resource, input: Input): Promise<number[]> {
    if (resource.countColumns.length === 0) return [];
    const { organizationId } = input;
    const figure = await this.requests.figure(input, async () => {
      const [count = 0, other = 0] = await this.resources.counts(
        resource,
        organizationId,
        idIn(input, resource),
      );
      return Math.min(other, OTHER_COUNT_LIMIT) * COUNT_LIMIT + count;
    });
    return [figure % COUNT_LIMIT, Math.floor(figure / COUNT_LIMIT)];
  }
}

function slugsOf({ slug, formerSlugs }: Slugged): string[] {
  return [...(slug === null ? [] : [slug]), ...formerSlugs.map((one) => one.slug)];
}

function numbered(slug: string, attempt: number): string {
  if (attempt === 0) return slug;
  const suffix = attempt < MOST_NUMBERED ? String(attempt + 1) : randomBytes(4).toString('hex');
  return `${slug.slice(0, LONGEST_SLUG - suffix.length - 1).replace(/-+$/, '')}-${suffix}`;
}
