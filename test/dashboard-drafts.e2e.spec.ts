import { DASHBOARD } from '#locales';
import { eventually } from '#libs/testing';
import { Drafts } from '../src/drafts/index.js';
import { newName, RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

/** Drafts of the forms that write petitions, posts and emails, as the script of these pages saves them. */

let api: Api;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  api = await Api.start();
  api.startWorkers();
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER');
});
afterAll(() => api.stop());

const { drafts, changedMeanwhile } = DASHBOARD.en;
const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = async (path: string, who = owner) => (await who.get(at(path))).text;
const post = (path: string, form: Parameters<Visitor['post']>[1] = {}, who = owner) =>
  who.post(at(path), form);
const saveDraft = async (path: string, form: Record<string, string>, who = owner) => {
  expect((await post(path, { ...form, draft: 'save' }, who)).status).toBe(204);
};
const isRestored = (page: string) => /data-restored="\d{4}-/.test(page);
const stored = () =>
  api.database.source.query<{ form: string; sealed: Buffer }[]>(
    'SELECT form, sealed FROM drafts WHERE organization_id = $1 ORDER BY form',
    [client.organizationId],
  );
const formsStored = async () => (await stored()).map(({ form }) => form);
const events = async () => (await client.get('event.list-events', {})).body.data[0].id as string;
const sinceIn = (page: string) => /name="since" value="([^"]+)"/.exec(page)![1]!;
afterEach(() => api.database.source.query('DELETE FROM drafts'));

const KINDS = [
  { path: 'petitions', record: 'petition', field: 'target' },
  { path: 'posts', record: 'post', field: 'description' },
  { path: 'broadcasts', record: 'broadcast', field: 'preheader' },
] as const;

describe.each(KINDS)('the draft of a form in $path', ({ path, record, field }) => {
  it('is shown when the form is opened again, in any browser of that member, without an event', async () => {
    const recordId = await RECORDS[record]!(api, client, {});
    const other = await signedIn(api, client, 'EDITOR');
    const before = await events();
    for (const form of [`${path}/new`, `${path}/${recordId}/edit`]) {
      const since = form.endsWith('edit') ? { since: sinceIn(await get(form)) } : undefined;
      await saveDraft(form, { [field]: 'Not finished', once: 'once', ...since });
      const page = await get(form, owner.at(owner.origin));
      expect(isRestored(page)).toBe(true);
      expect(page).toContain(drafts.restored);
      expect(page).toContain('Not finished');
      expect(page).not.toContain(drafts.outdated);
      expect(await get(form, other)).not.toContain('Not finished');
    }
    expect(await events()).toBe(before);
    expect(await formsStored()).toEqual([`${path}/${recordId}/edit`, `${path}/new`].toSorted());
    for (const { sealed } of await stored()) expect(sealed.toString('latin1')).not.toContain('Not finished');
  });

  it('is deleted when the form is saved, or discards it', async () => {
    const form = `${path}/new`;
    await saveDraft(form, { [field]: 'Not finished' });
    // A rejected form keeps it.
    expect((await post(form, {})).status).toBe(422);
    expect(await formsStored()).toEqual([form]);
    const { status, location } = await post(form, { name: newName(), subject: 'S', goal: '100' });
    expect(status).toBe(303);
    expect(await formsStored()).toEqual([]);

    const edit = `${path}/${location!.split('?')[0]!.split('/').at(-1)!}/edit`;
    await saveDraft(edit, { [field]: 'Not finished' });
    const discarded = await post(edit, { draft: 'discard' });
    expect([discarded.status, discarded.location]).toEqual([303, at(edit)]);
    expect(isRestored(await get(edit))).toBe(false);
    expect(await formsStored()).toEqual([]);
  });

  it('of a record that was changed since says so, and saving it asks first', async () => {
    const recordId = await RECORDS[record]!(api, client, {});
    const form = `${path}/${recordId}/edit`;
    const fields = {
      [field]: 'Mine',
      title: 'Mine',
      subject: 'Mine',
      goal: '100',
      since: sinceIn(await get(form)),
    };
    await saveDraft(form, fields);
    await call(client, `${record}.update-${record}`, { [`${record}Id`]: recordId, name: newName() });
    const page = await get(form);
    expect(page).toContain(drafts.outdated);
    expect(sinceIn(page)).toBe(fields.since);
    expect((await post(form, fields)).text).toContain(changedMeanwhile.slice(0, 20));
    expect(await formsStored()).toEqual([form]);
  });

  it('is deleted with its record', async () => {
    const recordId = await RECORDS[record]!(api, client, {});
    await saveDraft(`${path}/${recordId}/edit`, { [field]: 'Not finished' });
    await saveDraft(`${path}/new`, { [field]: 'Another one' });
    expect((await client.delete(`${record}.delete-${record}`, { [`${record}Id`]: recordId })).status).toBe(
      200,
    );
    await eventually(async () => expect(await formsStored()).toEqual([`${path}/new`]));
  });

  it('needs the permission to write the record', async () => {
    const viewer = await signedIn(api, client, 'VIEWER');
    expect((await post(`${path}/new`, { draft: 'save', [field]: 'x' }, viewer)).status).toBe(403);
    expect(await formsStored()).toEqual([]);
  });
});

it('the draft of a duplicate is one of its own', async () => {
  const like = await RECORDS.broadcast!(api, client, {});
  await saveDraft(`broadcasts/new?like=${like}`, { preheader: 'Of the duplicate' });
  await saveDraft('broadcasts/new', { preheader: 'Of a new one' });
  expect(await get(`broadcasts/new?like=${like}`)).toContain('Of the duplicate');
  expect(await get('broadcasts/new')).toContain('Of a new one');
});

it('drafts of a member are deleted when the member is removed', async () => {
  const editor = await signedIn(api, client, 'EDITOR');
  await saveDraft('posts/new', { description: 'Not finished' }, editor);
  const { memberId } = (await api.database.source.query('SELECT member_id AS "memberId" FROM drafts'))[0];
  expect((await client.delete('team.remove-member', { memberId })).status).toBe(200);
  await eventually(async () => expect(await formsStored()).toEqual([]));
});

it('drafts are deleted after 30 days, and the oldest of more than 50', async () => {
  const { source } = api.database;
  await saveDraft('posts/new', { description: 'Old' });
  await source.query(`UPDATE drafts SET saved_at = saved_at - interval '31 days'`);
  expect(isRestored(await get('posts/new'))).toBe(false);
  await api.instances[0]!.app.get(Drafts, { strict: false }).deleteOld();
  expect(await formsStored()).toEqual([]);

  await saveDraft('posts/new', { description: 'New' });
  await source.query(
    `INSERT INTO drafts SELECT organization_id, member_id, 'form ' || n, NULL, wrapped_key, sealed,
       saved_at - make_interval(mins => n) FROM drafts, generate_series(1, 60) AS n`,
  );
  await saveDraft('posts/new', { description: 'Newer' });
  const forms = await formsStored();
  expect(forms).toHaveLength(50);
  expect(forms).toContain('posts/new');
  expect(forms).not.toContain('form 50');
});

it('a draft whose key can no longer be opened, or that was moved to another form, is not shown', async () => {
  await saveDraft('posts/new', { description: 'Not finished' });
  await api.database.source.query(`UPDATE drafts SET form = 'petitions/new'`);
  const { status, text } = await owner.get(at('petitions/new'));
  expect(status).toBe(200);
  expect(isRestored(text)).toBe(false);
});
