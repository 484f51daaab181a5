import { Injectable } from '@nestjs/common';
import { comparableName, Linking, type Resource, Resources } from '#libs/resources';
import { Input, type InputClass, inputOf, OperationRunner, type RequestContext, RpcError } from '#libs/rpc';
import { settleAll } from './settle-all.js';
import { ContactsTable } from '../contacts-table.js';

/** The record to link contacts to. */
export type Target = { resource: Resource; id: string };

export type NamedRecords = ReadonlyMap<NamedKind, readonly string[]>;

/** A kind of records that lines can name. Missing ones are created. */
export type NamedKind = {
  resource: Resource;
  create: InputClass<Input & { name: string }>;
};

type Imported = { contactId: string; isNew: boolean; names: NamedRecords };

type Named = { name: string; contactIds: string[] };

@Injectable()
export class ImportedLinks {
  constructor(
    private readonly linking: Linking,
    private readonly resources: Resources,
    private readonly contacts: ContactsTable,
    private readonly runner: OperationRunner,
  ) {}

  /** @throws RpcError NOT_FOUND if one of them does not exist. */
  async require(organizationId: string, targets: readonly Target[]): Promise<void> {
    for (const { resource, id } of targets) await this.resources.require(resource, organizationId, id);
  }

  /** Existing links stay unchanged. @param context of the import, without its Idempotency-Key. */
  async link(
    context: RequestContext,
    targets: readonly Target[],
    imported: readonly Imported[],
  ): Promise<void> {
    const all = imported.map(({ contactId }) => contactId);
    const created = new Set(imported.flatMap(({ contactId, isNew }) => (isNew ? [contactId] : [])));
    const isNew = (contactId: string) => created.has(contactId);
    if (all.length > 0) for (const target of targets) await this.add(context, target, all, { isNew });

    const named = new Map<NamedKind, Map<string, Named>>();
    for (const { contactId, names } of imported) {
      for (const [kind, given] of names) {
        const members = named.get(kind) ?? new Map<string, Named>();
        for (const name of given) {
          const key = comparableName(name);
          // A new record is named as in the first line that names it.
          if (!members.has(key)) members.set(key, { name, contactIds: [] });
          members.get(key)!.contactIds.push(contactId);
        }
        named.set(kind, members);
      }
    }
    for (const [kind, members] of named) {
      const all = [...members.values()];
      const ids = await this.resources.findByName(
        kind.resource,
        context.organizationId,
        all.map(({ name }) => name),
      );
      const addNamed = async ({ name, contactIds }: Named) => {
        const id = ids.get(name) ?? (await this.create(context, kind, name));
        await this.add(context, { resource: kind.resource, id }, contactIds, { isNew }).catch(unlessDeleted);
      };
      // Concurrently, they share calls of the event store: two thousand new names took more than a minute one
      // by one, and 15 s this way.
      await settleAll(all.map(addNamed));
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

  /** Contacts that were erased in the meantime are left out. @throws RpcError NOT_FOUND if the record does not exist. */
  async add(
    context: RequestContext,
    { resource, id }: Target,
    contactIds: readonly string[],
    adding: Parameters<Linking['add']>[3] = {},
  ): Promise<void> {
    const input = inputOf(LinkContacts, { [resource.idField]: id }, context);
    try {
      await this.linking.add(resource, input, [...new Set(contactIds)], adding);
    } catch (error) {
      // Contacts erased since their line was read must not affect the others.
      const gone = new Set(await this.contacts.findUnknown(context.organizationId, contactIds));
      if (gone.size === 0) throw error;
      const rest = contactIds.filter((contactId) => !gone.has(contactId));
      if (rest.length > 0) await this.add(context, { resource, id }, rest, adding);
    }
  }
}

/** If the record was deleted during the import, its links would be gone anyway. So this is not an error. */
function unlessDeleted(error: unknown): void {
  if (!(error instanceof RpcError && error.code === 'NOT_FOUND')) throw error;
}

/** A command of an import, which has the record's id as a field. */
class LinkContacts extends Input {}
