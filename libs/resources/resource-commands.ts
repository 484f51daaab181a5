import { Injectable } from '@nestjs/common';
import { Commands, type Outcome, RecordReader, Requests } from '#libs/commands';
import { type DomainEvent, type Folded } from '#libs/event-store';
import { type Input } from '#libs/rpc';
import { type Resource, type ResourceRecord } from './resource.js';
import { idIn, Resources } from './resources.js';

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
    const { recordId } = await this.commands.create(resource.decider, input, async () => {
      await require?.();
      await this.requireReferred(resource, input, [event]);
      return [event];
    });
    return { [resource.idField]: recordId };
  }

  /** Changes the record that the input names; answers it. See `Commands.change`. @param require as of `create`. */
  async change<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    input: Input,
    decide: (state: State) => NoInfer<Event>[],
    require?: () => Promise<unknown>,
  ): Promise<ResourceRecord> {
    const complete = async (_loaded: Folded<State>, events: NoInfer<Event>[]) => {
      await require?.();
      await this.requireReferred(resource, input, events);
      return {};
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
    const count = await this.count(resource, input);
    const record = resource.record(organizationId, idIn(input, resource), folded, count);
    return this.resources.complete(resource, organizationId, record);
  }

  /**
   * The number of standing links on the record that the input names, as this command is to answer it.
   *
   * @param position of what the command stored: whoever has put that into the read model knows the number already.
   */
  async count(resource: Resource, input: Input, position?: number): Promise<number> {
    if (resource.countField === undefined) return 0;
    const { organizationId } = input;
    const id = idIn(input, resource);
    const known = position === undefined ? undefined : resource.countSince(id, position);
    return this.requests.figure(input, () => known ?? this.resources.count(resource, organizationId, id));
  }
}
