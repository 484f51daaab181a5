import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Requests } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { type Condition, findRows, type RowPage } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Ids, invalid, Keyed, Operation, recordSchema, Text, textOrNull } from '#libs/rpc';
import { type GivenValues, MOST_VALUE_BYTES } from '../../../fields/index.js';
import { ContactUpdates } from '../../contact-updates.js';
import { CONTACT_PAGE } from '../../contacts-table.js';
import { CHOICE_SCOPES, ContactChoice, chosenContacts } from '../../filters/contact-filters.js';
import { CHANGED_SCOPES, ChangesGroups } from '../../groups/assigned-groups.js';
import { MOST_UPDATED } from './contact-update-runs.js';
import { ImportJobs } from './import-jobs.js';
import { planOfUpdate, SCOPE } from './import-plan.js';

type UpdateAnswer = { contacts: number; operationId: string | null };

@Operation({
  method: 'POST',
  name: 'contact.update-contacts',
  object: 'update',
  summary: 'Update many contacts',
  description:
    'Gives fields of many contacts the same values, and adds or removes tags and lists. Send either `contactIds` or ' +
    '`segmentId`. Changes only the fields you send; `null` clears a field. No one is subscribed or unsubscribed.\n\n' +
    'Up to 1,000 contacts are updated immediately. If one of the `contactIds` does not exist, nothing ' +
    'changes. Fields are changed first, for all contacts or for none, followed by one tag or list after another. ' +
    'After an error, send the request again: what was already changed is not changed twice.\n\n' +
    'A segment with more contacts is updated in the background, as it is now: contacts that enter it later are not ' +
    'changed. `operationId` is the id of an import: `import.get-import` returns its progress, and ' +
    '`import.cancel-import` ends it. It stops if the API key is revoked, or the user loses a permission that it needs.',
  answers: recordSchema({
    contacts: {
      type: 'integer',
      description: 'The number of contacts, including those that already matched.',
    },
    operationId: { ...textOrNull, description: 'null if all contacts are updated.' },
  }),
  get fieldScopes() {
    return { ...CHANGED_SCOPES, ...CHOICE_SCOPES };
  },
})
@ChangesGroups
export class UpdateContacts extends ContactChoice {
  @Ids({ max: MOST_UPDATED, optional: true })
  contactIds?: string[];

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

@CommandHandler(UpdateContacts)
export class UpdateContactsHandler implements ICommandHandler<UpdateContacts> {
  constructor(
    private readonly updates: ContactUpdates,
    private readonly requests: Requests,
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly jobs: ImportJobs,
  ) {}

  async execute(command: UpdateContacts): Promise<UpdateAnswer> {
    const { contactIds } = command;
    const given = Object.keys(CHOICE_SCOPES).filter((field) => field in command);
    if ((contactIds === undefined) === (given.length === 0)) {
      const others = Object.keys(CHOICE_SCOPES).join(' or ');
      throw invalid([
        { path: 'contactIds', message: `or ${others} is required: send one of them, not both` },
      ]);
    }
    if (contactIds) return this.updateNow(command, contactIds);
    const chosen = await chosenContacts(command, this.resources);
    return this.requests.runOutside(command, () => this.updateChosen(command, chosen!));
  }

  private async updateNow(command: UpdateContacts, contactIds: readonly string[]): Promise<UpdateAnswer> {
    const ids = [...new Set(contactIds)];
    await this.updates.update(command, ids);
    return { contacts: ids.length, operationId: null };
  }

  private async updateChosen(command: UpdateContacts, condition: Condition): Promise<UpdateAnswer> {
    const { context, ...fields } = command;
    await this.updates.require(command);
    const { idempotencyKey: _key, onReplay: _replay, ...own } = context;
    const first = await this.page(command, condition, undefined);
    const ids = first.rows.map(({ id }) => id);
    if (ids.length === 0) return { contacts: 0, operationId: null };
    if (!first.next)
      return this.updateNow(Object.assign(new UpdateContacts(), command, { context: own }), ids);

    let contacts = 0;
    const lines = async function* (this: UpdateContactsHandler): AsyncGenerator<Uint8Array> {
      for (let page = first; ; page = await this.page(command, condition, page.next)) {
        contacts += page.rows.length;
        yield Buffer.from(page.rows.map(({ id }) => `${id}\n`).join(''));
        if (!page.next) return;
      }
    }.bind(this);
    const { organizationId: _of, ...changes } = fields;
    const scopes = Object.entries({ ...CHANGED_SCOPES, ...CHOICE_SCOPES }).flatMap(([field, scope]) =>
      (changes as { [field: string]: unknown })[field] === undefined ? [] : [scope],
    );
    const operationId = await this.jobs.upload(
      context,
      lines(),
      () => undefined,
      async (stored, size) => {
        await context.requireAccess?.();
        await this.jobs.queue(stored, planOfUpdate(changes, [SCOPE, ...new Set(scopes)]), size);
        return stored.id;
      },
    );
    return { contacts, operationId };
  }

  private page(
    { organizationId }: UpdateContacts,
    condition: Condition,
    after: RowPage<{ id: string }>['next'],
  ): Promise<RowPage<{ id: string }>> {
    const listing = { organizationId, limit: MOST_UPDATED, sort: 'createdAt', after };
    return findRows(this.reads, listing, CONTACT_PAGE, { conditions: [condition], kind: 'export' });
  }
}
