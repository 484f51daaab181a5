import { Injectable } from '@nestjs/common';
import { type Condition, type Input } from '#libs/rpc';

/** A kind of record that contacts can belong to, as its module tells it. */
export type ContactGroup = {
  /**
   * @throws RpcError NOT_FOUND unless the group stands.
   * @returns SQL of a set of contact ids of this organization: `?` is the value, `$1` the organization.
   */
  members(organizationId: string, groupId: string): Promise<Condition>;
  /** Adds contacts to the group. */
  add?(input: Input, groupId: string, contactIds: readonly string[]): Promise<void>;
};

/** The field that names a group of this kind. */
type GroupField = 'listId' | 'petitionId';

/**
 * Where modules that stand on contacts tell how contacts are chosen by belonging to one of their records: this
 * module knows nothing of them.
 */
@Injectable()
export class ContactGroups {
  private readonly groups = new Map<GroupField, ContactGroup>();

  register(field: GroupField, group: ContactGroup): void {
    this.groups.set(field, group);
  }

  find(field: GroupField): ContactGroup {
    const group = this.groups.get(field);
    if (!group) throw new Error(`No module has registered a group of contacts under ${field}.`);
    return group;
  }
}
