import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Requests } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { type Condition, findRows, type RowPage } from '#libs/projections';
import { Resources } from '#libs/resources';
import {
  Flag,
  Ids,
  invalid,
  isId,
  Keyed,
  Nested,
  Operation,
  recordSchema,
  requireScope,
  Text,
  textOrNull,
} from '#libs/rpc';
import { type GivenValues, MOST_VALUE_BYTES } from '../../../fields/index.js';
import { ContactUpdates } from '../../contact-updates.js';
import { CONTACT_PAGE, ContactsTable } from '../../contacts-table.js';
import {
  CHOICE_SCOPES,
  ContactChoice,
  chosenContacts,
  contactConditions,
  ContactFilters,
  FILTER_SCOPES,
} from '../../filters/contact-filters.js';
import { CHANGED_SCOPES, ChangesGroups } from '../../groups/assigned-groups.js';
import { MOST_UPDATED } from './contact-update-runs.js';
import { ImportJobs } from './import-jobs.js';
import { planOfUpdate, SCOPE } from './import-plan.js';

/** `dryRun` counts at most this many. */
const MOST_COUNTED = 1_000_000;

/** The filters of contact.list-contacts. */
class MatchingContacts extends ContactFilters {}

/** Contacts to update, and the scopes that choosing them needs. */
type Chosen = {
  filters: Partial<MatchingContacts>;
  conditions: readonly (Condition | undefined)[];
  scopes: string[];
};

type UpdateAnswer = { contacts: number; operationId: string | null; updateId: string | null };

@Operation({
  name: 'contact.update-contacts',
  object: 'update',
  summary: 'Update many contacts',
  description:
    'Sets fields of many contacts to the same values, and adds or removes tags and lists. Send one of `contactIds`, ' +
    '`segmentId` and `matching`. Changes only the fields you send; `null` clears a field. No one is subscribed.\n\n' +
    'Up to 1,000 contacts are updated immediately. If one of the `contactIds` does not exist, nothing ' +
    'changes. Fields change first, for all contacts or for none, and then tags and lists, one at a time. ' +
    'After an error, you can safely send the request again.\n\n' +
    'Larger updates, with `segmentId` or `matching`, run in the background. The contacts are chosen when ' +
    'the request arrives, so contacts that match later are not changed. `operationId` is the id of an import: `import.get-import` returns its progress, and ' +
    '`import.cancel-import` ends it. It stops if the API key is revoked, or the user loses a permission that it needs.\n\n' +
    'For 24 hours, contact.undo-update undoes the changes of tags and lists. All events of the update have `updateId` as their `requestId`. If you send `X-Request-Id`, send a new UUID with each request: `updateId` is null for other values.',
  answers: recordSchema({
    contacts: {
      type: 'integer',
      description: `The number of contacts, including those that already have the values. \`dryRun\` counts up to ${MOST_COUNTED.toLocaleString('en')}.`,
    },
    operationId: { ...textOrNull, description: 'null with `dryRun`, and if all contacts are updated.' },
    updateId: {
      ...textOrNull,
      description: 'null with `dryRun`, without tags and lists, and if your X-Request-Id is not a UUID.',
    },
  }),
  get exactlyOne() {
    return ['contactIds', ...Object.keys(CHOICE_SCOPES), 'matching'];
  },
  get fieldScopes() {
    return { ...CHANGED_SCOPES, ...CHOICE_SCOPES, matching: 'contact:read' };
  },
})
@ChangesGroups
export class UpdateContacts extends ContactChoice {
  @Ids({ max: MOST_UPDATED, optional: true })
  contactIds?: string[];

  @Nested(() => MatchingContacts, {
    optional: true,
    description: 'All contacts that match these filters of `contact.list-contacts`; `{}` matches all.',
  })
  matching?: MatchingContacts;

  @Flag({ optional: true, description: 'Changes nothing and returns the number of contacts.' })
  dryRun?: boolean;

  @Text({ max: 500, optional: true, nullable: true })
  zip?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  city?: string | null;

  @Text({ max: 500, optional: true, nullable: true, description: 'State, county or province.' })
  region?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;

  @Flag({
    only: false,
    optional: true,
    description:
      '`false` unsubscribes the contacts, up to 1,000 per request. You cannot undo this: subscribing someone again needs their consent.',
  })
  subscribed?: false;

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
    private readonly contacts: ContactsTable,
  ) {}

  async execute(command: UpdateContacts): Promise<UpdateAnswer> {
    const { contactIds, dryRun } = command;
    if (contactIds && dryRun) return this.countGiven(command, contactIds);
    if (contactIds) return this.requests.runOutside(command, () => this.updateNow(command, contactIds));
    const chosen = await this.choose(command);
    if (!dryRun) return this.requests.runOutside(command, () => this.updateChosen(command, chosen));
    await this.updates.require(command);
    const { organizationId } = command;
    const filters = { ...chosen.filters, organizationId };
    const contacts = await this.contacts.count(this.reads, filters, chosen.conditions, MOST_COUNTED);
    return { contacts, operationId: null, updateId: null };
  }

  private async countGiven(command: UpdateContacts, contactIds: readonly string[]): Promise<UpdateAnswer> {
    const ids = [...new Set(contactIds)];
    await this.updates.require(command);
    await this.updates.requireContacts(command.organizationId, ids);
    return { contacts: ids.length, operationId: null, updateId: null };
  }

  /** @throws RpcError BAD_REQUEST, INSUFFICIENT_PERMISSIONS or NOT_FOUND if a filter is not allowed. */
  private async choose(command: UpdateContacts): Promise<Chosen> {
    const { organizationId, context, matching } = command;
    if (!matching) {
      const condition = await chosenContacts(command, this.resources);
      return { filters: {}, conditions: [condition], scopes: scopesOf(command, CHOICE_SCOPES) };
    }
    if (matching.organizationId !== undefined)
      throw invalid([{ path: 'matching.organizationId', message: 'is not accepted: send organizationId' }]);
    for (const [field, scope] of Object.entries(FILTER_SCOPES))
      if (valueOf(matching, field) !== undefined) requireScope(context.scopes, scope, `matching.${field}`);
    const filters = Object.assign(new MatchingContacts(), matching, { organizationId });
    return {
      filters,
      conditions: await contactConditions(filters, this.resources),
      scopes: scopesOf(matching, FILTER_SCOPES),
    };
  }

  private async updateNow(command: UpdateContacts, contactIds: readonly string[]): Promise<UpdateAnswer> {
    const ids = [...new Set(contactIds)];
    const { idempotencyKey: _key, onReplay: _replay, ...context } = command.context;
    const { requestId } = context;
    const updateId = changesGroups(command) && isId(requestId) ? requestId : null;
    await this.updates.update(Object.assign(new UpdateContacts(), command, { context }), ids);
    return { contacts: ids.length, operationId: null, updateId };
  }

  private async updateChosen(command: UpdateContacts, chosen: Chosen): Promise<UpdateAnswer> {
    const { context, ...fields } = command;
    await this.updates.require(command);
    const first = await this.page(command, chosen, undefined);
    const ids = first.rows.map(({ id }) => id);
    if (ids.length === 0) return { contacts: 0, operationId: null, updateId: null };
    if (!first.next) return this.updateNow(command, ids);
    // The previous release would run such an update without unsubscribing anyone.
    if (command.subscribed !== undefined)
      throw invalid([
        {
          path: 'subscribed',
          message: `must be left out for more than ${MOST_UPDATED} contacts: choose fewer`,
        },
      ]);

    let contacts = 0;
    const lines = async function* (this: UpdateContactsHandler): AsyncGenerator<Uint8Array> {
      for (let page = first; ; page = await this.page(command, chosen, page.next)) {
        contacts += page.rows.length;
        yield Buffer.from(page.rows.map(({ id }) => `${id}\n`).join(''));
        if (!page.next) return;
      }
    }.bind(this);
    const { organizationId: _of, matching: _matching, dryRun: _dryRun, ...changes } = fields;
    const scopes = [...scopesOf(changes, CHANGED_SCOPES), ...chosen.scopes];
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
    return { contacts, operationId, updateId: changesGroups(command) ? operationId : null };
  }

  private page(
    { organizationId }: UpdateContacts,
    { filters, conditions }: Chosen,
    after: RowPage<{ id: string }>['next'],
  ): Promise<RowPage<{ id: string }>> {
    const listing = { ...filters, organizationId, limit: MOST_UPDATED, sort: 'createdAt', after };
    return findRows(this.reads, listing, CONTACT_PAGE, { conditions, kind: 'export' });
  }
}

function changesGroups(command: UpdateContacts): boolean {
  return scopesOf(command, CHANGED_SCOPES).length > 0;
}

function scopesOf(fields: object, scopes: Record<string, string>): string[] {
  return Object.entries(scopes).flatMap(([field, scope]) =>
    valueOf(fields, field) === undefined ? [] : [scope],
  );
}

function valueOf(fields: object, field: string): unknown {
  return (fields as { [field: string]: unknown })[field];
}
