import { call, Public } from './petition-page.js';
import { type Client } from './harness.js';
import { eventually } from './processes.js';

let people: Public;
let client: Client;
let organizationId: string;
beforeAll(async () => {
  people = await Public.start({ instances: 2 });
});
afterAll(() => people.stop());
beforeEach(async () => {
  client = await people.api.organization();
  organizationId = (await client.get('organization.get-organization')).body.data.id;
});

type Form = { formId: string; path: string };

async function publish(fields: object = {}, whose = client): Promise<Form> {
  const { formId } = await call(whose, 'form.create-form', { name: 'Newsletter', ...fields });
  const { body } = await whose.get('form.get-form', { formId });
  return { formId, path: new URL(body.data.url as string).pathname };
}

function send(
  { formId, path }: Form,
  more: Record<string, string> = {},
  options: { from?: string; at?: number } = {},
) {
  const typed = { token: people.token(formId), subscribe: 'yes', email: 'ada@example.org' };
  return people.post(`${path}/sign`, { ...typed, ...more }, options);
}

async function numbers({ formId }: Form): Promise<[number, number]> {
  const { data } = (await client.get('form.get-form', { formId })).body;
  return [data.submissions, data.pendingSubmissions];
}

async function contacts(query: Record<string, string> = {}): Promise<any[]> {
  return (await client.get('contact.list-contacts', query)).body.data;
}

describe('a sign-up form', () => {
  it('subscribes after confirmation with the button on the emailed page, and only then creates a contact', async () => {
    const { listId } = await call(client, 'list.create-list', { name: 'Friends' });
    const { tagId } = await call(client, 'tag.create-tag', { name: 'web' });
    const { fieldId } = await call(client, 'field.create-field', { name: 'Shoe size', type: 'NUMBER' });
    const { key } = (await client.get('field.get-field', { fieldId })).body.data;
    const asked = [{ field: 'firstName', required: true }, { field: 'zip' }, { field: key }];
    const form = await publish({
      ...{ title: 'Our newsletter', text: 'Once a month', fields: asked },
      ...{ consent: { text: 'Yes, write to me', required: true } },
      ...{ listIds: [listId], tagIds: [tagId], thankYou: { title: 'Hooray', text: 'You *did* it' } },
    });
    const page = await people.get(form.path);
    const organization = await people.get(form.path.split('/forms/')[0]!);
    expect(organization.text).toContain(`href="${form.path}">Our newsletter</a>`);
    for (const text of ['Our newsletter', 'Once a month', 'Shoe size', 'Yes, write to me', 'name="zip"'])
      expect(page.text).toContain(text);
    const answered = await send(form, { firstName: 'Ada', zip: 'N1', [`fields.${key}`]: '42' });
    expect([answered.status, answered.text]).toEqual([200, expect.stringContaining('ada@example.org')]);
    const link = await people.linkTo('ada@example.org');
    expect(link.startsWith(`${form.path}/confirm/`)).toBe(true);
    expect([await numbers(form), await contacts()]).toEqual([[0, 1], []]);
    const shown = await people.get(link);
    for (const text of ['Ada', 'N1', '42', 'Our newsletter']) expect(shown.text).toContain(text);
    expect(await numbers(form)).toEqual([0, 1]);
    await people.post(link, {});
    expect((await people.get(link)).text).toMatch(/Hooray[^]*<em>did<\/em>/);
    expect(await numbers(form)).toEqual([1, 0]);
    const [contact] = await contacts({ listId });
    expect(contact).toMatchObject({
      email: 'ada@example.org',
      firstName: 'Ada',
      zip: 'N1',
      subscribed: true,
    });
    expect(contact.customFields).toEqual({ [key]: 42 });
    expect(await contacts({ tagId })).toHaveLength(1);
    const [consent] = (await client.get('contact.list-consents', { contactId: contact.id })).body.data;
    expect(consent).toMatchObject({
      given: true,
      text: 'Yes, write to me',
      source: form.path,
      language: 'en',
    });
  });

  it('is linked from the page of each organization, in its language, before anyone has touched it', async () => {
    await call(client, 'organization.update-organization', { language: 'de' });
    const [{ id: formId, url }] = (await client.get('form.list-forms')).body.data;
    const form = { formId, path: new URL(url as string).pathname };
    const page = (await people.get(`/${organizationId}`)).text;
    expect(page).toContain(`href="${form.path}">Neuigkeiten erhalten</a>`);
    expect((await people.get(form.path)).text).toContain('<h1>Neuigkeiten erhalten</h1>');
    const guests = ['ada', 'bob'].map((name) => `${name}-${organizationId}@example.org`);
    await Promise.all(guests.map((email) => send(form, { email })));
    expect(await numbers(form)).toEqual([0, 2]);
    const links = await Promise.all(guests.map((email) => people.linkTo(email)));
    await Promise.all(links.map((link) => people.post(link, {})));
    expect(await numbers(form)).toEqual([2, 0]);
    expect((await contacts()).map(({ email }) => email).toSorted()).toEqual(guests);
  });

  it('is counted by day and source once confirmed, also in the past and after an erasure', async () => {
    const form = await publish();
    const stats = async (more: Record<string, string> = {}) =>
      (await client.get('form.get-stats', { formId: form.formId, ...more })).body.data;
    expect(await stats()).toEqual({ formId: form.formId, submissions: 0, days: [], sources: [] });
    const sources = ['flyer', 'flyer', '', 'qr'];
    for (const [n, source] of sources.entries()) {
      const email = `s${n}@example.org`;
      await send(form, { email, source });
      // The last one does not confirm.
      if (n < 3) await people.post(await people.linkTo(email), {});
    }
    const now = await stats();
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    expect(
      now.days.reduce((sum: number, { submissions }: { submissions: number }) => sum + submissions, 0),
    ).toBe(3);
    expect(now).toEqual({
      ...{ formId: form.formId, submissions: 3 },
      days: expect.arrayContaining([{ date, submissions: expect.any(Number) }]),
      sources: [
        { source: 'flyer', submissions: 2 },
        { source: null, submissions: 1 },
      ],
    });
    const asOf = await people.api.moment();
    const [contact] = await contacts({ q: 's0@example.org' });
    await client.delete('contact.delete-contact', { contactId: contact.id });
    await send(form, { email: 's9@example.org', source: 'late' });
    await people.post(await people.linkTo('s9@example.org'), {});
    expect(await stats({ asOf })).toEqual(now);
    expect(await stats()).toMatchObject({
      submissions: 4,
      sources: [{ source: 'flyer', submissions: 2 }, expect.anything(), expect.anything()],
    });
  });

  it('responds to everyone in the same way, and confirming again changes details and resubscribes', async () => {
    const form = await publish();
    const email = 'bob@example.org';
    const { contactId } = await call(client, 'contact.create-contact', {
      organizationId,
      email,
      subscribed: false,
    });
    const known = await send(form, { email, firstName: 'Bob' });
    const unknown = await send(form, { email: 'eve@example.org', firstName: 'Bob' });
    expect(known.status).toBe(unknown.status);
    const alike = (text: string, address: string) =>
      text
        .replaceAll(address, '')
        .replace(/value="[^"]*"/g, '')
        .replaceAll(encodeURIComponent(address), '');
    expect(alike(known.text, email)).toBe(alike(unknown.text, 'eve@example.org'));
    await people.post(await people.linkTo(email), {});
    const { data } = (await client.get('contact.get-contact', { organizationId, contactId })).body;
    expect(data).toMatchObject({ subscribed: true });
    expect(await numbers(form)).toEqual([1, 1]);
  });

  it('requires the consent, unless it is optional, and keeps what was typed', async () => {
    const strict = await publish();
    const { status, text } = await people.post(`${strict.path}/sign`, {
      ...{ token: people.token(strict.formId), email: 'grace@example.org', firstName: 'Grace' },
    });
    expect([status, text]).toEqual([422, expect.stringContaining('Tick this box to subscribe')]);
    expect(text).toContain('value="Grace"');
    const lax = await publish({ name: 'Event', consent: { required: false } });
    await people.post(`${lax.path}/sign`, { token: people.token(lax.formId), email: 'linus@example.org' });
    await people.post(await people.linkTo('linus@example.org'), {});
    expect(await contacts({ email: 'linus@example.org' })).toMatchObject([{ subscribed: false }]);
  });

  it('without confirmation, takes effect immediately, unless it is suspicious, and resubscribes no one', async () => {
    const form = await publish({ confirmation: 'NONE' });
    const email = 'gone@example.org';
    await call(client, 'contact.create-contact', {
      organizationId,
      email,
      subscribed: false,
      firstName: 'Gone',
    });
    const { status, location } = await send(form, { email, firstName: 'Mallory' });
    expect([status, location]).toEqual([303, `${form.path}/thanks`]);
    await send(form, { email: 'new@example.org' });
    await send(form, { email: 'bot@example.org', website: 'x' });
    await eventually(async () => expect(await numbers(form)).toEqual([2, 1]));
    expect(await contacts({ email })).toMatchObject([{ subscribed: false, firstName: 'Gone' }]);
    expect(await contacts({ email: 'new@example.org' })).toMatchObject([{ subscribed: true }]);
    await people.linkTo('bot@example.org');
  });

  it('confirms nothing while it is paused or after it was deleted, and its pending sign-ups lose their data', async () => {
    const form = await publish();
    const { formId } = form;
    await send(form, { email: 'late@example.org' });
    const link = await people.linkTo('late@example.org');
    await call(client, 'form.update-form', { formId, status: 'PAUSED' });
    await people.post(link, {});
    await eventually(async () => expect((await people.get(link)).status).toBe(410));
    await eventually(async () => expect((await people.get(form.path)).text).toContain('This form is closed'));
    expect(await numbers(form)).toEqual([0, 1]);
    await call(client, 'form.update-form', { formId, status: 'PUBLISHED' });
    const { body } = await client.delete('form.delete-form', { formId });
    expect(body.data).toEqual({ formId });
    await eventually(async () => {
      const events = (await client.get('history.list-events', { type: 'SignUpExpired' })).body.data;
      expect(events).toMatchObject([{ data: { formId, reason: 'FORM_DELETED' } }]);
    });
    await eventually(async () => expect((await people.get(form.path)).status).toBe(404));
    expect(await contacts()).toEqual([]);
  });

  it('erases and exports pending sign-ups with the contact of their address', async () => {
    const form = await publish();
    const email = 'erin@example.org';
    const { contactId } = await call(client, 'contact.create-contact', { organizationId, email });
    await send(form, { email, firstName: 'Erin-pending' });
    const link = await people.linkTo(email);
    const exported = await client.get('contact.export-person', { contactId });
    expect(exported.body.pendingSignUps).toMatchObject([
      { formId: form.formId, person: { firstName: 'Erin-pending' } },
    ]);
    await client.delete('contact.delete-contact', { contactId });
    expect(await numbers(form)).toEqual([0, 0]);
    await people.post(link, {});
    expect(await contacts()).toEqual([]);
  });

  it('once for 20 confirmations at the same time on two instances', async () => {
    const { listId } = await call(client, 'list.create-list', { name: 'Friends' });
    const form = await publish({ listIds: [listId] });
    await send(form, { email: 'twice@example.org' });
    const link = await people.linkTo('twice@example.org');
    const origins = people.api.instances.map(({ origin }) => origin);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        fetch(origins[n % 2] + link, {
          method: 'POST',
          redirect: 'manual',
          headers: { Accept: 'text/html' },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(303));
    expect([await numbers(form), await contacts({ listId })]).toMatchObject([[1, 0], [{ subscribed: true }]]);
    expect(await contacts()).toHaveLength(1);
    const events = (await client.get('history.list-events', { type: 'SignUpConfirmed' })).body.data;
    expect(events).toHaveLength(1);
  });

  it('is not found by another organization, and its links work nowhere else', async () => {
    const form = await publish();
    const other = await people.api.organization();
    const elsewhere = await publish({}, other);
    await send(form, { email: 'zoe@example.org' });
    const link = await people.linkTo('zoe@example.org');
    const token = link.split('/').at(-1)!;
    // The link belongs to its request, wherever it is opened.
    const petition = await people.petition({}, other);
    expect((await people.get(`${petition.path}/confirm/${token}`)).status).toBe(404);
    expect((await people.post(`${petition.path}/confirm/${token}`, {})).status).toBe(404);
    const foreign = `${elsewhere.path.split('/').slice(0, 3).join('/')}/${form.formId}`;
    expect((await people.get(foreign)).status).toBe(404);
    expect(
      (
        await people.post(`${foreign}/sign`, {
          token: people.token(form.formId),
          email: 'x@example.org',
          subscribe: 'yes',
        })
      ).status,
    ).toBe(404);
    expect((await other.get('form.get-form', { formId: form.formId })).status).toBe(404);
    expect(await numbers(form)).toEqual([0, 1]);
  });
});
