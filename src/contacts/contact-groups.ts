import { Injectable } from '@nestjs/common';
import { type Condition } from '#libs/projections';
import { type Input } from '#libs/rpc';

/** The input fields that name a group. */
export type GroupField = 'listId' | 'petitionId';

/** A kind of sets of contacts that another module keeps: the members of a list, the signers of a petition. */
export type ContactGroup = {
  /**
   * A condition on the contacts' `organization_id` and `id`: those in the group.
   *
   * @throws RpcError NOT_FOUND unless there is such a group.
   */
  members(organizationId: string, groupId: string): Promise<Condition>;
  /** Adds contacts; who is in it already stays. Only groups that contacts can be put into have it. */
  add?(input: Input, groupId: string, contactIds: readonly string[]): Promise<unknown>;
};

/** Where other modules say which groups they keep, so that contacts can be listed by them. */
@Injectable()
export class ContactGroups {
  private readonly groups = new Map<GroupField, ContactGroup>();

  register(field: GroupField, group: ContactGroup): void {
    this.groups.set(field, group);
  }

  find(field: GroupField): ContactGroup {
    const group = this.groups.get(field);
    if (!group) throw new Error(`No module keeps the groups that ${field} names.`);
    return group;
  }
}
