import { Injectable } from '@nestjs/common';
import { Linking, type Resource, Resources } from '#libs/resources';
import { Input, type InputClass, inputOf, OperationRunner, type RequestContext, RpcError } from '#libs/rpc';
import { settleAll } from './settle-all.js';
import { ContactsTable } from '../contacts-table.js';

/** A record that contacts are linked to: its kind, and its id. */
export type Target = { resource: Resource; id: string };

/** Records that a line names, by their kinds. */
export type NamedRecords = ReadonlyMap<NamedKind, readonly string[]>;

/** A kind of records that lines may name; a name that none of them has is given to a new one. */
export type NamedKind = {
  resource: Resource;
  create: InputClass<Input & { name: string }>;
};

/** An imported contact that stands, and what its line names. */
type Imported = { contactId: string; names: NamedRecords };

/** Links imported contacts to what the import and their lines name. */
@Injectable()
export class ImportedLinks {
  constructor(
    private readonly linking: Linking,
    private readonly resources: Resources,
    private readonly contacts: ContactsTable,
    private readonly runner: OperationRunner,
  ) {}

  /** @throws RpcError NOT_FOUND unless each of them stands. */
  async require(organizationId: string, targets: readonly Target[]): Promise<void> {
    for (const { resource, id } of targets) await this.resources.require(resource, organizationId, id);
  }

  /** Who is linked already stays. @param context of the import, without its Idempotency-Key. */
  async link(
    context: RequestContext,
    targets: readonly Target[],
    imported: readonly Imported[],
  ): Promise<void> {
    const all = imported.map(({ contactId }) => contactId);
    if (all.length > 0) for (const target of targets) await this.add(context, target, all);

    const named = new Map<NamedKind, Map<string, string[]>>();
    for (const { contactId, names } of imported) {
      for (const [kind, given] of names) {
        const members = named.get(kind) ?? new Map<string, string[]>();
        for (const name of given) {
          if (!members.has(name)) members.set(name, []);
          members.get(name)!.push(contactId);
        }
        named.set(kind, members);
      }
    }
    for (const [kind, members] of named) {
      const ids = await this.resources.findByName(kind.resource, context.organizationId, [...members.keys()]);
      const addNamed = async ([name, contactIds]: [string, string[]]) => {
        const id = ids.get(name) ?? (await this.create(context, kind, name));
        await this.add(context, { resource: kind.resource, id }, contactIds).catch(unlessDeleted);
      };
      // Together they share calls of the event store: two thousand new names took more than a minute one by one, 15 s so.
      await settleAll([...members].map(addNamed));
    }
  }

  private async create(
    context: RequestContext,
    { resource, create }: NamedKind,
    name: string,
  ): Promise<string> {
    const answer = await this.runner.execute<Record<string, string>>(inputOf(create, { name }, context));
    return answer[resource.idField]!;
  }

  private async add(
    context: RequestContext,
    { resource, id }: Target,
    contactIds: readonly string[],
  ): Promise<void> {
    const input = inputOf(LinkContacts, { [resource.idField]: id }, context);
    try {
      await this.linking.add(resource, input, [...new Set(contactIds)]);
    } catch (error) {
      // Who was erased since their line was read costs the others nothing.
      const gone = new Set(await this.contacts.findUnknown(context.organizationId, contactIds));
      if (gone.size === 0) throw error;
      const rest = contactIds.filter((contactId) => !gone.has(contactId));
      if (rest.length > 0) await this.add(context, { resource, id }, rest);
    }
  }
}

/** Who deletes a record while it is imported into does so as if the import had been there before: nobody is told. */
function unlessDeleted(error: unknown): void {
  if (!(error instanceof RpcError && error.code === 'NOT_FOUND')) throw error;
}

/** A part of an import, with the id of the record as a field. */
class LinkContacts extends Input {}
