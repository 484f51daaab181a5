import { CommandBus } from '@nestjs/cqrs';
import { systemInput } from '#libs/rpc';
import { FinishBroadcast, RECIPIENT_DETAILS } from '../src/broadcasts/index.js';
import { DASHBOARD } from '#locales';
import { newAddress, newName, RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

/** The pages of broadcasts at each step, from draft to results. Nothing is sent: results are written to the database. */

let api: Api;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1', PUBLIC_URL: 'https://act.example.org' } });
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER');
});
afterAll(() => api.stop());

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = async (path: string) => (await owner.get(at(path))).text;
const german = () => owner.at(owner.origin, 'de');
const getInGerman = async (path: string) => (await german().get(at(path))).text;
const post = (path: string, form: Parameters<Visitor['post']>[1] = {}) => owner.post(at(path), form);
const draft = () => RECORDS.broadcast!(api, client, {});
const statusOf = async (broadcastId: string) =>
  (await client.get('broadcast.get-broadcast', { broadcastId })).body.data;
/** The text of a page without markup. */
const wordsOf = (text: string) =>
  text
    .replace(/^[^]*<main/, '<main')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const hasDeed = (text: string, path: string) =>
  text.includes(`href="${at(path)}"`) || text.includes(`action="${at(path)}"`);

/** Creates a broadcast and starts to send it to this many recipients. */
async function sendingTo(recipients: number): Promise<string> {
  const { listId } = await call(client, 'list.create-list', { name: newName() });
  const contactIds: string[] = [];
  for (let n = 0; n < recipients; n += 1) {
    const contact = { organizationId: client.organizationId, email: newAddress(), subscribed: true };
    contactIds.push((await call(client, 'contact.create-contact', contact)).contactId as string);
  }
  await call(client, 'list.add-contacts', { listId, contactIds });
  const broadcastId = await draft();
  await call(client, 'broadcast.update-broadcast', { broadcastId, audience: { listIds: [listId] } });
  await call(client, 'broadcast.send-broadcast', { broadcastId });
  return broadcastId;
}

/** Writes results like the sender. @param outcomes for the first recipients, in the order of their ids. */
async function settle(broadcastId: string, outcomes: { status: string; detail?: string }[]): Promise<void> {
  const { source } = api.database;
  const { data } = (await client.get('broadcast.list-recipients', { broadcastId, status: 'PENDING' })).body;
  for (const [n, { status, detail = null }] of outcomes.entries()) {
    await source.query(
      `UPDATE broadcast_recipients r SET status = $3, detail = $4, at = clock_timestamp() FROM broadcast_sendings s
       WHERE s.broadcast_id = $1 AND r.sending_id = s.id AND r.contact_id = $2`,
      [broadcastId, data[n].contactId, status, detail],
    );
    const column = status.toLowerCase();
    await source.query(`UPDATE broadcast_sendings SET ${column} = ${column} + 1 WHERE broadcast_id = $1`, [
      broadcastId,
    ]);
  }
}

describe('a cancelled broadcast', () => {
  it('polls until every recipient has a result, then shows how many emails were sent', async () => {
    const broadcastId = await sendingTo(4);
    await settle(broadcastId, [{ status: 'SENT' }]);
    expect(wordsOf(await get(`broadcasts/${broadcastId}`))).toContain('Processed: 1 of 4');
    await call(client, 'broadcast.cancel-broadcast', { broadcastId });
    const before = await get(`broadcasts/${broadcastId}`);
    expect(before).toContain('id="live"');
    expect(wordsOf(before)).toContain('Processed: 1 of 4');
    await settle(broadcastId, [
      { status: 'SKIPPED', detail: 'The broadcast was cancelled.' },
      { status: 'SKIPPED', detail: 'The broadcast was cancelled.' },
      { status: 'IN_DOUBT' },
    ]);
    const after = await get(`broadcasts/${broadcastId}`);
    expect(after).not.toContain('id="live"');
    expect(after).toMatch(/<progress [^>]*value="1" max="4"/);
    expect(wordsOf(after)).toContain('Sent: 1 of 4');
    expect(wordsOf(after)).not.toContain('4 of 4');
  });

  it('can be deleted and duplicated', async () => {
    const broadcastId = await sendingTo(1);
    await call(client, 'broadcast.cancel-broadcast', { broadcastId });
    const text = await get(`broadcasts/${broadcastId}`);
    expect(hasDeed(text, `broadcasts/${broadcastId}/delete`)).toBe(true);
    expect(hasDeed(text, `broadcasts/new?like=${broadcastId}`)).toBe(true);
    expect(await get(`broadcasts/${broadcastId}/delete`)).not.toContain('draft');
    expect((await post(`broadcasts/${broadcastId}/delete`)).status).toBe(303);
  });

  it('does not poll if sending had not started', async () => {
    const broadcastId = await draft();
    await call(client, 'broadcast.cancel-broadcast', { broadcastId });
    expect(await get(`broadcasts/${broadcastId}`)).not.toContain('id="live"');
  });
});

it('a paused broadcast polls while in-flight emails arrive', async () => {
  const broadcastId = await sendingTo(1);
  await call(client, 'broadcast.pause-broadcast', { broadcastId });
  expect(await get(`broadcasts/${broadcastId}`)).toContain('id="live"');
});

it('results include recipients who are still waiting', async () => {
  const broadcastId = await sendingTo(3);
  await settle(broadcastId, [{ status: 'SENT' }, { status: 'FAILED' }]);
  const page = await get(`broadcasts/${broadcastId}`);
  // Opens are never tracked, and the page says why.
  expect(wordsOf(page)).toContain('would require a hidden image that reveals what each person reads');
  const [, results] = /<table class="shares">([^]*?)<\/table>/.exec(page)!;
  const numbers = [...results!.matchAll(/<td class="number">(\d+)<\/td>/g)].map(([, number]) =>
    Number(number),
  );
  expect(numbers.reduce((sum, number) => sum + number, 0)).toBe(3);
  expect(wordsOf(results!)).toContain('Remaining 1');
});

it('an email with the address of an offered button or image cannot be sent until it is replaced', async () => {
  const broadcastId = await draft();
  const content = (link: string) => `Hello\n\n[**Sign now**](${link})`;
  const send = async () => wordsOf(await get(`broadcasts/${broadcastId}/send`));
  for (const link of ['https://example.org', 'https://example.org/image.jpg']) {
    await call(client, 'broadcast.update-broadcast', { broadcastId, content: content(link) });
    expect(await send()).toContain('The message still contains an address to replace: https://example.org.');
    expect(await send()).not.toContain('When?');
  }
  await call(client, 'broadcast.update-broadcast', {
    broadcastId,
    content: content('https://example.org/act'),
  });
  expect(await send()).toContain('When?');
});

describe('a scheduled broadcast', () => {
  const sendAt = '2099-05-01T10:00:30.000Z';
  async function scheduled(): Promise<string> {
    const broadcastId = await draft();
    await call(client, 'broadcast.send-broadcast', { broadcastId, sendAt });
    return broadcastId;
  }

  it('shows its time, with separate forms to reschedule and to send now', async () => {
    const broadcastId = await scheduled();
    const text = await get(`broadcasts/${broadcastId}/send`);
    expect(wordsOf(text)).toContain('1 May 2099, 10:00 UTC');
    // The first form signs out.
    const forms = [...text.matchAll(/<form method="post"[^]*?<\/form>/g)].map(([form]) => form);
    expect(forms.slice(1).map(wordsOf)).toEqual([
      expect.stringContaining('Change time'),
      expect.stringMatching(/^Send now to \d+ pe/),
    ]);
    expect(forms[1]).toContain('value="2099-05-01T10:00"');
    expect(forms[2]).not.toContain('sendAt');
  });

  it('is shown, and accepted, in the time zone of the organization', async () => {
    const broadcastId = await scheduled();
    await call(client, 'organization.update-organization', { timeZone: 'Pacific/Auckland' });
    const text = await get(`broadcasts/${broadcastId}/send`);
    expect(wordsOf(text)).toContain('1 May 2099, 22:00 Pacific/Auckland');
    expect(wordsOf(text)).toContain('When? (Pacific/Auckland)');
    expect(text).toContain('value="2099-05-01T22:00"');
    expect(wordsOf(await get(`broadcasts/${broadcastId}`))).toContain('1 May 2099, 22:00 Pacific/Auckland');
    expect((await post(`broadcasts/${broadcastId}/send`, { sendAt: '2099-06-01T09:00' })).status).toBe(303);
    expect((await statusOf(broadcastId)).sendAt).toBe('2099-05-31T21:00:00.000Z');
    await call(client, 'organization.update-organization', { timeZone: 'UTC' });
  });

  it('is not sent if its time is left empty', async () => {
    const broadcastId = await scheduled();
    const { status, text } = await post(`broadcasts/${broadcastId}/send`, { sendAt: '' });
    expect([status, text]).toEqual([422, expect.stringContaining('<a href="#sendAt">')]);
    expect((await statusOf(broadcastId)).status).toBe('SCHEDULED');
  });

  it('keeps the seconds of an unchanged time, and accepts another time', async () => {
    const broadcastId = await scheduled();
    const send = (time: string) => post(`broadcasts/${broadcastId}/send`, { sendAt: time });
    expect((await send('2099-05-01T10:00')).status).toBe(303);
    expect((await statusOf(broadcastId)).sendAt).toBe(sendAt);
    expect((await send('2099-06-01T10:00')).status).toBe(303);
    expect((await statusOf(broadcastId)).sendAt).toBe('2099-06-01T10:00:00.000Z');
  });

  it('is sent immediately with the button, and its page no longer shows the scheduled time', async () => {
    const broadcastId = await scheduled();
    expect((await post(`broadcasts/${broadcastId}/send`)).status).toBe(303);
    expect((await statusOf(broadcastId)).status).toBe('SENDING');
    // The activity below still mentions it.
    const [above] = (await get(`broadcasts/${broadcastId}`)).split('Activity');
    expect(wordsOf(above!)).not.toContain('2099');
  });

  it('can be cancelled, and does not offer actions that would be rejected', async () => {
    const broadcastId = await scheduled();
    const text = await get(`broadcasts/${broadcastId}`);
    expect(hasDeed(text, `broadcasts/${broadcastId}/cancel`)).toBe(true);
    expect(hasDeed(text, `broadcasts/${broadcastId}/delete`)).toBe(false);
    const { status, text: refused } = await post(`broadcasts/${broadcastId}/delete`);
    expect([status, refused]).toEqual([409, expect.not.stringContaining('is being sent')]);
  });
});

describe('a duplicated broadcast', () => {
  const form = { name: 'Again', subject: 'Again', preheader: '', content: 'Once more' };

  it('starts with the content and audience of the original', async () => {
    const { listId } = await call(client, 'list.create-list', { name: newName() });
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name: 'River',
      subject: 'The river & we',
      preheader: 'In short',
      content: 'Dear friend',
      audience: { listIds: [listId], filter: { city: 'Ulm', zip: '89073' } },
    });
    const text = await get(`broadcasts/new?like=${broadcastId}`);
    expect(text).toContain('value="The river &amp; we"');
    expect(text).toContain('Dear friend');
    expect(text).toMatch(new RegExp(`value="${listId}"[^>]* checked`));
    const { status, location } = await post(`broadcasts/new?like=${broadcastId}`, {
      ...form,
      listIds: listId as string,
      city: 'Ulm',
    });
    expect(status).toBe(303);
    const made = await statusOf(/broadcasts\/([^?]+)/.exec(location!)![1]!);
    // Parts without a field in the form are copied too.
    expect(made).toMatchObject({
      subject: 'Again',
      status: 'DRAFT',
      audience: { listIds: [listId], filter: { city: 'Ulm', zip: '89073' } },
    });
  });

  it('takes its name from the subject, unless it has one of its own', async () => {
    const subject = 'Dear {{ contact.firstName | default: "friend" }}';
    const { location } = await post('broadcasts/new', { ...form, name: '', subject });
    const broadcastId = /broadcasts\/([^?]+)/.exec(location!)![1]!;
    expect(await statusOf(broadcastId)).toMatchObject({ name: 'Dear friend', subject });
    const { status, text } = await post('broadcasts/new', { ...form, name: '', subject: '' });
    expect([status, wordsOf(text)]).toEqual([422, expect.stringContaining('Subject')]);
  });

  it('keeps HTML unchanged', async () => {
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name: 'River',
      content: '<p>Dear friend</p>',
      format: 'HTML',
    });
    const { content: _, ...typed } = form;
    const { location } = await post(`broadcasts/new?like=${broadcastId}`, typed);
    const made = await statusOf(/broadcasts\/([^?]+)/.exec(location!)![1]!);
    expect(made).toMatchObject({ content: '<p>Dear friend</p>', format: 'HTML' });
  });

  it('is offered for sent broadcasts', async () => {
    const broadcastId = await sendingTo(1);
    await settle(broadcastId, [{ status: 'SENT' }]);
    expect(hasDeed(await get(`broadcasts/${broadcastId}`), `broadcasts/new?like=${broadcastId}`)).toBe(false);
    await api.instances[0]!.app.get(CommandBus).execute(
      systemInput(FinishBroadcast, client.organizationId, { broadcastId }, 'test'),
    );
    const text = await get(`broadcasts/${broadcastId}`);
    expect(hasDeed(text, `broadcasts/new?like=${broadcastId}`)).toBe(true);
    expect(hasDeed(text, `broadcasts/${broadcastId}/delete`)).toBe(false);
  });
});

it.each(['broadcasts', 'petitions'])(
  'the test email of %s is offered to the own address',
  async (section) => {
    const email = newAddress();
    const editor = await signedIn(api, client, 'EDITOR', email);
    const path =
      section === 'broadcasts'
        ? `broadcasts/${await draft()}/test`
        : `petitions/${await RECORDS.petition!(api, client, {})}/thanks/test`;
    expect((await editor.get(at(path))).text).toMatch(new RegExp(`name="to"[^>]* value="${email}"`));
  },
);

describe('an error in the content', () => {
  async function written(fields: object): Promise<string> {
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name: newName(),
      subject: 'S',
      content: 'C',
      ...fields,
    });
    return broadcastId as string;
  }

  it.each(['test', 'send'])('is shown with the label of its field: %s', async (page) => {
    const broadcastId = await written({ subject: '{{ contact.frstName }}' });
    const form: Record<string, string> = page === 'test' ? { to: 'me@example.org' } : {};
    const { status, text } = await post(`broadcasts/${broadcastId}/${page}`, form);
    expect(status).toBe(409);
    expect(wordsOf(text)).toContain(
      'Subject: Unknown field: contact.frstName. Available fields: contact.firstName,',
    );
    expect(text).not.toMatch(/<li>(content|subject|audience|organization)/);
  });

  it('is shown in the preview with the label of its field', async () => {
    const broadcastId = await written({ preheader: '{{ contact.frstName }}' });
    expect(wordsOf(await get(`broadcasts/${broadcastId}/preview`))).toContain(
      'Preview text: Unknown field: contact.frstName.',
    );
  });

  it.each([
    ['in Zeile 2', '{{ contact.firstName', 'Hello\n{{ contact.firstName'],
    ['in Zeile 1', '{% if contact.firstName %}', '{% if contact.firstName %}x'],
    ['in Zeile 1', 'fi', '{% fi %}'],
    ['in Zeile 1', 'upcse', '{{ contact.firstName | upcse }}'],
    ['Zeile 1', '', '{{ contact.firstName | default "friend" }}'],
    ['zu lange', '', '{% for a in (1..3000) %}{% for b in (1..3000) %}{% endfor %}{% endfor %}'],
    ['mehr als 1.000', '', '{{contact.city}}'.repeat(1_001)],
  ])('is translated: %s %s', async (says, what, content) => {
    const broadcastId = await written({ content });
    const [, why] = /role="alert">([^]*?)<\/div>/.exec(
      await getInGerman(`broadcasts/${broadcastId}/preview`),
    )!;
    expect(wordsOf(why!)).toContain(says);
    expect(wordsOf(why!)).toContain(what);
    expect(why).not.toMatch(/The |not closed|line:|col:|found|undefined|exceeded|expected/);
  });

  it('can be looked up: the form lists all merge fields', async () => {
    const text = await get('broadcasts/new');
    for (const field of [
      'contact.firstName',
      'organization.postalAddress',
      'petition.signatures',
      'unsubscribeUrl',
    ])
      expect(text).toContain(`<code>{{ ${field} }}</code>`);
  });
});

it('blocks to insert are listed, and each can be used in an email to signers', async () => {
  const { petitionId } = await call(client, 'petition.create-petition', { name: 'River' });
  await call(client, 'petition.publish-petition', { petitionId });
  const texts = [await get('broadcasts/new'), await getInGerman('broadcasts/new')].map((page) =>
    [...page.matchAll(/<pre class="code" data-insert="[^"]+">([^<]+)</g)].map(([, text]) => text!),
  );
  expect(texts.map(({ length }) => length)).toEqual([8, 8]);
  for (const blocks of texts) {
    const content = blocks.join('\n\n').replaceAll('&quot;', '"').replaceAll('&gt;', '>');
    const written = { name: newName(), subject: 'River', content, audience: { petitionIds: [petitionId] } };
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', written);
    const { html, text } = (await client.get('broadcast.preview-broadcast', { broadcastId })).body.data;
    expect(html).toMatch(/https:\/\/wa\.me\/\?text=https:[^"]*\/petitions\/river"/);
    expect(text).not.toMatch(/\{\{|\]\(/);
  }
});

it('the preview shows images of other servers, and loads nothing else from them', async () => {
  const { headers } = await owner.get(at(`broadcasts/${await draft()}/mail`));
  expect(headers.get('referrer-policy')).toBe('same-origin');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; img-src http: https:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox",
  );
});

describe('the preview of an email that is being written', () => {
  const preview = 'broadcasts/preview';
  const buttonTo = (path: string) => `formaction="${at(path)}" formtarget="_blank"`;
  const withoutToken = (html: string) => html.replaceAll(/\/u\/[\w-]+/g, '/u/token');

  it('is the email that would be sent, to a made-up recipient, and saves nothing', async () => {
    expect(await get('broadcasts/new')).toContain(buttonTo(preview));
    const before = (await client.get('event.list-events', {})).body.data[0].id;
    const written = { subject: 'News', preheader: 'In short', content: '# We won\n\nThe river is clean.' };
    const { status, text, headers } = await post(preview, written);
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; img-src http: https:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox allow-same-origin",
    );
    const personal = { subject: 'For {{ contact.firstName }}', content: 'You live in {{ contact.city }}.' };
    const { text: toSample } = await german().post(at(preview), personal);
    expect(toSample).toContain('<title>For Erika</title>');
    expect(wordsOf(toSample)).toContain('You live in Berlin.');
    expect((await client.get('event.list-events', {})).body.data[0].id).toBe(before);

    const { broadcastId } = await call(client, 'broadcast.create-broadcast', { name: newName(), ...written });
    const { html } = (await client.get('broadcast.preview-broadcast', { broadcastId })).body.data;
    expect(withoutToken(text)).toBe(withoutToken(html));
  });

  it('contains the values of the only petition, and of custom fields', async () => {
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Clean brook' });
    await call(client, 'field.create-field', { name: 'Shoe size', type: 'TEXT' });
    const content = '{{ petition.title }}: {{ contact.fields.shoeSize }}';
    const { text } = await post(preview, { subject: 'S', content, petitionIds: petitionId });
    expect(wordsOf(text)).toContain('Clean brook: Shoe size');
  });

  it('of an email in HTML contains its content, which the form does not', async () => {
    const html = { name: newName(), subject: 'S', format: 'HTML', content: '<p>From <b>elsewhere</b></p>' };
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', html);
    expect(await get(`broadcasts/${broadcastId}/edit`)).toContain(buttonTo(`${preview}?like=${broadcastId}`));
    const { text } = await post(`${preview}?like=${broadcastId}`, { subject: 'S' });
    expect(text).toMatch(/From <b[^>]*>elsewhere<\/b>/);
  });

  it.each([
    [{ subject: 'S', content: '{{ contact.frstName }}' }, 'Message: Unknown field: contact.frstName.'],
    [{ subject: 'S', content: 'Hi {% if' }, 'Message: '],
    [{ subject: 'x'.repeat(201), content: 'Hi' }, 'Subject: '],
  ])('shows in its place what prevents it: %#', async (form, says) => {
    const { status, text } = await post(preview, form);
    expect(status).toBe(200);
    expect(text.replaceAll(/<[^>]*>/g, ' ')).toMatch(new RegExp(`There is a problem\\s+${says}`));
  });

  it.each([
    { subject: '', content: '' },
    { subject: 'S', content: '' },
    { subject: '', content: 'Hi' },
  ])('asks for what is not written yet: %j', async (form) => {
    const { status, text } = await post(preview, form);
    expect(status).toBe(200);
    expect(wordsOf(text)).toContain('Your email appears here when it has a subject and a message.');
    expect(text).not.toContain('There is a problem');
  });

  it('returns 404 for a broadcast of another organization', async () => {
    const other = await api.organization();
    const { status } = await post(`${preview}?like=${await RECORDS.broadcast!(api, other, {})}`, {
      subject: 'S',
    });
    expect(status).toBe(404);
  });
});

describe('recipients', () => {
  it('are shown with translated details, and unchanged responses of mail servers', async () => {
    const broadcastId = await sendingTo(3);
    await settle(broadcastId, [
      { status: 'IN_DOUBT', detail: 'The sending process crashed before it recorded the outcome.' },
      { status: 'SKIPPED', detail: 'The broadcast was cancelled.' },
      { status: 'FAILED', detail: '550 5.1.1 No such user' },
    ]);
    const inGerman = wordsOf(await getInGerman(`broadcasts/${broadcastId}/recipients`));
    expect(inGerman).not.toMatch(/The sending process|The broadcast/);
    expect(inGerman).toContain('Der Versand wurde abgebrochen.');
    expect(inGerman).toContain('550 5.1.1 No such user');

    const { data } = (await client.get('broadcast.list-recipients', { broadcastId })).body;
    const { body } = await client.get('contact.get-contact', {
      organizationId: client.organizationId,
      contactId: data[0].contactId,
    });
    expect(inGerman).toContain(body.data.email);
    const file = await get(`broadcasts/${broadcastId}/recipients/export`);
    const line = file.split('\n').find((one) => one.startsWith(data[0].contactId as string))!;
    expect(line.split(',')).toEqual(expect.arrayContaining([body.data.email, data[0].at]));
  });

  it('have a translation for every detail', () => {
    for (const language of ['en', 'de'] as const)
      expect(Object.keys(DASHBOARD[language].broadcasts.recipients.details).toSorted()).toEqual(
        Object.keys(RECIPIENT_DETAILS).toSorted(),
      );
  });
});

it('the list of broadcasts shows subjects without template code', async () => {
  const subject =
    '{% if contact.city %}News,{% endif %} {{ contact.firstName | default: "friend" }} {{ contact.lastName }}';
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    name: 'Readable',
    subject,
    content: 'C',
  });
  for (const path of ['broadcasts', `broadcasts/${broadcastId}`]) {
    const shown = wordsOf((await get(path)).split('Activity')[0]!);
    expect(shown).toContain('News, friend …');
    expect(shown).not.toContain('{{');
  }
});

describe('the audience of a broadcast', () => {
  const contact = async (fields: object): Promise<string> =>
    (
      await call(client, 'contact.create-contact', {
        organizationId: client.organizationId,
        subscribed: true,
        ...fields,
      })
    ).contactId as string;
  async function listOf(...contactIds: string[]): Promise<string> {
    const { listId } = await call(client, 'list.create-list', { name: newName() });
    if (contactIds.length > 0) await call(client, 'list.add-contacts', { listId, contactIds });
    return listId as string;
  }
  async function to(audience: object): Promise<string> {
    const broadcastId = await draft();
    await call(client, 'broadcast.update-broadcast', { broadcastId, audience });
    return broadcastId;
  }

  it('shows why everyone who was chosen is excluded', async () => {
    const listId = await listOf(await contact({ email: newAddress(), country: 'Germany' }));
    const broadcastId = await to({ listIds: [listId], filter: { country: 'Austria' } });
    const text = await get(`broadcasts/${broadcastId}/audience`);
    expect(wordsOf(text)).toContain('No recipients. Everyone you chose is excluded.');
    expect(wordsOf(text)).toContain('Lives in another country or town');
    expect(text).not.toContain('Edit the email and select recipients');
    const sending = await get(`broadcasts/${broadcastId}/send`);
    expect(wordsOf(sending)).toContain('No recipients. Everyone you chose is excluded.');
    expect(hasDeed(sending, `broadcasts/${broadcastId}/audience`)).toBe(true);
  });

  it('is counted before the email is saved, without JavaScript too', async () => {
    const listId = await listOf(
      await contact({ email: newAddress() }),
      await contact({ email: newAddress(), subscribed: false }),
    );
    const stored = async () => (await client.get('broadcast.list-broadcasts')).body;
    const before = await stored();
    const { text: shown } = await post('broadcasts/new', { count: 'true', listIds: listId });
    expect(wordsOf(shown)).toMatch(/1 person will receive this email\. .*Not subscribed 1/);
    expect(shown).toMatch(new RegExp(`value="${listId}"[^>]* checked`));
    expect(await stored()).toEqual(before);
    // The Enter key presses the first button, which must save.
    const [first] = /<form method="post"[^]*?<button[^>]*>/.exec(shown.slice(shown.indexOf('<main')))!;
    expect(first).not.toContain('name="count"');
  });

  it('keeps records in a rejected form that are not among the choices', async () => {
    const { tagId } = await call(client, 'tag.create-tag', { name: 'Early' });
    for (const batch of ['A', 'B'])
      await contact({
        email: newAddress(),
        tags: Array.from({ length: 50 }, (_, n) => `Later ${batch}${n}`),
      });
    const ticked = new RegExp(`name="excludeTagIds"[^>]*value="${tagId}"[^>]* checked`);
    expect(await get('broadcasts/new')).not.toContain(tagId);
    const refused = await post('broadcasts/new', { content: 'Hi', excludeTagIds: tagId });
    expect([refused.status, refused.text]).toEqual([422, expect.stringMatching(ticked)]);
    // Ids of other organizations and kinds are not shown.
    const other = await api.organization();
    const { tagId: foreign } = await call(other, 'tag.create-tag', { name: 'Foreign secret' });
    const { text } = await post('broadcasts/new', { content: 'Hi', excludeTagIds: foreign });
    expect(text).not.toContain('Foreign secret');
  });

  it('shows immediately what must be corrected, without a button to send', async () => {
    const broadcastId = await draft();
    await call(client, 'broadcast.update-broadcast', { broadcastId, content: 'Hi {{ contact.frstName }}' });
    const page = wordsOf(await get(`broadcasts/${broadcastId}`));
    expect(page).toMatch(/Not ready to send .*contact\.frstName/);
    const text = await get(`broadcasts/${broadcastId}/send`);
    expect(wordsOf(text)).toContain('Not ready to send');
    expect(wordsOf(text)).toContain('contact.frstName');
    expect(wordsOf(text)).not.toMatch(/Send (now )?to \d/);
    expect(hasDeed(text, `broadcasts/${broadcastId}/edit`)).toBe(true);
  });

  it('is shown on the page of the email, in words', async () => {
    const { tagId } = await call(client, 'tag.create-tag', { name: newName() });
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Save the river' });
    const listId = await listOf();
    const name = (await client.get('list.get-list', { listId })).body.data.name as string;
    const broadcastId = await to({
      listIds: [listId],
      tagIds: [tagId],
      excludePetitionIds: [petitionId],
      filter: { country: 'AT' },
    });
    await client.delete('tag.delete-tag', { tagId });
    const text = await get(`broadcasts/${broadcastId}`);
    expect(text).toContain(`<a href="${at(`lists/${listId}`)}">${name}</a>`);
    expect(wordsOf(text)).toContain(
      `Recipients Lists: ${name} Tags: 1 deleted Except signers of: Save the river Only in this country: Austria`,
    );
    expect(wordsOf(await getInGerman(`broadcasts/${await to({ all: true })}`))).toContain(
      'Empfänger Alle, die E‑Mails abonniert haben',
    );
  });

  it('distinguishes empty lists from no choice', async () => {
    const empty = await to({ listIds: [await listOf()] });
    expect(wordsOf(await get(`broadcasts/${empty}/audience`))).toContain(
      'Your selection contains no contacts',
    );
    const nobody = await to({});
    expect(wordsOf(await get(`broadcasts/${nobody}/audience`))).toContain(
      'Edit the email and select recipients',
    );
  });

  it('can be limited to countries and cities of the organization’s own contacts', async () => {
    await contact({ email: newAddress(), country: 'AT', city: 'Linz' });
    await contact({ email: newAddress(), country: 'Germany', city: 'Ulm' });
    await contact({ email: newAddress(), country: 'germany', city: 'Ulm' });
    const other = await api.organization();
    await call(other, 'contact.create-contact', {
      organizationId: other.organizationId,
      email: newAddress(),
      country: 'Elsewhere',
    });
    const text = await get('broadcasts/new');
    const offered = (name: string) => {
      const [, options] = new RegExp(`<datalist id="${name}-offered">([^]*?)</datalist>`).exec(text)!;
      return [...options!.matchAll(/value="([^"]*)"/g)].map(([, value]) => value);
    };
    expect(text).toMatch(/<input id="country"[^>]* list="country-offered"/);
    expect(offered('country').toSorted()).toEqual(['Austria', expect.stringMatching(/^germany$/i)]);
    expect(offered('city').toSorted()).toEqual(['Linz', 'Ulm']);
    expect(text).toContain('as it appears');
  });

  it('can be searched by name or address to preview the email as a recipient', async () => {
    const ada = await contact({ email: 'ada@preview.example', firstName: 'Ada', lastName: 'Reader' });
    const namesake = await contact({ email: 'other@preview.example', firstName: 'Ada', lastName: 'Reader' });
    const alone = await contact({ email: 'alone@preview.example', firstName: 'Alone' });
    const elsewhere = await contact({
      email: 'elsewhere@preview.example',
      firstName: 'Elsewhere',
      city: 'Bonn',
    });
    const stranger = await contact({ email: 'stranger@preview.example', firstName: 'Stranger' });
    await call(client, 'contact.update-contact', { contactId: ada, city: 'Ulm' });
    const broadcastId = await to({
      listIds: [await listOf(ada, namesake)],
      contactIds: [alone, elsewhere, ada],
    });
    const offered = async (query: string) => {
      const text = await get(`broadcasts/${broadcastId}/preview${query}`);
      const [, options] = /<select id="contactId"[^>]*>([^]*?)<\/select>/.exec(text)!;
      return wordsOf(options!);
    };
    const all = await offered('');
    expect(all).toContain('Ada Reader, ada@preview.example');
    expect(all).toContain('Ada Reader, other@preview.example');
    expect(all).toContain('Alone');
    expect(all).not.toContain('Stranger');
    expect(all.match(/ada@preview/g)).toHaveLength(1);
    expect(await offered('?q=other%40')).toBe('Anyone Ada Reader, other@preview.example');
    expect(await offered('?q=alone')).toBe('Anyone Alone, alone@preview.example');
    // The chosen contact is kept during a search.
    expect(await offered(`?q=other%40&contactId=${ada}`)).toContain('ada@preview.example');
    await call(client, 'broadcast.update-broadcast', {
      broadcastId,
      audience: { contactIds: [ada, elsewhere, stranger], filter: { city: 'Ulm' } },
    });
    expect(await offered('')).toBe('Anyone Ada Reader, ada@preview.example');
    await call(client, 'broadcast.update-broadcast', { broadcastId, audience: {} });
    expect(await offered('?q=stranger')).toContain('Stranger');
  });

  it('keeps chosen lists in the form, even if many newer lists exist', async () => {
    const listId = await listOf();
    const deleted = await listOf();
    const broadcastId = await to({ listIds: [listId, deleted] });
    await client.delete('list.delete-list', { listId: deleted });
    for (let n = 0; n < 100; n += 1) await listOf();
    const ticked = (await get(`broadcasts/${broadcastId}/edit`)).match(/ value="[^"]*" checked/g);
    expect(ticked).toEqual([` value="${listId}" checked`]);
  });
});
