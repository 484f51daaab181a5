import { DASHBOARD } from '#locales';
import { SharedApi, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

const { en, de } = DASHBOARD;

let api: SharedApi;
let client: Client;
let editor: Visitor;
let editors = 0;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  editor = await signedIn(api, client, 'EDITOR', `editor-${(editors += 1)}@example.org`);
});

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
async function shown(path: string, visitor = editor): Promise<string> {
  const { status, text } = await visitor.get(at(path));
  expect([path, status]).toEqual([path, 200]);
  return text;
}
const person = (email: string, details: object = {}) =>
  call(client, 'contact.create-contact', { organizationId: client.organizationId, email, ...details });
/** The links among the views of a list: their texts, and which is current. */
const viewsIn = (text: string) =>
  [...(/<nav class="views"[^]*?<\/nav>/.exec(text)?.[0] ?? '').matchAll(/<a [^>]*>/g)].map(([link]) => ({
    href: /href="([^"]*)"/.exec(link)![1]!.replaceAll('&amp;', '&'),
    isCurrent: link.includes('aria-current'),
  }));
const headingsIn = (text: string) =>
  [...text.matchAll(/<th role="columnheader"[^>]*>(?:<a [^>]*>)?([^<]*)/g)].map(([, name]) => name);
/** The link of a button, relative to the dashboard of the organization. */
const buttonIn = (text: string, name: string) =>
  new RegExp(`href="([^"]*)">(?:<svg[^>]*><path[^>]*></svg>)?${name}</a>`)
    .exec(text)?.[1]
    ?.replaceAll('&amp;', '&');

it('a list is saved as a view, opened, changed, renamed and deleted', async () => {
  await person('ada@example.org', { city: 'Bonn' });
  await person('ben@example.org', { city: 'Kiel' });
  expect(buttonIn(await shown('contacts'), en.views.save)).toBeUndefined();

  const found = await shown('contacts?city=Bonn&sort=email&q=ada&column=city');
  const saving = buttonIn(found, en.views.save)!;
  const page = await editor.get(saving);
  expect(page.text).toContain('Bonn');
  const { status, location } = await editor.post(saving, { name: 'In Bonn' });
  expect(status).toBe(303);
  const [view] = (await client.get('view.list-views')).body.data;
  expect(view).toMatchObject({
    name: 'In Bonn',
    operation: 'contact.list-contacts',
    parameters: { city: 'Bonn', sort: 'email' },
    columns: ['city'],
  });

  const opened = (await editor.get(location!)).text;
  expect(opened).toContain('ada@example.org');
  expect(opened).not.toContain('ben@example.org');
  expect(headingsIn(opened)).toEqual([en.nameOf, en.contacts.fields.city]);
  const [all, saved] = viewsIn(opened);
  expect([all!.isCurrent, saved!.isCurrent]).toEqual([false, true]);
  expect((await editor.get(saved!.href)).text).toContain('ada@example.org');
  expect(buttonIn(opened, en.views.save)).toBeUndefined();

  const changed = await shown(`contacts?view=${view.id}&city=Kiel`);
  expect(viewsIn(changed)[1]!.isCurrent).toBe(true);
  expect(buttonIn(changed, en.views.saveAsNew)).toBeDefined();
  const updating = buttonIn(changed, en.views.saveChanges)!;
  const done = await editor.post(updating, { name: 'In Kiel' });
  expect(done.location).toContain('city=Kiel');
  expect((await client.get('view.get-view', { viewId: view.id })).body.data).toMatchObject({
    name: 'In Kiel',
    parameters: { city: 'Kiel' },
    columns: [],
  });

  expect((await editor.post(at(`views/${view.id}/edit`), { name: 'Kiel' })).status).toBe(303);
  const facts = await shown(`views/${view.id}`, editor.at(api.origin, 'de'));
  for (const text of ['Kiel', de.contacts.title, de.views.open]) expect(facts).toContain(text);
  expect((await editor.post(at(`views/${view.id}/delete`), {})).status).toBe(303);
  expect(viewsIn(await shown('contacts'))).toEqual([]);
});

it('a view of one list is not shown above another', async () => {
  await call(client, 'view.create-view', {
    name: 'Drafts',
    operation: 'post.list-posts',
    parameters: { status: 'DRAFT' },
  });
  expect(viewsIn(await shown('posts'))).toHaveLength(2);
  expect(viewsIn(await shown('petitions'))).toEqual([]);
});

it('viewers open views and cannot save them', async () => {
  await person('ada@example.org');
  await call(client, 'view.create-view', { name: 'Everyone', operation: 'contact.list-contacts' });
  const viewer = await signedIn(api, client, 'VIEWER', 'viewer@example.org');
  const text = await shown('contacts?sort=email', viewer);
  expect(viewsIn(text)).toHaveLength(2);
  expect(buttonIn(text, en.views.save)).toBeUndefined();
});

it('a view of a list without a page is shown without a link to it', async () => {
  const fields = { name: 'Reads', operation: 'history.list-events' };
  const { viewId } = await call(client, 'view.create-view', fields);
  const text = await shown(`views/${viewId}`);
  expect(text).toContain('history.list-events');
  expect(buttonIn(text, en.views.open)).toBeUndefined();
});

it('contacts show the chosen columns, with those of custom fields, also if they are empty', async () => {
  await person('ada@example.org', { firstName: 'Ada', phone: '+49 228' });
  const { fieldId } = await call(client, 'field.create-field', { name: 'Shoe size', type: 'NUMBER' });
  const { key } = (await client.get('field.get-field', { fieldId })).body.data;
  await person('ben@example.org', { firstName: 'Ben', customFields: { [key]: 46 } });
  const usual = await shown('contacts');
  expect(headingsIn(usual)).not.toContain('Shoe size');
  const text = await shown(`contacts?column=phone&column=city&column=customFields.${key}&column=gone`);
  const { phone, city } = en.contacts.fields;
  expect(headingsIn(text)).toEqual([en.nameOf, phone, city, 'Shoe size']);
  for (const value of ['+49 228', '>46<']) expect(text).toContain(value);
  expect(text).toMatch(/<input type="checkbox" id="column-city" name="column" value="city" checked/);
  expect(text).toContain('<input type="hidden" name="column" value="phone" />');
});

it('a view applies all filters and the order of its operation, also those that the page does not offer', async () => {
  await person('ada@example.org');
  const { createdAt } = (await client.get('contact.list-contacts')).body.data[0];
  await person('ben@example.org');
  const parameters = { createdBefore: createdAt, sort: 'updatedAt' };
  const { viewId } = await call(client, 'view.create-view', {
    ...{ name: 'Old', operation: 'contact.list-contacts', parameters },
  });
  const [, { href } = { href: '' }] = viewsIn(await shown('contacts'));
  const { text } = await editor.get(href);
  expect(href).toContain(`view=${viewId}`);
  expect(text).not.toContain('ben@example.org');
  expect(text).toContain(en.views.times.createdBefore);
  // Searching keeps the filter.
  expect(text).toMatch(/<select id="createdBefore" name="createdBefore">/);
  // So do changes of everyone who was found, and exports.
  const later = new Date(Date.parse(createdAt) + 1).toISOString();
  for (const path of ['contacts/group?all=true&', 'contacts/export?']) {
    const answer = await shown(`${path}createdAfter=${later}`);
    expect([path, answer.includes('ada@example.org')]).toEqual([path, false]);
  }
  expect(await shown(`contacts/group?all=true&createdBefore=${later}`)).toContain(
    en.contacts.grouping.titleOfMany(1),
  );
});

it('a view whose list was deleted shows why it finds nothing, and is mended by removing the filter', async () => {
  await person('ada@example.org');
  const { listId } = await call(client, 'list.create-list', { name: 'Friends' });
  const fields = { name: 'My <friends>', operation: 'contact.list-contacts', parameters: { listId } };
  const { viewId } = await call(client, 'view.create-view', fields);
  await client.delete('list.delete-list', { listId });
  const text = await shown(`contacts?view=${viewId}&listId=${listId}`);
  expect(text).toContain(en.views.broken);
  expect(text).toContain('My &lt;friends&gt;');
  expect(text).not.toContain('ada@example.org');
  const [, chip] = /<a[^>]*href="([^"]*)"[^>]*aria-label="[^"]*: Deleted/.exec(text) ?? [];
  expect(chip).toBeDefined();
  const mended = (await editor.get(chip!.replaceAll('&amp;', '&'))).text;
  expect(mended).toContain('ada@example.org');
  const saving = buttonIn(mended, en.views.saveChanges)!;
  expect((await editor.post(saving, { name: 'Friends' })).status).toBe(303);
  expect((await client.get('view.get-view', { viewId })).body.data.parameters).toEqual({});
});

it('a view beyond the first fifty is shown when it is opened, and a link leads to all', async () => {
  const operation = 'tag.list-tags';
  for (let n = 10; n <= 60; n += 1) await call(client, 'view.create-view', { name: `View ${n}`, operation });
  const [last] = (await client.get('view.list-views', { sort: '-name', limit: '1' })).body.data;
  const closed = viewsIn(await shown('tags'));
  expect(closed).toHaveLength(52);
  expect(closed.at(-1)!.href).toBe(at('views'));
  const opened = viewsIn(await shown(`tags?view=${last.id}`));
  expect(opened.filter(({ isCurrent }) => isCurrent).map(({ href }) => href)).toEqual([
    at(`tags?view=${last.id}`),
  ]);
});
