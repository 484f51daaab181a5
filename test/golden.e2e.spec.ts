import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandBus } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { inTransaction } from '#libs/database';
import { readSchema, type RecordedEvent, type Seal, sealValue, writtenSchema } from '#libs/event-store';
import { type Projection } from '#libs/projections';
import { Input, systemInput } from '#libs/rpc';
import { Signers } from '#libs/sealing';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { Confirmations } from '../src/confirmations/index.js';
import { ConfirmSignUp, RequestSignUp, signUps } from '../src/forms/index.js';
import { groupsOfContacts } from '../src/contacts/index.js';
import { projections, streams, upcasters } from '../src/modules.js';
import { eventRecord, readExported, recordSuccession } from '../src/history/index.js';
import {
  ConfirmSignature,
  invalidationPlan,
  invalidationPlanId,
  RequestSignature,
  signatureRequests,
} from '../src/petitions/index.js';
import { disableWebhook, webhook } from '../src/webhooks/index.js';
import { Suppressions } from '../src/suppressions/index.js';
import { AcceptInvitation } from '../src/team/index.js';
import { failThankYou } from './fixture.js';
import { Api } from './harness.js';
import { mismatches } from './openapi.js';
import { picture } from './pictures.js';
import { eventually } from './processes.js';
import { registerCheckpoint } from './record-kinds.js';
import { published } from './releases.js';
import { comeDue } from './timers.js';

/**
 * A history that the product wrote, and digests of its projections. Both are checked in, so this test fails if old events are
 * read differently.
 *
 * The history keeps its old schemas forever. UPDATE_GOLDEN=history appends new events, and UPDATE_GOLDEN=digests renews the
 * digests (raise the projection's version first).
 */
const directory = join(__dirname, 'golden');
const HISTORY = join(directory, 'history.ndjson');
/** Digests of the history up to each part that was appended. They never change either. */
const PREFIXES = join(directory, 'prefixes.json');
const DIGESTS = join(directory, 'digests.json');
/** The schemas that the previous release reads. */
const RELEASED = join(directory, 'released.json');
const { UPDATE_GOLDEN } = process.env;

/** `sha256`: one digest for each appended part of the history. */
type Digests = {
  [projection: string]: { version: number; sha256: string[]; reads: { [type: string]: number } };
};
type Prefix = { lines: number; sha256: string };
type Released = { version: string; reads: { [streamType: string]: { [type: string]: number } } };

const readJson = async <Value>(file: string, none: Value): Promise<Value> =>
  existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as Value) : none;
const writeJson = (file: string, value: object) => writeFile(file, `${JSON.stringify(value, null, 2)}\n`);

async function lines(): Promise<string[]> {
  return (await readFile(HISTORY, 'utf8')).trimEnd().split('\n');
}

async function history(): Promise<RecordedEvent[]> {
  return (await lines()).map((line) => readExported(line, upcasters)!);
}

/** The appended parts of the history. Each is the whole history of an organization. */
async function parts(): Promise<RecordedEvent[][]> {
  const all = await history();
  const ends = (await readJson<Prefix[]>(PREFIXES, [])).map(({ lines }) => lines);
  return ends.map((end, n) => all.slice(ends[n - 1] ?? 0, end));
}

const sha256 = (first: readonly string[]) =>
  createHash('sha256')
    .update(first.map((line) => `${line}\n`).join(''))
    .digest('hex');

/** All known event types by stream, from `streams`. */
const types = streams.flatMap(({ streamType, events }) =>
  Object.keys(events).map((type) => ({ streamType, type })),
);

/** Current types and schemas that the history lacks, as `type schema`. */
function missingFrom(events: readonly Pick<RecordedEvent, 'type' | 'schema'>[]): string[] {
  const there = new Set(events.map(({ type, schema }) => `${type} ${schema}`));
  return types
    .map(({ type }) => ({ type, schema: writtenSchema(upcasters, type) }))
    .filter(({ type, schema }) => schema > 0 && !there.has(`${type} ${schema}`))
    .map(({ type, schema }) => `${type} ${schema}`);
}

/** An exported history has no encryption keys of people. Any constant key works. */
const seal: Seal = (event, name, value) => sealValue(Buffer.alloc(32, event.subjectId!), name, value);

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database.drop());

/** Builds the projection's tables in a temporary schema, and fills them with each part of the history by itself. */
function digestsOf(
  projection: Projection,
  all: readonly (readonly RecordedEvent[])[],
): Promise<readonly string[]> {
  return inTransaction(database.source, {}, async (transaction) => {
    await transaction.query('CREATE SCHEMA golden');
    await transaction.query('SET LOCAL search_path = golden, public');
    await transaction.query(projection.tables);
    const tables: { name: string }[] = await transaction.query(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'golden' ORDER BY 1`,
    );
    const digests: string[] = [];
    for (const events of all) {
      await transaction.query('SAVEPOINT empty');
      const handled = events.filter(({ type }) => projection.handles.includes(type));
      // Pages of seven, because page boundaries must not matter.
      for (let n = 0; n < handled.length; n += 7)
        await projection.apply(handled.slice(n, n + 7), transaction, seal);
      const hash = createHash('sha256');
      for (const { name } of tables) {
        const rows: { row: string }[] = await transaction.query(
          `SELECT to_jsonb(t)::text AS row FROM golden.${name} t ORDER BY 1`,
        );
        hash.update(`${name}\n${rows.map(({ row }) => row).join('\n')}\n`);
      }
      digests.push(hash.digest('hex'));
      // Emptying them takes a fraction of the time of creating them again.
      await transaction.query('ROLLBACK TO SAVEPOINT empty');
    }
    await transaction.query('DROP SCHEMA golden CASCADE');
    return digests;
  });
}

/** Appends the history of a new organization if types are missing. */
async function appendMissing(): Promise<void> {
  const before = await lines();
  if (missingFrom(await history()).length === 0) return;
  const last = (JSON.parse(before.at(-1)!) as { position: number }).position;
  const made = (await makeHistory()).trimEnd().split('\n');
  // No digest covers the position, and the first event of an organization has no previous one.
  const moved = made.map((line) => {
    const event = JSON.parse(line) as { position: number; previousPosition: number };
    event.position += last;
    if (event.previousPosition > 0) event.previousPosition += last;
    return JSON.stringify(event);
  });
  const after = [...before, ...moved];
  await writeFile(HISTORY, `${after.join('\n')}\n`);
  const prefixes = await readJson<Prefix[]>(PREFIXES, []);
  await writeJson(PREFIXES, [...prefixes, { lines: after.length, sha256: sha256(after) }]);
}

async function expectUnchanged(): Promise<void> {
  const all = await lines();
  const prefixes = await readJson<Prefix[]>(PREFIXES, []);
  expect(prefixes.map((prefix) => ({ ...prefix, sha256: sha256(all.slice(0, prefix.lines)) }))).toEqual(
    prefixes,
  );
  expect(prefixes.at(-1)!.lines).toBe(all.length);
}

beforeAll(async () => {
  if (UPDATE_GOLDEN !== 'history') return;
  await expectUnchanged();
  await appendMissing();
});

it('is unchanged, and new events are only appended', expectUnchanged);

it('contains every event type in its current schema', async () => {
  const missing = missingFrom(await history());
  if (missing.length === 0) return;
  throw new Error(
    `test/golden/history.ndjson lacks ${missing.join(', ')}. Unless makeHistory() in test/golden.e2e.spec.ts already ` +
      'causes each of them, add a request there. Then run UPDATE_GOLDEN=history npm test -- golden.',
  );
});

it('matches the schemas of events in the OpenAPI document', async () => {
  // The schemas of new types come from the new history.
  if (UPDATE_GOLDEN === 'history') return;
  const { webhooks, components } = await readJson<any>(join(__dirname, 'openapi.json'), undefined);
  const found = (await history()).flatMap((event) => {
    const { $ref } = webhooks[event.type].post.requestBody.content['application/json'].schema;
    const { data } = components.schemas[$ref.split('/').at(-1)].allOf[1].properties;
    return mismatches(data, eventRecord(event).data, event.type);
  });
  expect([...new Set(found)]).toEqual([]);
});

it('knows every type that a projection handles', () => {
  const known = types.map(({ type }) => type);
  const handled = projections.flatMap(({ handles }) => handles);
  expect(handled.filter((type) => !known.includes(type))).toEqual([]);
  expect(types.filter(({ type }, n) => known.indexOf(type) !== n)).toEqual([]);
});

it('contains no schema that the previous release cannot read', async () => {
  const reads = Object.fromEntries(
    streams.map(({ streamType, events }) => [
      streamType,
      Object.fromEntries(Object.keys(events).map((type) => [type, readSchema(upcasters, type)])),
    ]),
  );
  const program = JSON.parse(await readFile(join(__dirname, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  if (UPDATE_GOLDEN === 'release') {
    await writeJson(RELEASED, { version: program.version, reads } satisfies Released);
    return;
  }
  const released = await readJson<Released | undefined>(RELEASED, undefined);
  // Run UPDATE_GOLDEN=release on the version published last.
  expect(released!.version).toBe(published.at(-1)!.version);
  for (const { streamType, type } of types) {
    // The release never loads streams of unknown types.
    const known = released!.reads[streamType];
    const writes = writtenSchema(upcasters, type);
    if (!known || writes <= (known[type] ?? 0)) continue;
    throw new Error(
      `${type} is written with schema ${writes}, which ${released!.version} cannot read, and instances of it serve ` +
        `beside this version. In this release only read it: 'writes' in the upcasters of its module.`,
    );
  }
});

/** The parts, read once. */
let read: ReturnType<typeof parts> | undefined;

it.each(projections.map((projection) => [projection.name, projection] as const))(
  '%s reads it as before',
  async (name, projection) => {
    const reads = Object.fromEntries(projection.handles.map((type) => [type, readSchema(upcasters, type)]));
    // The new history is complete after the first hook.
    const sha256 = await digestsOf(projection, await (read ??= parts()));
    const found = { version: projection.version, sha256, reads };
    const digests = await readJson<Digests>(DIGESTS, {});
    const before = digests[name];
    if (UPDATE_GOLDEN === 'digests' || UPDATE_GOLDEN === 'history') {
      // Versions that share tables must read the same: see `Projection.version`.
      if (before?.version === found.version) {
        const appended = sha256.slice(before.sha256.length);
        expect({ [name]: found }).toEqual({ [name]: { ...before, sha256: [...before.sha256, ...appended] } });
      }
      await writeJson(DIGESTS, { ...digests, [name]: found });
      return;
    }
    if (!before)
      throw new Error(`test/golden/digests.json lacks ${name}: run UPDATE_GOLDEN=digests npm test -- golden`);
    expect({ [name]: found }).toEqual({ [name]: before });
  },
);

/** The input of an internal command. */
class Failed extends Input {}

/** Causes every event type by the product's own operations. */
async function makeHistory(): Promise<string> {
  const api = await Api.start();
  const client = await api.organization();
  const { organizationId } = client;
  const signers = new Signers([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]);
  await recordSuccession(
    api.instances[0]!.runtime.store,
    organizationId,
    signers.succession(organizationId)!,
  );
  await registerCheckpoint(api.instances[0]!.runtime.store, organizationId);
  const post = async (operation: string, body: object) => {
    const answer = await client.post(operation, body);
    if (answer.status >= 400) throw new Error(`${operation}: ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  };
  const erase = (operation: string, body: object) => client.delete(operation, body);
  const { fieldId } = await post('field.create-field', {
    name: 'Shoe size',
    type: 'CHOICE',
    options: ['S', 'M'],
  });
  await post('field.update-field', { fieldId, options: ['S', 'M', 'Ω "L"'] });
  const contactIds: string[] = [];
  for (const firstName of ['Ada', 'Chico', 'Rachel', 'Wangari']) {
    const email = `${firstName.toLowerCase()}@example.org`;
    const contact = {
      organizationId,
      ...{ email, firstName, city: 'Nairobi', bio: 'Ω \n “quoted”', region: 'Nairobi County' },
      externalIds: [`golden:${firstName}`],
      customFields: { shoeSize: 'Ω "L"' },
    };
    contactIds.push((await post('contact.create-contact', contact)).contactId);
  }
  const [ada, chico, rachel, wangari] = contactIds as [string, string, string, string];
  await post('contact.update-contact', {
    contactId: ada,
    ...{ city: null, phone: '+44 20', subscribed: false },
    ...{ externalIds: ['golden:2'], customFields: { shoeSize: null } },
  });
  await post('contact.update-contact', { contactId: ada, subscribed: true, email: 'ada@example.net' });
  const consent = {
    source: 'Paper list',
    text: 'Keep me informed',
    at: '2024-05-31T12:00:00Z',
    ip: '2001:db8::7',
  };
  await post('contact.update-contact', { contactId: ada, subscribed: true, consent });
  const { listId } = await post('list.create-list', { name: 'Friends' });
  await post('list.update-list', { listId, description: 'Who helps' });
  await post('list.add-contacts', { listId, contactIds: [ada, chico, rachel] });
  await erase('list.remove-contacts', { listId, contactIds: [ada] });
  const { tagId } = await post('tag.create-tag', { name: 'Donor' });
  await post('tag.update-tag', { tagId, description: 'Who gives' });
  await post('tag.add-contacts', { tagId, contactIds: [ada, chico, rachel] });
  await erase('tag.remove-contacts', { tagId, contactIds: [ada] });
  const filter = { all: [{ list: listId }, { not: { field: 'city', op: 'is', value: 'Nairobi' } }] };
  const { segmentId } = await post('segment.create-segment', { name: 'Friends abroad', filter });
  await post('segment.update-segment', {
    segmentId,
    filter: { any: [{ tag: tagId }, { field: 'fields.shoeSize', op: 'is', value: 'M' }] },
  });
  await erase('segment.delete-segment', { segmentId });
  const { viewId } = await post('view.create-view', {
    name: 'Friends in Bonn',
    operation: 'contact.list-contacts',
    parameters: { city: 'Bonn', sort: 'email' },
    columns: ['email', 'customFields.shoeSize'],
  });
  await post('view.update-view', { viewId, parameters: { subscribed: 'true' }, columns: [] });
  await erase('view.delete-view', { viewId });
  const { webhookId } = await post('webhook.create-webhook', { url: 'https://webhooks.invalid/' });
  await post('webhook.update-webhook', { webhookId, eventTypes: ['ContactErased'], expand: ['contact'] });
  await post('webhook.pause-webhook', { webhookId });
  await post('webhook.resume-webhook', { webhookId });
  await post('webhook.rotate-secret', { webhookId, overlapSeconds: 60 });
  await post('webhook.replay-webhook', { webhookId, fromPosition: 0 });
  const [{ id: eventId }] = (await client.get('event.list-events')).body.data;
  await post('webhook.redeliver', { webhookId, eventId });
  // The result of three days of failures.
  const { app } = api.instances[0]!;
  const failed = systemInput(Failed, organizationId, {}, 'webhooks');
  await app.get(Commands).change(webhook, failed, webhookId, (state) => disableWebhook(state, new Date()));
  const { webhookId: gone } = await post('webhook.create-webhook', { url: 'https://gone.invalid/' });
  await erase('webhook.delete-webhook', { webhookId: gone });
  const content = { blocks: [{ text: 'Stop' }, 1.5, null, [true, { deep: -0.25 }]] };
  const { petitionId } = await post('petition.create-petition', { name: 'Save the river', content });
  await post('petition.update-petition', { petitionId, goal: 5, ask: 'Stop it' });
  await post('petition.publish-petition', { petitionId });
  for (const contactId of contactIds) {
    await post('petition.add-signature', {
      petitionId,
      contactId,
      comment: `I am ${contactIds.indexOf(contactId)}`,
    });
  }
  await post('petition.add-signature', { petitionId, contact: { email: 'grace@example.org' } });
  api.startWorkers();
  await eventually(async () => expect(await api.eventTypes(organizationId)).toContain('PetitionGoalReached'));
  await erase('petition.remove-signature', { petitionId, contactId: chico });
  await post('petition.add-signature', { petitionId, contactId: chico });
  const { data: signatures } = (await client.get('petition.list-signatures', { petitionId })).body;
  const signatureIds = signatures.slice(0, 2).map(({ id }: { id: string }) => id);
  const onPaper = { petitionId, count: 48, collectedOn: '2026-11-20', note: 'Market square' };
  const { offlineCountId } = await post('petition.record-offline-signatures', onPaper);
  await client.delete('petition.withdraw-offline-signatures', { offlineCountId });
  await client.get('petition.get-delivery', { petitionId });
  const { invalidationId } = await post('petition.invalidate-signatures', { petitionId, signatureIds });
  await post('petition.restore-signatures', { invalidationId });
  await post('petition.invalidate-signatures', { petitionId, signatureIds: signatureIds.slice(0, 1) });
  await post('petition.update-petition', {
    ...{ petitionId, slug: 'river', publicComments: true },
    formFields: [{ fieldId, required: true }],
  });
  const bus = app.get(CommandBus);
  const publicly = <T extends Input>(type: new () => T, fields: Partial<T>): Promise<any> => {
    const actor = { type: 'public', id: null } as const;
    const context = { organizationId, actor, scopes: [], requestId: 'golden' };
    return bus.execute(Object.assign(new type(), fields, { organizationId, context }));
  };
  const requestIds: string[] = [];
  for (const name of ['Fatou', 'Greta']) {
    const details = { email: `${name.toLowerCase()}@example.org`, firstName: name, lastName: null, zip: '1' };
    const { requestId } = await publicly(RequestSignature, {
      ...{
        petitionId,
        ...details,
        country: 'France',
        comment: `I am ${name}`,
        customFields: { [fieldId]: 'Ω "L"' },
        clientAddress: '192.0.2.7',
      },
      ...{ isCommentPublic: true, subscribe: true, source: 'newsletter', suspicion: ['HONEYPOT'] },
    });
    requestIds.push(requestId);
  }
  await publicly(ConfirmSignature, { requestId: requestIds[0]!, isProved: true });
  const commented = { petitionId, commentState: 'WAITING' };
  const signatureId = (await client.get('petition.list-signatures', commented)).body.data[0].id as string;
  await post('petition.hide-comment', { signatureId });
  await post('petition.show-comment', { signatureId });
  const overdue = systemInput(Failed, organizationId, {}, 'signature-expiry');
  await app.get(Confirmations, { strict: false }).expire(signatureRequests, overdue, requestIds[1]!, 'TIME');
  const planned = await post('petition.invalidate-signatures', { petitionId, suspicion: 'HONEYPOT' });
  // The result of a plan that exceeds the time limit.
  const continued = systemInput(Failed, organizationId, {}, 'planned-invalidations');
  const planId = invalidationPlanId(planned.invalidationId);
  const data = { invalidationId: planned.invalidationId as string };
  await app
    .get(Commands)
    .change(invalidationPlan, continued, planId, () => [
      { type: 'InvalidationPlanContinued', data } as const,
    ]);
  const { contactId: twin } = await post('contact.create-contact', {
    organizationId,
    email: 'twin@example.org',
  });
  await post('petition.add-signature', { petitionId, contactId: twin, comment: 'Ω' });
  await post('petition.close-petition', { petitionId });
  await erase('contact.delete-contact', { contactId: rachel });
  const { contactId: kept } = await post('contact.create-contact', {
    organizationId,
    email: 'kept@example.org',
  });
  const note = await post('note.create-note', { contactId: twin, text: 'Ω' });
  await post('note.update-note', { ...note, text: 'Called, Ω' });
  await post('contact.merge-contacts', { contactId: kept, otherIds: [twin] });
  await erase('note.delete-note', { noteId: note.noteId, contactId: kept });
  await erase('petition.remove-signature', { petitionId, contactId: wangari });
  const other = await post('petition.create-petition', { name: 'Gone' });
  await erase('petition.delete-petition', other);
  const news = await post('post.create-post', { name: 'News', content });
  await post('post.update-post', { ...news, title: 'Good news' });
  await post('post.publish-post', news);
  await post('post.archive-post', news);
  await erase('post.delete-post', await post('post.create-post', { name: 'Old news' }));
  const asked = [{ field: 'zip', required: true }];
  const form = await post('form.create-form', { name: 'Newsletter', listIds: [listId], fields: asked });
  await post('form.update-form', { ...form, tagIds: [tagId], thankYou: { title: 'Ω' } });
  for (const name of ['Hana', 'Ivan']) {
    const nothing = { lastName: null, zip: null, city: null, region: null, country: null, phone: null };
    const email = `${name.toLowerCase()}@example.org`;
    const person = { ...nothing, email, firstName: name, clientAddress: '192.0.2.7', customFields: {} };
    const signUp = { formId: form.formId, person, subscribe: true, source: 'Ω', suspicion: [] };
    const { requestId } = await publicly(RequestSignUp, signUp);
    if (name === 'Hana') await publicly(ConfirmSignUp, { requestId, isProved: true });
    else
      await app
        .get(Confirmations, { strict: false })
        .expire(signUps, systemInput(Failed, organizationId, {}, 'sign-up-expiry'), requestId, 'TIME');
  }
  await erase('form.delete-form', form);
  const websites = { name: 'Website', origins: ['https://www.example.org'] };
  const websiteKey = await post('publishable-key.create-publishable-key', websites);
  await post('publishable-key.update-publishable-key', { ...websiteKey, origins: [] });
  await erase('publishable-key.revoke-publishable-key', websiteKey);
  await erase('list.delete-list', await post('list.create-list', { name: 'Gone' }));
  await erase('tag.delete-tag', await post('tag.create-tag', { name: 'Gone' }));
  for (const { kind, resource } of groupsOfContacts().filter(({ kind }) => !['list', 'tag'].includes(kind))) {
    const made = await post(`${kind}.create-${kind}`, { name: 'River day' });
    await post(`${kind}.update-${kind}`, {
      [resource.idField]: made[resource.idField],
      description: 'All day',
    });
    await post(`${kind}.add-contacts`, { ...made, contactIds: [ada, chico] });
    await erase(`${kind}.remove-contacts`, { ...made, contactIds: [ada] });
    await erase(`${kind}.delete-${kind}`, made);
  }
  await erase('field.delete-field', await post('field.create-field', { name: 'Gone' }));
  const png = { 'Content-Type': 'image/png' };
  for (const name of ['Bridge', 'Gone']) {
    const path = `/v1/image.upload-image?name=${name}`;
    const { imageId } = (await client.request('POST', path, await picture(), png)).body.data;
    await post('image.update-image', { imageId, alt: 'A bridge' });
    if (name === 'Gone') await erase('image.delete-image', { imageId });
  }
  const invite = async (email: string, role = 'EDITOR') =>
    (await post('team.invite-member', { email, role })).invitationId as string;
  const memberId = await invite('ines@example.org', 'VIEWER');
  expect(await invite('ines@example.org')).toBe(memberId);
  await bus.execute(systemInput(AcceptInvitation, organizationId, { invitationId: memberId }, 'invitation'));
  await post('team.update-member', { memberId, role: 'ADMIN' });
  await post('notification.update-settings', { memberId, weeklySummary: false });
  const leaver = await invite('jo@example.org');
  await bus.execute(systemInput(AcceptInvitation, organizationId, { invitationId: leaver }, 'invitation'));
  await erase('team.remove-member', { memberId: leaver });
  await erase('team.revoke-invitation', { invitationId: await invite('kim@example.org') });
  await post('suppression.create-suppression', { email: 'nobody@example.org' });
  await post('suppression.create-suppression', { email: 'nobody@example.org', reason: 'UNSUBSCRIBED' });
  await post('suppression.create-suppression', { email: 'ada@example.net', reason: 'UNSUBSCRIBED' });
  await post('suppression.create-suppression', { email: 'lifted@example.org' });
  await erase('suppression.delete-suppression', { email: 'lifted@example.org' });
  const suppressions = api.instances[0]!.app.get(Suppressions, { strict: false });
  for (const kind of ['bounce', 'complaint'] as const) {
    const actor = { type: 'system', id: 'mail-hook' } as const;
    const context = { organizationId, actor, scopes: [], requestId: 'golden' };
    const report = { kind, email: 'chico@example.org', messageId: 'a-message@example.org' };
    await suppressions.report(organizationId, report, context);
  }
  const key = await post('api-key.create-api-key', {
    name: 'Website',
    scopes: ['petition:write'],
    rateLimit: 50,
  });
  const rotated = await post('api-key.rotate-api-key', { apiKeyId: key.apiKeyId, overlapSeconds: 60 });
  await erase('api-key.revoke-api-key', { apiKeyId: rotated.apiKeyId });
  await post('organization.update-organization', { website: 'https://example.org', publicLog: true });
  await post('organization.update-organization', { publicLog: false, colour: '#0b6e4f' });
  await post('organization.update-organization', {
    mailFrom: { name: 'Clean Rivers', address: 'news@rivers.example' },
    replyTo: 'answers@rivers.example',
    postalAddress: 'Clean Rivers\n1 Bank Street',
    language: 'de',
  });
  const reachable = await post('contact.create-contact', {
    organizationId,
    email: 'berta@example.org',
    subscribed: true,
  });
  const mail = await post('broadcast.create-broadcast', {
    name: 'May',
    audience: { all: true, contactIds: [chico, reachable.contactId] },
  });
  await post('broadcast.update-broadcast', { ...mail, content: 'Dear {{ contact.firstName }}' });
  await post('broadcast.send-broadcast', { ...mail, sendAt: '2099-01-01T00:00:00Z' });
  const hindered = await post('broadcast.create-broadcast', { name: 'Nobody', content: 'x' });
  const sendAt = '2099-01-01T00:00:00.000Z';
  await post('broadcast.send-broadcast', { ...hindered, sendAt });
  await comeDue(api.database, hindered.broadcastId, sendAt);
  await eventually(async () => expect(await api.eventTypes(organizationId)).toContain('BroadcastHindered'));
  await post('broadcast.send-broadcast', mail);
  await post('broadcast.pause-broadcast', mail);
  await post('broadcast.resume-broadcast', mail);
  await eventually(async () => expect(await api.eventTypes(organizationId)).toContain('BroadcastSent'));
  // It is unknown whether the crashed process has sent it.
  await api.database.source.query(`UPDATE broadcast_recipients SET status = 'IN_DOUBT'`);
  await post('broadcast.retry-recipients', { ...mail, status: 'IN_DOUBT' });
  await failThankYou(api, organizationId, petitionId);
  await post('petition.retry-thank-you-mails', { petitionId, status: 'FAILED' });
  await post('broadcast.cancel-broadcast', hindered);
  await erase('broadcast.delete-broadcast', hindered);
  await client.get('event.list-events');
  await api.recordReads(organizationId);
  const exported = await client.get('event.export-events');
  await api.stop();
  return exported.body;
}
