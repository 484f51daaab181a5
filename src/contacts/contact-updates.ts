import { Injectable } from '@nestjs/common';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { Linking } from '#libs/resources';
import { Input, inputOf, type RequestContext, RpcError } from '#libs/rpc';
import { CustomFields, type GivenValues } from '../fields/index.js';
import { contact, type ContactChanges, updateContact } from './contact.js';
import { contactWrite } from './contact-stream.js';
import { ContactsTable } from './contacts-table.js';
import { AssignedGroups, type Change } from './groups/assigned-groups.js';
import { ImportedLinks, type Target } from './import/imported-links.js';

/** The fields that many contacts can get at once. Undefined: unchanged. */
export type CommonFields = {
  zip?: string | null;
  city?: string | null;
  region?: string | null;
  country?: string | null;
  customFields?: GivenValues | null;
  /** No one is subscribed without their consent. */
  subscribed?: false;
};

/** A step of an update after its fields. Not an operation. */
class ChangeGroups extends Input {}

/** Gives many contacts the same values, tags and lists. */
@Injectable()
export class ContactUpdates {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
    private readonly fields: CustomFields,
    private readonly groups: AssignedGroups,
    private readonly links: ImportedLinks,
    private readonly linking: Linking,
  ) {}

  /** @throws RpcError BAD_REQUEST or NOT_FOUND if a custom field, its value or a group does not exist. */
  async require(command: Input & CommonFields): Promise<void> {
    await this.fields.read(command.organizationId, command.customFields);
    await this.groups.requireChanged(command);
  }

  /**
   * Changes the fields of all these contacts or of none, then one tag or list after another. Idempotent.
   *
   * @param command with the fields of `ChangesGroups`.
   * @param contactIds at most 1,000.
   * @throws RpcError as `require`, and NOT_FOUND if a contact does not exist.
   */
  async update(command: Input & CommonFields, contactIds: readonly string[]): Promise<void> {
    const { organizationId, context, zip, city, region, country, subscribed, ...named } = command;
    const values = await this.fields.read(organizationId, command.customFields);
    const changes: ContactChanges = { zip, city, region, country, subscribed, ...values };
    await this.commands.run(command, async () => {
      await this.groups.requireChanged(command);
      return this.decide(command, contactIds, changes);
    });

    // Their own commands: the request's Idempotency-Key belongs to the fields.
    const { idempotencyKey: _, ...own } = context;
    const step = Object.assign(new ChangeGroups(), named, { organizationId, context: own });
    for (const { change, ...group } of await this.groups.changes(step))
      await this.changeGroup(own, change, group, contactIds);
  }

  /**
   * Adds contacts to a tag or list, or removes them. Idempotent.
   *
   * @param context without an Idempotency-Key.
   * @throws RpcError NOT_FOUND if the group, or a contact to remove, never existed.
   */
  async changeGroup(
    context: RequestContext,
    change: Change,
    { resource, id }: Target,
    contactIds: readonly string[],
  ): Promise<void> {
    const input = inputOf(ChangeGroups, { [resource.idField]: id }, context);
    if (change === 'add') await this.links.add(context, { resource, id }, contactIds);
    else await this.linking.remove(resource, input, contactIds);
  }

  /** @throws RpcError NOT_FOUND if one of the contacts does not exist. */
  async requireContacts(organizationId: string, contactIds: readonly string[]): Promise<void> {
    const [unknown] = await this.contacts.findUnknown(organizationId, contactIds);
    if (unknown !== undefined)
      throw new RpcError(
        'NOT_FOUND',
        `No contact ${unknown.slice(0, 100)} exists in your organization: nothing was changed. Remove it from contactIds.`,
      );
  }

  private async decide(
    { organizationId }: Input,
    contactIds: readonly string[],
    changes: ContactChanges,
  ): Promise<Decision> {
    await this.requireContacts(organizationId, contactIds);
    const hasFields = Object.values(changes).some((value) => value !== undefined);
    const loaded = await this.records.loadMany(contact, organizationId, hasFields ? contactIds : []);
    const writes = [...loaded].flatMap(([id, { state, version }]) => {
      const events = state.status === 'standing' ? updateContact(state, changes) : [];
      return events.length > 0 ? [contactWrite(id, version, events)] : [];
    });
    return { recordId: contactIds[0]!, writes };
  }
}
