import { RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { picture } from './pictures.js';
import { eventually } from './processes.js';
import { appendSignatures, signWithComment } from './signers.js';

/** Pages and forms of petitions, posts, images and the organization. */

let api: Api;
let client: Client;
let owner: Visitor;
let viewer: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  // Bulk removal needs background workers.
  api.instances[0]!.workers.start();
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER', 'owner@example.org');
  viewer = await signedIn(api, client, 'VIEWER');
});
afterAll(() => api.stop());

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = (path: string, visitor = owner) => visitor.get(at(path));
const post = (path: string, form: Record<string, string> = {}, visitor = owner) =>
  visitor.post(at(path), form);
const newId = async (kind: string) => RECORDS[kind]!(api, client, {});

/** An open petition with signatures from these addresses. */
async function signedPetition(...emails: string[]): Promise<{ petitionId: string; signatureIds: string[] }> {
  const petitionId = await newId('petition');
  await call(client, 'petition.publish-petition', { petitionId });
  const signatureIds: string[] = [];
  for (const email of emails) {
    const contact = { email, firstName: 'Grace' };
    const { signatureId } = await call(client, 'petition.add-signature', { petitionId, contact });
    signatureIds.push(signatureId as string);
  }
  return { petitionId, signatureIds };
}

/** The text of a part of a page. */
const said = (html: string) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const pastIn = (page: string) => {
  const [, past] = /<ul class="past">([^]*?)<\/ul>/.exec(page)!;
  return past!.split('<li>').slice(1).map(said);
};
const tableIn = (page: string) => {
  const [, table] = /<table[^>]*>([^]*?)<\/table>/.exec(page)!;
  const rows = table!.split(/<tr[^>]*>/).slice(1);
  return rows.map((row) => [...row.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)].map(([, cell]) => said(cell!)));
};
const factsIn = (page: string) =>
  Object.fromEntries(
    [...page.matchAll(/<dt>([^]*?)<\/dt>\s*<dd>([^]*?)<\/dd>/g)].map(([, name, value]) => [
      name,
      said(value!),
    ]),
  );

describe('the home page', () => {
  it('shows a checklist, which ticks itself off, to those who may set the organization up', async () => {
    const isTicked = async () => (await get('')).text.split('<li class="ticked">').length - 1;
    expect(await isTicked()).toBe(0);
    expect((await get('', viewer)).text).not.toContain('Get started');
    await newId('contact');
    expect(await isTicked()).toBe(1);
    const { petitionId } = await signedPetition();
    await call(client, 'organization.update-organization', { mailFrom: { address: 'office@example.org' } });
    expect(await isTicked()).toBe(3);
    await call(client, 'organization.update-organization', { colour: '#0b6e4f' });
    expect((await get('')).text).not.toContain('Get started');
    await call(client, 'petition.close-petition', { petitionId });
    expect((await get('')).text).not.toContain('Get started');
  });

  it('shows open petitions, new contacts, the last emails, and drafts that need attention', async () => {
    const figures = async (visitor?: Visitor) =>
      [...(await get('', visitor)).text.matchAll(/<p class="figure">(.*?)<\/p>/g)].map(([, figure]) =>
        Number(figure),
      );
    const before = await figures();
    const { petitionId } = await signedPetition('wangari@example.org');
    const contact = { organizationId: client.organizationId, email: 'bo@example.org', subscribed: true };
    const { contactId } = await call(client, 'contact.create-contact', contact);
    await call(client, 'contact.update-contact', { contactId, subscribed: false });
    const [signatures = 0, contacts = 0, unsubscribes = 0] = before;
    const after = [signatures + 1, contacts + 2, unsubscribes + 1];
    expect(await figures()).toEqual(after);
    // Deleted contacts were new that day, too.
    await client.delete('contact.delete-contact', { contactId });
    expect(await figures(viewer)).toEqual(after);
    const draftId = await newId('petition');
    const broadcastId = await newId('broadcast');
    const webhookId = await newId('webhook');
    await api.database.source.query(
      `INSERT INTO webhook_cursors (webhook_id, organization_id, position, told, failing_since)
       VALUES ($1, $2, 0, 0, clock_timestamp()) ON CONFLICT (webhook_id) DO UPDATE SET failing_since = excluded.failing_since`,
      [webhookId, client.organizationId],
    );
    const { text } = await get('');
    const [petitions, broadcasts] = [`petitions/${petitionId}`, `broadcasts/${broadcastId}`];
    for (const path of [petitions, `petitions/${draftId}`, broadcasts, `webhooks/${webhookId}`])
      expect(text).toContain(`href="${at(path)}"`);
    expect(said(text)).toContain('Draft email. It has not been sent.');
    expect(said(text)).toContain('Deliveries to this webhook fail and are retried.');
  });

  it('counts suspicious signatures, and leads to them', async () => {
    // The count is cached for each organization.
    const other = await api.organization();
    const manager = await signedIn(api, other, 'OWNER', 'manager@example.org');
    const { petitionId } = await call(other, 'petition.create-petition', { name: 'Suspected' });
    await call(other, 'petition.publish-petition', { petitionId });
    const { store } = api.instances[0]!.runtime;
    await appendSignatures(store, other.organizationId, petitionId, 2, { suspicion: ['HONEYPOT'] });
    await appendSignatures(store, other.organizationId, petitionId, 1);
    const home = `/dashboard/${other.organizationId}`;
    await eventually(async () => {
      const { body } = await other.get('petition.list-signatures', { petitionId });
      expect(body.data).toHaveLength(3);
    });
    const { text } = await manager.get(home);
    expect(said(text)).toContain('2 suspicious signatures in the last 7 days. Review them.');
    const path = `${home}/petitions/${petitionId}/signatures?suspicious=`;
    expect(text).toContain(`href="${path}true"`);
    for (const [suspicious, rows] of [
      ['true', 2],
      ['false', 1],
    ] as const)
      expect(tableIn((await manager.get(path + suspicious)).text)).toHaveLength(rows + 1);
  });
});

it('proposes the next goal once 80 % is reached, and no longer if it is raised automatically', async () => {
  const { petitionId } = await call(client, 'petition.create-petition', { name: 'Nearly', goal: 100 });
  await call(client, 'petition.publish-petition', { petitionId });
  const onPaper = (count: number) =>
    call(client, 'petition.record-offline-signatures', { petitionId, count, collectedOn: '2026-05-01' });
  const proposal = `href="/dashboard/${client.organizationId}/petitions/${petitionId}/goal"[^>]*>Raise the goal to 250<`;
  await onPaper(79);
  expect(await get(`petitions/${petitionId}`)).toMatchObject({
    text: expect.not.stringMatching(/Raise the goal/),
  });
  await onPaper(1);
  expect(await get(`petitions/${petitionId}`)).toMatchObject({ text: expect.stringMatching(proposal) });
  expect((await get(`petitions/${petitionId}/goal`)).text).toMatch(/name="goal"[^>]*value="250"/);
  await call(client, 'petition.update-petition', { petitionId, autoGoal: true });
  expect(await get(`petitions/${petitionId}`)).toMatchObject({
    text: expect.not.stringMatching(/Raise the goal/),
  });
});

it('the form of a petition chooses the custom fields that its page asks for, and keeps their order', async () => {
  const fieldId = async (name: string) =>
    (await call(client, 'field.create-field', { name })).fieldId as string;
  const [first, second] = [await fieldId('First'), await fieldId('Second')];
  await fieldId('Third');
  const form = {
    name: 'Asks',
    goal: '7',
    'ask-firstName': 'required',
    'ask-second': 'required',
    'ask-first': 'optional',
    'form.consent.text': 'Write to me',
  };
  const { location } = await post('petitions/new', { ...form, 'ask-third': '' });
  const petitionId = /petitions\/([0-9a-f-]{36})/.exec(location ?? '')![1]!;
  const formFields = async () =>
    (await client.get('petition.get-petition', { petitionId })).body.data.formFields;
  const asked = [
    { fieldId: second, required: true },
    { fieldId: first, required: false },
  ];
  expect(await formFields()).toEqual(asked);
  await client.delete('field.delete-field', { fieldId: first });
  const { text } = await get(`petitions/${petitionId}/edit`);
  expect([...text.matchAll(/<select id="ask-([^"]+)"/g)].map(([, name]) => name)).toEqual([
    ...['firstName', 'second', 'lastName', 'zip', 'city', 'region', 'country', 'phone', 'comment', 'third'],
  ]);
  expect(text).toMatch(/<textarea[^>]* id="form.consent.text"[^>]*>\s*Write to me/);
  const tooLong = { ...form, 'form.consent.text': 'x'.repeat(10_000) };
  const refused = await post(`petitions/${petitionId}/edit`, tooLong);
  expect([refused.status, refused.text]).toEqual([
    422,
    expect.stringContaining('<a href="#form.consent.text">'),
  ]);
  await post(`petitions/${petitionId}/edit`, {
    name: 'Asks',
    goal: '7',
    'ask-firstName': '',
    'ask-second': 'optional',
    comments: 'APPROVED',
    consentRequired: 'true',
  });
  const { data } = (await client.get('petition.get-petition', { petitionId })).body;
  expect(data.form).toEqual({
    fields: ['second', 'comment'].map((field) => ({ field, required: false })),
    consent: { text: null, required: true },
  });
});

describe('the activity', () => {
  it('of a petition shows removed and restored signatures, and who did it', async () => {
    const { petitionId, signatureIds } = await signedPetition('one@example.org', 'two@example.org');
    const { location } = await post(`petitions/${petitionId}/signatures/${signatureIds[0]!}/invalidate`);
    expect((await owner.post(location!.split('?')[0]!)).status).toBe(303);
    const { text } = await get(`petitions/${petitionId}`, viewer);
    expect(text).toMatch(/aria-label="Total, .* Rises from 0 to 2\. Goal: \d+\."/);
    const past = pastIn(text);
    expect(past.slice(0, 2)).toEqual([
      expect.stringMatching(/^Signatures were restored .* · owner@example\.org$/),
      expect.stringMatching(/^Signatures were removed .* · owner@example\.org$/),
    ]);
  });

  it('of a petition shows each removal once, however many signatures it covers', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const { store } = api.instances[0]!.runtime;
    await appendSignatures(store, client.organizationId, petitionId, 450, { suspicion: ['HONEYPOT'] });
    const condition = { createdAfter: '2020-01-01T00:00:00Z' };
    const invalidated = await call(client, 'petition.invalidate-signatures', { petitionId, ...condition });
    const { invalidationId } = invalidated;
    await eventually(async () => {
      const { body } = await client.get('petition.get-invalidation', { invalidationId });
      expect(body.data).toMatchObject({ status: 'INVALIDATED', invalidated: 450 });
    });
    const past = pastIn((await get(`petitions/${petitionId}`)).text);
    expect(past.filter((line) => line.startsWith('Signatures were removed'))).toHaveLength(1);
  });

  it('of the organization shows changes of language, sender and public history', async () => {
    await post('organization/who', { name: 'Clean Rivers', language: 'de', publicLog: 'true' });
    await post('organization/mails', { 'mailFrom.address': 'office@example.org' });
    const past = pastIn((await get('organization')).text);
    expect(past.slice(0, 3)).toEqual([
      expect.stringMatching(/^The email sender was updated: .* · owner@example\.org$/),
      expect.stringMatching(/^The email sender was updated: .*anguage .* · owner@example\.org$/),
      expect.stringMatching(/^The history was made public for verification .* · owner@example\.org$/),
    ]);
  });
});

it('the page of an open petition has its links, its QR code and the code that embeds it', async () => {
  const petitionId = await newId('petition');
  const codeIn = async () =>
    /<textarea id="embed"[^>]*>([^<]*)</.exec((await get(`petitions/${petitionId}`, viewer)).text)?.[1];
  expect(await codeIn()).toBeUndefined();
  await call(client, 'petition.publish-petition', { petitionId });
  const { url } = (await client.get('petition.get-petition', { petitionId })).body.data;
  expect((await codeIn())!.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"')).toBe(
    `<script src="${new URL(url).origin}/embed.js" async></script>\n<advocacy-petition src="${url}"></advocacy-petition>`,
  );
  const { pathname } = new URL(url);
  const { text } = await get(`petitions/${petitionId}`, viewer);
  for (const shown of [`value="${url}"`, `src="${pathname}/qr.svg"`, 'https://share.joinmastodon.org/#text='])
    expect(text).toContain(shown);
  const script = await fetch(`${api.origin}/embed.js`);
  expect([script.status, await script.text()]).toEqual([200, expect.stringContaining('advocacy-petition')]);
});

it('the organization’s page shows its logo', async () => {
  expect(factsIn((await get('organization')).text)).toMatchObject({ Logo: '–' });
  const imageId = await newId('image');
  await post('organization/pages', { colour: '#0b6e4f', imageId });
  const { body } = await client.get('image.get-image', { imageId });
  const { pathname } = new URL(body.data.variants[0].url as string);
  expect((await get('organization')).text).toContain(`src="${pathname}"`);
  await post(`images/${imageId}/delete`);
  expect(factsIn((await get('organization')).text)).toMatchObject({ Logo: '–' });
});

describe('a preview', () => {
  it.each(['new', 'edit'])('of a petition shows everything that its page will: %s', async (how) => {
    const imageId = await newId('image');
    await call(client, 'image.update-image', { imageId, alt: 'A river' });
    const path = how === 'new' ? 'petitions/new' : `petitions/${await newId('petition')}/edit`;
    const { text } = await post(path, {
      preview: 'true',
      ...(how === 'new' ? { name: 'Save it' } : { title: 'Save it' }),
      description: 'In short',
      target: 'The council',
      ask: 'Clean water',
      goal: '10',
      imageId,
      content: '**Why**',
    });
    const [, preview] = /<section class="section" id="preview"([^]*?)<\/section>/.exec(text)!;
    for (const part of ['Save it', 'In short', 'The council', 'Clean water', '<strong>Why</strong>'])
      expect(preview).toContain(part);
    expect(preview).toMatch(/<img [^>]*alt="A river"/);
  });

  it('of a post shows its image', async () => {
    const imageId = await newId('image');
    await call(client, 'image.update-image', { imageId, alt: 'A river' });
    const { text } = await post('posts/new', { preview: 'true', name: 'News', imageId });
    const [, preview] = /<section class="section" id="preview"([^]*?)<\/section>/.exec(text)!;
    expect(preview).toMatch(/<img [^>]*alt="A river"/);
  });

  it('with an unknown image shows the rest', async () => {
    const { status, text } = await post('petitions/new', {
      preview: 'true',
      name: 'Save it',
      imageId: 'none',
    });
    expect([status, text]).toEqual([200, expect.stringContaining('id="preview"')]);
  });
});

it('a petition’s page shows its closing time', async () => {
  const petitionId = await newId('petition');
  expect(factsIn((await get(`petitions/${petitionId}`)).text)).not.toHaveProperty('Closes');
  await call(client, 'petition.update-petition', { petitionId, closesAt: '2099-12-31T18:30:00Z' });
  expect(factsIn((await get(`petitions/${petitionId}`)).text)).toMatchObject({
    Closes: '31 Dec 2099, 18:30 UTC',
  });
});

it('shows one main action, at most three others, and the rest in a menu that ends with the destructive ones', async () => {
  const { petitionId } = await signedPetition();
  const actionsOf = async () => {
    const { text } = await get(`petitions/${petitionId}`);
    const [, shown, menu] = /<ul class="actions">([^]*?)<details class="more">([^]*?)<\/details>/.exec(text)!;
    const buttons = (html: string) =>
      [...html.matchAll(/class="button([^"]*)" href="[^"]*?(\w+)"/g)].map(([, kind, step]) => step! + kind!);
    return { shown: buttons(shown!), last: buttons(menu!).at(-1) };
  };
  expect(await actionsOf()).toMatchObject({ shown: ['signatures', expect.anything(), 'edit plain'] });
  await post(`petitions/${petitionId}/close`);
  expect(await actionsOf()).toMatchObject({
    shown: ['outcome', 'signatures plain', expect.anything()],
    last: 'delete final',
  });
});

it('one search finds records of all kinds and pages, as far as the role may see them', async () => {
  const name = 'Sökning';
  await call(client, 'petition.create-petition', { name, title: `${name} petition` });
  for (const n of [1, 2, 3, 4, 5, 6]) await call(client, 'tag.create-tag', { name: `${name} ${n}` });
  const { organizationId } = client;
  await call(client, 'contact.create-contact', {
    organizationId,
    email: 'search@example.org',
    firstName: name,
  });
  const found = async (q: string, visitor = owner) => {
    const { text } = await get(`search?q=${encodeURIComponent(q)}`, visitor);
    return said(text.slice(text.indexOf('<h1>')));
  };
  const text = await found(name);
  for (const one of [`${name} petition`, 'Contacts', `${name} 6`, 'All results: Tags'])
    expect(text).toContain(one);
  expect(text).not.toContain(`${name} 1 `);
  const tags = (await get(`search?q=${name}&kind=tag&kind=none`, owner)).text;
  expect([tags.includes(`${name} 6`), tags.includes(`${name} petition`)]).toEqual([true, false]);
  expect(await found('Webhook')).toMatch(/Pages Webhooks/);
  const auditor = await signedIn(api, client, 'AUDITOR', 'auditor@example.org');
  for (const [q, visitor] of [
    [name, auditor],
    ['Webhook', viewer],
  ] as const)
    expect(await found(q, visitor)).toContain('Nothing found');
});

it('a closed petition is reopened, with the same label everywhere', async () => {
  const { petitionId } = await signedPetition();
  await post(`petitions/${petitionId}/close`);
  expect((await get(`petitions/${petitionId}`)).text).toContain('>Reopen</a>');
  const { text } = await get(`petitions/${petitionId}/publish`);
  expect(text).toMatch(/<h1>Reopen: /);
  expect(text).toContain('<button class="button">Reopen</button>');
});

it.each(['new', 'edit'])('all errors of a petition are shown together: %s', async (how) => {
  const path = how === 'new' ? 'petitions/new' : `petitions/${await newId('petition')}/edit`;
  const form = { name: 'Late', title: 'Late', goal: '0', slug: 'Not So', closesAt: '2020-01-01T10:00' };
  const { name, title, ...others } = form;
  const { status, text } = await post(path, { ...others, ...(how === 'new' ? { name } : { title }) });
  const [faults] = /<div class="faults"[^]*?<\/div>/.exec(text)!;
  const links = [...faults.matchAll(/href="#([^"]+)"/g)].map(([, field]) => field!);
  expect([status, links.toSorted()]).toEqual([422, ['closesAt', 'goal', 'slug']]);
});

describe('the list of signatures', () => {
  const header = (text: string) => tableIn(text)[0]!;

  it('shows the signers’ addresses, even in search results', async () => {
    const { petitionId } = await signedPetition('grace@spam.example', 'ada@example.org');
    const { text } = await get(`petitions/${petitionId}/signatures?q=spam`);
    expect(tableIn(text)).toEqual([
      // Columns without any values are hidden, and the status, which all of them have.
      ['Signer', 'Email address', 'Date', 'Remove'],
      ['Grace', 'grace@spam.example', expect.anything(), 'Remove'],
    ]);
  });

  it('offers removal only to roles that may remove signatures', async () => {
    const { petitionId } = await signedPetition('grace@example.org');
    const path = `petitions/${petitionId}/signatures`;
    expect(header((await get(path)).text)).toContain('Remove');
    expect(header((await get(path, viewer)).text)).not.toContain('Remove');
  });

  it('shows and hides comments, and links to those that wait for approval', async () => {
    const { petitionId } = await signedPetition();
    await call(client, 'petition.update-petition', { petitionId, comments: 'APPROVED' });
    const details = { email: 'says@example.org', comment: 'I swim there' };
    const signatureId = await signWithComment(api, client, petitionId, details);
    const queue = `petitions/${petitionId}/signatures?commentState=WAITING`;
    const { text } = await get(`petitions/${petitionId}`);
    expect(text).toContain('1 comment is waiting');
    expect(text).toContain(`href="${at(queue)}"`);
    const column = async (path: string, visitor = owner) =>
      tableIn((await get(path, visitor)).text).map((row) => row[2]);
    expect(await column(queue)).toEqual(['Comment', 'I swim there Not reviewed Show Hide']);
    expect(await column(queue, viewer)).toEqual(['Comment', 'I swim there Not reviewed']);
    const form = { review: 'show', commentState: 'WAITING' };
    const { location } = await post(`petitions/${petitionId}/signatures/${signatureId}/comment`, form);
    expect(location).toContain('signatures?commentState=WAITING');
    expect(await column(`petitions/${petitionId}/signatures`)).toEqual([
      'Comment',
      'I swim there Shown Hide',
    ]);
    expect((await get(`petitions/${petitionId}`)).text).not.toContain('waiting');
  });

  it('links a removed signature to the page that can restore it', async () => {
    const { petitionId, signatureIds } = await signedPetition('grace@example.org');
    const path = `petitions/${petitionId}/signatures`;
    const { location } = await post(`${path}/${signatureIds[0]!}/invalidate`);
    const { text } = await get(`${path}?status=INVALIDATED`);
    expect(text).toContain(`href="${location!.split('?')[0]!}"`);
    expect(header(text)).not.toContain('Remove');
    expect((await owner.get(location!)).text).toContain('Restore all');
  });
});

it('the list of removed signatures shows their selection', async () => {
  const { petitionId, signatureIds } = await signedPetition('one@spam.example', 'two@example.org');
  await post(`petitions/${petitionId}/signatures/${signatureIds[1]!}/invalidate`);
  const condition = { emailDomain: 'spam.example', createdAfter: '2020-01-01T10:00' };
  await post(`petitions/${petitionId}/invalidate`, { ...condition, takeOut: 'true' });
  const path = `petitions/${petitionId}/invalidations`;
  const [names, ...rows] = tableIn((await get(path)).text);
  expect(names![1]).toBe('Selection');
  expect(rows.map(([, chosen]) => chosen)).toEqual([
    'Email address ends in: spam.example; Signed after (UTC): 1 Jan 2020, 10:00 UTC',
    '1 individually selected signature',
  ]);
  expect((await get(`${path}/export`)).text).toContain('Email address ends in: spam.example; Signed after');
});

describe('uploading an image again', () => {
  const upload = async (content: Uint8Array<ArrayBuffer>, form: Record<string, string>) => {
    const file = { field: 'file', name: 'river.png', type: 'image/png', content };
    const { location } = await owner.upload(at('images/new'), file, form);
    const [path, done] = location!.split('?done=');
    const { body } = await client.get('image.get-image', { imageId: path!.split('/').at(-1)! });
    return { id: body.data.id, name: body.data.name, alt: body.data.alt, done };
  };

  it('updates its name and description, and confirms it', async () => {
    const content = await picture();
    const first = await upload(content, { name: 'River', alt: 'A river' });
    expect(first).toMatchObject({ name: 'River', alt: 'A river', done: 'images.uploaded' });
    const named = await upload(content, { name: 'Our river' });
    expect(named).toEqual({ ...first, name: 'Our river', done: 'images.known' });
    const described = await upload(content, { alt: 'Our river in May' });
    expect(described).toEqual({ ...named, alt: 'Our river in May', done: 'images.known' });
    expect(await upload(content, {})).toEqual({ ...described, done: 'images.uploaded' });
  });
});

it('the organization’s web addresses can be typed without https://', async () => {
  await post('organization/who', { name: 'Clean Rivers', website: 'example.org', language: 'en' });
  await post('organization/pages', {
    ...{ colour: '#0b6e4f', privacyUrl: 'example.org/privacy', timeZone: 'Africa/Nairobi' },
  });
  expect((await client.get('organization.get-organization')).body.data).toMatchObject({
    website: 'https://example.org',
    privacyUrl: 'https://example.org/privacy',
    timeZone: 'Africa/Nairobi',
  });
  await post('organization/who', { name: 'Clean Rivers', website: 'http://example.org', language: 'en' });
  expect((await client.get('organization.get-organization')).body.data.website).toBe('http://example.org');
});

it('a count of signatures on paper can only be withdrawn at the address of its petition', async () => {
  const [petitionId, other] = [await newId('petition'), await newId('petition')];
  const counted = { petitionId, count: 3, collectedOn: '2026-11-20' };
  const { offlineCountId } = await call(client, 'petition.record-offline-signatures', counted);
  const withdraw = (petition: string) => post(`petitions/${petition}/paper/${offlineCountId}/withdraw`);
  const paper = async () =>
    (await client.get('petition.get-petition', { petitionId })).body.data.offlineSignatures;
  expect([(await withdraw(other)).status, await paper()]).toEqual([404, 3]);
  expect([(await withdraw(petitionId)).status, await paper()]).toEqual([303, 0]);
});

it('archiving a post asks for confirmation and takes its page offline', async () => {
  const postId = await newId('post');
  await call(client, 'post.publish-post', { postId });
  const { text } = await get(`posts/${postId}`);
  expect(text).toContain(`<a class="button plain" href="${at(`posts/${postId}/archive`)}">Archive</a>`);
  const asking = await get(`posts/${postId}/archive`);
  expect(asking.text).toContain('Its page goes offline');
  expect(asking.text).toContain('<button class="button">Archive</button>');
  const { location } = await post(`posts/${postId}/archive`);
  expect((await owner.get(location!)).text).toContain('Post archived.');
});

it('the outcome of a closed petition is set and deleted with its text', async () => {
  const { petitionId } = await signedPetition();
  expect((await get(`petitions/${petitionId}`)).text).not.toContain('>Outcome</a>');
  await call(client, 'petition.close-petition', { petitionId });
  expect((await get(`petitions/${petitionId}`)).text).toContain('>Outcome</a>');
  const path = `petitions/${petitionId}/outcome`;
  await post(path, { outcome: 'WON', outcomeText: 'The council agreed.' });
  expect((await get(`petitions/${petitionId}`)).text).toMatch(/<span class="badge good">Won<\/span>/);
  expect((await get(path)).text).toContain('The council agreed.');
  await post(path, { outcome: '', outcomeText: 'The council agreed.' });
  expect((await get(path)).text).not.toContain('The council agreed.');
});

describe('a post about a petition', () => {
  const about = async (fields: object = {}) => {
    const { petitionId } = await signedPetition('signer@example.org');
    await call(client, 'petition.update-petition', { petitionId, title: 'Save the lake' });
    const { postId } = await call(client, 'post.create-post', { name: 'We won', petitionId, ...fields });
    return { petitionId, postId: postId as string };
  };

  it('is scheduled in the form, in the time zone of the organization, and shows its time and its petition', async () => {
    const { petitionId } = await about();
    await call(client, 'organization.update-organization', { timeZone: 'Africa/Nairobi' });
    const form = { name: 'Later', petitionId, publishAt: '2099-12-31T21:30' };
    const { location } = await post('posts/new', form);
    expect(factsIn((await owner.get(location!)).text)).toMatchObject({
      'Will be published': '31 Dec 2099, 21:30 Africa/Nairobi',
      Petition: 'Save the lake',
    });
    const past = await post('posts/new', { ...form, publishAt: '2020-01-01T10:00' });
    expect([past.status, past.text]).toEqual([422, expect.stringContaining('id="publishAt-fault"')]);
  });

  it.each([
    ['Markdown', 'Thanks for {{ everything }}.\n\n![A river](/images/abc/320.jpg)'],
    [
      'a TipTap document',
      {
        type: 'doc',
        content: [
          { type: 'paragraph', content: [{ type: 'text', text: 'Thanks for {{ everything }}.' }] },
          { type: 'image', attrs: { src: '/images/abc/320.jpg', alt: 'A river' } },
        ],
      },
    ],
  ])('in %s becomes the draft of an email to its signers', async (_, content) => {
    const { petitionId, postId } = await about({ content, description: 'The council agreed.' });
    await call(client, 'post.publish-post', { postId });
    expect((await get(`posts/${postId}`)).text).toContain('>Email this to the signers</a>');
    const { location } = await post(`posts/${postId}/email`);
    const broadcastId = location!.split('/').at(-1)!.split('?')[0]!;
    const { body } = await client.get('broadcast.get-broadcast', { broadcastId });
    expect(body.data).toMatchObject({
      status: 'DRAFT',
      subject: 'We won',
      preheader: 'The council agreed.',
      audience: { petitionIds: [petitionId] },
    });
    const preview = (await client.get('broadcast.preview-broadcast', { broadcastId })).body.data;
    expect(preview.text).toContain('Thanks for {{ everything }}.');
    expect(preview.html).toMatch(/src="https?:[^"]+\/images\/abc\/320\.jpg"/);
    expect(preview.html).toMatch(/href="https?:[^"]+\/posts\/we-won[^"]*"[^>]*>\s*Read this on our website/);
  });

  it('offers no email if it is about no petition', async () => {
    const postId = await newId('post');
    expect((await get(`posts/${postId}`)).text).not.toContain(`posts/${postId}/email`);
    expect((await get(`posts/${postId}/email`)).status).toBe(404);
  });
});

it.each([
  ['organization/pages', { slug: 'docs', colour: '#0b6e4f' }, 'slug'],
  ['organization/mails', { 'mailFrom.address': 'bücher@example.org' }, 'mailFrom.address'],
  ['webhooks/new', { url: 'https://127.0.0.1/' }, 'url'],
])('errors are shown in the language of the page: %s %j', async (path, form, field) => {
  const says: string[] = [];
  for (const language of ['en', 'de']) {
    const { status, text } = await post(path, form, owner.at(api.origin, language));
    const [, fault] = new RegExp(`<p class="fault" id="${field}-fault">([^<]*)</p>`).exec(text) ?? [];
    expect([status, fault]).toEqual([
      422,
      expect.not.stringMatching(/^This (is|may|must) |Ungültige Eingabe/),
    ]);
    says.push(fault!);
  }
  expect(says[0]).not.toBe(says[1]);
});

describe('translations', () => {
  it('are added, edited next to the original, shown with what is missing, and deleted', async () => {
    const petitionId = await newId('petition');
    const thankYou = { title: 'Thanks', text: null, nextUrl: 'https://example.org/', nextLabel: 'Donate' };
    const texts = {
      title: 'Save <the> river',
      ask: 'Stop it',
      target: null,
      description: null,
      content: null,
    };
    await call(client, 'petition.update-petition', { petitionId, ...texts, thankYou });
    const path = `petitions/${petitionId}/translations`;
    expect((await get(`petitions/${petitionId}`)).text).toContain(at(path));
    const started = await post(path, { language: 'pt-BR' });
    expect([started.status, started.location]).toEqual([303, at(`${path}/edit?language=pt-BR`)]);
    const { text } = await get(`${path}/edit?language=pt-BR`);
    expect(text).toContain('Save &lt;the&gt; river');
    const inputs = [...text.matchAll(/name="translations\.pt-BR\.([\w.]+)"/g)].map(([, name]) => name);
    expect(inputs).toEqual(['title', 'ask', 'thankYou.title', 'thankYou.nextLabel', 'thankYou.nextUrl']);
    const of = 'translations.pt-BR.';
    const empty = await post(`${path}/edit?language=pt-BR`, { [`${of}title`]: ' ' });
    expect([empty.status, empty.text]).toEqual([422, expect.stringContaining(`id="${of}title-fault"`)]);
    const typed = { [`${of}title`]: 'Salve', [`${of}thankYou.nextLabel`]: 'Doe' };
    const saved = await post(`${path}/edit?language=pt-br`, typed);
    expect(saved.location).toMatch(new RegExp(`${at(path)}\\b`));
    const stored = async () =>
      (await client.get('petition.get-petition', { petitionId })).body.data.translations;
    expect(await stored()).toEqual({
      'pt-BR': {
        title: 'Salve',
        thankYou: { title: null, text: null, nextLabel: 'Doe', nextUrl: thankYou.nextUrl },
      },
    });
    expect(tableIn((await get(path)).text)).toEqual([
      ['Language', 'Title', 'Texts'],
      ['English', 'Save &lt;the&gt; river', 'Original'],
      ['Portuguese (Brazil)', 'Salve', '3 of 5 translated'],
    ]);
    expect((await post(`${path}/delete?language=pt-BR`)).status).toBe(303);
    expect(await stored()).toEqual({});
    for (const language of ['en', 'klingon!'])
      for (const { status } of [
        await get(`${path}/edit?language=${language}`),
        await post(path, { language }),
      ])
        expect([language, status]).toEqual([language, 404]);
    expect((await get(`${path}/delete?language=de`)).status).toBe(404);
    // No language is preselected.
    expect((await post(path, { language: '' })).status).toBe(422);
  });

  it('keeps texts that the page does not show', async () => {
    const petitionId = await newId('petition');
    const translations = { de: { title: 'Fluss', consent: 'Ja', content: { markdown: 'x' } } };
    await call(client, 'petition.update-petition', { petitionId, translations, content: { type: 'doc' } });
    await post(`petitions/${petitionId}/translations/edit?language=de`, { 'translations.de.title': 'Strom' });
    expect((await client.get('petition.get-petition', { petitionId })).body.data.translations.de).toEqual({
      ...translations.de,
      title: 'Strom',
    });
  });
});
