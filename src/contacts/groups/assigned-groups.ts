import { Injectable } from '@nestjs/common';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { type JsonObject } from '#libs/event-store';
import { newId } from '#libs/random';
import { comparableName, type Resource, Resources } from '#libs/resources';
import { Ids, type Input, type InputClass, isId, Names, RpcError } from '#libs/rpc';
import { type Group, type GroupDecider } from './group.js';

/** The maximum number of groups of one kind in a request. */
const MOST_GROUPS = 50;

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

/** Adding a contact to a list or tag needs the scope that add-contacts needs. */
export const ASSIGNED_SCOPES: Record<string, string> = {};

/** Lets commands name groups of this kind. Groups named by name are created if they do not exist. */
export function assignContactsTo(kind: Assignable): void {
  kinds.push(kind);
  ASSIGNED_SCOPES[kind.field] = `${kind.resource.object}:write`;
  for (const input of inputs) declare(input, kind);
}

/** Gives a command on one contact the fields of all kinds. Its operation has the scopes `ASSIGNED_SCOPES`. */
export function AcceptsGroups(input: InputClass): void {
  inputs.push(input);
  for (const kind of kinds) declare(input, kind);
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
      : Ids({ optional: true, max: MOST_GROUPS, description: `${capital(object)}s to add the contact to.` });
  decorate(input.prototype as object, field);
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** The part of a decision that adds a contact to groups. */
export type Assignment = Required<Pick<Decision, 'writes' | 'claims' | 'guards'>>;

/** A decision together with the groups of its contact, in one append. */
export function withAssignment(decision: Decision, { writes, claims, guards }: Assignment): Decision {
  return {
    ...decision,
    writes: [...decision.writes, ...writes],
    claims: [...(decision.claims ?? []), ...claims],
    guards: [...(decision.guards ?? []), ...guards],
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
      const given = (command as unknown as { [field: string]: string[] | undefined })[kind.field] ?? [];
      if (given.length > 0) all.push(await this.ofKind(kind, command, [...new Set(given)], contactId, isNew));
    }
    return {
      writes: all.flatMap(({ writes }) => writes),
      claims: all.flatMap(({ claims }) => claims),
      guards: all.flatMap(({ guards }) => guards),
    };
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
    const { guards, gone } = await this.require(kind, command, asked);
    const created = (named?.missing(gone) ?? []).map((name) => this.create(kind, command, name));
    const ids = asked.filter((id) => !gone.has(id));
    const link = kind.resource.link!;
    const keys = ids.map((id) => link.keyOf(id, contactId));
    const owners = isNew ? [] : await this.commands.findOwners(command.organizationId, keys);
    const added = [...ids.filter((_, n) => owners[n] === undefined), ...created.map(({ id }) => id)];
    // If a concurrent request has just added the contact, the command decides again.
    const begun = added.map((id) => link.begin(id, contactId, () => undefined));
    return {
      writes: [...created, ...begun].map(({ write }) => write),
      claims: [...created, ...begun].map(({ claim }) => claim),
      guards,
    };
  }

  /** Guards on the groups, so that no contact is added to one that is deleted at the same time. */
  private async require(
    { resource, decider, field, by }: Assignable,
    { organizationId }: Input,
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
