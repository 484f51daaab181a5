import { CommandBus } from '@nestjs/cqrs';
import { fieldsOf, inputOf, systemContext } from '#libs/rpc';
import { eventually, expectEntries } from '#libs/testing';
import { CreateContact } from '../src/contacts/index.js';
import { RequestSignature } from '../src/petitions/index.js';
import { Fixture } from './fixture.js';
import { Api, NOBODY } from './harness.js';

let api: Api;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
  // They note whose request it is.
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  own = new Fixture(api, await api.organization());
});

/** Every column that may contain personal data, by table: where contact.export-person exports it, or why it does not. */
const TABLES: { [table: string]: string } = {
  'contacts.contacts': 'contact',
  'lists.members': 'lists',
  'tags.taggings': 'tags',
  'petitions.signatures': 'signatures, invalidatedSignatures',
  'petitions.pending_signatures': 'pendingSignatures',
  'forms.pending_sign_ups': 'pendingSignUps',
  'forms.sign_ups': 'ids of forms; the consents name the form',
  'suppressions.suppressions': 'suppressions',
  'public.broadcast_recipients': 'deliveries',
  'public.events': 'events',
  'members.members': 'team members, not contacts',
  'public.users': 'team members, not contacts',
  'public.sessions': 'team members, not contacts',
  'public.sign_in_links': 'team members, not contacts',
  'public.drafts': 'what a member has typed and not saved, deleted after 30 days',
  'public.passkeys': 'team members, not contacts',
  'public.passkey_challenges': 'team members, not contacts',
  'public.confirmation_mails': 'keyed hashes, which reveal nothing',
  'public.unique_keys': 'keyed hashes, which reveal nothing',
  'public.idempotency_keys': 'keyed hashes, which reveal nothing',
  'public.subject_keys': 'encryption keys',
  'public.key_check': 'encryption keys',
  'public.contact_imports': 'files, not searchable by person, deleted after a few days',
  'public.contact_import_chunks': 'files, not searchable by person, deleted after a few days',
  'public.contact_import_pages': 'rows of files, not searchable by person, deleted after a few days',
  'public.webhook_deliveries': 'responses of other servers to events, which are exported',
  'public.checkpoint_leaves': 'digests',
  'public.seal_tiles': 'digests',
  'public.seals': 'digests',
};

it('every table with personal data is exported, or there is a reason', async () => {
  // Personal columns have no statistics, are encrypted, or contain the person's id.
  const found: { table: string }[] = await api.database.source.query(`
    SELECT DISTINCT regexp_replace(n.nspname, '_v[0-9]+$', '') || '.' || c.relname AS table
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_|information_schema' AND a.attnum > 0
      AND (a.attstattarget = 0 OR a.atttypid = 'bytea'::regtype
           OR a.attname IN ('contact_id', 'subject_id', 'email', 'personal'))`);
  expectEntries(
    'TABLES in test/export-person.e2e.spec.ts',
    Object.keys(TABLES),
    found.map(({ table }) => table),
  );
});

it('contains every field of the person, wherever it is stored, and nothing of anyone else', async () => {
  const markers: string[] = [];
  const mark = (name: string): string => {
    markers.push(`mark-${name.toLowerCase()}`);
    return markers.at(-1)!;
  };
  const texts = [...fieldsOf(CreateContact)].filter(
    ([name, { schema }]) =>
      [schema.type].flat().includes('string') && !['organizationId', 'onConflict', 'email'].includes(name),
  );
  const other = { ...own.person(), bio: 'foreign-person' };
  await own.ask('contact.create-contact', other);
  const email = `${mark('email')}@example.org`;
  const { contactId } = await own.ask('contact.create-contact', {
    ...Object.fromEntries(texts.map(([name]) => [name, mark(name)])),
    email,
    subscribed: true,
    consent: { source: mark('source'), text: mark('text'), ip: '203.0.113.77' },
    tags: [mark('tag')],
  });
  markers.push('203.0.113.77');
  const { listId } = await own.ask('list.create-list', { name: mark('list') });
  await own.ask('list.add-contacts', { listId, contactIds: [contactId] });
  const [one, two] = [await own.a('petition'), await own.a('petition')];
  await own.ask('petition.add-signature', { ...one, contactId, comment: mark('comment') });
  const second = await own.ask('petition.add-signature', { ...two, contactId, comment: mark('invalidated') });
  await own.ask('petition.invalidate-signatures', { ...two, signatureIds: [second.signatureId] });
  await own.ask('suppression.create-suppression', { email, reason: 'BOUNCED' });
  const later = `${mark('later')}@example.org`;
  await own.ask('contact.update-contact', { contactId, email: later });
  // Waiting for confirmation, so it belongs to no contact.
  const third = await own.a('petition');
  await api.instances[0]!.app.get(CommandBus).execute(
    inputOf(
      RequestSignature,
      {
        ...{
          petitionId: third.petitionId!,
          email: later,
          firstName: mark('pending'),
          lastName: null,
          zip: null,
        },
        ...{ country: null, comment: null, isCommentPublic: false, subscribe: false, source: null },
        ...{ clientAddress: null, suspicion: [] },
      },
      systemContext(own.organizationId, 'export'),
    ),
  );
  const whole = () => own.send('contact.export-person', { contactId });
  await eventually(async () => expect((await whole()).body.pendingSignatures).toHaveLength(1));
  const { status, body, headers } = await whole();
  expect(status).toBe(200);
  expect(headers.get('content-disposition')).toContain(`person-${contactId}.json`);
  const text = JSON.stringify(body);
  expect(markers.filter((marker) => !text.includes(marker))).toEqual([]);
  expect(text).not.toContain('foreign-person');
  expect(text).not.toContain(other.email);
  const numbers = Object.entries<any>(body).flatMap(([name, value]) =>
    Array.isArray(value) ? [[name, value.length] as const] : [],
  );
  expect(Object.fromEntries(numbers)).toMatchObject({
    ...{ tags: 1, lists: 1, signatures: 1, invalidatedSignatures: 1, pendingSignatures: 1, consents: 1 },
    suppressions: 1,
  });
  expect(body.suppressions[0]).toMatchObject({ email, reasons: ['BOUNCED'] });
  expect(body.events.at(-1)).toMatchObject({ type: 'ContactCreated', data: { personal: { email } } });
});

it('contains the deliveries of broadcasts', async () => {
  const { contactId } = await own.a('contact');
  const { organizationId } = own;
  const broadcastId = NOBODY;
  const [{ id }] = await api.database.source.query(
    `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id) VALUES (gen_random_uuid(), $1, $2) RETURNING id`,
    [organizationId, broadcastId],
  );
  await api.database.source.query(
    `INSERT INTO broadcast_recipients (sending_id, contact_id, status, at) VALUES ($1, $2, 'SENT', now())`,
    [id, contactId],
  );
  const { body } = await own.send('contact.export-person', { contactId });
  const delivery = { broadcastId, status: 'SENT', detail: null, bouncedAt: null };
  expect(body.deliveries).toEqual([
    { ...delivery, at: expect.any(String), complainedAt: null, unsubscribedAt: null },
  ]);
});

it('needs a scope of its own, and a contact that exists', async () => {
  const { contactId } = await own.a('contact');
  const by = await own.caller({ scopes: ['contact:read', 'contact:write', 'history:read'] });
  expect((await own.send('contact.export-person', { contactId }, { by })).status).toBe(403);
  await own.ask('contact.delete-contact', { contactId });
  for (const id of [contactId, NOBODY, 'nonsense'])
    expect((await own.send('contact.export-person', { contactId: id })).status).toBe(404);
});
