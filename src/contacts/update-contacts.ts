import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { Linking } from '#libs/resources';
import { Ids, Input, inputOf, Keyed, Operation, recordSchema, RpcError, Text } from '#libs/rpc';
import { CustomFields, type GivenValues, MOST_VALUE_BYTES } from '../fields/index.js';
import { contact, type ContactChanges, updateContact } from './contact.js';
import { contactWrite } from './contact-stream.js';
import { ContactsTable } from './contacts-table.js';
import { AssignedGroups, CHANGED_SCOPES, ChangesGroups } from './groups/assigned-groups.js';
import { ImportedLinks } from './import/imported-links.js';

@Operation({
  method: 'POST',
  name: 'contact.update-contacts',
  object: 'update',
  summary: 'Update many contacts',
  description:
    'Sets fields of up to 1,000 contacts to the same values, and adds or removes tags and lists. Changes ' +
    'only the fields you send; `null` clears a field. If one of the contacts does not exist, nothing is ' +
    'changed. Fields are changed first, for all contacts or for none, followed by one tag or list after ' +
    'another. After an error, send the request again: completed changes are not repeated. No one is ' +
    'subscribed or unsubscribed. To update the contacts of a segment, send the ids that ' +
    'contact.list-contacts returns with `segmentId`.',
  answers: recordSchema({
    contacts: {
      type: 'integer',
      description: 'The number of contacts, including those that already matched.',
    },
  }),
  fieldScopes: CHANGED_SCOPES,
})
@ChangesGroups
export class UpdateContacts extends Input {
  @Ids({ max: 1_000 })
  contactIds!: string[];

  @Text({ max: 500, optional: true, nullable: true })
  zip?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  city?: string | null;

  @Text({ max: 500, optional: true, nullable: true, description: 'State, county or province.' })
  region?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;

  @Keyed({
    optional: true,
    nullable: true,
    maxBytes: MOST_VALUE_BYTES,
    values: { type: ['string', 'number', 'boolean', 'array', 'null'], items: { type: 'string' } },
    example: { shoeSize: 42 },
    description:
      'Values of custom fields by their keys. Fields that you leave out keep their value; `null` clears one.',
  })
  customFields?: GivenValues | null;
}

/** A step of an update after its fields. Not an operation. */
class ChangeGroups extends Input {}

@CommandHandler(UpdateContacts)
export class UpdateContactsHandler implements ICommandHandler<UpdateContacts> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
    private readonly fields: CustomFields,
    private readonly groups: AssignedGroups,
    private readonly links: ImportedLinks,
    private readonly linking: Linking,
  ) {}

  async execute(command: UpdateContacts): Promise<{ contacts: number }> {
    const { organizationId, context, contactIds: given, zip, city, region, country, ...named } = command;
    const contactIds = [...new Set(given)];
    const values = await this.fields.read(organizationId, command.customFields);
    const changes: ContactChanges = { zip, city, region, country, ...values };
    await this.commands.run(command, async () => {
      await this.groups.requireChanged(command);
      return this.decide(command, contactIds, changes);
    });

    // Their own commands: the request's Idempotency-Key belongs to the fields.
    const { idempotencyKey: _, ...own } = context;
    const step = Object.assign(new ChangeGroups(), named, { organizationId, context: own });
    for (const { change, resource, id } of await this.groups.changes(step)) {
      if (change === 'add') await this.links.add(own, { resource, id }, contactIds);
      else
        await this.linking.remove(
          resource,
          inputOf(ChangeGroups, { [resource.idField]: id }, own),
          contactIds,
        );
    }
    return { contacts: contactIds.length };
  }

  private async decide(
    { organizationId }: UpdateContacts,
    contactIds: readonly string[],
    changes: ContactChanges,
  ): Promise<Decision> {
    const [unknown] = await this.contacts.findUnknown(organizationId, contactIds);
    if (unknown !== undefined)
      throw new RpcError(
        'NOT_FOUND',
        `No contact ${unknown.slice(0, 100)} exists in your organization: nothing was changed. Remove it from contactIds.`,
      );
    const hasFields = Object.values(changes).some((value) => value !== undefined);
    const loaded = await this.records.loadMany(contact, organizationId, hasFields ? contactIds : []);
    const writes = [...loaded].flatMap(([id, { state, version }]) => {
      const events = state.status === 'standing' ? updateContact(state, changes) : [];
      return events.length > 0 ? [contactWrite(id, version, events)] : [];
    });
    return { recordId: contactIds[0]!, writes };
  }
}
