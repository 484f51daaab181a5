import { Injectable, type OnModuleInit } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Commands, type Decision, type Outcome, RecordReader, writeTo } from '#libs/commands';
import { type Condition, linkedTo } from '#libs/projections';
import { type Input, RpcError } from '#libs/rpc';
import { type ContactGroup, ContactGroups, ContactsTable } from '../contacts/index.js';
import { list, standingList } from './list.js';
import { ListsTable, MEMBERS_TABLE } from './lists.projection.js';
import { addToList, membership, membershipKey, removeFromList } from './membership.js';

/** Contacts of one request. */
export const MOST_MEMBERS = 1_000;

/** Who is on which list; lets contacts be listed by, and imported into, a list. */
@Injectable()
export class Members implements ContactGroup, OnModuleInit {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly groups: ContactGroups,
    private readonly contacts: ContactsTable,
    private readonly lists: ListsTable,
  ) {}

  onModuleInit(): void {
    this.groups.register('listId', this);
  }

  async members(organizationId: string, listId: string): Promise<Condition> {
    await this.lists.require(organizationId, listId);
    return { sql: linkedTo(MEMBERS_TABLE), value: listId };
  }

  /** All of them or none. @throws RpcError NOT_FOUND, naming the contact that is none. */
  async add(input: Input, listId: string, contactIds: readonly string[]): Promise<Outcome> {
    return this.commands.run(input, () => this.decideToAdd(input, listId, contactIds));
  }

  private async decideToAdd(input: Input, listId: string, contactIds: readonly string[]): Promise<Decision> {
    const { organizationId } = input;
    const loaded = await this.records.load(list, organizationId, listId);
    standingList(loaded.state);
    const ids = [...new Set(contactIds)];
    const [unknown] = await this.contacts.findUnknown(organizationId, ids);
    if (unknown !== undefined) throw noSuchMember(unknown, 'nobody was added');

    const keys = ids.map((contactId) => membershipKey(listId, contactId));
    const standing = await this.commands.findOwners(organizationId, keys);
    const added = ids
      .filter((_, index) => standing[index] === undefined)
      .map((contactId) => ({ contactId, streamId: uuidv7() }));
    return {
      recordId: listId,
      guards: [{ streamId: listId, version: loaded.version }],
      writes: added.map(({ contactId, streamId }) => ({
        ...writeTo(membership, streamId, 0, addToList(listId, contactId)),
        subjectId: contactId,
      })),
      claims: added.map(({ contactId, streamId }) => ({
        value: membershipKey(listId, contactId),
        streamId,
        // Somebody else has just added this one.
        taken: () => this.decideToAdd(input, listId, contactIds),
      })),
    };
  }

  /** Whoever is not on the list is left alone. @throws RpcError NOT_FOUND, naming who never was a contact. */
  async remove(input: Input, listId: string, contactIds: readonly string[]): Promise<Outcome> {
    let attempts = 0;
    return this.commands.run(input, () => this.decideToRemove(input, listId, contactIds, attempts++ > 0));
  }

  private async decideToRemove(
    { organizationId }: Input,
    listId: string,
    contactIds: readonly string[],
    afresh: boolean,
  ): Promise<Decision> {
    const loaded = await this.records.load(list, organizationId, listId);
    standingList(loaded.state);
    const ids = [...new Set(contactIds)];
    const gone = new Set(await this.contacts.findUnknown(organizationId, ids));
    const erased = await this.contacts.findErased(organizationId, [...gone]);
    const unknown = [...gone].find((id) => !erased.has(id));
    if (unknown !== undefined) throw noSuchMember(unknown, 'nobody was removed');

    const keys = ids.map((contactId) => membershipKey(listId, contactId));
    const standing = await this.commands.findOwners(organizationId, keys);
    // With their erasure contacts left the list already.
    const members = ids.flatMap((contactId, index) => {
      const streamId = gone.has(contactId) ? undefined : standing[index];
      return streamId === undefined ? [] : [{ contactId, streamId }];
    });
    // Only what this version does not know can have moved a membership that stands.
    if (afresh) {
      const streamIds = members.map(({ streamId }) => streamId);
      await this.records.loadMany(membership, organizationId, streamIds);
    }
    return {
      recordId: listId,
      writes: members.map(({ contactId, streamId }) => ({
        // A membership that stands has this one event: removed, it stands no more.
        ...writeTo(membership, streamId, 1, removeFromList(listId, contactId)),
        subjectId: contactId,
      })),
      guards: [{ streamId: listId, version: loaded.version }],
      releases: members.map(({ contactId, streamId }) => ({
        value: membershipKey(listId, contactId),
        streamId,
      })),
    };
  }
}

function noSuchMember(contactId: string, consequence: string): RpcError {
  return new RpcError(
    'NOT_FOUND',
    `There is no contact ${shortened(contactId)} in your organization: ${consequence}. Take it out of contactIds.`,
  );
}

/** An answer must not grow with the rubbish that was sent. */
function shortened(id: string): string {
  return id.length > 100 ? `${id.slice(0, 100)}…` : id;
}
