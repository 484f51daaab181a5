import { readdirSync, readFileSync } from 'node:fs';
import PostalMime from 'postal-mime';
import { type Page } from 'playwright-core';
import { SmtpServer } from '#libs/testing';
import { Browser, findChromium } from './browser.js';
import { newAddress } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { invitationTo } from './people-in.js';
import { call } from './petition-page.js';
import { eventually } from './processes.js';

const inBrowser = findChromium() === undefined ? describe.skip : describe;
/** Wider than the page of an email. */
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="400"><rect width="1200" height="400" fill="#246"/></svg>`;
const LOOKS = [360, 600].flatMap((width) => [false, true].map((isDark) => ({ width, isDark })));
/** Wide enough for the preview next to the form. */
const DESK = { width: 1_280, isDark: false };

let api: Api;
let mail: SmtpServer;
let client: Client;
let browser: Browser;
/** An owner's windows in each look, and one for the form. */
let readers: { page: Page; home: string }[];
let desk: { page: Page; home: string };

inBrowser('newsletters written elsewhere', () => {
  beforeAll(async () => {
    mail = await SmtpServer.start({ keepContent: true });
    const environment = { MAIL_URL: mail.url, PUBLIC_URL: 'https://act.example.org', TRUST_PROXY: '1' };
    api = await Api.start({ environment });
    api.startWorkers();
    client = await api.organization();
    await call(client, 'organization.update-organization', {
      mailFrom: { address: 'office@example.org' },
      postalAddress: '1 Quay',
    });
    browser = await Browser.start();
    desk = await open(DESK);
    readers = [];
    for (const look of LOOKS) readers.push(await open(look));
  });
  afterAll(async () => {
    await browser.stop();
    await api.stop();
    await mail.stop();
  });

  /** An owner's window. Pictures of other sites exist. */
  async function open(look: (typeof LOOKS)[number]): Promise<{ page: Page; home: string }> {
    const { page } = await browser.open(look);
    await page.route(
      ({ origin }) => origin !== api.origin,
      (route) => route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }),
    );
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', newAddress())));
    await page.locator('form .button').click();
    const home = `${api.origin}/dashboard/${client.organizationId}`;
    await page.waitForURL(home);
    return { page, home };
  }

  async function broadcastOf(
    name: string,
  ): Promise<{ broadcastId: string; contactId: string; email: string }> {
    const email = newAddress();
    const { organizationId } = client;
    const person = { organizationId, email, firstName: 'Ada', subscribed: true };
    const { contactId } = await call(client, 'contact.create-contact', person);
    const { listId } = await call(client, 'list.create-list', { name });
    await call(client, 'list.add-contacts', { listId, contactIds: [contactId] });
    const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
      name,
      subject: name,
      content: readFileSync(`test/newsletters/${name}`, 'utf8'),
      format: 'HTML',
      audience: { listIds: [listId] },
    });
    return { broadcastId: broadcastId as string, contactId: contactId as string, email };
  }

  // 04 has tags that are rejected.
  it.each(readdirSync('test/newsletters').filter((name) => !name.startsWith('04')))(
    'looks the same next to its form, in the preview and as it was sent: %s',
    async (name) => {
      const { broadcastId, contactId, email } = await broadcastOf(name);
      const shown = (await client.get('broadcast.preview-broadcast', { broadcastId, contactId })).body.data;

      const { page, home } = desk;
      await page.goto(`${home}/broadcasts/${broadcastId}/edit`);
      const frame = page.frameLocator('.mail iframe:not(.loading)');
      await frame.locator('a', { hasText: 'Unsubscribe' }).waitFor();
      const words = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
      // The form does not know the recipient. It shows an example.
      const beside = words(await frame.locator('body').innerText()).replaceAll('Sam', 'Ada');

      await call(client, 'broadcast.send-broadcast', { broadcastId });
      const find = () => mail.accepted.find(({ to }) => to === email)?.content;
      await eventually(() => expect(find()).toBeDefined());
      const sent = await PostalMime.parse(find()!);
      expect(sent.text!.trim()).toBe(shown.text.trim());
      for (const [n, { page: window }] of readers.entries()) {
        await window.goto(`${home}/broadcasts/${broadcastId}/mail?contactId=${contactId}`);
        const preview = await window.screenshot({ fullPage: true });
        const text = words(await window.locator('body').innerText());
        await window.setContent(sent.html!, { waitUntil: 'load' });
        const received = await window.screenshot({ fullPage: true });
        const isAsShown = [text === beside, received.equals(preview)];
        expect([LOOKS[n], ...isAsShown]).toEqual([LOOKS[n], true, true]);
      }
    },
  );

  it('lists the tags of other programs in the preview, and sends nothing', async () => {
    const { broadcastId } = await broadcastOf('04-foreign-tags.html');
    const { page, home } = desk;
    await page.goto(`${home}/broadcasts/${broadcastId}/edit`);
    await page
      .frameLocator('.mail iframe:not(.loading)')
      .getByText(/FNAME.*contact\.firstName/)
      .first()
      .waitFor();
    const { status, body } = await client.post('broadcast.send-broadcast', { broadcastId });
    expect([status, body.error.reason]).toEqual([409, 'BROADCAST_NOT_READY']);
  });
});
