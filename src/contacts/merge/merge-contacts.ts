import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { EventStore, type Folded, type JsonObject, type StreamWrite } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Ids, Input, invalid, isId, Operation, RecordInput, RpcError } from '#libs/rpc';
import { CustomFields } from '../../fields/index.js';
import { type ContactRecord, contactSchema, recordFromHistory } from '../contact-record.js';
import { contactWrite } from '../contact-stream.js';
import { Consents } from '../consent/consents.js';
import {
  contact,
  type Contact,
  CONTACT_DETAILS,
  type ContactChanges,
  type ContactEvent,
  existingContact,
  type ExistingContact,
  updateContact,
} from '../contact.js';
import { MOST_EXTERNAL_IDS } from '../contact-columns.js';
import { externalIdKey } from '../external-ids.js';
import { emailsOf } from '../erasure/contact-erasure.js';
import { cascadeMerge } from './cascade-merge.js';
import { MergedLinks } from './merged-links.js';

@Operation({
  name: 'contact.merge-contacts',
  object: 'contact',
  summary: 'Merge contacts of the same person',
  description:
    'Merges the contacts in `otherIds` into the contact `contactId`, and returns that contact. Their lists, tags, notes, signatures and consents move ' +
    'to it, and their details fill its empty fields. Several signatures of one petition become one. If one of them ' +
    'has unsubscribed, or has opted out with any of their addresses, the contact is unsubscribed. ' +
    'The others are then deleted, and requests with their ids return 404 with the reason `MERGED` and `mergedInto`. You ' +
    'can’t undo a merge, but the contact’s history keeps all their details.',
  answers: contactSchema,
  reasons: ['MERGED'],
})
export class MergeContacts extends RecordInput('contactId') {
  @Ids({ max: 10, description: 'Contacts of the same person, to be merged into the contact.' })
  otherIds!: string[];
}

type Existing = Folded<Contact> & { id: string; state: ExistingContact };

@CommandHandler(MergeContacts)
export class MergeContactsHandler implements ICommandHandler<MergeContacts> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly projections: Projections,
    private readonly consents: Consents,
    private readonly links: MergedLinks,
    private readonly fields: CustomFields,
  ) {}

  async execute(command: MergeContacts): Promise<ContactRecord> {
    const { organizationId, contactId } = command;
    const otherIds = [...new Set(command.otherIds)];
    // Their own commands: the request's Idempotency-Key belongs to the merge.
    const { idempotencyKey: _, ...context } = command.context;
    const step = Object.assign(new MoveLinks(), { organizationId, context });
    await this.commands.run(command, () => this.decide(command, otherIds, step));
    for (const otherId of otherIds) await this.links.moveLate(step, contactId, otherId);
    await this.claimExternalIds(step, contactId);
    const folded = await this.records.look(contact, organizationId, contactId);
    const record = recordFromHistory(organizationId, contactId, folded);
    await this.fields.name(organizationId, [record]);
    return record;
  }

  /** A unique key cannot change hands within one append: the erasures have released them. */
  private async claimExternalIds(step: MoveLinks, contactId: string): Promise<void> {
    const { organizationId } = step;
    const { state, version } = await this.records.load(contact, organizationId, contactId);
    if (state.status !== 'standing' || state.externalIds.length === 0) return;
    const keys = state.externalIds.map(externalIdKey);
    const owners = await this.commands.findOwners(organizationId, keys);
    for (const [n, key] of keys.entries())
      if (owners[n] === undefined) await this.commands.claim(step, { streamId: contactId, version }, key);
  }

  /** The contact that stays, and the others that are not merged into it yet. @throws RpcError NOT_FOUND */
  private async load(
    { organizationId, contactId }: MergeContacts,
    otherIds: readonly string[],
  ): Promise<{ survivor: Existing; others: Existing[] }> {
    const loaded = await this.records.loadMany(
      contact,
      organizationId,
      [contactId, ...otherIds].filter(isId),
    );
    const find = (id: string): Existing => {
      const folded = loaded.get(id);
      if (!folded || folded.state.status === 'unknown')
        throw new RpcError(
          'NOT_FOUND',
          `No contact ${id.slice(0, 100)} exists in your organization: nothing was merged.`,
        );
      return { ...folded, id, state: existingContact(folded.state) };
    };
    const survivor = find(contactId);
    const isDone = (id: string) => {
      const state = loaded.get(id)?.state;
      return state?.status === 'erased' && state.mergedInto === contactId;
    };
    return { survivor, others: otherIds.filter((id) => !isDone(id)).map(find) };
  }

  private async decide(
    command: MergeContacts,
    otherIds: readonly string[],
    step: MoveLinks,
  ): Promise<Decision> {
    const { organizationId, contactId } = command;
    const { survivor, others } = await this.load(command, otherIds);
    if (otherIds.includes(contactId))
      throw invalid([{ path: 'otherIds', message: 'must not contain contactId, the contact that is kept' }]);
    if (others.length === 0)
      return { recordId: contactId, writes: [contactWrite(contactId, survivor.version, [])] };
    // The links' tables must contain what the contacts were linked to until now.
    await this.projections.catchUpWithLog();
    const ids = others.map(({ id }) => id);
    await this.links.makeRoom(step, contactId, ids);
    const moved = await this.links.move(command, contactId, ids);
    const addresses = [survivor, ...others].flatMap(({ state: { details, subscribed } }) =>
      details.email === null ? [] : [{ email: details.email, isUnsubscribed: !subscribed }],
    );
    const reads = { records: this.records, store: this.store };
    const merged = { survivorId: contactId, otherIds: ids, addresses };
    const cascaded = await cascadeMerge(reads, organizationId, merged);
    const isRefused = cascaded.refused || addresses.some(({ isUnsubscribed }) => isUnsubscribed);
    const changes = mergedFields(survivor.state, others);
    const events: ContactEvent[] = [
      ...updateContact(survivor.state, isRefused ? { ...changes, subscribed: false } : changes),
      {
        type: 'DuplicatesMerged',
        data: { contactIds: ids },
        personal: {
          duplicates: await Promise.all(others.map((other) => this.duplicate(organizationId, other))),
        },
      },
    ];
    return {
      recordId: contactId,
      writes: [
        // Before the contact's own events: the newest consent is the one that counts.
        ...(await this.consents.copies(organizationId, contactId, ids)),
        ...moved.writes,
        ...cascaded.writes,
        contactWrite(contactId, survivor.version, events),
        ...others.map(({ id, version }): StreamWrite =>
          contactWrite(id, version, [
            { type: 'ContactMerged', data: { into: contactId } },
            { type: 'ContactErased', data: {} },
          ]),
        ),
      ],
      guards: cascaded.guards,
      claims: moved.claims,
      releases: moved.releases,
      erases: ids,
    };
  }

  private async duplicate(
    organizationId: string,
    other: Existing,
  ): Promise<{ contactId: string; emails: string[]; record: JsonObject }> {
    const record = recordFromHistory(organizationId, other.id, other);
    return {
      contactId: other.id,
      emails: await emailsOf(this.store, organizationId, other.id, other),
      record: JSON.parse(JSON.stringify(record)) as JsonObject,
    };
  }
}

/** A step of a merge before or after it. Not an operation. */
class MoveLinks extends Input {}

/** What the others add to the contact: its own values stay. */
export function mergedFields(
  { details, externalIds, customFields }: ExistingContact,
  others: readonly { state: ExistingContact }[],
): ContactChanges {
  const changes: ContactChanges = {};
  for (const detail of CONTACT_DETAILS) {
    if (detail === 'email' || details[detail] !== null) continue;
    const value = others.map(({ state }) => state.details[detail]).find((one) => one !== null);
    if (value !== undefined) changes[detail] = value;
  }
  const ids = [...new Set([...externalIds, ...others.flatMap(({ state }) => state.externalIds)])];
  if (ids.length > externalIds.length) changes.externalIds = ids.slice(0, MOST_EXTERNAL_IDS);
  const values = Object.assign(
    {},
    ...others.map(({ state }) => state.customFields).toReversed(),
    customFields,
  ) as NonNullable<ContactChanges['customFields']>;
  if (Object.keys(values).length > 0) changes.customFields = values;
  return changes;
}
