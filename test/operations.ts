import { CommandBus } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { newId } from '#libs/random';
import { type OwnReason, systemInput } from '#libs/rpc';
import { FinishBroadcast } from '../src/broadcasts/index.js';
import { type GroupKind, groupsOfContacts } from '../src/contacts/index.js';
import '../src/modules.js';
import { CreateNote, MAX_NOTES, notesWrite } from '../src/notes/index.js';
import { aSignature, csv, type Fields, type Fixture, png } from './fixture.js';
import { type Answer } from './harness.js';

type Ask = (own: Fixture) => Fields | Promise<Fields>;
type Provoke = (own: Fixture) => Promise<Answer>;

/**
 * The tests' knowledge of an operation. `operations.e2e.spec.ts` fails if an operation has no row, a row has no
 * operation, or a required column is missing.
 */
export type OperationRow = {
  /** The required scope. */
  scope: string;
  /**
   * Fields that refer to records of another service, with the additional scope that each requires. Null if the
   * operation's own scope is enough: ids cannot be guessed, so an id on its own reveals nothing. `include=tags` is a word of a
   * field.
   */
  fields?: { [field: string]: string | null };
  /** Valid input from a new fixture. */
  ask: Ask;
  /** Input for conditions with a different cost. */
  asks?: { [condition: string]: Ask };
  /** Input that causes different statements. */
  otherAsks?: Ask[];
  /** The server that serves a GET. With `asOf` it is always the replica. */
  answeredBy?: 'replica' | { primary: string };
  /** For operations that create a record: how to create the same record again. */
  create?: CreateColumn;
  /** How to cause each declared reason. */
  reasons?: { [reason in OwnReason]?: Provoke };
  /** What limits parallel callers to a few. */
  bottleneck?: 'streams of a key' | 'webhooks of an organization' | 'one record';
};

/** How a kind of record is named, changed, found and deleted. */
export type CreateColumn = {
  /** The field with the record's name. */
  field: 'name' | 'email' | 'url';
  nameOf(word: string): string;
  /** Omitted if the record never changes. */
  update?: string;
  /** Further fields that a create requires. */
  also?: object;
  /** A change that keeps the name. */
  otherChange: object;
  list: string;
  end: string;
};

/** Records that are named by `name`. */
const named = { field: 'name' as const, nameOf: (word: string) => `Name ${word}` };

const now = () => ({ asOf: new Date().toISOString() });

const BY_KEY = {
  primary: 'reads one record by its key: to ask whether the replica has it costs the primary as much',
};
const NOTES = { primary: 'reads the few notes of one contact by their key' };
const MAY_SEAL = { primary: 'may have to seal first' };

/** Creates two records with the same slug. @returns the second response. */
/** A petition with a thank-you email. */
async function thanking(own: Fixture, content = 'We won.'): Promise<Fields> {
  const { petitionId } = await own.a('petition');
  await own.ask('petition.update-petition', { petitionId, thankYouMail: { subject: 'Thanks', content } });
  return { petitionId };
}

/** Its email uses a custom field that was deleted since. */
async function brokenThanks(own: Fixture): Promise<Fields> {
  const { fieldId } = await own.a('field');
  const { key } = await own.ask('field.get-field', { fieldId });
  const fields = await thanking(own, `{{ contact.fields.${key as string} }}`);
  await own.ask('field.delete-field', { fieldId });
  return fields;
}

async function takenSlug(own: Fixture, kind: 'petition' | 'post' | 'form'): Promise<Answer> {
  const create = `${kind}.create-${kind}`;
  await own.ask(create, { name: 'First', slug: 'taken' });
  return own.send(create, { name: 'Second', slug: 'taken' });
}

/** Changes a table directly, like an administrator with write access. */
function changeTable(own: Fixture, statement: string): Promise<unknown> {
  return own.api.database.source.query(`${statement} WHERE organization_id = $1`, [own.organizationId]);
}

/** Creates the maximum of keys, including that of the fixture's client. */
async function createAllKeys(own: Fixture): Promise<string> {
  const made = await Promise.all(
    Array.from({ length: 100 }, () => own.api.createKey(own.organizationId, { rateLimit: 1 })),
  );
  return made[0]!.id;
}

function broadcastWith(content: string) {
  return async (own: Fixture) => {
    const { broadcastId } = await own.ask('broadcast.create-broadcast', { name: 'May', content });
    return { broadcastId };
  };
}

/** Adds a new contact to a group, such as a list. */
async function linked(
  own: Fixture,
  kind: string,
  to = own.the(kind),
): Promise<Fields & { contactIds: string[] }> {
  const fields = { ...(await to), contactIds: [(await own.a('contact')).contactId!] };
  await own.ask(`${kind}.add-contacts`, fields);
  return fields;
}

async function signed(own: Fixture): Promise<Fields> {
  const fields = { ...(await own.the('petition')), ...(await own.a('contact')) };
  await own.ask('petition.add-signature', fields);
  return fields;
}

/** The id of a contact that was merged into another one. */
async function merged(own: Fixture): Promise<string> {
  const { contactId } = await own.a('contact');
  await own.ask('contact.merge-contacts', { ...(await own.a('contact')), otherIds: [contactId] });
  return contactId!;
}

/** Only 20 imports may wait. */
async function endImports(own: Fixture): Promise<void> {
  await changeTable(own, `UPDATE contact_imports SET status = 'CANCELLED'`);
}

async function asMerged(own: Fixture, operation: string, fields: Fields = {}): Promise<Answer> {
  return own.send(operation, { ...fields, contactId: await merged(own) });
}

/** Filters of contacts, including those of a list, a petition and a tag. */
const OF_CONTACTS: Ask[] = [
  () => ({ email: 'ada@example.org' }),
  () => ({ city: 'London', subscribed: 'true' }),
  async (own) => ({ petitionId: (await signed(own)).petitionId }),
  ...groupsOfContacts().map(({ kind, resource: { idField } }): Ask => async (own) => ({
    [idField]: (await linked(own, kind))[idField],
  })),
  (own) => own.the('segment'),
];

/** A scope of each kind of groups, by the name that a field gives the kind. */
const ofGroups = (right: 'read' | 'write', field: (group: GroupKind) => string) =>
  Object.fromEntries(groupsOfContacts().map((group) => [field(group), `${group.kind}:${right}`]));

/** Fields of commands on one contact that add it to groups. */
const ASSIGNED = ofGroups('write', ({ kind, assignedBy }) =>
  assignedBy === 'name' ? `${kind}s` : `${kind}Ids`,
);

/** Fields of commands on many contacts. */
const CHANGED = Object.fromEntries(
  groupsOfContacts().flatMap(({ kind, assignedBy }) => {
    const named = `${kind[0]!.toUpperCase()}${kind.slice(1)}${assignedBy === 'name' ? 's' : 'Ids'}`;
    return [`add${named}`, `remove${named}`].map((field) => [field, `${kind}:write`]);
  }),
);

const CITY = { field: 'city', op: 'is', value: 'London' };

/** A filter with every kind of condition. */
async function manyConditions(own: Fixture) {
  const [{ listId }, { petitionId }] = [await linked(own, 'list'), await signed(own)];
  const { broadcastId } = await own.the('broadcast');
  return {
    any: [
      { all: [{ list: listId }, { field: 'city', op: 'is', value: 'London' }] },
      { not: { any: [{ signed: petitionId, inLast: 30 }, { received: broadcastId }] } },
    ],
  };
}

/** The rows of a kind of groups. All kinds have the same operations. */
function operationsOfGroups({ kind, resource: { idField } }: GroupKind): Record<string, OperationRow> {
  const [reads, writes] = [`${kind}:read`, `${kind}:write`];
  const list = `${kind}.list-${kind}s`;
  return {
    [`${kind}.create-${kind}`]: {
      scope: writes,
      ask: (own) => ({ name: own.unique() }),
      create: {
        ...named,
        update: `${kind}.update-${kind}`,
        otherChange: { description: 'Other' },
        list,
        end: `${kind}.delete-${kind}`,
      },
    },
    [`${kind}.get-${kind}`]: { scope: reads, answeredBy: BY_KEY, ask: (own) => own.the(kind) },
    [list]: {
      scope: reads,
      fields: { contactId: 'contact:read' },
      answeredBy: 'replica',
      ask: () => ({}),
      otherAsks: [async (own) => ({ contactId: (await linked(own, kind)).contactIds[0] })],
      reasons: { MERGED: (own) => asMerged(own, list) },
    },
    [`${kind}.update-${kind}`]: {
      scope: writes,
      ask: async (own) => ({ ...(await own.a(kind)), description: own.unique() }),
    },
    [`${kind}.delete-${kind}`]: {
      scope: writes,
      ask: (own) => own.a(kind),
      otherAsks: [async (own) => ({ [idField]: (await linked(own, kind, own.a(kind)))[idField] })],
    },
    [`${kind}.add-contacts`]: {
      scope: writes,
      fields: { contactIds: null },
      ask: async (own) => ({ ...(await own.the(kind)), contactIds: [(await own.a('contact')).contactId] }),
    },
    [`${kind}.remove-contacts`]: {
      scope: writes,
      fields: { contactIds: null },
      ask: (own) => linked(own, kind),
    },
  };
}

export const OPERATIONS: { [operation: string]: OperationRow } = {
  'contact.create-contact': {
    scope: 'contact:write',
    fields: ASSIGNED,
    ask: (own) => own.person(),
    otherAsks: [
      async (own) => {
        const person = own.person();
        await own.ask('contact.create-contact', person);
        return person;
      },
      async (own) => {
        const person = own.person();
        await own.ask('contact.create-contact', person);
        return { ...person, city: 'Paris', onConflict: 'update' };
      },
      (own) => ({ ...own.person(), subscribed: true, consent: { text: 'Keep me informed' } }),
    ],
    create: {
      field: 'email',
      nameOf: (word) => `${word}@example.org`,
      update: 'contact.update-contact',
      otherChange: { firstName: 'Ada' },
      list: 'contact.list-contacts',
      end: 'contact.delete-contact',
    },
    reasons: {
      EMAIL_TAKEN: async (own) => {
        const { email } = own.person();
        await own.ask('contact.create-contact', { email });
        return own.send('contact.create-contact', { email: email.toUpperCase(), firstName: 'Ada' });
      },
      EXTERNAL_ID_TAKEN: async (own) => {
        await own.ask('contact.create-contact', { ...own.person(), externalIds: ['a:1'] });
        return own.send('contact.create-contact', { ...own.person(), externalIds: ['a:1'] });
      },
    },
  },
  'contact.get-contact': {
    scope: 'contact:read',
    answeredBy: BY_KEY,
    ask: (own) => own.a('contact'),
    fields: {
      ...ofGroups('read', ({ kind }) => `include=${kind}s`),
      'include=deliveries': 'broadcast:read',
      'include=notes': 'note:read',
      'include=signatures': 'petition:read',
    },
    asks: {
      'as it was': async (own) => ({ ...(await own.a('contact')), asOf: new Date().toISOString() }),
      'by external id': async (own) => {
        const externalId = `test:${own.unique()}`;
        await own.ask('contact.create-contact', { ...own.person(), externalIds: [externalId] });
        return { externalId };
      },
      'by email': async (own) => {
        const { email } = own.person();
        await own.ask('contact.create-contact', { email });
        return { email };
      },
      'with all that belongs to it': async (own) => ({
        contactId: (await linked(own, 'tag')).contactIds[0],
        include: 'tags,lists,notes,signatures,deliveries,consents',
      }),
    },
    reasons: { MERGED: (own) => asMerged(own, 'contact.get-contact') },
  },
  'contact.list-contacts': {
    scope: 'contact:read',
    fields: {
      ...ofGroups('read', ({ resource }) => resource.idField),
      petitionId: 'petition:read',
      segmentId: 'segment:read',
    },
    answeredBy: 'replica',
    ask: () => ({}),
    asks: { q: () => ({ q: 'ada' }) },
    otherAsks: [
      ...OF_CONTACTS,
      () => ({ sort: 'email' }),
      async (own) => ({ ...(await own.the('list')), ...now() }),
    ],
  },
  'contact.update-contact': {
    scope: 'contact:write',
    fields: ASSIGNED,
    ask: async (own) => ({ ...(await own.a('contact')), city: own.unique() }),
    otherAsks: [
      async (own) => ({
        ...(await own.a('contact')),
        tags: [own.unique()],
        listIds: [(await own.the('list')).listId],
      }),
      async (own) => ({
        ...(await own.a('contact')),
        subscribed: true,
        consent: { source: 'Telephone', at: '2024-05-31T12:00:00Z' },
      }),
    ],
    reasons: {
      MERGED: (own) => asMerged(own, 'contact.update-contact'),
      EMAIL_TAKEN: async (own) => {
        const { email } = own.person();
        await own.ask('contact.create-contact', { email });
        return own.send('contact.update-contact', { ...(await own.a('contact')), email });
      },
      EXTERNAL_ID_TAKEN: async (own) => {
        await own.ask('contact.create-contact', { ...own.person(), externalIds: ['b:1'] });
        return own.send('contact.update-contact', { ...(await own.a('contact')), externalIds: ['b:1'] });
      },
    },
  },
  'contact.export-person': {
    scope: 'contact:export',
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: (own) => own.a('contact'),
    reasons: { MERGED: (own) => asMerged(own, 'contact.export-person') },
  },
  'contact.update-contacts': {
    scope: 'contact:write',
    fields: {
      ...CHANGED,
      segmentId: 'segment:read',
      matching: 'contact:read',
    },
    ask: async (own) => ({ contactIds: [(await own.a('contact')).contactId], city: own.unique() }),
    otherAsks: [
      async (own) => ({ ...(await own.a('segment')), addTags: [own.unique()] }),
      async (own) => {
        const { contactIds } = await linked(own, 'list');
        const { listId } = await own.a('list');
        return {
          contactIds: [...contactIds, (await own.a('contact')).contactId],
          addTags: [own.unique()],
          addListIds: [listId],
        };
      },
      async (own) => {
        const { listId, contactIds } = await linked(own, 'list');
        return { contactIds, removeTags: ['Donor'], removeListIds: [listId] };
      },
    ],
  },
  'contact.undo-update': {
    scope: 'contact:write',
    ask: async (own) => {
      const { contactId } = await own.a('contact');
      const { listId } = await own.a('list');
      const changes = { contactIds: [contactId], addTags: [own.unique()], addListIds: [listId] };
      const { updateId } = await own.ask('contact.update-contacts', changes);
      return { updateId };
    },
    reasons: {
      IMPORT_UNFINISHED: async (own) => {
        const { importId: updateId } = await own.a('import');
        return own.send('contact.undo-update', { updateId });
      },
      UNDO_EXPIRED: async (own) => {
        const { importId: updateId } = await own.a('import');
        await changeTable(
          own,
          `UPDATE contact_imports SET status = 'DONE', finished_at = clock_timestamp() - interval '2 days'`,
        );
        return own.send('contact.undo-update', { updateId });
      },
    },
  },
  'contact.list-duplicates': {
    scope: 'contact:read',
    answeredBy: 'replica',
    ask: () => ({}),
  },
  'contact.list-consents': {
    scope: 'contact:read',
    answeredBy: { primary: 'reads the few events of one person that give or refuse consent, by their index' },
    ask: (own) => own.a('contact'),
    otherAsks: [
      async (own) => {
        const consent = { text: 'Keep me informed', ip: '203.0.113.7' };
        const person = { ...own.person(), subscribed: true, consent };
        const { contactId } = await own.ask('contact.create-contact', person);
        return { contactId };
      },
    ],
    reasons: { MERGED: (own) => asMerged(own, 'contact.list-consents') },
  },
  'contact.delete-contact': {
    scope: 'contact:write',
    ask: (own) => own.a('contact'),
    otherAsks: [
      // A contact with a signature and several lists and tags.
      async (own) => {
        const { contactId } = await signed(own);
        for (const { kind } of groupsOfContacts())
          for (const to of [await own.the(kind), await own.a(kind)])
            await own.ask(`${kind}.add-contacts`, { ...to, contactIds: [contactId] });
        return { contactId };
      },
      async (own) => {
        const { contactId } = await own.a('contact');
        await own.ask('contact.delete-contact', { contactId });
        return { contactId };
      },
    ],
    reasons: { MERGED: (own) => asMerged(own, 'contact.delete-contact') },
  },
  'contact.delete-contacts': {
    scope: 'contact:write',
    ask: async (own) => ({
      contactIds: [(await own.a('contact')).contactId, (await signed(own)).contactId],
    }),
    reasons: {
      MERGED: async (own) => own.send('contact.delete-contacts', { contactIds: [await merged(own)] }),
    },
  },
  'contact.merge-contacts': {
    scope: 'contact:write',
    ask: async (own) => ({
      ...(await own.a('contact')),
      otherIds: [(await own.a('contact')).contactId],
    }),
    otherAsks: [
      async (own) => ({
        contactId: (await signed(own)).contactId,
        otherIds: [(await signed(own)).contactId, (await linked(own, 'list')).contactIds[0]],
      }),
    ],
    reasons: {
      MERGED: async (own) => {
        const other = await merged(own);
        return own.send('contact.merge-contacts', { ...(await own.a('contact')), otherIds: [other] });
      },
    },
  },
  'contact.import-contacts': {
    scope: 'contact:write',
    fields: { listId: 'list:write' },
    bottleneck: 'streams of a key',
    ask: (own) =>
      csv('email,firstName', ...Array.from({ length: 10 }, () => `${own.unique()}@example.org,Ada`)),
    otherAsks: ['fail', 'update'].map((onConflict) => async (own: Fixture) => {
      const { email } = own.person();
      await own.ask('contact.create-contact', { email });
      const lines = csv('email,zip,tags', `${email},69001,Donor`, `${own.unique()}@example.org,1,`);
      return { ...lines, onConflict };
    }),
  },
  'contact.export-contacts': {
    scope: 'contact:read',
    fields: {
      ...ofGroups('read', ({ resource }) => resource.idField),
      petitionId: 'petition:read',
      segmentId: 'segment:read',
    },
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: async (own) => ({ listId: (await linked(own, 'list')).listId }),
    otherAsks: [
      () => ({}),
      () => ({ q: 'ada' }),
      () => ({ q: 'a' }),
      () => ({ createdAfter: '2020-01-01T00:00:00Z' }),
      ...OF_CONTACTS,
    ],
  },
  'petition.create-petition': {
    scope: 'petition:write',
    fields: { imageId: null },
    ask: (own) => ({ name: own.unique(), goal: 9 }),
    create: {
      ...named,
      update: 'petition.update-petition',
      otherChange: { goal: 7, title: 'Other' },
      list: 'petition.list-petitions',
      end: 'petition.delete-petition',
    },
    reasons: { SLUG_TAKEN: (own) => takenSlug(own, 'petition') },
  },
  'petition.duplicate-petition': {
    scope: 'petition:write',
    ask: async (own) => ({ ...(await own.the('petition')), name: own.unique() }),
  },
  'petition.get-petition': {
    scope: 'petition:read',
    answeredBy: BY_KEY,
    ask: (own) => own.the('petition'),
  },
  'petition.get-stats': {
    scope: 'petition:read',
    answeredBy: 'replica',
    ask: (own) => own.the('petition'),
  },
  'petition.retry-thank-you-mails': {
    scope: 'broadcast:send',
    ask: async (own) => ({ ...(await own.a('petition')), status: 'IN_DOUBT' }),
  },
  'petition.list-petitions': {
    scope: 'petition:read',
    answeredBy: 'replica',
    ask: () => ({}),
    otherAsks: [() => ({ status: 'CLOSED', outcome: 'WON', include: 'content' })],
  },
  'petition.update-petition': {
    scope: 'petition:write',
    fields: { imageId: null },
    ask: async (own) => ({ ...(await own.a('petition')), title: own.unique() }),
    otherAsks: [async (own) => ({ ...(await own.a('petition')), ...(await own.the('image')), goal: 7 })],
    reasons: {
      SLUG_TAKEN: async (own) => {
        await takenSlug(own, 'petition');
        return own.send('petition.update-petition', { ...(await own.a('draft')), slug: 'taken' });
      },
      PETITION_NOT_CLOSED: async (own) =>
        own.send('petition.update-petition', { ...(await own.a('petition')), outcome: 'WON' }),
    },
  },
  'petition.publish-petition': {
    scope: 'petition:write',
    ask: (own) => own.a('draft'),
    reasons: {
      PETITION_CLOSED: async (own) => {
        const fields = { name: 'Over', closesAt: '2020-01-01T00:00:00Z' };
        const { petitionId } = await own.ask('petition.create-petition', fields);
        return own.send('petition.publish-petition', { petitionId });
      },
    },
  },
  'petition.close-petition': {
    scope: 'petition:write',
    ask: (own) => own.a('petition'),
    reasons: {
      PETITION_NOT_PUBLISHED: async (own) => own.send('petition.close-petition', await own.a('draft')),
    },
  },
  'petition.delete-petition': {
    scope: 'petition:write',
    ask: (own) => own.a('draft'),
    reasons: {
      PETITION_PUBLISHED: async (own) => own.send('petition.delete-petition', await own.a('petition')),
    },
  },
  'petition.add-signature': {
    scope: 'petition:write',
    fields: { contactId: null, contact: 'contact:write', ...ASSIGNED },
    ask: async (own) => ({ ...(await own.the('petition')), ...(await own.a('contact')) }),
    asks: {
      'a new person': async (own) => ({ ...(await own.the('petition')), contact: own.person() }),
      again: signed,
    },
    otherAsks: [
      async (own) => {
        const fields = await signed(own);
        await own.ask('petition.remove-signature', fields);
        return { ...fields, comment: 'Again' };
      },
    ],
    reasons: {
      PETITION_NOT_PUBLISHED: async (own) =>
        own.send('petition.add-signature', { ...(await own.a('draft')), contact: own.person() }),
      PETITION_CLOSED: async (own) => {
        const { petitionId } = await own.a('petition');
        await own.ask('petition.close-petition', { petitionId });
        return own.send('petition.add-signature', { petitionId, contact: own.person() });
      },
    },
  },
  'petition.import-signatures': {
    scope: 'petition:write',
    fields: { listId: 'list:write' },
    bottleneck: 'streams of a key',
    ask: async (own) => {
      await endImports(own);
      return { ...csv('email,comment', `${own.unique()}@example.org,Yes`), ...(await own.the('petition')) };
    },
    otherAsks: [
      async (own) => ({
        ...csv('email,signedAt,tags', `${own.unique()}@example.org,2021-03-04,Donor`),
        ...(await own.the('petition')),
        ...(await own.the('list')),
        onConflict: 'update',
      }),
    ],
    reasons: {
      PETITION_NOT_PUBLISHED: async (own) =>
        own.send('petition.import-signatures', {
          ...csv('email', `${own.unique()}@example.org`),
          ...(await own.a('draft')),
        }),
    },
  },
  'petition.remove-signature': {
    scope: 'petition:write',
    fields: { contactId: null },
    ask: signed,
  },
  'petition.list-signatures': {
    scope: 'petition:read',
    fields: { contactId: null, q: 'contact:read' },
    answeredBy: 'replica',
    ask: (own) => own.the('petition'),
    otherAsks: [
      async (own) => ({ ...(await own.the('petition')), status: 'INVALIDATED' }),
      async (own) => ({ ...(await own.the('petition')), commentState: 'WAITING' }),
      async (own) => ({ ...(await own.the('petition')), suspicious: true }),
      async (own) => ({ contactId: (await signed(own)).contactId }),
      async (own) => ({ ...(await own.the('petition')), ...now() }),
    ],
    reasons: { MERGED: (own) => asMerged(own, 'petition.list-signatures') },
  },
  ...Object.fromEntries(
    ['petition.show-comment', 'petition.hide-comment'].map((operation): [string, OperationRow] => [
      operation,
      {
        scope: 'petition:write',
        ask: (own) => own.a('comment'),
        reasons: {
          async NO_PUBLIC_COMMENT(own) {
            const { signatureId } = await own.a('signature');
            return own.send(operation, { signatureId });
          },
        },
      },
    ]),
  ),
  'petition.record-offline-signatures': {
    scope: 'petition:write',
    ask: async (own) => ({
      ...(await own.the('petition')),
      count: 3,
      collectedOn: '2026-11-20',
      note: own.unique(),
    }),
    reasons: {
      async TOO_MANY_OFFLINE_COUNTS(own) {
        const { petitionId } = await own.a('petition');
        const fields = { petitionId, count: 1, collectedOn: '2026-11-20' };
        const recorded = await own.send('petition.record-offline-signatures', fields);
        await changeTable(
          own,
          `INSERT INTO offline_counts_v1.offline_counts
           SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*
           FROM offline_counts_v1.offline_counts c, generate_series(2, 2000)`,
        );
        // Repeating the first one still works.
        const repeated = await own.send('petition.record-offline-signatures', fields);
        expect([repeated.status, repeated.body]).toEqual([200, recorded.body]);
        return own.send('petition.record-offline-signatures', { ...fields, count: 2 });
      },
    },
  },
  'petition.withdraw-offline-signatures': {
    scope: 'petition:write',
    ask: (own) => own.a('offlineCount'),
  },
  'petition.list-offline-signatures': {
    scope: 'petition:read',
    answeredBy: 'replica',
    ask: async (own) => {
      await own.the('offlineCount');
      return {};
    },
    otherAsks: [
      (own) => own.the('petition'),
      () => ({ createdAfter: '2020-01-01T00:00:00Z', updatedBefore: '2099-01-01T00:00:00Z' }),
    ],
  },
  'petition.export-signatures': {
    scope: 'petition:read',
    fields: { contacts: 'contact:read' },
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: async (own) => ({ petitionId: (await aSignature(own)).petitionId, contacts: 'true' }),
    otherAsks: [
      (own) => own.the('petition'),
      async (own) => ({ ...(await own.the('petition')), contacts: 'true', format: 'csv', safe: 'true' }),
    ],
  },
  'petition.get-count-certificate': {
    scope: 'petition:read',
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: async (own) => ({ petitionId: (await aSignature(own)).petitionId }),
    reasons: {
      NOT_SEALED: async (own) => {
        const petition = await own.the('petition');
        await own.ask('history.get-checkpoint');
        await changeTable(own, 'UPDATE signed_notes SET note = upper(note)');
        return own.send('petition.get-count-certificate', petition);
      },
    },
  },
  'petition.get-delivery': {
    scope: 'petition:read',
    fields: { contacts: 'contact:read' },
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: async (own) => ({ petitionId: (await aSignature(own)).petitionId, contacts: 'true' }),
    otherAsks: [(own) => own.the('petition')],
  },
  'petition.invalidate-signatures': {
    scope: 'petition:write',
    ask: aSignature,
    otherAsks: [true, false].map((dryRun) => async (own: Fixture) => ({
      ...(await own.the('petition')),
      createdAfter: '2020-01-01T00:00:00Z',
      createdBefore: '2099-01-01T00:00:00Z',
      emailDomain: 'nowhere.invalid',
      dryRun,
    })),
  },
  'petition.restore-signatures': { scope: 'petition:write', ask: (own) => own.a('invalidation') },
  'petition.get-invalidation': {
    scope: 'petition:read',
    answeredBy: BY_KEY,
    ask: (own) => own.the('invalidation'),
  },
  'petition.list-invalidations': {
    scope: 'petition:read',
    answeredBy: 'replica',
    // The invalidation's details take a separate query.
    ask: async (own) => {
      await own.the('invalidation');
      return {};
    },
    otherAsks: [
      (own) => own.the('petition'),
      () => ({ createdAfter: '2020-01-01T00:00:00Z', updatedBefore: '2099-01-01T00:00:00Z' }),
    ],
  },
  'post.create-post': {
    scope: 'post:write',
    fields: { imageId: null, petitionId: null },
    ask: (own) => ({ name: own.unique() }),
    otherAsks: [(own) => ({ name: own.unique(), content: { blocks: [] } })],
    create: {
      ...named,
      update: 'post.update-post',
      otherChange: { title: 'Other' },
      list: 'post.list-posts',
      end: 'post.delete-post',
    },
    reasons: { SLUG_TAKEN: (own) => takenSlug(own, 'post') },
  },
  'post.get-post': { scope: 'post:read', answeredBy: BY_KEY, ask: (own) => own.the('post') },
  'post.list-posts': {
    scope: 'post:read',
    fields: { petitionId: null },
    answeredBy: 'replica',
    ask: () => ({}),
    otherAsks: [() => ({ status: 'PUBLISHED', include: 'content' })],
  },
  'post.update-post': {
    scope: 'post:write',
    fields: { imageId: null, petitionId: null },
    ask: async (own) => ({ ...(await own.a('post')), title: own.unique() }),
    reasons: {
      SLUG_TAKEN: async (own) => {
        await takenSlug(own, 'post');
        return own.send('post.update-post', { ...(await own.a('post')), slug: 'taken' });
      },
      POST_PUBLISHED: async (own) =>
        own.send('post.update-post', {
          ...(await own.a('publishedPost')),
          publishAt: '2099-01-01T00:00:00Z',
        }),
    },
  },
  'post.publish-post': { scope: 'post:write', ask: (own) => own.a('post') },
  'post.archive-post': {
    scope: 'post:write',
    ask: (own) => own.a('publishedPost'),
    reasons: { POST_NOT_PUBLISHED: async (own) => own.send('post.archive-post', await own.a('post')) },
  },
  'post.delete-post': { scope: 'post:write', ask: (own) => own.a('post') },
  'form.create-form': {
    scope: 'form:write',
    fields: { listIds: 'list:write', tagIds: 'tag:write' },
    ask: (own) => ({ name: own.unique() }),
    otherAsks: [
      async (own) => {
        const [{ listId }, { tagId }] = [await own.the('list'), await own.the('tag')];
        return { name: own.unique(), listIds: [listId], tagIds: [tagId] };
      },
    ],
    create: {
      ...named,
      update: 'form.update-form',
      otherChange: { title: 'Other' },
      list: 'form.list-forms',
      end: 'form.delete-form',
    },
    reasons: { SLUG_TAKEN: (own) => takenSlug(own, 'form') },
  },
  'form.get-form': { scope: 'form:read', answeredBy: BY_KEY, ask: (own) => own.the('form') },
  'form.list-forms': { scope: 'form:read', answeredBy: 'replica', ask: () => ({}) },
  'form.update-form': {
    scope: 'form:write',
    fields: { listIds: 'list:write', tagIds: 'tag:write' },
    ask: async (own) => ({ ...(await own.a('form')), title: own.unique() }),
    reasons: {
      SLUG_TAKEN: async (own) => {
        await takenSlug(own, 'form');
        return own.send('form.update-form', { ...(await own.a('form')), slug: 'taken' });
      },
    },
  },
  'form.get-stats': {
    scope: 'form:read',
    answeredBy: 'replica',
    ask: (own) => own.the('form'),
  },
  'form.delete-form': { scope: 'form:write', ask: (own) => own.a('form') },
  ...Object.fromEntries(groupsOfContacts().flatMap((group) => Object.entries(operationsOfGroups(group)))),
  'organization.get-organization': { scope: 'organization:read', answeredBy: BY_KEY, ask: () => ({}) },
  'organization.update-organization': {
    scope: 'organization:write',
    fields: { publicLog: 'history:read', imageId: null },
    bottleneck: 'one record',
    ask: (own) => ({ website: `https://${own.unique()}.example.org` }),
    otherAsks: [
      () => ({ mailFrom: { name: 'Rivers', address: 'news@example.org' }, postalAddress: '1 Quay' }),
      () => ({ publicLog: true }),
    ],
    reasons: {
      SLUG_TAKEN: async (own) => {
        const slug = `taken-${newId()}`;
        const other = await own.api.organization();
        await other.post('organization.update-organization', { slug });
        return own.send('organization.update-organization', { slug });
      },
    },
  },
  'api-key.create-api-key': {
    scope: 'api-key:write',
    bottleneck: 'one record',
    ask: (own) => ({ name: own.unique() }),
    create: {
      ...named,
      otherChange: {},
      list: 'api-key.list-api-keys',
      end: 'api-key.revoke-api-key',
    },
    reasons: {
      KEY_EXCEEDS_YOURS: async (own) => {
        const by = await own.caller({ scopes: ['api-key:write'] });
        return own.send('api-key.create-api-key', { name: 'More', scopes: ['contact:read'] }, { by });
      },
      KEY_LIMIT_REACHED: async (own) => {
        await createAllKeys(own);
        return own.send('api-key.create-api-key', { name: 'One more' });
      },
    },
  },
  'api-key.list-api-keys': {
    scope: 'api-key:read',
    answeredBy: 'replica',
    ask: () => ({}),
    otherAsks: [now],
  },
  'api-key.rotate-api-key': {
    scope: 'api-key:write',
    bottleneck: 'one record',
    ask: async (own) => ({ ...(await own.a('apiKey')), overlapSeconds: 60 }),
    reasons: {
      KEY_EXCEEDS_YOURS: async (own) => {
        const by = await own.caller({ scopes: ['api-key:write'] });
        return own.send('api-key.rotate-api-key', await own.a('apiKey'), { by });
      },
      KEY_ENDED: async (own) => {
        const fields = await own.a('apiKey');
        await own.ask('api-key.revoke-api-key', fields);
        return own.send('api-key.rotate-api-key', fields);
      },
      KEY_ROTATED: async (own) => {
        const fields = await own.a('apiKey');
        await own.ask('api-key.rotate-api-key', { ...fields, overlapSeconds: 60 });
        return own.send('api-key.rotate-api-key', { ...fields, overlapSeconds: 30 });
      },
      // The old key counts during its overlap.
      KEY_LIMIT_REACHED: async (own) => {
        const fields = { apiKeyId: await createAllKeys(own), overlapSeconds: 60 };
        return own.send('api-key.rotate-api-key', fields);
      },
    },
  },
  'api-key.revoke-api-key': {
    scope: 'api-key:write',
    bottleneck: 'one record',
    ask: (own) => own.a('apiKey'),
    reasons: {
      KEY_EXCEEDS_YOURS: async (own) => {
        const by = await own.caller({ scopes: ['api-key:write'] });
        return own.send('api-key.revoke-api-key', await own.a('apiKey'), { by });
      },
    },
  },
  'publishable-key.create-publishable-key': {
    scope: 'api-key:write',
    ask: (own) => ({ name: own.unique(), origins: ['https://www.example.org'] }),
    create: {
      ...named,
      update: 'publishable-key.update-publishable-key',
      also: { origins: [] },
      otherChange: { origins: ['https://www.example.org'] },
      list: 'publishable-key.list-publishable-keys',
      end: 'publishable-key.revoke-publishable-key',
    },
  },
  'publishable-key.get-publishable-key': {
    scope: 'api-key:read',
    answeredBy: BY_KEY,
    ask: (own) => own.the('publishableKey'),
  },
  'publishable-key.list-publishable-keys': {
    scope: 'api-key:read',
    answeredBy: 'replica',
    ask: () => ({}),
  },
  'publishable-key.update-publishable-key': {
    scope: 'api-key:write',
    ask: async (own) => ({ ...(await own.a('publishableKey')), name: own.unique() }),
  },
  'publishable-key.revoke-publishable-key': {
    scope: 'api-key:write',
    ask: (own) => own.a('publishableKey'),
  },
  'petition.request-signature': {
    scope: 'signature:request',
    fields: { contact: null },
    ask: async (own) => ({
      ...(await own.the('petition')),
      contact: { email: own.person().email, firstName: 'Ada' },
    }),
    reasons: {
      PETITION_CLOSED: async (own) => {
        const { petitionId } = await own.a('petition');
        await own.ask('petition.close-petition', { petitionId });
        const contact = { email: own.person().email, firstName: 'Ada' };
        return own.send('petition.request-signature', { petitionId, contact });
      },
    },
  },
  'form.submit-form': {
    scope: 'form:submit',
    fields: { contact: null },
    ask: async (own) => ({
      ...(await own.the('form')),
      contact: { email: own.person().email },
      subscribe: true,
    }),
  },
  'history.list-events': {
    scope: 'history:read',
    answeredBy: 'replica',
    ask: () => ({}),
    otherAsks: [
      async (own) => ({ recordId: (await own.a('contact')).contactId }),
      () => ({ recordType: 'contact', type: 'ContactUpdated' }),
      async (own) => ({ actorId: (await own.ask('history.list-events'))[0].actor.id }),
      async (own) => ({
        requestId: (await own.ask('history.list-events'))[0].requestId,
        occurredAfter: '2020-01-01T00:00:00Z',
      }),
    ],
  },
  'history.get-event': { scope: 'history:read', answeredBy: BY_KEY, ask: (own) => own.the('event') },
  'history.export-events': {
    scope: 'history:read',
    bottleneck: 'streams of a key',
    answeredBy: 'replica',
    ask: () => ({}),
  },
  'history.get-proof': {
    scope: 'history:read',
    answeredBy: MAY_SEAL,
    ask: (own) => own.the('event'),
    reasons: {
      NOT_SEALED: async (own) => {
        await own.ask('history.get-checkpoint');
        await changeTable(own, 'UPDATE seals SET root = sha256(root)');
        await own.a('contact');
        const [{ id: eventId }] = await own.ask('history.list-events', { type: 'ContactCreated' });
        return own.send('history.get-proof', { eventId });
      },
    },
  },
  'history.get-checkpoint': {
    scope: 'history:read',
    answeredBy: MAY_SEAL,
    ask: () => ({}),
    reasons: {
      NOT_SEALED: async (own) => {
        await own.ask('history.get-checkpoint');
        await changeTable(own, 'UPDATE signed_notes SET note = upper(note)');
        return own.send('history.get-checkpoint');
      },
    },
  },
  'field.create-field': {
    scope: 'field:write',
    ask: (own) => ({ name: own.unique() }),
    otherAsks: [(own) => ({ name: own.unique(), type: 'CHOICES', options: ['S', 'M'] })],
    create: {
      ...named,
      update: 'field.update-field',
      // Nothing else about a text field can change.
      otherChange: {},
      list: 'field.list-fields',
      end: 'field.delete-field',
    },
    reasons: {
      FIELD_LIMIT_REACHED: async (own) => {
        for (let n = 0; n < 100; n += 1) await own.send('field.create-field', { name: own.unique() });
        return own.send('field.create-field', { name: own.unique() });
      },
    },
  },
  'field.get-field': { scope: 'field:read', answeredBy: BY_KEY, ask: (own) => own.the('field') },
  'field.list-fields': { scope: 'field:read', answeredBy: 'replica', ask: () => ({}) },
  'field.update-field': {
    scope: 'field:write',
    ask: async (own) => ({ ...(await own.a('field')), name: own.unique() }),
    otherAsks: [
      async (own) => {
        const field = { name: own.unique(), type: 'CHOICE', options: ['S', 'M'] };
        return { ...(await own.ask('field.create-field', field)), options: ['M', 'L'] };
      },
    ],
    reasons: {
      OPTION_IN_USE: async (own) => {
        const field = { name: own.unique(), type: 'CHOICE', options: ['S', 'M'] };
        const { fieldId } = await own.ask('field.create-field', field);
        const { key } = await own.ask('field.get-field', { fieldId });
        await own.ask('contact.create-contact', { ...own.person(), customFields: { [key]: 'S' } });
        return own.send('field.update-field', { fieldId, options: ['M'] });
      },
    },
  },
  'field.delete-field': { scope: 'field:write', ask: (own) => own.a('field') },
  'segment.create-segment': {
    scope: 'segment:write',
    ask: (own) => ({ name: own.unique(), filter: CITY }),
    otherAsks: [async (own) => ({ name: own.unique(), filter: await manyConditions(own) })],
    create: {
      ...named,
      also: { filter: CITY },
      update: 'segment.update-segment',
      otherChange: { filter: { not: CITY } },
      list: 'segment.list-segments',
      end: 'segment.delete-segment',
    },
  },
  'segment.get-segment': { scope: 'segment:read', answeredBy: BY_KEY, ask: (own) => own.the('segment') },
  'segment.list-segments': { scope: 'segment:read', answeredBy: 'replica', ask: () => ({}) },
  'segment.update-segment': {
    scope: 'segment:write',
    ask: async (own) => ({ ...(await own.a('segment')), name: own.unique() }),
    otherAsks: [async (own) => ({ ...(await own.a('segment')), filter: await manyConditions(own) })],
  },
  'segment.delete-segment': { scope: 'segment:write', ask: (own) => own.a('segment') },
  'segment.preview-segment': {
    scope: 'segment:read',
    fields: { segmentId: 'contact:read', filter: 'contact:read' },
    answeredBy: 'replica',
    ask: (own) => own.the('segment'),
    otherAsks: [async (own) => ({ filter: JSON.stringify(await manyConditions(own)) })],
  },
  'view.create-view': {
    scope: 'view:write',
    ask: (own) => ({ name: own.unique(), operation: 'contact.list-contacts', parameters: { city: 'Bonn' } }),
    create: {
      ...named,
      also: { operation: 'contact.list-contacts' },
      update: 'view.update-view',
      otherChange: { columns: ['city'] },
      list: 'view.list-views',
      end: 'view.delete-view',
    },
  },
  'view.get-view': { scope: 'view:read', answeredBy: BY_KEY, ask: (own) => own.the('view') },
  'view.list-views': { scope: 'view:read', answeredBy: 'replica', ask: () => ({}) },
  'view.update-view': {
    scope: 'view:write',
    ask: async (own) => ({ ...(await own.a('view')), name: own.unique() }),
  },
  'view.delete-view': { scope: 'view:write', ask: (own) => own.a('view') },
  'note.create-note': {
    scope: 'note:write',
    fields: { contactId: null },
    ask: async (own) => ({ ...(await own.a('contact')), text: own.unique() }),
    otherAsks: [async (own) => ({ contactId: (await own.a('note')).contactId, text: own.unique() })],
    reasons: {
      MERGED: (own) => asMerged(own, 'note.create-note', { text: 'Called' }),
      NOTE_LIMIT_REACHED: async (own) => {
        const { contactId } = (await own.a('contact')) as { contactId: string };
        const author = { type: 'api-key' as const, id: null };
        const events = Array.from({ length: MAX_NOTES }, () => ({
          ...{ type: 'NoteCreated', data: { contactId, noteId: newId(), author } },
          personal: { text: own.unique() },
        }));
        const write = notesWrite(contactId, 0, events as Parameters<typeof notesWrite>[2]);
        const input = systemInput(CreateNote, own.organizationId, {}, 'test');
        const commands = own.api.instances[0]!.app.get(Commands, { strict: false });
        await commands.run(input, () => ({ recordId: write.streamId, writes: [write] }));
        return own.send('note.create-note', { contactId, text: 'One more' });
      },
    },
  },
  'note.get-note': {
    scope: 'note:read',
    fields: { contactId: null },
    answeredBy: NOTES,
    ask: (own) => own.the('note'),
    reasons: { MERGED: (own) => asMerged(own, 'note.get-note', { noteId: newId() }) },
  },
  'note.list-notes': {
    scope: 'note:read',
    fields: { contactId: null },
    answeredBy: NOTES,
    ask: async (own) => ({ contactId: (await own.the('note')).contactId }),
    reasons: { MERGED: (own) => asMerged(own, 'note.list-notes') },
  },
  'note.update-note': {
    scope: 'note:write',
    fields: { contactId: null },
    ask: async (own) => ({ ...(await own.a('note')), text: own.unique() }),
    reasons: { MERGED: (own) => asMerged(own, 'note.update-note', { noteId: newId(), text: 'Called' }) },
  },
  'note.delete-note': {
    scope: 'note:write',
    fields: { contactId: null },
    ask: (own) => own.a('note'),
    reasons: { MERGED: (own) => asMerged(own, 'note.delete-note', { noteId: newId() }) },
  },
  'notification.get-settings': {
    scope: 'notification:read',
    answeredBy: { primary: 'is two reads of short streams' },
    ask: (own) => own.the('member'),
  },
  'notification.update-settings': {
    scope: 'notification:write',
    ask: async (own) => ({ ...(await own.a('member')), weeklySummary: false }),
  },
  'team.invite-member': {
    scope: 'team:write',
    ask: (own) => ({ email: own.person().email, role: 'EDITOR' }),
    reasons: {
      ROLE_EXCEEDS_YOURS: async (own) => {
        const by = await own.caller({ scopes: ['team:write'] });
        return own.send('team.invite-member', { email: own.person().email, role: 'OWNER' }, { by });
      },
      ALREADY_MEMBER: async (own) => {
        await own.a('member');
        const [{ email }] = await own.ask('team.list-members');
        return own.send('team.invite-member', { email, role: 'VIEWER' });
      },
    },
  },
  'team.list-members': { scope: 'team:read', answeredBy: 'replica', ask: () => ({}) },
  'team.update-member': {
    scope: 'team:write',
    ask: async (own) => ({ ...(await own.a('member')), role: 'EDITOR' }),
    reasons: {
      ROLE_EXCEEDS_YOURS: async (own) => {
        const fields = { ...(await own.a('owner')), role: 'VIEWER' };
        return own.send('team.update-member', fields, { by: await own.caller({ scopes: ['team:write'] }) });
      },
      LAST_OWNER: async (own) =>
        own.send('team.update-member', { ...(await own.a('owner')), role: 'VIEWER' }),
    },
  },
  'team.remove-member': {
    scope: 'team:write',
    ask: (own) => own.a('member'),
    reasons: {
      ROLE_EXCEEDS_YOURS: async (own) => {
        const by = await own.caller({ scopes: ['team:write'] });
        return own.send('team.remove-member', await own.a('owner'), { by });
      },
      LAST_OWNER: async (own) => own.send('team.remove-member', await own.a('owner')),
    },
  },
  'team.list-invitations': { scope: 'team:read', answeredBy: 'replica', ask: () => ({}) },
  'team.revoke-invitation': {
    scope: 'team:write',
    ask: (own) => own.a('invitation'),
    reasons: {
      ROLE_EXCEEDS_YOURS: async (own) => {
        const invitation = { email: own.person().email, role: 'OWNER' };
        const { invitationId } = await own.ask('team.invite-member', invitation);
        const by = await own.caller({ scopes: ['team:write'] });
        return own.send('team.revoke-invitation', { invitationId }, { by });
      },
      INVITATION_ACCEPTED: async (own) => {
        const { memberId: invitationId } = await own.a('member');
        return own.send('team.revoke-invitation', { invitationId });
      },
    },
  },
  'webhook.create-webhook': {
    scope: 'webhook:write',
    fields: { 'expand=contact': 'contact:read', 'expand=petition': 'petition:read' },
    bottleneck: 'webhooks of an organization',
    ask: (own) => ({ url: `https://${own.unique()}.invalid/` }),
    otherAsks: [(own) => ({ url: `https://${own.unique()}.invalid/`, expand: ['contact', 'petition'] })],
    create: {
      field: 'url',
      nameOf: (word) => `https://example.org/${word}`,
      update: 'webhook.update-webhook',
      otherChange: { description: 'Other' },
      list: 'webhook.list-webhooks',
      end: 'webhook.delete-webhook',
    },
    reasons: {
      WEBHOOK_LIMIT_REACHED: async (own) => {
        for (let n = 0; n < 50; n += 1) await own.a('webhook');
        return own.send('webhook.create-webhook', { url: 'https://example.org/' });
      },
    },
  },
  'webhook.get-webhook': {
    scope: 'webhook:read',
    bottleneck: 'webhooks of an organization',
    answeredBy: BY_KEY,
    ask: (own) => own.the('webhook'),
  },
  'webhook.list-webhooks': {
    scope: 'webhook:read',
    bottleneck: 'webhooks of an organization',
    answeredBy: 'replica',
    ask: () => ({}),
  },
  'webhook.update-webhook': {
    scope: 'webhook:write',
    fields: { 'expand=contact': 'contact:read', 'expand=petition': 'petition:read' },
    bottleneck: 'webhooks of an organization',
    ask: async (own) => ({ ...(await own.a('webhook')), description: own.unique() }),
    otherAsks: [
      async (own) => ({ ...(await own.the('webhook')), eventTypes: ['ContactCreated'] }),
      async (own) => ({ ...(await own.the('webhook')), expand: ['contact', 'petition'] }),
    ],
  },
  'webhook.pause-webhook': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: (own) => own.a('webhook'),
  },
  'webhook.resume-webhook': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: async (own) => {
      const fields = await own.a('webhook');
      await own.ask('webhook.pause-webhook', fields);
      return fields;
    },
  },
  'webhook.rotate-secret': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: (own) => own.a('webhook'),
    otherAsks: [async (own) => ({ ...(await own.a('webhook')), overlapSeconds: 60 })],
  },
  'webhook.test-webhook': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: (own) => own.the('webhook'),
  },
  'webhook.list-deliveries': {
    scope: 'webhook:read',
    bottleneck: 'webhooks of an organization',
    answeredBy: 'replica',
    ask: (own) => own.the('webhook'),
  },
  'webhook.redeliver': {
    scope: 'webhook:write',
    fields: { eventId: null },
    bottleneck: 'webhooks of an organization',
    ask: async (own) => ({ ...(await own.a('webhook')), ...(await own.the('event')) }),
  },
  'webhook.replay-webhook': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: async (own) => ({ ...(await own.a('webhook')), fromPosition: 0 }),
    otherAsks: [async (own) => ({ ...(await own.the('webhook')), from: '2020-01-01T00:00:00Z' })],
  },
  'webhook.delete-webhook': {
    scope: 'webhook:write',
    bottleneck: 'webhooks of an organization',
    ask: (own) => own.a('webhook'),
  },
  'webhook.list-event-types': {
    scope: 'webhook:read',
    bottleneck: 'webhooks of an organization',
    answeredBy: { primary: 'asks no database for it' },
    ask: () => ({}),
  },
  'image.upload-image': { scope: 'image:write', bottleneck: 'streams of a key', ask: png },
  'image.get-image': { scope: 'image:read', answeredBy: BY_KEY, ask: (own) => own.the('image') },
  'image.list-images': { scope: 'image:read', answeredBy: 'replica', ask: () => ({}) },
  'image.update-image': {
    scope: 'image:write',
    bottleneck: 'streams of a key',
    ask: async (own) => ({ ...(await own.a('image')), alt: own.unique() }),
  },
  'image.delete-image': {
    scope: 'image:write',
    bottleneck: 'streams of a key',
    ask: (own) => own.a('image'),
    otherAsks: [
      async (own) => {
        const { imageId } = await own.a('image');
        await own.ask('petition.update-petition', { ...(await own.the('petition')), imageId });
        return { imageId, detach: true };
      },
    ],
    reasons: {
      IMAGE_SHOWN: async (own) => {
        const { imageId } = await own.a('image');
        await own.ask('post.create-post', { name: 'Shown', imageId });
        return own.send('image.delete-image', { imageId });
      },
    },
  },
  'suppression.create-suppression': {
    scope: 'suppression:write',
    ask: (own) => ({ email: own.person().email }),
    otherAsks: [
      async (own) => {
        const { email } = own.person();
        await own.ask('suppression.create-suppression', { email });
        return { email, reason: 'BOUNCED' };
      },
      async (own) => {
        const { email } = own.person();
        await own.ask('contact.create-contact', { email });
        return { email };
      },
    ],
  },
  'suppression.list-suppressions': {
    scope: 'suppression:read',
    answeredBy: 'replica',
    ask: () => ({}),
    otherAsks: [() => ({ email: 'ada@example.org' }), () => ({ reason: 'MANUAL', sort: 'createdAt' }), now],
  },
  'suppression.delete-suppression': {
    scope: 'suppression:write',
    ask: async (own) => {
      const { email } = own.person();
      await own.ask('suppression.create-suppression', { email });
      return { email };
    },
  },
  'broadcast.create-broadcast': {
    scope: 'broadcast:write',
    fields: { audience: 'contact:read' },
    ask: (own) => ({ name: own.unique() }),
    otherAsks: [
      async (own) => {
        const [{ listId }, { petitionId }] = [await own.the('list'), await own.the('petition')];
        const { contactId } = await own.a('contact');
        const chosen = { listIds: [listId], petitionIds: [petitionId], contactIds: [contactId] };
        return { name: own.unique(), content: 'Hello', audience: { ...chosen, excludeListIds: [listId] } };
      },
      async (own) => ({ name: own.unique(), fromBroadcastId: (await own.the('broadcast')).broadcastId }),
    ],
    create: {
      ...named,
      update: 'broadcast.update-broadcast',
      otherChange: { subject: 'Other' },
      list: 'broadcast.list-broadcasts',
      end: 'broadcast.delete-broadcast',
    },
  },
  'broadcast.duplicate-broadcast': {
    scope: 'broadcast:write',
    ask: async (own) => ({ ...(await own.the('broadcast')), name: own.unique() }),
  },
  'broadcast.get-broadcast': {
    scope: 'broadcast:read',
    answeredBy: BY_KEY,
    ask: (own) => own.the('broadcast'),
    otherAsks: [(own) => own.the('sending')],
  },
  'broadcast.list-broadcasts': {
    scope: 'broadcast:read',
    // The results of broadcasts with recipients come from the primary.
    answeredBy: 'replica',
    ask: () => ({}),
  },
  'broadcast.update-broadcast': {
    scope: 'broadcast:write',
    fields: { audience: 'contact:read' },
    ask: async (own) => ({ ...(await own.a('broadcast')), subject: own.unique() }),
    otherAsks: [
      async (own) => {
        const { petitionId } = await own.the('petition');
        const audience = { petitionIds: [petitionId], filter: { city: 'London' } };
        return { ...(await own.a('broadcast')), audience };
      },
      async (own) => {
        const { contactId } = await own.a('contact');
        return { ...(await own.a('broadcast')), audience: { contactIds: [contactId] } };
      },
    ],
    reasons: {
      BROADCAST_BEGUN: async (own) =>
        own.send('broadcast.update-broadcast', { ...(await own.a('sending')), content: 'Bye' }),
    },
  },
  'broadcast.delete-broadcast': {
    scope: 'broadcast:write',
    ask: (own) => own.a('broadcast'),
    otherAsks: [
      async (own) => {
        const { broadcastId } = await own.a('sending');
        await own.ask('broadcast.cancel-broadcast', { broadcastId });
        return { broadcastId };
      },
    ],
    reasons: {
      BROADCAST_BEGUN: async (own) => own.send('broadcast.delete-broadcast', await own.a('sending')),
    },
  },
  'broadcast.preview-audience': {
    scope: 'broadcast:read',
    fields: { audience: 'contact:read' },
    answeredBy: { primary: 'is taken from one snapshot, as the start is' },
    ask: (own) => own.the('broadcast'),
    otherAsks: [async (own) => ({ audience: JSON.stringify({ listIds: [(await own.the('list')).listId] }) })],
  },
  'broadcast.preview-broadcast': {
    scope: 'broadcast:read',
    fields: { contactId: 'contact:read' },
    answeredBy: BY_KEY,
    ask: (own) => own.the('broadcast'),
    otherAsks: [async (own) => ({ ...(await own.the('broadcast')), ...(await own.a('contact')) })],
    reasons: {
      BROADCAST_NOT_READY: async (own) =>
        own.send('broadcast.preview-broadcast', await broadcastWith('{% if %}')(own)),
    },
  },
  'broadcast.send-test': {
    scope: 'broadcast:send',
    ask: async (own) => ({ ...(await own.the('sending')), to: ['me@example.org'] }),
    reasons: {
      BROADCAST_NOT_READY: async (own) => {
        const fields = await broadcastWith('{{ contact.nickname }}')(own);
        return own.send('broadcast.send-test', { ...fields, to: ['ada@example.org'] });
      },
    },
  },
  'petition.preview-thank-you': {
    scope: 'petition:read',
    answeredBy: BY_KEY,
    ask: (own) => thanking(own),
    reasons: {
      NO_THANK_YOU_MAIL: async (own) => own.send('petition.preview-thank-you', await own.a('petition')),
      BROADCAST_NOT_READY: async (own) => own.send('petition.preview-thank-you', await brokenThanks(own)),
    },
  },
  'petition.send-thank-you-test': {
    scope: 'broadcast:send',
    ask: async (own) => {
      // Also sets the sender.
      await own.the('sending');
      return { ...(await thanking(own)), to: ['me@example.org'] };
    },
    reasons: {
      NO_THANK_YOU_MAIL: async (own) =>
        own.send('petition.send-thank-you-test', { ...(await own.a('petition')), to: ['me@example.org'] }),
      BROADCAST_NOT_READY: async (own) =>
        own.send('petition.send-thank-you-test', { ...(await brokenThanks(own)), to: ['me@example.org'] }),
    },
  },
  'broadcast.send-broadcast': {
    scope: 'broadcast:send',
    ask: async (own) => {
      // Also sets the sender.
      await own.the('sending');
      return own.a('broadcast');
    },
    otherAsks: [
      async (own) => {
        await own.the('sending');
        return { ...(await own.a('broadcast')), sendAt: '2099-01-01T00:00:00Z' };
      },
      async (own) => {
        await own.the('sending');
        const audience = {
          petitionIds: [(await own.the('petition')).petitionId],
          filter: { city: 'London' },
        };
        const fields = { name: own.unique(), content: 'Hello', audience };
        const { broadcastId } = await own.ask('broadcast.create-broadcast', fields);
        return { broadcastId };
      },
    ],
    reasons: {
      BROADCAST_BEGUN: async (own) => {
        const fields = await own.a('sending');
        await own.ask('broadcast.pause-broadcast', fields);
        return own.send('broadcast.send-broadcast', fields);
      },
      BROADCAST_NOT_READY: async (own) => own.send('broadcast.send-broadcast', await own.a('broadcast')),
    },
  },
  'broadcast.pause-broadcast': {
    scope: 'broadcast:write',
    ask: (own) => own.a('sending'),
    reasons: {
      BROADCAST_NOT_SENDING: async (own) => own.send('broadcast.pause-broadcast', await own.a('broadcast')),
    },
  },
  'broadcast.resume-broadcast': {
    scope: 'broadcast:send',
    ask: async (own) => {
      const fields = await own.a('sending');
      await own.ask('broadcast.pause-broadcast', fields);
      return fields;
    },
    reasons: {
      BROADCAST_NOT_SENDING: async (own) => own.send('broadcast.resume-broadcast', await own.a('broadcast')),
    },
  },
  'broadcast.cancel-broadcast': {
    scope: 'broadcast:write',
    ask: (own) => own.a('sending'),
    reasons: {
      BROADCAST_BEGUN: async (own) => {
        const { broadcastId } = await own.a('sending');
        await own.api.database.source.query(`UPDATE broadcast_recipients SET status = 'SENT'`);
        const finish = systemInput(FinishBroadcast, own.organizationId, { broadcastId }, 'test');
        await own.api.instances[0]!.app.get(CommandBus).execute(finish);
        return own.send('broadcast.cancel-broadcast', { broadcastId });
      },
    },
  },
  'broadcast.list-recipients': {
    scope: 'broadcast:read',
    answeredBy: { primary: 'shows what has become of recipients by now' },
    ask: (own) => own.the('sending'),
    otherAsks: [async (own) => ({ ...(await own.the('sending')), status: 'PENDING' })],
    reasons: {
      RECIPIENTS_DELETED: async (own) => {
        const { broadcastId } = await own.a('sending');
        await own.api.database.source.query(
          `DELETE FROM broadcast_recipients r USING broadcast_sendings s WHERE s.id = r.sending_id AND s.broadcast_id = $1`,
          [broadcastId],
        );
        return own.send('broadcast.list-recipients', { broadcastId });
      },
    },
  },
  'broadcast.retry-recipients': {
    scope: 'broadcast:send',
    ask: async (own) => ({ ...(await own.the('sending')), status: 'FAILED' }),
    reasons: {
      BROADCAST_NOT_SENDING: async (own) =>
        own.send('broadcast.retry-recipients', { ...(await own.a('broadcast')), status: 'FAILED' }),
    },
  },
  'import.create-import': {
    scope: 'contact:write',
    fields: { listId: 'list:write' },
    bottleneck: 'streams of a key',
    ask: async (own) => {
      await endImports(own);
      return csv('email,firstName', `${own.unique()}@example.org,Ada`);
    },
    otherAsks: [
      async (own) => ({
        ...csv('email,tags', `${own.unique()}@example.org,Donor`),
        ...(await own.the('list')),
      }),
    ],
  },
  'import.get-import': {
    scope: 'contact:write',
    answeredBy: { primary: 'shows how far it is by now' },
    ask: (own) => own.the('import'),
  },
  'import.list-imports': { scope: 'contact:write', answeredBy: 'replica', ask: () => ({}) },
  'import.get-import-rows': {
    scope: 'contact:write',
    bottleneck: 'streams of a key',
    answeredBy: { primary: 'shows how far it is by now' },
    ask: (own) => own.the('import'),
  },
  'import.get-import-problems': {
    scope: 'contact:write',
    bottleneck: 'streams of a key',
    answeredBy: { primary: 'shows how far it is by now' },
    ask: (own) => own.the('import'),
  },
  'import.cancel-import': { scope: 'contact:write', ask: (own) => own.a('import') },
  'import.undo-import': {
    scope: 'contact:write',
    ask: async (own) => {
      const asked = await own.a('import');
      await changeTable(own, `UPDATE contact_imports SET status = 'DONE', finished_at = clock_timestamp()`);
      return asked;
    },
    reasons: {
      IMPORT_UNFINISHED: async (own) => own.send('import.undo-import', await own.a('import')),
      UNDO_EXPIRED: async (own) => {
        const asked = await own.a('import');
        await changeTable(
          own,
          `UPDATE contact_imports SET status = 'DONE', finished_at = clock_timestamp() - interval '2 days'`,
        );
        return own.send('import.undo-import', asked);
      },
    },
  },
};
