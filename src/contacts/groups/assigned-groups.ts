import { Injectable } from '@nestjs/common';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { type JsonObject } from '#libs/event-store';
import { newId } from '#libs/random';
import { comparableName, type Resource, Resources } from '#libs/resources';
import { Ids, type Input, type InputClass, isId, Names, RpcError } from '#libs/rpc';
import { type Group, type GroupDecider } from './group.js';

/** The maximum number of groups of one kind in a request. */
const MOST_GROUPS = 50;
/** The same in a request on many contacts, for each change. */
const MOST_CHANGED = 10;

/** A kind of groups to which commands on a contact can add it. */
type Assignable = {
  /** The field of the command: `tags` or `listIds`. */
  field: string;
  by: 'name' | 'id';
  longestName: number;
  /** What a group has that is created by its name. */
  emptyFields: JsonObject;
  resource: Resource<Group>;
  decider: GroupDecider;
};

const kinds: Assignable[] = [];
const inputs: InputClass[] = [];
const bulkInputs: InputClass[] = [];

/** Adding a contact to a list or tag needs the scope that add-contacts needs. */
export const ASSIGNED_SCOPES: Record<string, string> = {};
/** The same for commands on many contacts: `addTags`, `removeTags`. */
export const CHANGED_SCOPES: Record<string, string> = {};

/** Lets commands name groups of this kind. Groups named by name are created if they do not exist. */
export function assignContactsTo(kind: Assignable): void {
  kinds.push(kind);
  ASSIGNED_SCOPES[kind.field] = `${kind.resource.object}:write`;
  for (const change of CHANGES) CHANGED_SCOPES[changedField(change, kind)] = `${kind.resource.object}:write`;
  for (const input of inputs) declare(input, kind);
  for (const input of bulkInputs) declareChanges(input, kind);
}

/** Gives a command on one contact the fields of all kinds. Its operation has the scopes `ASSIGNED_SCOPES`. */
export function AcceptsGroups(input: InputClass): void {
  inputs.push(input);
  for (const kind of kinds) declare(input, kind);
}

const CHANGES = ['add', 'remove'] as const;
export type Change = (typeof CHANGES)[number];

/** Gives a command on many contacts the fields of all kinds. Its operation has the scopes `CHANGED_SCOPES`. */
export function ChangesGroups(input: InputClass): void {
  bulkInputs.push(input);
  for (const kind of kinds) declareChanges(input, kind);
}

function changedField(change: Change, { field }: Assignable): string {
  return `${change}${capital(field)}`;
}

/** The field of a command on many contacts that adds them to this group, or removes them. */
export function fieldsOfChange(
  change: Change,
  resource: Resource,
  { id, name }: { id: string; name: string },
): { [field: string]: string[] } {
  const kind = kinds.find((one) => one.resource === resource)!;
  return { [changedField(change, kind)]: [kind.by === 'name' ? name : id] };
}

function declareChanges(input: InputClass, kind: Assignable): void {
  const { object } = kind.resource;
  const texts = {
    name: {
      add: `Names of ${object}s to add. Missing ones are created. Case does not matter.`,
      remove: `Names of ${object}s to remove. Missing ones are ignored.`,
    },
    id: {
      add: `${capital(object)}s to add the contacts to.`,
      remove: `${capital(object)}s to remove the contacts from.`,
    },
  };
  for (const change of CHANGES) {
    const options = { optional: true, max: MOST_CHANGED, description: texts[kind.by][change] };
    const decorate = kind.by === 'name' ? Names({ ...options, longest: kind.longestName }) : Ids(options);
    decorate(input.prototype as object, changedField(change, kind));
  }
}

function declare(input: InputClass, { field, by, longestName, resource }: Assignable): void {
  const { object } = resource;
  const decorate =
    by === 'name'
      ? Names({
          optional: true,
          max: MOST_GROUPS,
          longest: longestName,
          description: `Names of ${object}s to add. Missing ones are created. Case does not matter.`,
        })
      : Ids({
          optional: true,
          min: 0,
          max: MOST_GROUPS,
          description: `${capital(object)}s to add the contact to.`,
        });
  decorate(input.prototype as object, field);
}

function givenIn(command: Input, field: string): string[] {
  return (command as unknown as { [field: string]: string[] | undefined })[field] ?? [];
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** The part of a decision that adds a contact to groups. */
export type Assignment = Required<Pick<Decision, 'writes' | 'claims' | 'guards'>>;

export function withAssignment(decision: Decision, { writes, claims, guards }: Assignment): Decision {
  return {
    ...decision,
    writes: [...decision.writes, ...writes],
    claims: [...(decision.claims ?? []), ...claims],
    guards: [...(decision.guards ?? []), ...guards],
  };
}

function joined(all: readonly Assignment[]): Assignment {
  return {
    writes: all.flatMap(({ writes }) => writes),
    claims: all.flatMap(({ claims }) => claims),
    guards: all.flatMap(({ guards }) => guards),
  };
}

/** Adds contacts to groups in the command that creates or changes them. */
@Injectable()
export class AssignedGroups {
  /** Groups that a concurrent command created, by command, kind and name. The projection may not have them yet. */
  private readonly created = new WeakMap<Input, Map<string, string>>();

  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly resources: Resources,
  ) {}

  /**
   * The groups that the command names, for its decision.
   *
   * @param isNew whether the same command creates the contact.
   * @throws RpcError NOT_FOUND if a group named by id does not exist.
   */
  async of(command: Input, contactId: string, isNew: boolean): Promise<Assignment> {
    const all: Assignment[] = [];
    for (const kind of kinds) {
      const given = givenIn(command, kind.field);
      if (given.length > 0) all.push(await this.ofKind(kind, command, [...new Set(given)], contactId, isNew));
    }
    return joined(all);
  }

  /** The groups with an id that a command on many contacts names. @throws RpcError NOT_FOUND if one does not exist. */
  async requireChanged(command: Input): Promise<void> {
    for (const kind of kinds.filter(({ by }) => by === 'id'))
      for (const change of CHANGES) {
        const field = changedField(change, kind);
        await this.require({ ...kind, field }, command.organizationId, givenIn(command, field));
      }
  }

  /**
   * What a command on many contacts changes, after `requireChanged`. Creates the missing groups that it adds by name.
   *
   * @param command without an Idempotency-Key.
   */
  async changes(command: Input): Promise<{ change: Change; resource: Resource<Group>; id: string }[]> {
    const all = [];
    for (const kind of kinds)
      for (const change of CHANGES) {
        const given = givenIn(command, changedField(change, kind));
        const ids = kind.by === 'id' ? new Set(given) : await this.named(kind, command, given, change);
        for (const id of ids) all.push({ change, resource: kind.resource, id });
      }
    return all;
  }

  private async named(
    kind: Assignable,
    command: Input,
    names: readonly string[],
    change: Change,
  ): Promise<Iterable<string>> {
    if (names.length === 0) return [];
    const { ids, missing } = await this.findByName(kind, command, names);
    if (change === 'remove' || missing(new Set()).length === 0) return ids;
    const { decision } = await this.commands.run(command, async () => {
      const found = await this.findByName(kind, command, names);
      const created = found.missing(new Set()).map((name) => this.create(kind, command, name));
      return {
        recordId: created[0]?.id ?? found.ids[0]!,
        writes: created.map(({ write }) => write),
        claims: created.map(({ claim }) => claim),
      };
    });
    return new Set([
      ...(await this.findByName(kind, command, names)).ids,
      ...(decision?.writes ?? []).map(({ streamId }) => streamId),
    ]);
  }

  /**
   * Groups of these kinds, for the decision of a command that does not name them itself.
   *
   * @param assigned ids. Deleted groups are ignored.
   */
  async ofExisting(
    organizationId: string,
    assigned: readonly { resource: Resource<Group>; ids: readonly string[] }[],
    contactId: string,
    isNew: boolean,
  ): Promise<Assignment> {
    const all: Assignment[] = [];
    for (const { resource, ids } of assigned) {
      const kind = kinds.find((one) => one.resource === resource)!;
      const { guards, gone } = await this.require({ ...kind, by: 'name' }, organizationId, ids);
      const existing = ids.filter((id) => !gone.has(id));
      all.push({ ...(await this.begin(resource, organizationId, existing, contactId, isNew)), guards });
    }
    return joined(all);
  }

  private async ofKind(
    kind: Assignable,
    command: Input,
    given: readonly string[],
    contactId: string,
    isNew: boolean,
  ): Promise<Assignment> {
    const named = kind.by === 'name' ? await this.findByName(kind, command, given) : undefined;
    const asked = named?.ids ?? given;
    const { guards, gone } = await this.require(kind, command.organizationId, asked);
    const created = (named?.missing(gone) ?? []).map((name) => this.create(kind, command, name));
    const ids = asked.filter((id) => !gone.has(id));
    const begun = await this.begin(kind.resource, command.organizationId, ids, contactId, isNew);
    const first = created.map(({ id }) => kind.resource.link!.begin(id, contactId, () => undefined));
    return {
      writes: [...created, ...first].map(({ write }) => write).concat(begun.writes),
      claims: [...created, ...first].map(({ claim }) => claim).concat(begun.claims),
      guards,
    };
  }

  /** Adds a contact to groups that it is not in. */
  private async begin(
    { link }: Resource<Group>,
    organizationId: string,
    ids: readonly string[],
    contactId: string,
    isNew: boolean,
  ): Promise<Pick<Assignment, 'writes' | 'claims'>> {
    const keys = ids.map((id) => link!.keyOf(id, contactId));
    const owners = isNew ? [] : await this.commands.findOwners(organizationId, keys);
    // If a concurrent request has just added the contact, the command decides again.
    const begun = ids
      .filter((_, n) => owners[n] === undefined)
      .map((id) => link!.begin(id, contactId, () => undefined));
    return { writes: begun.map(({ write }) => write), claims: begun.map(({ claim }) => claim) };
  }

  /** Guards on the groups, so that no contact is added to one that is deleted at the same time. */
  private async require(
    { resource, decider, field, by }: Assignable,
    organizationId: string,
    ids: readonly string[],
  ): Promise<{ guards: Assignment['guards']; gone: ReadonlySet<string> }> {
    const loaded = await this.records.loadMany(decider, organizationId, ids.filter(isId));
    const gone = new Set(ids.filter((id) => !resource.exists(loaded.get(id)?.state ?? decider.initial)));
    const [unknown] = gone;
    if (unknown !== undefined && by === 'id') {
      throw new RpcError(
        'NOT_FOUND',
        `No ${resource.object} ${unknown.slice(0, 100)} exists in your organization. Remove it from ${field}.`,
      );
    }
    const guards = ids.flatMap((streamId) =>
      gone.has(streamId) ? [] : [{ streamId, version: loaded.get(streamId)!.version }],
    );
    return { guards, gone };
  }

  /** `missing`: the names to create, if the groups with some of the ids are gone. */
  private async findByName(
    { resource }: Assignable,
    command: Input,
    names: readonly string[],
  ): Promise<{ ids: string[]; missing: (gone: ReadonlySet<string>) => string[] }> {
    // The first spelling is used.
    const spelled = names.toReversed().map((name) => [comparableName(name), name.normalize('NFC')] as const);
    const distinct = new Map(spelled);
    const found = await this.resources.findByName(resource, command.organizationId, [...distinct.values()]);
    const created = this.created.get(command);
    const all = [...distinct].map(([compared, name]) => ({
      name,
      id: found.get(name) ?? created?.get(`${resource.object} ${compared}`),
    }));
    return {
      ids: all.flatMap(({ id }) => id ?? []),
      missing: (gone) => all.flatMap(({ id, name }) => (id === undefined || gone.has(id) ? [name] : [])),
    };
  }

  /** Concurrent commands that need the same new group create one: it claims its name. */
  private create({ resource, decider, emptyFields }: Assignable, command: Input, name: string) {
    const id = newId();
    const compared = comparableName(name);
    const value = [`${resource.object}.assigned-name`, compared];
    const taken = async (owner: string) => {
      const { state, version } = await this.records.load(decider, command.organizationId, owner);
      if (state.status === 'standing' && comparableName(state.name as string) === compared) {
        const created = this.created.get(command) ?? new Map<string, string>();
        this.created.set(command, created.set(`${resource.object} ${compared}`, owner));
      } else {
        // It was renamed or deleted since.
        await this.commands.release(command, { streamId: owner, version }, [value]);
      }
      return undefined;
    };
    return {
      id,
      write: writeTo(decider, id, 0, [decider.create({ ...emptyFields, name })]),
      claim: { value, streamId: id, taken },
    };
  }
}
