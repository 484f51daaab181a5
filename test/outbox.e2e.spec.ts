import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mailer, writtenAt } from '#libs/mail';
import { newId } from '#libs/random';
import { DASHBOARD, type DashboardWords } from '#locales';
import { PAGE_SIZE } from '../src/dashboard/index.js';
import { Browser, findChromium, type Look } from './browser.js';
import { newAddress } from './dashboard-pages.js';
import { Api, type Client, NOBODY } from './harness.js';
import { isLong, longIt, someOf } from './length.js';
import { invitationTo, signedIn, Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { eventually } from './processes.js';

let api: Api;
let directory: string;
let client: Client;
let owner: Visitor;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'advocacy-outbox-'));
  api = await Api.start({ environment: { DATA_DIR: directory, TRUST_PROXY: '1' } });
});
afterAll(async () => {
  await api.stop();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  client = await api.organization();
  owner = (await signedIn(api, client, 'OWNER', newAddress())).here();
});

const outbox = (end = '', { organizationId } = client) => `/dashboard/${organizationId}/outbox${end}`;
const write = async (changes: object = {}) => {
  const { detail } = await api.instances[0]!.app.get(Mailer).send({
    organizationId: client.organizationId,
    from: { name: 'Rivers', address: 'office@example.org' },
    replyTo: null,
    to: newAddress(),
    subject: 'News',
    text: 'We won.',
    html: null,
    messageId: newAddress(),
    automatic: true,
    ...changes,
  });
  return detail.slice(-40, -4);
};
/** The ids of the emails that a page links to. */
const listed = (text: string) => [...text.matchAll(/\/outbox\/([\da-f-]{36})">/g)].map(([, id]) => id!);
const linkIn = (text: string) => /<a href="http[^"]*?(\/dashboard\/[^"]+)" target="_blank"/.exec(text)![1]!;
/** Waits for this many emails to an address, and returns their links, newest first. */
async function mailsTo(email: string, count: number): Promise<string[]> {
  let ids: string[] = [];
  await eventually(async () => {
    ids = listed((await owner.get(outbox(`?q=${encodeURIComponent(email)}`))).text);
    expect(ids).toHaveLength(count);
  });
  return Promise.all(ids.map(async (id) => linkIn((await owner.get(outbox(`/${id}`))).text)));
}
const folderOf = ({ organizationId } = client) => join(directory, 'mail', organizationId);

it('is shown only to owners on the machine itself', async () => {
  const id = await write();
  const home = `/dashboard/${client.organizationId}`;
  const link = `href="${outbox()}"`;
  expect((await owner.get(home)).text).toContain(link);
  expect(listed((await owner.get(outbox())).text)).toEqual([id]);
  for (const role of ['ADMIN', 'EDITOR', 'VIEWER', 'AUDITOR']) {
    const other = (await signedIn(api, client, role, newAddress())).here();
    expect((await other.get(home)).text).not.toContain(link);
    for (const end of ['', '/export', `/${id}`, `/${id}/mail`])
      expect([role, end, (await other.get(outbox(end))).status]).toEqual([role, end, 403]);
  }
  const passedOn: Record<string, string>[] = [
    { 'X-Forwarded-For': '192.0.2.1' },
    { 'X-Real-IP': '192.0.2.1' },
    { Forwarded: 'for=192.0.2.1' },
    { Via: '1.1 proxy' },
  ];
  for (const headers of passedOn) {
    expect((await owner.get(home, headers)).text).not.toContain(link);
    expect((await owner.get(outbox(), headers)).status).toBe(404);
    expect((await owner.get(outbox(`/${id}`), headers)).status).toBe(404);
  }
});

it("another organization's email is neither listed nor found", async () => {
  const id = await write({ html: '<p>We won.</p>' });
  const other = await api.organization();
  const stranger = (await signedIn(api, other, 'OWNER', newAddress())).here();
  expect(listed((await stranger.get(outbox('', other))).text)).toEqual([]);
  for (const end of [`/${id}`, `/${id}/mail`]) {
    expect((await owner.get(outbox(end))).status).toBe(200);
    expect((await stranger.get(outbox(end, other))).status).toBe(404);
    expect((await stranger.get(outbox(end))).status).toBe(404);
  }
});

it('no address reads a file outside the folder', async () => {
  await write();
  const [file] = await readdir(folderOf());
  await writeFile(join(directory, 'mail', 'secret.eml'), 'Subject: secret\r\n\r\nsecret');
  const names = [
    file!,
    `${NOBODY}`,
    '..%2fsecret.eml',
    '..%2f..%2fsecret',
    '%2e%2e/secret.eml',
    'secret.eml',
    `..%2f${client.organizationId}%2f${file!}`,
    `${NOBODY}%00`,
    ':mail',
    '%3amail',
  ];
  for (const name of names) {
    const { status, text } = await owner.get(outbox(`/${name}`));
    expect([name, status, text.includes('secret\n')]).toEqual([name, 404, false]);
  }
  for (const cursor of ['..', 'x', '%00'])
    expect((await owner.get(outbox(`?cursor=${cursor}`))).status).toBe(400);
});

longIt(
  'lists the newest first, page by page, searches the newest 1,000, and exports all as CSV',
  async () => {
    expect((await owner.get(outbox())).text).toContain('No emails yet');
    await mkdir(folderOf(), { recursive: true });
    const ids = Array.from({ length: 1_060 }, newId);
    for (const [n, id] of ids.entries()) {
      const name = `${writtenAt(id).toISOString().replaceAll(':', '-')}-${id}.eml`;
      const content = `To: person-${n}@example.org\r\nSubject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?= ${n % 20}\r\n\r\nHello`;
      await writeFile(join(folderOf(), name), content);
    }
    const newestFirst = ids.toReversed();
    const first = (await owner.get(outbox())).text;
    expect(listed(first)).toEqual(newestFirst.slice(0, PAGE_SIZE));
    expect(first).toContain(folderOf());
    const second = (await owner.get(outbox(`?cursor=${newestFirst[PAGE_SIZE - 1]!}`))).text;
    expect(first).toContain(`cursor=${newestFirst[PAGE_SIZE - 1]!}`);
    expect(listed(second)).toEqual(newestFirst.slice(PAGE_SIZE, 2 * PAGE_SIZE));

    const found = (await owner.get(outbox('?q=person-1059%40EXAMPLE'))).text;
    expect(listed(found)).toEqual([ids[1_059]]);
    // Older than the emails that are searched.
    expect(listed((await owner.get(outbox('?q=person-59%40'))).text)).toEqual([]);
    expect(listed((await owner.get(outbox('?q=person-60%40'))).text)).toEqual([ids[60]]);
    const about = (subject: string, more = '') =>
      owner.get(outbox(`?q=${encodeURIComponent(subject)}${more}`));
    const those = ids.filter((_, n) => n >= 60 && n % 20 === 17).toReversed();
    expect(listed((await about('grüße 17')).text)).toEqual(those.slice(0, PAGE_SIZE));
    const [one, last] = [await about('GRÜßE'), await about('grüße', `&cursor=${ids[60 + PAGE_SIZE]!}`)];
    expect(listed(one.text)).toEqual(newestFirst.slice(0, PAGE_SIZE));
    expect(one.text).toContain(`cursor=${newestFirst[PAGE_SIZE - 1]!}`);
    expect(listed(last.text)).toEqual(ids.slice(60, 60 + PAGE_SIZE).toReversed());
    expect(last.text).not.toContain('Next page');

    const file = await owner.get(outbox('/export'));
    expect(file.headers.get('content-type')).toMatch(/^text\/csv/);
    const lines = file.text.trim().split('\r\n');
    expect(lines).toHaveLength(1_061);
    expect(lines[0]).toBe('id,Subject,To,Created');
    expect(lines[1]).toBe(
      `${ids[1_059]!},Grüße 19,person-1059@example.org,${writtenAt(ids[1_059]!).toISOString()}`,
    );
    expect((await owner.get(outbox('/export?q=person-1059%40'))).text.trim().split('\r\n')).toHaveLength(2);
  },
);

it('shows an email with its headers, its text with links, and its HTML in a sandboxed frame', async () => {
  const id = await write({
    to: 'ada@example.org',
    subject: '<b>News</b>',
    text: 'See (https://rivers.example/a?b=1&c=2). And <script>alert(1)</script> javascript:alert(2) https://',
    html: '<p>We won.</p><script>alert(3)</script>',
  });
  const { status, text } = await owner.get(outbox(`/${id}`));
  expect(status).toBe(200);
  expect(text).toMatch(/<title>&lt;b&gt;News&lt;\/b&gt; – Outbox – /);
  for (const part of [
    'Rivers &lt;office@example.org&gt;',
    'ada@example.org',
    '<h1>&lt;b&gt;News&lt;/b&gt;</h1>',
  ])
    expect(text).toContain(part);
  expect(text).toContain(
    '(<a href="https://rivers.example/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer">https://rivers.example/a?b=1&amp;c=2</a>). And &lt;script&gt;alert(1)&lt;/script&gt; javascript:alert(2) https://',
  );
  expect(text).toMatch(new RegExp(`<iframe\\s+sandbox\\s+title="[^"]+"\\s+src="${outbox(`/${id}/mail`)}"`));
  expect(text).not.toContain('alert(3)');
  const frame = await owner.get(outbox(`/${id}/mail`));
  expect(frame.text).toContain('alert(3)');
  expect(frame.headers.get('content-security-policy')).toMatch(/^default-src 'none'.* sandbox$/);
  const plain = await write();
  expect((await owner.get(outbox(`/${plain}`))).text).not.toContain('<iframe');
  expect((await owner.get(outbox(`/${plain}/mail`))).status).toBe(404);
});

it('does not exist on a server with a mail server', async () => {
  const id = await write();
  const { origin } = await api.addInstance({ MAIL_URL: 'smtp://127.0.0.1:1', PUBLIC_URL: api.origin });
  const there = owner.at(origin).here();
  const { status, text } = await there.get(`/dashboard/${client.organizationId}`);
  expect([status, text.includes(outbox())]).toEqual([200, false]);
  const admin = (await signedIn(api, client, 'ADMIN', newAddress())).at(origin).here();
  for (const end of ['', '/export', `/${id}`, `/${id}/mail`]) {
    expect((await there.get(outbox(end))).status).toBe(404);
    expect((await admin.get(outbox(end))).status).toBe(404);
  }
});

describe('requesting a sign-in link without a mail server', () => {
  const folder = () => join(directory, 'mail');
  const ask = (visitor: Visitor, email: string) => visitor.post('/dashboard/sign-in', { email });

  it('explains that it is written to a file; on the machine itself also where, and how to print one', async () => {
    const here = new Visitor(api.origin).here();
    expect((await here.get('/dashboard/sign-in')).text).toContain('is not connected to a mail server');
    const { status, text } = await ask(here, newAddress());
    expect(status).toBe(200);
    expect(text).not.toMatch(/spam|on its way/);
    for (const part of ['DATA_DIR', folder(), 'npm run -s cli -- user invite --organization'])
      expect(text).toContain(part);
    const elsewhere = await ask(new Visitor(api.origin), newAddress());
    expect(elsewhere.text).toContain('DATA_DIR');
    expect(elsewhere.text).not.toMatch(/spam|on its way|npm run/);
    expect(elsewhere.text).not.toContain(directory);
  });

  it('returns the same page for known and unknown addresses', async () => {
    const email = newAddress();
    await signedIn(api, client, 'VIEWER', email);
    for (const place of [(one: Visitor) => one, (one: Visitor) => one.here()]) {
      const [known, unknown] = await Promise.all(
        [email, newAddress()].map((one) => ask(place(new Visitor(api.origin)), one)),
      );
      expect(known!.text).toBe(unknown!.text);
    }
  });

  it('is explained in German too', async () => {
    const { text } = await ask(new Visitor(api.origin, 'de'), newAddress());
    expect(text).toContain('schreibt E‑Mails in den Ordner');
  });

  it('points to the inbox if there is a mail server', async () => {
    const { origin } = await api.addInstance({ MAIL_URL: 'smtp://127.0.0.1:1', PUBLIC_URL: api.origin });
    const here = new Visitor(origin).here();
    expect((await here.get('/dashboard/sign-in')).text).not.toContain('is not connected to a mail server');
    const { text } = await ask(here, newAddress());
    expect(text).toContain('spam');
    expect(text).not.toMatch(/DATA_DIR|npm run/);
  });
});

it('after an invitation, the page shows where the email is', async () => {
  const home = `/dashboard/${client.organizationId}`;
  const invite = (visitor: Visitor) =>
    visitor.post(`${home}/team/invite`, { email: newAddress(), role: 'EDITOR' });
  const { location } = await invite(owner);
  expect((await owner.get(location!)).text).toContain('“Outbox”');
  const { origin } = await api.addInstance({ MAIL_URL: 'smtp://127.0.0.1:1', PUBLIC_URL: api.origin });
  const there = owner.at(origin);
  expect((await there.get((await invite(there)).location!)).text).toContain('on its way');
});

describe('with background workers', () => {
  beforeAll(() => api.startWorkers());

  it('an invited person joins with the link on the page, and later signs in with another', async () => {
    const email = newAddress();
    await call(client, 'team.invite-member', { email, role: 'EDITOR' });
    const [invitation] = await mailsTo(email, 1);
    const editor = new Visitor(api.origin);
    expect((await editor.post(invitation!)).status).toBe(303);
    expect((await editor.get(`/dashboard/${client.organizationId}`)).status).toBe(200);

    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const [link] = await mailsTo(email, 2);
    const again = new Visitor(api.origin);
    expect((await again.post(link!)).status).toBe(303);
    expect((await again.get(`/dashboard/${client.organizationId}`)).status).toBe(200);
  });

  it('sign-in links for members of several organizations are only in files', async () => {
    const email = newAddress();
    await signedIn(api, await api.organization(), 'VIEWER', email);
    const folder = join(directory, 'mail');
    const requireFile = (path: string) =>
      eventually(async () => {
        const files = (await readdir(folder)).filter((name) => name.endsWith('.eml'));
        const mails = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
        const theirs = mails
          .filter((mail) => mail.includes(`To: ${email}`))
          .join('')
          .replace(/=\r\n/g, '');
        expect(theirs).toContain(path);
      });
    await call(client, 'team.invite-member', { email, role: 'EDITOR' });
    await requireFile('/dashboard/invitations/');
    await signedIn(api, client, 'VIEWER', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    await requireFile('/dashboard/sign-in/');
    expect(listed((await owner.get(outbox(`?q=${encodeURIComponent(email)}`))).text)).toEqual([]);
  });
});

(findChromium() === undefined ? describe.skip : describe)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.start();
  });
  afterAll(() => browser.stop());

  it.each(
    someOf<[string, Look, DashboardWords]>([
      ['on a phone, in German', { width: 360, height: 740, locale: 'de-DE' }, DASHBOARD.de],
      ['wide', {}, DASHBOARD.en],
    ]),
  )('is accessible, %s', async (_, look, words) => {
    const window = await browser.open(look);
    const { page } = window;
    /** @param isOfOwnShape whether no other page that `npm test` examines looks like it. */
    const requireGood = async (isOfOwnShape = false) => {
      if (isLong || isOfOwnShape) expect([page.url(), await window.findings()]).toEqual([page.url(), []]);
      expect([page.url(), await window.isTooWide()]).toEqual([page.url(), false]);
    };
    await page.goto(`${api.origin}/dashboard/sign-in`);
    await requireGood();
    await window.type(page.getByLabel(words.email), newAddress());
    await window.press(words.signIn.button);
    expect(await page.locator('h1').innerText()).toBe(words.written.title);
    await requireGood(true);
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', newAddress())));
    await window.press(words.invitation.button);
    await page.goto(api.origin + outbox());
    await requireGood();
    const text = `https://rivers.example/${'x'.repeat(100)}`;
    await write({ subject: 'Wir haben gewonnen', text, html: `<p><a href="${text}">We won</a></p>` });
    await page.reload();
    await requireGood();
    await window.follow('Wir haben gewonnen');
    await requireGood(true);
    const frame = page.frameLocator('iframe');
    expect(await frame.getByText('We won').innerText()).toBe('We won');
    window.requireQuiet(api.origin);
  });
});
