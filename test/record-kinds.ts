import { CommandBus } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import {
  DamagedEvent,
  type Decider,
  type DomainEvent,
  type EventStore,
  type Json,
  NewerEvent,
  type RecordedEvent,
} from '#libs/event-store';
import { fieldsOf, operationNamed } from '#libs/rpc';
import { Signers } from '#libs/sealing';
import { apiKey, publishableKey } from '../src/auth/index.js';
import { broadcast } from '../src/broadcasts/index.js';
import { contact, type GroupKind, groupsOfContacts } from '../src/contacts/index.js';
import { recordSuccession } from '../src/history/index.js';
import { field } from '../src/fields/index.js';
import { ConfirmSignUp, form, RequestSignUp } from '../src/forms/index.js';
import { image } from '../src/images/index.js';
import { subscriptions } from '../src/modules.js';
import { organization, publicLog, sender } from '../src/organizations/index.js';
import {
  ConfirmSignature,
  invalidation,
  invalidationPlanId,
  offlineCount,
  petition,
  RequestSignature,
} from '../src/petitions/index.js';
import { post } from '../src/posts/index.js';
import { Suppressions } from '../src/suppressions/index.js';
import { segment } from '../src/segments/index.js';
import { member } from '../src/team/index.js';
import { view } from '../src/views/index.js';
import { expansionId, webhook } from '../src/webhooks/index.js';
import { failThankYou, type Fields, type Fixture } from './fixture.js';
import { type Answer, Client } from './harness.js';
import { eventually } from './processes.js';
import { pick, type Random } from './random.js';
import { appendSignatures } from './signers.js';

/** A record: the id of its stream, and further ids. */
export type Made = { id: string } & Record<string, string>;

/**
 * The tests' knowledge of a kind of record, by stream type. `operations.e2e.spec.ts` fails if a kind has no row, a row has no
 * kind, or a required column is missing.
 */
export type RecordKind = {
  make(own: Fixture): Promise<Made>;
  /** A request that shows the record. */
  show(own: Fixture, made: Made): Promise<Answer>;
  /** Whether the response depends only on the record's own history. */
  showsItself: boolean;
  /** The `version` of the response does not count the stream's events: it has several records, or is next to a record's own. */
  isPart?: true;
  /** A command that decides on the record, or 'none' if none exists. */
  decide: 'none' | ((own: Fixture, made: Made) => Promise<Answer>);
  /** A current event that may follow one of a later version. Omitted if none may. */
  next?: DomainEvent;
  /** Random events, for kinds whose whole records commands load from a projection. */
  loading?: LoadingColumn;
  /** For kinds that operations show with `asOf`. */
  past?: PastColumn;
};

export type LoadingColumn = {
  decider: Decider<any, any>;
  first(any: Values): DomainEvent;
  next(any: Values): DomainEvent;
  /** The record has personal data, and its last event may be an erasure. */
  isSubject?: true;
};

/** Lists with `asOf` of records that are not in the order of the list, or not of one record. `history.e2e.spec.ts` tests them. */
export const OTHER_LISTS_OF_THE_PAST = [
  'api-key.list-api-keys',
  'contact.list-contacts',
  'suppression.list-suppressions',
];

type PastColumn = {
  /** The field with the id of the record. */
  idField: string;
  /** Further fields of requests for it, which the response of its creation contains. */
  also?: string[];
  /** Operations that show the record, with and without `asOf`. */
  shownBy: string[];
  /** Steps of a random history. */
  steps(history: RandomHistory): Step[];
};

export type Step = () => Promise<unknown>;

/** The requests that show a record. @param fields its ids, by the names of the fields. */
export function requestsFor(
  { shownBy }: PastColumn,
  fields: Fields,
): { operation: string; fields: Fields }[] {
  return shownBy.map((operation) => {
    const accepted = fieldsOf(operationNamed(operation));
    const own = Object.entries(fields).filter(([name]) => accepted.has(name));
    return { operation, fields: Object.fromEntries(own) };
  });
}

/** A random history of one organization. */
export interface RandomHistory {
  readonly random: Random;
  /** A new name. */
  name(): string;
  /** The id of a random record of a kind. */
  any(streamType: string): string;
  /** The fields of requests for a random record of a kind. */
  the(streamType: string): Fields;
  /** Sends a request to a random instance. It may be rejected. */
  send(operation: string, fields?: Fields): Promise<Answer>;
  /** Creates a record, which later steps and requests use. */
  create(streamType: string, operation: string, fields: Fields): Promise<string | undefined>;
  upload(streamType: string): Promise<unknown>;
}

/** Random values for events. */
export class Values {
  constructor(readonly random: Random) {}

  pick<One>(from: readonly One[]): One {
    return pick(this.random, from);
  }

  word(): string | null {
    return this.pick(['a', 'b', null]);
  }

  content(): any {
    return this.pick([
      null,
      'x',
      { a: [1, 1e300, -0.5, { 'ä"\\': '\u0001 €' }] },
      [],
      false,
      'y'.repeat(9_000),
    ]);
  }

  /** A random one of these events. */
  event(...events: [type: string, data?: () => DomainEvent['data']][]): DomainEvent {
    const [type, data] = this.pick(events);
    return { type, data: data?.() ?? {} };
  }
}

const idOf = (id: unknown) => ({ id: id as string });
const makes = (record: Parameters<Fixture['a']>[0]) => async (own: Fixture) =>
  idOf(Object.values(await own.a(record))[0]);
const isShownInHistory = (recordType: string) => (own: Fixture) =>
  own.send('history.list-events', { recordType });

const aFilter = (random: Random) => ({
  field: pick(random, ['city', 'zip']),
  op: pick(random, ['is', 'isNot']),
  value: pick(random, ['a', 'b']),
});

/** The id of the stream with the newest event of this type. */
async function lastStream(own: Fixture, recordType: string): Promise<string> {
  const events = await own.ask('history.list-events', { recordType, limit: '1000' });
  return events.at(-1).recordId as string;
}

/** The caller of a public page, who has no key. */
const publicContext = ({ organizationId }: Fixture) => ({
  organizationId,
  actor: { type: 'public' as const, id: null },
  scopes: [],
  requestId: 'test',
});

/** The response that corresponds to a rejection of internal work. */
async function refusalOf(work: Promise<unknown>): Promise<Answer> {
  const refused: unknown = await work.catch((error: unknown) => error);
  const reason = refused instanceof NewerEvent ? 'NEWER_VERSION' : 'HISTORY_DAMAGED';
  expect([NewerEvent, DamagedEvent]).toContain((refused as object).constructor);
  return { status: 503, body: { error: { reason } } } as Answer;
}

/** Passes an event to a subscription. */
function handleEvent({ api }: Fixture, name: string, event: RecordedEvent): Promise<void> {
  const reaction = api.instances[0]!.app.get(
    subscriptions.find((one) => one.name === name)!,
    { strict: false },
  );
  return reaction.handle(event, new AbortController().signal);
}

/** Reports that a message to the address bounced. */
function reportBounce({ api, organizationId }: Fixture, email: string) {
  return api.instances[0]!.app.get(Suppressions, { strict: false }).report(
    organizationId,
    { kind: 'bounce', email, messageId: `${uuidv7()}@example.org` },
    { organizationId, actor: { type: 'system', id: null }, scopes: ['*'], requestId: 'test' },
  );
}

const pageFields = { title: 'A', goal: 5, target: null, description: 'Ω', ask: null, imageId: null };
const signedForm = { fields: [{ field: 'zip', required: true }], consent: { text: null, required: false } };
const invalidated = (any: Values) => ({
  petitionId: uuidv7(),
  signatureIds: any.pick([[], [uuidv7()], [uuidv7(), uuidv7()]]),
  isLast: any.pick([true, false]),
});

const FIELD_IDS = [uuidv7(), uuidv7()];
const extras = (any: Values) => ({
  externalIds: any.pick([[], ['a:1'], ['b:2', 'a:1']]),
  customFields: {
    [any.pick(FIELD_IDS)]: any.pick<Json>([null, 'Ω "\\', 0, -1.5, 1e300, true, ['S', 'M'], '2024-05-31']),
  },
});

const AGREED = { subscribed: true, consent: { text: 'Keep me informed' } };

/** The rows of a kind of groups and of its members. */
function kindsOfGroups({ kind, link, decider, resource }: GroupKind): Record<string, RecordKind> {
  const { idField } = resource;
  const [created, updated, deleted] = ['Created', 'Updated', 'Deleted'].map(
    (what) => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}${what}`,
  ) as [string, string, string];
  return {
    [kind]: {
      make: makes(kind),
      show: (own, { id }) => own.send(`${kind}.get-${kind}`, { [idField]: id }),
      showsItself: true,
      decide: (own, { id }) => own.send(`${kind}.update-${kind}`, { [idField]: id, description: 'Friends' }),
      next: { type: updated, data: { description: 'Later' } },
      loading: {
        decider,
        first: (any) => ({ type: created, data: { name: 'A', description: any.word() } }),
        next: (any) => ({ type: any.pick([updated, updated, deleted]), data: { name: any.word() } }),
      },
      past: {
        idField,
        shownBy: [`${kind}.get-${kind}`],
        steps: (history) => [
          () => history.create(kind, `${kind}.create-${kind}`, { name: history.name() }),
          ...['add-contacts', 'remove-contacts'].map(
            (what) => () =>
              history.send(`${kind}.${what}`, {
                [idField]: history.any(kind),
                contactIds: [history.any('contact'), history.any('contact')],
              }),
          ),
        ],
      },
    },
    [link.streamType]: {
      async make(own) {
        const [made, { contactId }] = [await own.a(kind), await own.a('contact')];
        await own.ask(`${kind}.add-contacts`, { ...made, contactIds: [contactId] });
        return { ...made, id: await lastStream(own, link.streamType), contactId: contactId! };
      },
      show: (own, made) => own.send(`${kind}.get-${kind}`, { [idField]: made[idField] }),
      showsItself: false,
      decide: (own, { contactId, ...made }) =>
        own.send(`${kind}.remove-contacts`, { [idField]: made[idField], contactIds: [contactId] }),
    },
  };
}

export const RECORD_KINDS: { [streamType: string]: RecordKind } = {
  organization: {
    make: (own) => Promise.resolve(idOf(own.organizationId)),
    show: (own) => own.send('organization.get-organization'),
    showsItself: true,
    decide: (own) => own.send('organization.update-organization', { website: 'https://example.org' }),
    next: { type: 'OrganizationUpdated', data: { country: 'KE' } },
    loading: {
      decider: organization,
      first: () => ({ type: 'OrganizationCreated', data: { name: 'A' } }),
      next: (any) => ({ type: 'OrganizationUpdated', data: { website: any.word(), email: any.word() } }),
    },
    past: {
      idField: 'organizationId',
      shownBy: ['organization.get-organization'],
      steps: (history) => {
        let isPublic = false;
        return [
          () =>
            history.send('organization.update-organization', {
              name: history.name(),
              publicLog: (isPublic = !isPublic),
              postalAddress: history.name(),
            }),
        ];
      },
    },
  },
  contact: {
    make: async (own) =>
      idOf((await own.ask('contact.create-contact', { ...own.person(), bio: 'Ω' })).contactId),
    show: (own, { id: contactId }) => own.send('contact.get-contact', { contactId }),
    showsItself: true,
    decide: (own, { id: contactId }) => own.send('contact.update-contact', { contactId, city: 'Nairobi' }),
    next: { type: 'ContactUnsubscribed', data: {} },
    loading: {
      decider: contact,
      isSubject: true,
      first: (any) => ({
        type: 'ContactCreated',
        data: { subscribed: true },
        personal: { email: 'a', city: any.word(), ...extras(any) },
      }),
      next: (any) =>
        any.pick<() => DomainEvent>([
          () => ({ type: 'ContactUpdated', data: {}, personal: { email: any.word(), bio: any.word() } }),
          () => ({ type: 'ContactUpdated', data: {}, personal: { region: any.word(), ...extras(any) } }),
          () => any.event(['ContactSubscribed'], ['ContactUnsubscribed']),
          () => ({ type: any.random(5) === 0 ? 'ContactErased' : 'ContactSubscribed', data: {} }),
        ])(),
    },
    past: {
      idField: 'contactId',
      shownBy: ['contact.get-contact'],
      steps: (history) => {
        const keys: string[] = [];
        return [
          () => {
            const email = `${history.name().replace(' ', '-')}@example.org`;
            return history.create('contact', 'contact.create-contact', { email });
          },
          () =>
            history.send('contact.update-contact', {
              contactId: history.any('contact'),
              city: history.name(),
              externalIds: [`test:${history.name().replace(' ', '')}`],
            }),
          () => {
            const name = history.name();
            keys.push(name.replace(' ', '').toLowerCase());
            return history.create('field', 'field.create-field', { name });
          },
          () =>
            history.send('contact.update-contact', {
              contactId: history.any('contact'),
              customFields: Object.fromEntries(keys.slice(-1).map((key) => [key, history.name()])),
            }),
        ];
      },
    },
  },
  consent: {
    async make(own) {
      const { contactId } = await own.ask('contact.create-contact', { ...own.person(), ...AGREED });
      return { id: await lastStream(own, 'consent'), contactId };
    },
    show: (own, { contactId }) => own.send('contact.list-consents', { contactId }),
    showsItself: false,
    decide: (own, { contactId }) => own.send('contact.update-contact', { contactId, ...AGREED }),
  },
  'contact-notes': {
    async make(own) {
      const { noteId, contactId } = await own.a('note');
      return { id: await lastStream(own, 'contact-notes'), noteId: noteId!, contactId: contactId! };
    },
    show: (own, { noteId, contactId }) => own.send('note.get-note', { noteId, contactId }),
    showsItself: true,
    isPart: true,
    decide: (own, { noteId, contactId }) =>
      own.send('note.update-note', { noteId, contactId, text: own.unique() }),
    past: {
      idField: 'noteId',
      also: ['contactId'],
      shownBy: ['note.get-note', 'note.list-notes'],
      steps: (history) => {
        const text = () => history.name();
        const { contactId } = history.the('contact-notes');
        return [
          () => history.create('contact-notes', 'note.create-note', { contactId, text: text() }),
          () => history.send('note.update-note', { ...history.the('contact-notes'), text: text() }),
          () => history.send('note.delete-note', history.the('contact-notes')),
        ];
      },
    },
  },
  sender: {
    async make(own) {
      await own.ask('organization.update-organization', { language: 'de' });
      return idOf(await lastStream(own, 'sender'));
    },
    show: (own) => own.send('organization.get-organization'),
    showsItself: true,
    decide: (own) => own.send('organization.update-organization', { language: 'fr' }),
    next: { type: 'SenderUpdated', data: { language: 'es' } },
    loading: {
      decider: sender,
      first: () => ({ type: 'SenderUpdated', data: { language: 'de' } }),
      next: (any) => ({ type: 'SenderUpdated', data: { replyTo: any.word(), postalAddress: any.word() } }),
    },
  },
  'public-log': {
    async make(own) {
      await own.ask('organization.update-organization', { publicLog: true });
      return idOf(await lastStream(own, 'public-log'));
    },
    show: (own) => own.send('organization.get-organization'),
    showsItself: true,
    // The newer event may have unpublished the log.
    decide: ({ client, organizationId }) =>
      new Client(client.origin, '', undefined).request('GET', `/log/${organizationId}/checkpoint`),
    next: { type: 'LogUnpublished', data: {} },
    loading: {
      decider: publicLog,
      first: () => ({ type: 'LogPublished', data: {} }),
      next: (any) => any.event(['LogPublished'], ['LogUnpublished']),
    },
  },
  'signature-request': {
    async make(own) {
      const { petitionId } = await own.a('petition');
      const command = Object.assign(new RequestSignature(), {
        ...{ petitionId, email: own.person().email, firstName: 'Ada', lastName: null, comment: 'Ω' },
        ...{ zip: null, country: null, source: null, suspicion: [], isCommentPublic: false },
        ...{ subscribe: false, clientAddress: null, organizationId: own.organizationId },
        context: publicContext(own),
      });
      const bus = own.api.instances[0]!.app.get(CommandBus);
      return idOf((await bus.execute<RequestSignature, { requestId: string }>(command)).requestId);
    },
    show: (own, { id: recordId }) => own.send('history.list-events', { recordId }),
    showsItself: false,
    decide(own, { id: requestId }) {
      const { organizationId } = own;
      const context = publicContext(own);
      const command = Object.assign(new ConfirmSignature(), { organizationId, requestId, context });
      return refusalOf(own.api.instances[0]!.app.get(CommandBus).execute(command));
    },
  },
  'sign-up-request': {
    async make(own) {
      const { formId } = await own.a('form');
      const nothing = { firstName: null, lastName: null, zip: null, city: null, region: null, country: null };
      const person = {
        ...nothing,
        email: own.person().email,
        phone: null,
        clientAddress: null,
        customFields: {},
      };
      const fields = { formId, person, subscribe: true, source: null, suspicion: [] };
      const { organizationId } = own;
      const command = Object.assign(new RequestSignUp(), {
        ...fields,
        organizationId,
        context: publicContext(own),
      });
      const bus = own.api.instances[0]!.app.get(CommandBus);
      return idOf((await bus.execute<RequestSignUp, { requestId: string }>(command)).requestId);
    },
    show: (own, { id: recordId }) => own.send('history.list-events', { recordId }),
    showsItself: false,
    decide(own, { id: requestId }) {
      const { organizationId } = own;
      const context = publicContext(own);
      const command = Object.assign(new ConfirmSignUp(), { organizationId, requestId, context });
      return refusalOf(own.api.instances[0]!.app.get(CommandBus).execute(command));
    },
  },
  'signature-invalidation-plan': {
    async make(own) {
      const { petitionId } = await own.a('petition');
      const { store } = own.api.instances[0]!.runtime;
      await appendSignatures(store, own.organizationId, petitionId!, 1, { suspicion: ['HONEYPOT'] });
      const fields = { petitionId, suspicion: 'HONEYPOT' };
      const { invalidationId } = await own.ask('petition.invalidate-signatures', fields);
      return { id: invalidationPlanId(invalidationId), invalidationId };
    },
    show: (own, { invalidationId }) => own.send('petition.get-invalidation', { invalidationId }),
    showsItself: true,
    decide(own, { invalidationId }) {
      const { organizationId } = own;
      const event = { organizationId, eventId: uuidv7(), data: { invalidationId } };
      return refusalOf(handleEvent(own, 'PlannedInvalidations', event as unknown as RecordedEvent));
    },
  },
  comment: {
    async make(own) {
      const { signatureId } = await own.a('comment');
      await own.ask('petition.hide-comment', { signatureId });
      return { id: await lastStream(own, 'comment'), signatureId: signatureId! };
    },
    show: isShownInHistory('comment'),
    showsItself: false,
    decide: (own, { signatureId }) => own.send('petition.show-comment', { signatureId }),
    next: { type: 'CommentShown', data: {} },
  },
  'petition-goal': {
    async make(own) {
      const { petitionId } = await own.a('petition');
      await own.ask('petition.update-petition', { petitionId, goal: 1 });
      await own.ask('petition.add-signature', { petitionId, contact: own.person() });
      let id = '';
      await eventually(async () => (id = await lastStream(own, 'petition-goal')));
      return { id, petitionId: petitionId! };
    },
    show: isShownInHistory('petition-goal'),
    showsItself: false,
    // Only its subscription decides on it.
    async decide(own, { petitionId }) {
      await own.ask('petition.add-signature', { petitionId, contact: own.person() });
      const { store } = own.api.instances[0]!.runtime;
      const [event] = await store.readStream(own.organizationId, await lastStream(own, 'signature'));
      return refusalOf(handleEvent(own, 'PetitionGoals', event!));
    },
  },
  ...Object.fromEntries(groupsOfContacts().flatMap((group) => Object.entries(kindsOfGroups(group)))),
  field: {
    make: makes('field'),
    show: (own, { id: fieldId }) => own.send('field.get-field', { fieldId }),
    showsItself: true,
    decide: (own, { id: fieldId }) => own.send('field.update-field', { fieldId, name: 'Friends' }),
    next: { type: 'FieldUpdated', data: { name: 'Later' } },
    loading: {
      decider: field,
      first: (any) => ({
        type: 'FieldCreated',
        data: { key: 'a', name: 'A', type: 'CHOICE', options: any.pick([null, ['S'], ['S', 'Ω "']]) },
      }),
      next: (any) => ({
        type: any.pick(['FieldUpdated', 'FieldUpdated', 'FieldDeleted']),
        data: { name: any.word() },
      }),
    },
    past: {
      idField: 'fieldId',
      shownBy: ['field.get-field'],
      steps: (history) => [
        () => history.send('field.update-field', { fieldId: history.any('field'), name: history.name() }),
        () => history.send('field.delete-field', { fieldId: history.any('field') }),
      ],
    },
  },
  segment: {
    make: makes('segment'),
    show: (own, { id: segmentId }) => own.send('segment.get-segment', { segmentId }),
    showsItself: true,
    decide: (own, { id: segmentId }) => own.send('segment.update-segment', { segmentId, name: 'Friends' }),
    next: { type: 'SegmentUpdated', data: { name: 'Later' } },
    loading: {
      decider: segment,
      first: (any) => ({ type: 'SegmentCreated', data: { name: 'A', filter: aFilter(any.random) } }),
      next: (any) =>
        any.event(
          ['SegmentUpdated', () => ({ name: any.word() })],
          ['SegmentUpdated', () => ({ filter: aFilter(any.random) })],
          ['SegmentDeleted'],
        ),
    },
    past: {
      idField: 'segmentId',
      shownBy: ['segment.get-segment'],
      steps: (history) => [
        () =>
          history.create('segment', 'segment.create-segment', {
            name: history.name(),
            filter: aFilter(history.random),
          }),
        () =>
          history.send('segment.update-segment', {
            segmentId: history.any('segment'),
            filter: aFilter(history.random),
          }),
      ],
    },
  },
  view: {
    make: makes('view'),
    show: (own, { id: viewId }) => own.send('view.get-view', { viewId }),
    showsItself: true,
    decide: (own, { id: viewId }) => own.send('view.update-view', { viewId, name: 'Friends' }),
    next: { type: 'ViewUpdated', data: { name: 'Later' } },
    loading: {
      decider: view,
      first: (any) => ({
        type: 'ViewCreated',
        data: {
          name: 'A',
          operation: any.pick(['contact.list-contacts', 'post.list-posts']),
          parameters: any.pick<Record<string, string>>([{}, { sort: 'createdAt' }]),
          columns: any.pick([[], ['city', 'customFields.a']]),
        },
      }),
      next: (any) =>
        any.event(
          ['ViewUpdated', () => ({ name: any.word() })],
          ['ViewUpdated', () => ({ parameters: {}, columns: [any.word()] })],
          ['ViewDeleted'],
        ),
    },
    past: {
      idField: 'viewId',
      shownBy: ['view.get-view'],
      steps: (history) => [
        () => history.send('view.update-view', { viewId: history.any('view'), name: history.name() }),
        () => history.send('view.update-view', { viewId: history.any('view'), columns: ['city'] }),
        () => history.send('view.delete-view', { viewId: history.any('view') }),
      ],
    },
  },
  image: {
    make: makes('image'),
    show: (own, { id: imageId }) => own.send('image.get-image', { imageId }),
    showsItself: true,
    decide: (own, { id: imageId }) => own.send('image.update-image', { imageId, alt: 'Friends' }),
    next: { type: 'ImageUpdated', data: { alt: 'Later' } },
    loading: {
      decider: image,
      first: (any) => ({
        type: 'ImageUploaded',
        data: {
          name: 'A',
          alt: any.word(),
          hash: 'a'.repeat(64),
          variants: [{ name: '8.jpg', type: 'image/jpeg', width: 8, height: 8, bytes: 99 }],
        },
      }),
      next: (any) =>
        any.event(
          ['ImageUpdated', () => ({ name: 'B', alt: any.word() })],
          ['ImageDeleted', () => ({ hash: 'a'.repeat(64) })],
        ),
    },
    past: {
      idField: 'imageId',
      shownBy: ['image.get-image'],
      steps: (history) => [
        () => history.upload('image'),
        () => {
          const imageId = history.any('image');
          const [postId, petitionId] = [history.any('post'), history.any('petition')];
          return pick<Step>(history.random, [
            () => history.send('image.update-image', { imageId, alt: history.name() }),
            () => history.send('post.update-post', { postId, imageId }),
            () => history.send('petition.update-petition', { petitionId, imageId }),
            () => history.send('image.delete-image', { imageId, detach: true }),
          ])();
        },
      ],
    },
  },
  webhook: {
    make: makes('webhook'),
    // Without values that only exist now.
    async show(own, { id: webhookId }) {
      const answer = await own.send('webhook.get-webhook', { webhookId });
      const ofNow = { status: null, position: null, lag: null, lastDelivery: null };
      return { ...answer, body: { ...answer.body, data: { ...answer.body.data, ...ofNow } } };
    },
    showsItself: true,
    decide: (own, { id: webhookId }) =>
      own.send('webhook.update-webhook', { webhookId, description: 'Friends' }),
    next: { type: 'WebhookUpdated', data: { description: 'Later' } },
    loading: {
      decider: webhook,
      first: (any) => ({
        type: 'WebhookCreated',
        data: { url: any.word(), description: any.word(), eventTypes: null, personalData: true },
      }),
      next: (any) => ({
        type: any.pick([
          'WebhookUpdated',
          'WebhookPaused',
          'WebhookResumed',
          'WebhookSecretRotated',
          'WebhookDeleted',
        ]),
        data: { url: any.word(), overlapSeconds: 60 },
      }),
    },
    past: {
      idField: 'webhookId',
      shownBy: ['webhook.get-webhook'],
      steps: (history) => [
        () =>
          history.create('webhook', 'webhook.create-webhook', {
            url: `https://example.org/${history.name()}`,
          }),
        () => history.send('webhook.pause-webhook', { webhookId: history.any('webhook') }),
        () => history.send('webhook.resume-webhook', { webhookId: history.any('webhook') }),
      ],
    },
  },
  'webhook-expansion': {
    isPart: true,
    async make(own) {
      const { webhookId } = await own.a('webhook');
      await own.ask('webhook.update-webhook', { webhookId, expand: ['contact'] });
      return { id: expansionId(webhookId!), webhookId: webhookId! };
    },
    async show(own, { webhookId }) {
      const answer = await own.send('webhook.get-webhook', { webhookId });
      const ofNow = { position: null, lag: null, lastDelivery: null };
      return { ...answer, body: { ...answer.body, data: { ...answer.body.data, ...ofNow } } };
    },
    showsItself: true,
    decide: (own, { webhookId }) => own.send('webhook.update-webhook', { webhookId, expand: ['petition'] }),
    next: { type: 'WebhookExpansionChanged', data: { webhookId: '', expand: [] } },
  },
  petition: {
    make: makes('petition'),
    show: (own, { id: petitionId }) => own.send('petition.get-petition', { petitionId }),
    showsItself: true,
    decide: (own, { id: petitionId }) =>
      own.send('petition.add-signature', { petitionId, contact: own.person() }),
    next: { type: 'PetitionUpdated', data: { goal: 7 } },
    loading: {
      decider: petition,
      first: (any) => ({
        type: 'PetitionCreated',
        data: { name: 'A', ...pageFields, form: signedForm, content: any.content() },
      }),
      next: (any) =>
        any.event(
          ['PetitionUpdated', () => ({ content: any.content() })],
          ['PetitionUpdated', () => ({ title: any.word(), goal: 7 })],
          ['PetitionPublished'],
          ['PetitionClosed'],
          [any.pick(['PetitionDeleted', 'PetitionPublished'])],
        ),
    },
    past: {
      idField: 'petitionId',
      shownBy: ['petition.get-petition', 'petition.get-stats', 'petition.list-signatures'],
      steps: (history) => [
        async () => {
          const fields = { name: history.name() };
          const petitionId = await history.create('petition', 'petition.create-petition', fields);
          await history.send('petition.publish-petition', { petitionId });
        },
        () =>
          history.send('petition.update-petition', {
            petitionId: history.any('petition'),
            goal: 1 + history.random(1_000),
          }),
        async () => {
          const counted = { count: 1 + history.random(9), collectedOn: '2026-11-20', note: history.name() };
          const fields = { petitionId: history.any('petition'), ...counted };
          await history.create('offline-count', 'petition.record-offline-signatures', fields);
        },
        () =>
          history.send('petition.withdraw-offline-signatures', {
            offlineCountId: history.any('offline-count'),
          }),
        () => history.send('petition.close-petition', { petitionId: history.any('petition') }),
        () => history.send('petition.publish-petition', { petitionId: history.any('petition') }),
        () => history.send('petition.delete-petition', { petitionId: history.any('petition') }),
      ],
    },
  },
  broadcast: {
    make: makes('broadcast'),
    show: (own, { id: broadcastId }) => own.send('broadcast.get-broadcast', { broadcastId }),
    showsItself: true,
    decide: (own, { id: broadcastId }) =>
      own.send('broadcast.update-broadcast', { broadcastId, subject: 'New' }),
    next: { type: 'BroadcastUpdated', data: { subject: 'Later' } },
    loading: {
      decider: broadcast,
      first: (any) => ({
        type: 'BroadcastCreated',
        data: {
          ...{ name: 'A', subject: 'Ω', preheader: any.word(), content: 'x', format: 'HTML' },
          audience: { listIds: ['a'] },
        },
      }),
      next: (any) =>
        any.event(
          ['BroadcastUpdated', () => ({ content: any.pick(['', 'y'.repeat(9_000)]), subject: 'B' })],
          ['BroadcastScheduled', () => ({ sendAt: '2030-01-01T00:00:00.000Z' })],
          ['BroadcastStarted', () => ({ sendingId: uuidv7(), position: 1, recipients: 2, digest: 'd' })],
          ['BroadcastRetried', () => ({ status: 'FAILED' })],
          ['BroadcastSent', () => ({ sent: 1, failed: 1, skipped: 0, inDoubt: 0 })],
          [any.pick(['BroadcastPaused', 'BroadcastResumed', 'BroadcastCancelled', 'BroadcastDeleted'])],
        ),
    },
    past: {
      idField: 'broadcastId',
      shownBy: ['broadcast.get-broadcast'],
      steps: (history) => [
        () => history.create('broadcast', 'broadcast.create-broadcast', { name: history.name() }),
        () =>
          history.send('broadcast.update-broadcast', {
            broadcastId: history.any('broadcast'),
            subject: history.name(),
          }),
      ],
    },
  },
  post: {
    make: makes('post'),
    show: (own, { id: postId }) => own.send('post.get-post', { postId }),
    showsItself: true,
    decide: (own, { id: postId }) => own.send('post.publish-post', { postId }),
    next: { type: 'PostUpdated', data: { title: 'Later' } },
    loading: {
      decider: post,
      first: (any) => ({ type: 'PostCreated', data: { name: 'A', ...pageFields, content: any.content() } }),
      next: (any) =>
        any.event(
          ['PostUpdated', () => ({ content: any.content(), name: 'B' })],
          ['PostPublished'],
          ['PostArchived'],
          [any.pick(['PostDeleted', 'PostPublished'])],
        ),
    },
    past: {
      idField: 'postId',
      shownBy: ['post.get-post'],
      steps: (history) => [
        () => {
          const fields = { name: history.name(), content: { n: history.random(9) } };
          return history.create('post', 'post.create-post', fields);
        },
        () => history.send('post.publish-post', { postId: history.any('post') }),
        () => history.send('post.archive-post', { postId: history.any('post') }),
      ],
    },
  },
  form: {
    make: makes('form'),
    show: (own, { id: formId }) => own.send('form.get-form', { formId }),
    showsItself: true,
    decide: (own, { id: formId }) => own.send('form.update-form', { formId, title: 'New' }),
    next: { type: 'FormUpdated', data: { title: 'Later' } },
    loading: {
      decider: form,
      first: (any) => ({ type: 'FormCreated', data: { name: 'A', text: any.word(), status: 'PUBLISHED' } }),
      next: (any) =>
        any.event(
          ['FormUpdated', () => ({ text: any.word(), name: 'B' })],
          [any.pick(['FormDeleted', 'FormUpdated'])],
        ),
    },
    past: {
      idField: 'formId',
      shownBy: ['form.get-form', 'form.get-stats'],
      steps: (history) => [
        () => history.create('form', 'form.create-form', { name: history.name() }),
        () => history.send('form.update-form', { formId: history.any('form'), title: history.name() }),
        () => history.send('form.delete-form', { formId: history.any('form') }),
      ],
    },
  },
  'publishable-key': {
    make: makes('publishableKey'),
    show: (own, { id: publishableKeyId }) =>
      own.send('publishable-key.get-publishable-key', { publishableKeyId }),
    showsItself: true,
    decide: (own, { id: publishableKeyId }) =>
      own.send('publishable-key.update-publishable-key', { publishableKeyId, name: 'New' }),
    next: { type: 'PublishableKeyUpdated', data: { name: 'Later' } },
    loading: {
      decider: publishableKey,
      first: () => ({ type: 'PublishableKeyCreated', data: { name: 'A', origins: [] } }),
      next: (any) =>
        any.event(
          ['PublishableKeyUpdated', () => ({ name: any.word() })],
          [any.pick(['PublishableKeyRevoked', 'PublishableKeyUpdated'])],
        ),
    },
    past: {
      idField: 'publishableKeyId',
      shownBy: ['publishable-key.get-publishable-key'],
      steps: (history) => [
        () =>
          history.create('publishable-key', 'publishable-key.create-publishable-key', {
            name: history.name(),
            origins: [],
          }),
        () =>
          history.send('publishable-key.update-publishable-key', {
            publishableKeyId: history.any('publishable-key'),
            origins: ['https://www.example.org'],
          }),
        () =>
          history.send('publishable-key.revoke-publishable-key', {
            publishableKeyId: history.any('publishable-key'),
          }),
      ],
    },
  },
  'api-key': {
    make: async (own) => idOf((await own.api.createKey(own.organizationId)).id),
    show: (own) => own.send('api-key.list-api-keys'),
    showsItself: false,
    decide: (own, { id: apiKeyId }) => own.send('api-key.revoke-api-key', { apiKeyId }),
    loading: {
      decider: apiKey,
      first: () => ({
        type: 'ApiKeyCreated',
        data: {
          ...{ name: 'A', publicId: 'abcdefgh', secretHash: '00', scopes: ['*'], rateLimit: 5 },
          expiresAt: null,
        },
      }),
      next: (any) =>
        any.event(['ApiKeyRotated', () => ({ successorId: uuidv7(), overlapSeconds: 9 })], ['ApiKeyRevoked']),
    },
  },
  signature: {
    async make(own) {
      const [{ petitionId }, { contactId }] = [await own.a('petition'), await own.a('contact')];
      const { signatureId: id } = await own.ask('petition.add-signature', { petitionId, contactId });
      return { id, petitionId: petitionId!, contactId: contactId! };
    },
    show: (own, { petitionId }) => own.send('petition.get-petition', { petitionId }),
    showsItself: false,
    decide: (own, { petitionId, contactId }) =>
      own.send('petition.remove-signature', { petitionId, contactId }),
  },
  'signature-invalidation': {
    make: makes('invalidation'),
    show: (own, { id: invalidationId }) => own.send('petition.get-invalidation', { invalidationId }),
    showsItself: true,
    decide: (own, { id: invalidationId }) => own.send('petition.restore-signatures', { invalidationId }),
    loading: {
      decider: invalidation,
      first: (any) => ({
        type: 'SignaturesInvalidated',
        data: {
          ...invalidated(any),
          condition: any.pick([null, { emailDomain: 'a.example' }]),
          upTo: 7,
          matched: 9,
        },
      }),
      next: (any) => ({
        type: any.pick(['SignaturesInvalidated', 'SignaturesRestored']),
        data: invalidated(any),
      }),
    },
    past: {
      idField: 'invalidationId',
      shownBy: ['petition.get-invalidation'],
      steps: (history) => {
        const signatures: { petitionId: string; signatureIds: string[] }[] = [];
        const sign: Step = async () => {
          const fields = { petitionId: history.any('petition'), contactId: history.any('contact') };
          const { body } = await history.send('petition.add-signature', fields);
          if (!body.data) return;
          const { petitionId, signatureId } = body.data;
          signatures.push({ petitionId, signatureIds: [signatureId] });
        };
        return [
          ...[sign, sign, sign, sign],
          async () => {
            if (signatures.length === 0) return;
            const fields = pick(history.random, signatures);
            await history.create('signature-invalidation', 'petition.invalidate-signatures', fields);
          },
          () =>
            history.send('petition.restore-signatures', {
              invalidationId: history.any('signature-invalidation'),
            }),
          () =>
            history.send('petition.remove-signature', {
              petitionId: history.any('petition'),
              contactId: history.any('contact'),
            }),
        ];
      },
    },
  },
  'offline-count': {
    make: makes('offlineCount'),
    show: (own) => own.send('petition.list-offline-signatures'),
    showsItself: false,
    decide: (own, { id: offlineCountId }) =>
      own.send('petition.withdraw-offline-signatures', { offlineCountId }),
    loading: {
      decider: offlineCount,
      first: (any) => ({
        type: 'OfflineSignaturesRecorded',
        data: { petitionId: uuidv7(), count: 3, collectedOn: '2026-11-20', note: any.word() },
      }),
      next: () => ({ type: 'OfflineSignaturesWithdrawn', data: { petitionId: uuidv7() } }),
    },
  },
  'petition-delivery': {
    async make(own) {
      const { petitionId } = await own.a('petition');
      const { status } = await own.send('petition.get-delivery', { petitionId });
      expect(status).toBe(200);
      return idOf(await lastStream(own, 'petition-delivery'));
    },
    show: isShownInHistory('petition-delivery'),
    showsItself: false,
    decide: 'none',
  },
  'image-files': {
    async make(own) {
      await own.a('image');
      return idOf(await lastStream(own, 'image-files'));
    },
    show: isShownInHistory('image-files'),
    showsItself: false,
    decide: 'none',
  },
  'thank-you-retry': {
    async make(own) {
      const { petitionId } = await own.a('petition');
      await failThankYou(own.api, own.organizationId, petitionId!);
      await own.ask('petition.retry-thank-you-mails', { petitionId, status: 'FAILED' });
      return idOf(await lastStream(own, 'thank-you-retry'));
    },
    show: isShownInHistory('thank-you-retry'),
    showsItself: false,
    decide: 'none',
  },
  'history-access': {
    async make(own) {
      await own.ask('history.list-events');
      return idOf(await lastStream(own, 'history-access'));
    },
    show: isShownInHistory('history-access'),
    showsItself: false,
    decide: 'none',
  },
  'history-reads': {
    async make(own) {
      await own.ask('history.list-events');
      await own.api.recordReads(own.organizationId);
      return idOf(await lastStream(own, 'history-reads'));
    },
    show: isShownInHistory('history-reads'),
    showsItself: false,
    decide: 'none',
  },
  suppression: {
    async make(own) {
      const { email } = own.person();
      const { suppressionId: id } = await own.ask('suppression.create-suppression', { email });
      return { id, email };
    },
    show: (own, { email }) => own.send('suppression.list-suppressions', { email }),
    showsItself: false,
    decide: (own, { email }) => own.send('suppression.create-suppression', { email, reason: 'BOUNCED' }),
    next: { type: 'SuppressionEnded', data: { reason: null } },
  },
  member: {
    make: makes('invitation'),
    show: (own) => own.send('team.list-invitations'),
    showsItself: false,
    decide: (own, { id: invitationId }) => own.send('team.revoke-invitation', { invitationId }),
    next: { type: 'InvitationRenewed', data: { role: 'EDITOR' } },
    loading: {
      decider: member,
      first: (any) => ({
        type: 'MemberInvited',
        data: { userId: uuidv7(), role: any.pick(['OWNER', 'VIEWER']) },
      }),
      next: (any) =>
        any.event(
          ['InvitationRenewed', () => ({ role: 'EDITOR' })],
          ['InvitationAccepted'],
          ['MemberRoleChanged', () => ({ role: 'ADMIN' })],
          [any.pick(['InvitationRevoked', 'MemberRemoved', 'InvitationAccepted'])],
        ),
    },
  },
  'notification-settings': {
    async make(own) {
      const { memberId } = await own.a('member');
      await own.ask('notification.update-settings', { memberId, goalReached: false });
      return { id: await lastStream(own, 'notification-settings'), memberId: memberId! };
    },
    show: (own, { memberId }) => own.send('notification.get-settings', { memberId }),
    showsItself: true,
    decide: (own, { memberId }) =>
      own.send('notification.update-settings', { memberId, commentWaiting: false }),
  },
  'suppressed-address': {
    async make(own) {
      const { email } = own.person();
      await own.ask('suppression.create-suppression', { email });
      return { id: await lastStream(own, 'suppressed-address'), email };
    },
    show: (own, { email }) => own.send('suppression.list-suppressions', { email }),
    showsItself: false,
    decide: (own, { email }) => own.send('suppression.delete-suppression', { email }),
  },
  'contact-mail': {
    async make(own) {
      const { email } = own.person();
      await own.ask('contact.create-contact', { email });
      await reportBounce(own, email);
      return { id: await lastStream(own, 'contact-mail'), email };
    },
    show: isShownInHistory('contact-mail'),
    showsItself: false,
    decide: (own, { email }) => refusalOf(reportBounce(own, email!)),
  },
  register: {
    make: async (own) => ({
      id: await registerCheckpoint(own.api.instances[0]!.runtime.store, own.organizationId),
    }),
    show: isShownInHistory('register'),
    showsItself: false,
    decide: 'none',
  },
  'signing-key': {
    async make(own) {
      const signers = new Signers([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]);
      const { store } = own.api.instances[0]!.runtime;
      await recordSuccession(store, own.organizationId, signers.succession(own.organizationId)!);
      return idOf(await lastStream(own, 'signing-key'));
    },
    show: isShownInHistory('signing-key'),
    showsItself: false,
    decide: 'none',
  },
};

/** Registers an invented checkpoint, in any organization. @returns the id of the stream. */
export async function registerCheckpoint(store: EventStore, organizationId: string): Promise<string> {
  const [previous, size, root] = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
  const data = { checkpoints: [{ previous: previous!, size: size!, root: root! }], upTo: 1 };
  const write = { streamType: 'register', streamId: uuidv7(), expectedVersion: 0 };
  const metadata = { actor: { type: 'system', id: 'register' }, requestId: uuidv7() } as const;
  const writes = [{ ...write, events: [{ type: 'CheckpointsRegistered', data }] }];
  await store.append({ organizationId, metadata, writes });
  return write.streamId;
}
