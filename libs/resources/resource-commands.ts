import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Commands, type Decision, type Outcome, RecordReader, Requests } from '#libs/commands';
import { type DomainEvent, type Folded } from '#libs/event-store';
import { type Input, LONGEST_SLUG } from '#libs/rpc';
import { type Resource, type ResourceRecord } from './resource.js';
import { idIn, Resources } from './resources.js';
import { isLedToBy, type Slugged, slugTaken } from './slugs.js';

/** Numbers behind a slug that is made of a name; then letters by chance. */
const MOST_NUMBERED = 9;
/** Two numbers in the one that is kept with an Idempotency-Key: the second below the first times this. */
const MOST_COUNTED = 2 ** 32;
const MOST_COUNTED_BESIDE = 2 ** 20;

/** What commands on records of every kind have in common: which record the input names, and how it is answered. */
@Injectable()
export class ResourceCommands {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly resources: Resources,
  ) {}

  /**
   * Creates a record; answers its id. See `Commands.create`.
   *
   * @param require throws where something is missing that the input names. Not asked for a request that is repeated.
   */
  async create<Event extends DomainEvent>(
    resource: Resource<object, Event>,
    input: Input & { name: string },
    event: NoInfer<Event>,
    require?: () => Promise<unknown>,
  ): Promise<Record<string, string>> {
    // A slug that nobody has chosen gives way to those that there are.
    const isChosen = 'slug' in input && typeof input.slug === 'string';
    const made = isChosen ? null : ((event.data.slug ?? null) as string | null);
    let attempt = 0;
    const { recordId } = await this.commands.create(
      resource.decider,
      input,
      async () => {
        await require?.();
        await this.requireReferred(resource, input, [event]);
        return [made === null ? event : { ...event, data: { ...event.data, slug: numbered(made, attempt) } }];
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

  /** Changes the record that the input names; answers it. See `Commands.change`. @param require as of `create`. */
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

  /** @throws RpcError NOT_FOUND unless what the events name stands. */
  private async requireReferred<Event extends DomainEvent>(
    resource: Pick<Resource<never, Event>, 'referred'>,
    { organizationId }: Input,
    events: readonly Event[],
  ): Promise<void> {
    for (const { resource: referred, id } of resource.referred(events))
      await this.resources.require(referred, organizationId, id);
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

  /** @param isChosen whether it is refused where another record has it: one that was made of a name is made anew. */
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

  /** Deletes the record that the input names; answers its id. See `Commands.end`. */
  async end<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    decide: (state: State) => NoInfer<Event>[],
  ): Promise<Record<string, string>> {
    const id = idIn(input, resource);
    await this.commands.end(resource.decider, input, id, decide);
    return { [resource.idField]: id };
  }

  /** The record that a command was about, as it left it. */
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
   * The number of standing links on the record that the input names, as this command is to answer it.
   *
   * @param position of what the command stored: whoever has put that into the read model knows the number already.
   */
  async count(resource: Resource, input: Input, position: number | undefined): Promise<number> {
    const { organizationId } = input;
    const id = idIn(input, resource);
    const known = position === undefined ? undefined : resource.countSince(id, position);
    const read = async () => known ?? (await this.resources.counts(resource, organizationId, id))[0]!;
    return (await this.requests.figure(input, read)) % MOST_COUNTED;
  }

  private async counts(resource: Resource, input: Input): Promise<number[]> {
    if (resource.countColumns.length === 0) return [];
    const { organizationId } = input;
    const figure = await this.requests.figure(input, async () => {
      const [main = 0, beside = 0] = await this.resources.counts(
        resource,
        organizationId,
        idIn(input, resource),
      );
      return Math.min(beside, MOST_COUNTED_BESIDE) * MOST_COUNTED + main;
    });
    return [figure % MOST_COUNTED, Math.floor(figure / MOST_COUNTED)];
  }
}

function slugsOf({ slug, formerSlugs }: Slugged): string[] {
  return [...(slug === null ? [] : [slug]), ...formerSlugs.map((one) => one.slug)];
}

function numbered(slug: string, attempt: number): string {
  if (attempt === 0) return slug;
  const behind = attempt < MOST_NUMBERED ? String(attempt + 1) : randomBytes(4).toString('hex');
  return `${slug.slice(0, LONGEST_SLUG - behind.length - 1).replace(/-+$/, '')}-${behind}`;
}
