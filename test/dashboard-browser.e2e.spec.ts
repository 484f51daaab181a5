import { join } from 'node:path';
import { type Locator, type Page, type Request } from 'playwright-core';
import { SmtpServer } from '#libs/testing';
import { DASHBOARD, type DashboardWords } from '#locales';
import { Browser, findChromium, type Look, type Window } from './browser.js';
import { newAddress } from './dashboard-pages.js';
import { faultIn } from '../src/dashboard/index.js';
import { DELIVERY_REASONS } from '../src/webhooks/index.js';
import { Api, type Client } from './harness.js';
import { isLong, longIt, someOf } from './length.js';
import { invitationTo, linkTo } from './people-in.js';
import { eventually } from './processes.js';
import { ageForm } from './petition-page.js';
import { picture } from './pictures.js';

/** Without Chromium, `npm test` skips these tests with a message. */
const inBrowser = findChromium() === undefined ? describe.skip : describe;
if (findChromium() === undefined) console.log('Chromium is not installed: the dashboard is not tried in it.');

let api: Api;
let mail: SmtpServer;
let browser: Browser;
let client: Client;

const LOOKS: [name: string, look: Look, words: DashboardWords][] = [
  // Reaching each element with Tab takes most of the time, so `npm test` uses the mouse.
  [
    `${isLong ? 'with the keyboard alone, ' : ''}on a phone, in German`,
    { width: 360, height: 740, locale: 'de-DE', byKeyboard: isLong },
    DASHBOARD.de,
  ],
  ['with scripts, wide', {}, DASHBOARD.en],
  [
    'without scripts, on a phone, in German',
    { width: 360, height: 740, javaScript: false, locale: 'de-DE' },
    DASHBOARD.de,
  ],
];

inBrowser('in Chromium', () => {
  beforeAll(async () => {
    mail = await SmtpServer.start({ keepContent: true });
    api = await Api.start({
      environment: { MAIL_URL: mail.url, PUBLIC_URL: 'https://act.example.org', TRUST_PROXY: '1' },
    });
    api.startWorkers();
    browser = await Browser.start();
  });
  afterAll(async () => {
    await browser.stop();
    await api.stop();
    await mail.stop();
  });
  beforeEach(async () => {
    client = await api.organization();
  });
  afterEach(() => browser.closeWindows());

  describe.each(someOf(LOOKS))('%s', (_, look, words) => {
    let window: Window;
    let page: Page;
    const home = () => `${api.origin}/dashboard/${client.organizationId}`;
    const open = (path: string) => page.goto(`${home()}/${path}`);
    const press = (name: string) => window.press(name);
    const follow = (name: string) => window.follow(name);
    const field = (label: string) => page.getByLabel(label).first();
    const type = (label: string, text: string) => window.type(field(label), text);
    /** Writes Markdown, to which scripts switch the editor first. */
    const write = async (text: string): Promise<Locator> => {
      const area = page.locator('textarea[name=content]');
      if (look.javaScript !== false) await press('Markdown');
      await window.type(area, text);
      return area;
    };
    /**
     * Expects a title, and no horizontal overflow.
     *
     * @param state runs axe-core on a state that no other test has. `dashboard-crawl.e2e.spec.ts` examines pages in their normal state.
     */
    const requireGood = async (state?: string) => {
      expect([page.url(), await page.title()]).toEqual([page.url(), expect.stringMatching(/\S – \S/)]);
      if (look.javaScript !== false && (isLong || state !== undefined))
        expect([state, page.url(), await window.findings()]).toEqual([state, page.url(), []]);
      expect([page.url(), await window.isTooWide()]).toEqual([page.url(), false]);
    };
    /** Signs on the public page. In `npm test` by the API, because `site-browser.e2e.spec.ts` signs there. */
    const sign = async (petitionId: string, href: string | null): Promise<void> => {
      const email = newAddress();
      if (!isLong) {
        const contact = { email, firstName: 'Sigrid' };
        expect((await client.post('petition.add-signature', { petitionId, contact })).status).toBe(200);
        return;
      }
      const signer = await browser.open(look);
      await signer.page.goto(api.origin + href!);
      await ageForm(signer.page, api, petitionId);
      await signer.type(signer.page.locator('#firstName'), 'Sigrid');
      await signer.type(signer.page.locator('#email'), email);
      await signer.use(signer.page.locator('form .button'));
      const mails = () => mail.accepted.filter(({ to }) => to === email);
      await eventually(() => expect(mails()).toHaveLength(1));
      const whole = mails()[0]!
        .content!.replace(/=\r?\n/g, '')
        .replaceAll('=3D', '=');
      const [, path] = /https?:\/\/[^/\s]+(\/\S*confirm\S*)/.exec(whole)!;
      await signer.page.goto(api.origin + path!);
      await signer.use(signer.page.locator('form .button'));
    };

    const requireDone = async (text: string) => {
      expect(await page.getByRole('status').first().innerText()).toBe(text);
      await requireGood();
    };

    beforeEach(async () => {
      window = await browser.open(look);
      ({ page } = window);
      await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'owner@example.org')));
      await press(words.invitation.button);
      expect(page.url()).toBe(home());
      await requireGood();
    });
    afterEach(() => {
      window.requireQuiet(api.origin, /status of 422/);
    });

    longIt('a colleague joins with an emailed invitation, and later signs in with a link', async () => {
      await open('team');
      await follow(words.team.invite);
      await press(words.team.inviting.button);
      await requireGood('a form with faults');
      expect(await page.locator('#faults').innerText()).toContain(faultIn(words.faults, 'is required'));
      const email = newAddress();
      await type(words.email, email);
      await window.tick(field(words.roles.EDITOR.name));
      await press(words.team.inviting.button);
      await requireDone(words.team.done.invited);
      await requireGood('a list after something was done');

      const links = () => mail.accepted.filter(({ to }) => to === email).map(linkTo);
      await eventually(() => expect(links()).toHaveLength(1));
      const other = await browser.open(look);
      await other.page.goto(api.origin + links()[0]!);
      await other.press(words.invitation.button);
      await other.page.waitForURL(home());
      await other.press(words.signOut);
      await other.type(other.page.getByLabel(words.email), email);
      await other.press(words.signIn.button);
      await eventually(() => expect(links()).toHaveLength(2));
      await other.page.goto(api.origin + links()[1]!);
      await other.press(words.enter.button);
      await other.page.waitForURL(home());
      // Actions that the role lacks are hidden.
      expect(await other.page.getByRole('link', { name: words.sections.keys }).count()).toBe(0);
    });

    longIt('a table of contacts is reviewed and imported, with a result for each failed line', async () => {
      await open('contacts');
      await requireGood();
      await follow(words.contacts.import);
      const { imports } = words.contacts;
      const content = Buffer.from('E-Mail;Vorname;Ort\nada@example.org;Ada;London\nnobody;No;Body\n');
      await window.attach(field(imports.file), {
        name: 'people.csv',
        mimeType: 'text/csv',
        buffer: content,
      });
      await press(imports.look);
      await requireGood();
      expect(await page.getByLabel('Vorname').inputValue()).toBe('firstName');
      await press(imports.start(2));
      await page.getByRole('heading', { name: imports.done }).waitFor();
      await requireGood('the result of an import');
      expect(await page.getByRole('table').innerText()).toContain('3');
      await follow(imports.toContacts);
      expect(await page.getByRole('table').innerText()).toContain('ada@example.org');
      await follow('Ada');
      await requireGood();
      expect(await page.locator('.past:not(.consents)').innerText()).toContain('owner@example.org');
    });

    it('a petition with an image is written, previewed, published and signed, and shows its statistics', async () => {
      const { petitions, images, posts } = words;
      await open('images/new');
      await type(images.name, 'River');
      await type(images.alt, 'A river');
      await window.attach(field(images.file), {
        name: 'river.png',
        mimeType: 'image/png',
        buffer: await picture(400, 300),
      });
      await press(images.upload);
      await requireDone(images.done.uploaded);
      const url = await page.getByLabel(images.address).inputValue();
      expect(url).toContain(
        new URL(await page.locator('.picture img').evaluate((image: any) => image.src)).pathname,
      );
      await open('petitions');
      await requireGood();
      await follow(petitions.add);
      await type(petitions.fields.title, 'Save the river');
      await window.pick(field(images.choose), 'River');
      await write('It is **ours**.');
      await press(posts.preview);
      await requireGood('a form with a preview');
      expect(await page.locator('#preview strong').innerText()).toBe('ours');
      await press(petitions.saveDraft);
      await requireDone(petitions.done.created);
      await follow(petitions.publish);
      await press(petitions.publish);
      await requireDone(petitions.done.published);
      const address = page.url().split('?')[0]!;

      await sign(
        address.split('/').at(-1)!,
        await page.getByRole('link', { name: petitions.open }).getAttribute('href'),
      );

      await page.goto(address);
      await requireGood();
      expect(await page.locator('main').innerText()).toContain(words.petitions.stats.title);
      await requireGood('figures');
      for (const plot of await page.locator('.plot svg').all())
        expect(await plot.getAttribute('aria-label')).toContain('1');
      await follow(petitions.signers.title);
      await requireGood();
      expect(await page.getByRole('table').innerText()).toContain('Sigrid');
    });

    longIt('a broadcast is written, previewed and sent', async () => {
      const { broadcasts, organization } = words;
      const contact = { email: newAddress(), subscribed: true };
      const { contactId } = (
        await client.post('contact.create-contact', { organizationId: client.organizationId, ...contact })
      ).body.data;
      const { listId } = (await client.post('list.create-list', { name: 'Readers' })).body.data;
      await client.post('list.add-contacts', { listId, contactIds: [contactId] });
      await open('organization/mails');
      await type(organization.fields.fromAddress, 'office@example.org');
      await type(organization.fields.postalAddress, '1 Quay');
      await press(organization.save);
      await requireDone(organization.done.changed);
      await open('broadcasts/new');
      await type(broadcasts.fields.name, 'News');
      await type(broadcasts.fields.subject, 'We won');
      const { blocks } = broadcasts;
      const content = await write('Dear friend, **we won**.');
      if (look.javaScript !== false) {
        await press(blocks.firstName);
        await press(blocks.divider);
        const firstName = `{{ contact.firstName | default: "${blocks.somebody}" }}`;
        expect(await content.inputValue()).toBe(`Dear friend, **we won**.${firstName}\n\n---`);
      }
      if (look.javaScript === false) {
        await window.use(page.locator('main summary', { hasText: broadcasts.fields.sendTo.list! }));
        await window.tick(field('Readers'));
      } else {
        await page.getByRole('combobox', { name: broadcasts.fields.addRecipients }).fill('readers');
        await page.getByRole('option').filter({ hasText: 'Readers' }).waitFor();
        await page.keyboard.press('Enter');
      }
      await requireGood();
      await press(broadcasts.saveDraft);
      await requireDone(broadcasts.done.created);
      const address = page.url().split('?')[0]!;
      await window.use(page.locator('.more summary'));
      await requireGood('a menu');
      await follow(broadcasts.preview);
      await requireGood();
      expect(await page.frameLocator('iframe').locator('strong').innerText()).toBe('we won');
      await page.goto(`${address}/audience`);
      await requireGood();
      expect(await page.locator('main').innerText()).toContain(broadcasts.audience.total(1));
      await page.goto(`${address}/send`);
      await requireGood();
      await press(broadcasts.send.button(1));
      const mails = () => mail.accepted.filter(({ to }) => to === contact.email);
      await eventually(() => expect(mails()).toHaveLength(1));
      await page.getByText(broadcasts.statuses.SENT, { exact: true }).first().waitFor();
      await requireGood();
    });

    longIt('an API key is created, shown once, and works', async () => {
      const { keys } = words;
      await open('keys');
      await requireGood();
      await follow(keys.add);
      await type(keys.fields.name, 'Website');
      await window.use(page.locator('#scopes').getByText(words.sections.contacts, { exact: true }));
      await window.tick(page.getByLabel(keys.read(words.sections.contacts), { exact: true }));
      await requireGood();
      await press(keys.button);
      await requireGood('a key that is shown once');
      const key = await page.getByLabel(keys.key).inputValue();
      const answer = await fetch(`${api.origin}/v1/contact.list-contacts`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      expect(answer.status).toBe(200);
      await follow(keys.toKeys);
      expect(await page.content()).not.toContain(key);
    });

    if (look.javaScript === false) {
      it('the history page explains verification without scripts', async () => {
        await open('history/verify');
        await requireGood();
        expect(await page.locator('main').innerText()).toContain('history verify');
      });
      return;
    }

    longIt(
      'the history is verified in the browser, which detects an interrupted or altered download',
      async () => {
        const { verifying } = words.history;
        await open('history/verify');
        await requireGood();
        const result = page.locator('[data-result]');
        await press(verifying.start);
        await result.getByText(verifying.ok).waitFor();
        await requireGood('a history that was checked');
        const whole = await (await page.request.get(`${home()}/history/export`)).text();
        const answers: [body: string, sentence: string][] = [
          [whole.split('\n').slice(1).join('\n'), verifying.reasons.order],
          [whole.slice(0, whole.length / 2), verifying.wrong],
          [whole.replace('Test organization', 'Best organization'), verifying.reasons.digest],
        ];
        for (const [body, sentence] of answers) {
          await page.route('**/history/export', (route) => route.fulfill({ status: 200, body }));
          await press(verifying.start);
          await result.getByText(sentence).waitFor();
          await page.unroute('**/history/export');
        }
        await page.route('**/history/export', (route) => route.abort());
        await press(verifying.start);
        await result.getByText(verifying.broken).waitFor();
        await page.unroute('**/history/export');
      },
    );

    longIt(
      'a mistyped key or checkpoint is an error at its field and no alarm, and the keyboard focus follows',
      async () => {
        const { verifying } = words.history;
        await open('history/verify');
        const result = page.locator('[data-result]');
        const [key, checkpoint] = [page.locator('#key'), page.locator('#checkpoint')];
        const good = { key: await key.inputValue(), checkpoint: await checkpoint.inputValue() };
        const isAt = (place: Locator) =>
          place.evaluate((element) => element === element.ownerDocument.activeElement);
        for (const [field, text] of [
          [key, 'advocacy-api+00000000+AAAA'],
          [key, 'rubbish'],
          [key, ''],
          [checkpoint, 'rubbish'],
        ] as const) {
          await key.fill(good.key);
          await checkpoint.fill(good.checkpoint);
          await field.fill(text);
          await press(verifying.start);
          await page.locator('.field.wrong').waitFor();
          expect([
            await isAt(field),
            await field.getAttribute('aria-invalid'),
            await result.innerText(),
          ]).toEqual([true, 'true', '']);
          await requireGood(isLong || text === 'rubbish' ? 'a check with a fault' : undefined);
        }
        // A well-formed checkpoint of another history.
        const [line = '', ...others] = good.checkpoint.split('\n');
        await checkpoint.fill([line, '7', ...others.slice(1)].join('\n'));
        await press(verifying.start);
        await result.getByText(verifying.unfitting).waitFor();
        expect(await result.innerText()).not.toContain(verifying.wrong);
        // Surrounded by spaces, and empty.
        for (const text of [`\n  ${good.checkpoint.replaceAll('\n', ' \n')}\n\n`, '']) {
          await checkpoint.fill(text);
          await press(verifying.start);
          await result.getByText(verifying.ok).waitFor();
          expect(await isAt(result)).toBe(true);
        }
        // A download that never ends can be stopped and restarted.
        await page.route('**/history/export', () => undefined);
        await press(verifying.start);
        expect(await isAt(page.getByRole('button', { name: verifying.stop }))).toBe(true);
        await press(verifying.stop);
        await result.getByText(verifying.stopped).waitFor();
        expect(await isAt(result)).toBe(true);
        await page.unroute('**/history/export');
        await press(verifying.start);
        await result.getByText(verifying.ok).waitFor();
      },
    );
  });

  longIt('a page with live updates keeps the reader’s place, and can be paused', async () => {
    const window = await browser.open({});
    const { page } = window;
    const { live, broadcasts } = DASHBOARD.en;
    await page.clock.install();
    /** Expects no request in the next ten seconds of the page's clock: a request sent afterwards is the first one. */
    const requireStill = async () => {
      const seen: string[] = [];
      const note = (request: Request) => {
        // The browser may load its icon at any time.
        if (['fetch', 'xhr'].includes(request.resourceType())) seen.push(new URL(request.url()).pathname);
      };
      page.on('request', note);
      await page.clock.runFor(10_000);
      await page.evaluate("fetch('/health/live')");
      page.off('request', note);
      expect(seen).toEqual(['/health/live']);
    };
    const home = `${api.origin}/dashboard/${client.organizationId}`;
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'live@example.org')));
    await page.locator('form .button').click();
    await page.waitForURL(home);
    const url = 'https://webhooks.invalid/live';
    await client.post('webhook.create-webhook', { url });
    await page.goto(`${home}/workings`);
    const asked = () => page.waitForResponse((answer) => answer.url().startsWith(`${home}/workings`));
    const link = page.getByRole('link', { name: url });
    // Updates keep it open.
    await page.locator('details', { hasText: url }).locator('summary').click();
    await link.focus();
    await asked();
    await asked();
    expect(await link.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.getByRole('link', { name: live.hold }).click();
    await page.waitForURL(`${home}/workings?still=1`);
    await requireStill();

    const petitionId = (await client.post('petition.create-petition', { name: 'River' })).body.data
      .petitionId;
    await client.post('petition.publish-petition', { petitionId });
    await client.post('petition.add-signature', {
      petitionId,
      contact: { email: newAddress(), subscribed: true },
    });
    await client.post('organization.update-organization', {
      mailFrom: { address: 'office@example.org' },
      postalAddress: '1 Quay',
    });
    const written = {
      name: 'News',
      subject: 'News',
      content: 'We won.',
      audience: { petitionIds: [petitionId] },
    };
    const { broadcastId } = (await client.post('broadcast.create-broadcast', written)).body.data;
    await mail.behave({ holds: 'end' });
    await client.post('broadcast.send-broadcast', { broadcastId });
    await mail.reaches('end');
    await page.goto(`${home}/broadcasts/${broadcastId}`);
    expect(await page.locator('.actions').innerText()).toContain(broadcasts.steps.pause);
    await mail.behave({});
    await page
      .locator('.badge')
      .and(page.getByText(broadcasts.statuses.SENT, { exact: true }))
      .waitFor();
    // Actions and activity are updated, and polling stops.
    expect(await page.locator('.actions').innerText()).not.toContain(broadcasts.steps.pause);
    expect(await page.locator('.past:not(.consents)').innerText()).toContain(
      DASHBOARD.en.events.BroadcastSent,
    );
    await requireStill();
    // The page's clock is a script, which the email's frame blocks.
    window.requireQuiet(api.origin, /Blocked script execution in '[^']+\/mail'/);
  });

  longIt('the / key opens the search unless the user is typing, and Escape closes a menu', async () => {
    const { page } = await browser.open({});
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'keys@example.org')));
    await page.locator('form .button').click();
    await page.waitForURL(`${api.origin}/dashboard/${client.organizationId}`);
    const { petitionId } = (await client.post('petition.create-petition', { name: 'Sea / coast' })).body.data;
    await page.keyboard.type('/Sea /');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sea / coast' }).click();
    await page.waitForURL(`**/petitions/${petitionId}`);
    const menu = page.locator('.more');
    await menu.locator('summary').click();
    expect(await menu.getByRole('link').count()).toBeGreaterThan(1);
    await page.keyboard.press('Escape');
    expect(await menu.getByRole('link').count()).toBe(0);
    await menu.locator('summary').click();
    await page.locator('h1').click();
    expect(await menu.getByRole('link').count()).toBe(0);
  });

  longIt('ticks in the list of contacts stay from page to page, and end with the search', async () => {
    const lines = Array.from({ length: 25 }, (_, n) => `p${n}@example.org,${n % 2 === 0 ? 'Bern' : 'Ulm'}`);
    const csv = { 'Content-Type': 'text/csv' };
    const table = ['email,city', ...lines].join('\n');
    await client.request('POST', '/v1/contact.import-contacts?subscribed=false', table, csv);
    const { page } = await browser.open({});
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'ticks@example.org')));
    await page.locator('form .button').click();
    await page.goto(`${api.origin}/dashboard/${client.organizationId}/contacts`);
    const { grouping } = DASHBOARD.en.contacts;
    const boxes = page.locator('tbody input[type=checkbox]');
    // The table fits, so its headings stay in view.
    const position = await page.evaluate("getComputedStyle(document.querySelector('thead th')).position");
    expect(position).toBe('sticky');
    const elsewhere = (n: number) => page.getByText(grouping.elsewhere.replace('{n}', `${n}`));
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole('link', { name: DASHBOARD.en.nextPage }).click();
    await elsewhere(2).waitFor();
    await page.getByLabel(grouping.page).check();
    await page.goBack();
    await elsewhere(5).waitFor();
    expect(await boxes.nth(1).isChecked()).toBe(true);
    await boxes.nth(1).uncheck();
    await page.getByRole('button', { name: grouping.chosen }).click();
    await page.getByRole('heading', { name: grouping.titleOfMany(6) }).waitFor();
    await page.goto(`${api.origin}/dashboard/${client.organizationId}/contacts?city=Bern`);
    expect(await page.locator('tbody :checked').count()).toBe(0);
    await page.getByRole('button', { name: grouping.chosen }).click();
    await page.getByText(grouping.none).waitFor();
  });

  longIt(
    'the deliveries of a webhook and the form of a new email fit into three screens of a phone',
    async () => {
      const { webhookId } = (
        await client.post('webhook.create-webhook', { url: 'https://crm.example.org/hooks/advocacy' })
      ).body.data;
      await api.database.source.query(
        `INSERT INTO webhook_deliveries
         (id, organization_id, webhook_id, created_at, event_id, position, type, attempt, outcome, ms, reason)
       SELECT gen_random_uuid(), $1, $2, clock_timestamp() - interval '59 min', gen_random_uuid(), n, 'AddressSuppressed', 12,
         CASE WHEN n % 2 = 0 THEN 'FAILED' ELSE 'PARKED' END, 1, ($3::text[])[1 + n % cardinality($3)]
       FROM generate_series(1, 25) AS n`,
        [client.organizationId, webhookId, Object.values(DELIVERY_REASONS)],
      );
      for (const operation of ['petition.create-petition', 'list.create-list', 'tag.create-tag'])
        for (let n = 1; n <= 5; n += 1) await client.post(operation, { name: `Safe routes to school ${n}` });
      for (const locale of ['en-GB', 'de-DE']) {
        const { page } = await browser.open({ width: 360, height: 740, locale });
        await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', `${locale}@example.org`)));
        await page.locator('form .button').click();
        await page.waitForURL(`${api.origin}/dashboard/${client.organizationId}`);
        for (const path of [`webhooks/${webhookId}/deliveries`, 'broadcasts/new']) {
          await page.goto(`${api.origin}/dashboard/${client.organizationId}/${path}`);
          const screens = await page.evaluate<number>('document.documentElement.scrollHeight / innerHeight');
          expect([path, locale, screens, screens <= 3]).toEqual([path, locale, screens, true]);
        }
      }
    },
  );

  longIt(
    'what is typed survives a closed tab until it is saved, discarded, or the person signs out',
    async () => {
      const { posts, broadcasts, drafts } = DASHBOARD.en;
      let { page } = await browser.open({});
      await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'drafts@example.org')));
      await page.locator('form .button').click();
      const home = `${api.origin}/dashboard/${client.organizationId}`;
      await page.waitForURL(home);
      const { listId } = (await client.post('list.create-list', { name: 'Readers' })).body.data;
      const reopen = async (path: string) => {
        const context = page.context();
        await page.close();
        page = await context.newPage();
        await page.goto(`${home}/${path}`);
      };
      const restored = () => page.getByText(drafts.restored).filter({ visible: true }).count();
      const content = () => page.locator('textarea[name=content]').inputValue();

      await page.goto(`${home}/posts/new`);
      await page.getByLabel(posts.fields.title).fill('We won');
      await page.getByLabel(posts.fields.content).fill('The river is saved.');
      await reopen('posts/new');
      expect([await restored(), await content()]).toEqual([1, 'The river is saved.']);
      // A rejected form keeps it.
      await page.getByLabel(posts.fields.title).fill('');
      await page.getByRole('button', { name: posts.save }).click();
      await page.locator('#faults').waitFor();
      expect(await restored()).toBe(0);
      await page.goto(home);
      await page.goto(`${home}/posts/new`);
      expect([await restored(), await content()]).toEqual([1, 'The river is saved.']);
      await page.getByLabel(posts.fields.title).fill('We won');
      await page.getByRole('button', { name: posts.save }).click();
      await page.getByText(posts.done.created).waitFor();
      const edit = `posts/${page.url().split('?')[0]!.split('/').at(-1)!}/edit`;
      await reopen('posts/new');
      expect([await restored(), await content()]).toEqual([0, '']);

      // Someone else changes the post, so saving the draft asks first.
      await page.goto(`${home}/${edit}`);
      await page.getByLabel(posts.fields.content).fill('The river is ours.');
      await client.post('post.update-post', { postId: edit.split('/')[1], title: 'Won' });
      await reopen(edit);
      expect([await restored(), await content()]).toEqual([1, 'The river is ours.']);
      await page.getByRole('button', { name: posts.save }).click();
      await page.getByText(DASHBOARD.en.changedMeanwhile).waitFor();
      expect(await restored()).toBe(0);
      await page.getByRole('button', { name: posts.save }).click();
      await page.getByText(posts.done.changed).waitFor();

      await page.goto(`${home}/broadcasts/new`);
      const readers = () => page.locator(`input[value="${listId}"][name="listIds"]`);
      const chips = () =>
        page.getByRole('list', { name: broadcasts.fields.addRecipients }).getByRole('listitem').count();
      const { name: listName } = (await client.get('list.get-list', { listId })).body.data;
      await page.getByRole('combobox', { name: broadcasts.fields.addRecipients }).fill(listName);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: broadcasts.blocks.divider }).click();
      await reopen('broadcasts/new');
      expect([await restored(), await readers().isChecked(), await chips()]).toEqual([1, true, 1]);
      expect(await content()).toBe('---');
      const { broadcastId } = (
        await client.post('broadcast.create-broadcast', { name: 'Thanks', content: 'Hi' })
      ).body.data;
      await page.goto(`${home}/broadcasts/new?like=${broadcastId}`);
      expect([await restored(), await content()]).toEqual([0, 'Hi']);
      await page.goto(`${home}/broadcasts/new`);
      await page.getByRole('button', { name: drafts.discard }).click();
      expect([await restored(), await readers().isChecked(), await chips()]).toEqual([0, false, 0]);
      await reopen('broadcasts/new');
      expect([await restored(), await readers().isChecked()]).toEqual([0, false]);
      await page.locator('#content').fill('Secret');
      await page.getByRole('button', { name: DASHBOARD.en.signOut }).click();
      await page.getByRole('button', { name: DASHBOARD.en.signIn.button }).waitFor();
      expect(await page.evaluate('localStorage.length')).toBe(0);
    },
  );

  longIt('an email is written in an editor, which keeps merge fields and what it cannot show', async () => {
    const { page } = await browser.open({});
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'writer@example.org')));
    await page.locator('form .button').click();
    const home = `${api.origin}/dashboard/${client.organizationId}`;
    await page.waitForURL(home);
    const { broadcasts, editor } = DASHBOARD.en;
    const written = () => page.locator('textarea[name=content]').inputValue();
    const tool = (name: string) => page.getByRole('toolbar').getByRole('button', { name, exact: true });
    await page.goto(`${home}/broadcasts/new`);
    const message = page.getByRole('textbox', { name: broadcasts.fields.content });
    await message.click();
    await page.keyboard.type('## Good news\nDear ');
    await page.getByRole('button', { name: broadcasts.blocks.firstName }).click();
    await page.keyboard.type(' in {{ contact.fields.home_town }}, *you* ');
    await tool(editor.bold).click();
    await page.keyboard.type('won');
    expect(await tool(editor.bold).getAttribute('aria-pressed')).toBe('true');
    await tool(editor.bold).click();
    await page.keyboard.type('.\n- one\ntwo\n\n');
    await tool(editor.link).click();
    await page.getByLabel(editor.address).fill('example.org/river');
    await page.getByRole('button', { name: editor.apply }).click();
    const text =
      '## Good news\n\nDear {{ contact.firstName | default: "friend" }} in {{ contact.fields.home_town }}, \\*you\\* **won**.\n\n' +
      '- one\n- two\n\n[example.org/river](https://example.org/river)';
    expect(await written()).toBe(text);
    // Merge fields are shown by their names.
    expect(await message.locator('.merge').first().textContent()).toBe(DASHBOARD.en.fields.firstName);

    // Lists of Word are lists, and its formatting is not kept.
    await tool(editor.undo).click();
    await page.evaluate(`{
      const data = new DataTransfer();
      const item = '<p class="MsoListParagraph" style="color:red"><span style="mso-list:Ignore">·</span>';
      data.setData('text/html', item + 'three</p>' + item + '<font size="7">four</font></p>');
      document.querySelector('.ProseMirror').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }`);
    expect(await written()).toMatch(/\* three\n\* four$/);

    // An image is uploaded in place, and asks what it shows.
    const picker = page.locator('.editor ~ input[type=file]');
    const choose = async (file: string) => {
      await picker.setInputFiles(join(__dirname, file));
      await page.getByLabel(DASHBOARD.en.images.alt).fill('The river');
      await page.getByRole('button', { name: editor.insertImage }).click();
    };
    await choose('../src/demo/river.jpg');
    await eventually(async () => {
      expect(await written()).toMatch(/!\[The river\]\(https:\/\/\S+\/images\/\S+\)/);
    });
    await tool('Markdown').click();
    const table = '| a | b |\n| - | - |\n| 1 | 2 |';
    await page.locator('textarea[name=content]').fill(table);
    await tool('Markdown').click();
    await page.getByText(editor.foreign).waitFor();
    expect([await written(), await page.locator('textarea[name=content]').isVisible()]).toEqual([
      table,
      true,
    ]);
    await page.locator('textarea[name=content]').fill(text);
    await tool('Markdown').click();
    await page.locator('#subject').fill('News');
    await page.getByRole('button', { name: broadcasts.saveDraft }).click();
    await page.getByText(broadcasts.done.created).waitFor();
    const broadcastId = page.url().split('?')[0]!.split('/').at(-1)!;
    const { body } = await client.get('broadcast.get-broadcast', { broadcastId });
    expect(body.data.content).toBe(text);
  });

  /** A window on the dashboard's home page, signed in by an invitation. */
  async function ownerIn(look: Parameters<typeof browser.open>[0], email: string) {
    const window = await browser.open(look);
    const { page } = window;
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', email)));
    await page.locator('form .button').click();
    const home = `${api.origin}/dashboard/${client.organizationId}`;
    await page.waitForURL(home);
    return { window, page, home };
  }

  it('what is written is shown next to its form, and recipients are found and counted, before anything is saved', async () => {
    const { window, page, home } = await ownerIn({ width: 1280, height: 800 }, 'writes@example.org');
    const { broadcasts, kinds } = DASHBOARD.en;
    const { listId } = (await client.post('list.create-list', { name: 'Press' })).body.data;
    await page.goto(`${home}/posts/new`);
    const shown = page.locator('.live .preview');
    await page.locator('[name=name]').fill('Nearly <b>there');
    await page.locator('.ProseMirror').click();
    await page.keyboard.type('## Ten more');
    await page.keyboard.press('Enter');
    await page.keyboard.type('See https://example.org/');
    await shown.locator('h2, h3, h4', { hasText: 'Ten more' }).waitFor();
    expect(await shown.innerText()).toMatch(/^Nearly <b>there\s+Ten more\s+See https/);
    expect(await shown.locator('a:not([target=_blank])').count()).toBe(0);
    expect(await window.findings()).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await shown.isVisible()).toBe(false);
    // The server has it as a draft, so the browser keeps nothing.
    await page.getByText(DASHBOARD.en.drafts.saved.replace(' {time}', '')).waitFor();
    await eventually(async () => expect(await page.evaluate('localStorage.length')).toBe(0));
    expect((await client.get('post.list-posts', { q: 'Nearly' })).body.data).toEqual([]);
    // The number of recipients, in a window of any width.
    await client.post('contact.create-contact', {
      organizationId: client.organizationId,
      email: 'counted@example.org',
      subscribed: true,
    });
    await page.goto(`${home}/broadcasts/new`);
    const count = page.locator('[data-live=count]');
    expect(await page.locator('button[name=count]').count()).toBe(0);
    await page.locator('[name=all]').check();
    await count.getByText('will receive this email').waitFor();
    await page.locator('[name=all]').uncheck();
    await eventually(async () => expect(await count.innerText()).toBe(''));
    await page.getByRole('combobox', { name: broadcasts.fields.addRecipients }).fill('press');
    await page.getByRole('option').filter({ hasText: 'Press' }).waitFor();
    await page.keyboard.press('Enter');
    const chips = page.getByRole('list', { name: broadcasts.fields.addRecipients }).getByRole('listitem');
    expect(await chips.allInnerTexts()).toEqual([expect.stringContaining(`${kinds.list}: Press`)]);
    // The Enter key saves.
    await page.locator('.ProseMirror').click();
    await page.keyboard.type('Hello');
    await page.locator('[name=subject]').fill('Counted first');
    // As the email that would be sent.
    const pages = await page.evaluate('history.length');
    const mail = page.frameLocator('.mail iframe:not(.loading)');
    await page.locator('button[formtarget]').click();
    await mail.getByText('Hello').waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator('[name=preheader]').fill('In short');
    await mail.getByText('In short').waitFor({ state: 'attached' });
    await page.locator('[data-subject]', { hasText: 'Counted first' }).waitFor();
    await page.locator('.mail [value=desktop]').check();
    expect(await page.evaluate('history.length')).toBe(pages);
    expect(await window.findings()).toEqual([]);
    await page.locator('[name=subject]').press('Enter');
    await page.locator('h1', { hasText: 'Counted first' }).waitFor();
    const [saved] = (await client.get('broadcast.list-broadcasts', { q: 'Counted' })).body.data;
    expect(saved.audience).toEqual({ listIds: [listId] });
    window.requireQuiet(api.origin);
  });

  longIt(
    'recipients are searched, added and removed with the keyboard, also those that are not among the choices',
    async () => {
      const { window, page, home } = await ownerIn({}, 'picks@example.org');
      const { broadcasts, kinds } = DASHBOARD.en;
      const { tagId } = (await client.post('tag.create-tag', { name: 'Früh & gern' })).body.data;
      const { listId } = (await client.post('list.create-list', { name: 'Press' })).body.data;
      // More than the form offers.
      const { organizationId } = client;
      for (const batch of ['A', 'B']) {
        const tags = Array.from({ length: 50 }, (_, n) => `Later ${batch}${n}`);
        const tagged = { organizationId, email: `tagged-${batch}@example.org`, tags };
        expect((await client.post('contact.create-contact', tagged)).status).toBe(200);
      }
      await page.goto(`${home}/broadcasts/new`);
      const field = page.getByRole('combobox', { name: broadcasts.fields.addRecipients });
      const chips = page.getByRole('list', { name: broadcasts.fields.addRecipients }).getByRole('listitem');
      const options = page.getByRole('option');
      const add = async (text: string, option: string) => {
        await field.fill(text);
        await options.filter({ hasText: option }).waitFor();
        await page.keyboard.press('Enter');
      };
      expect(await page.locator('input[name=tagIds]:visible').count()).toBe(0);
      await page.locator('[name=subject]').fill('Picked');
      await field.focus();
      await page.keyboard.press('ArrowDown');
      expect(await options.first().getAttribute('aria-selected')).toBe('true');
      expect(await window.findings()).toEqual([]);
      // Browsers focus lists that scroll, and this one closes when its field loses the focus.
      await field.fill('Later');
      await page.keyboard.press('Tab');
      expect(await page.locator('main summary:focus').count()).toBe(1);
      await field.focus();
      await page.keyboard.press('Escape');
      expect(await options.count()).toBe(0);
      await add('FRÜH', 'Früh & gern');
      await add('press', 'Press');
      await add('later a49', 'Later A49');
      expect((await chips.allInnerTexts()).map((text) => text.replace(/\s*×$/, '')).toSorted()).toEqual([
        `${kinds.list}: Press`,
        `${kinds.tag}: Früh & gern`,
        `${kinds.tag}: Later A49`,
      ]);
      await page.getByRole('button', { name: 'Remove Press' }).click();
      await add('press', 'Press');
      // The tag that was not among the choices is kept in the draft, with its name.
      await page.reload();
      await chips.filter({ hasText: 'Früh & gern' }).waitFor();
      await page.getByRole('button', { name: 'Remove Later A49' }).click();
      await page.locator('.ProseMirror').click();
      await page.keyboard.type('Hello');
      await page.getByRole('button', { name: broadcasts.saveDraft }).click();
      await page.locator('h1', { hasText: 'Picked' }).waitFor();
      const [saved] = (await client.get('broadcast.list-broadcasts', { q: 'Picked' })).body.data;
      expect(saved.audience).toEqual({ listIds: [listId], tagIds: [tagId] });
      window.requireQuiet(api.origin);
    },
  );

  it('the editor keeps what people write, paste, link and upload, and nothing else', async () => {
    const { window, page, home } = await ownerIn({}, 'attacker@example.org');
    const { editor, faults, images } = DASHBOARD.en;
    const field = page.locator('textarea[name=content]');
    const surface = page.locator('.ProseMirror');
    const tool = (name: string) => page.getByRole('toolbar').getByRole('button', { name, exact: true });
    /** Sends an event with data, as pasting and dropping do. */
    const give = (event: 'paste' | 'drop', html: string, file?: { name: string; type: string }) =>
      page.evaluate<boolean>(`(() => {
        const data = new DataTransfer();
        const [html, file] = ${JSON.stringify([html, file ?? null])};
        if (html !== '') data.setData('text/html', html);
        if (file) data.items.add(new File(['x'], file.name, file));
        const surface = document.querySelector('.ProseMirror');
        const { x, y } = surface.getBoundingClientRect();
        const shared = { bubbles: true, cancelable: true, clientX: x + 20, clientY: y + 20 };
        const event = '${event}' === 'drop'
          ? new DragEvent('drop', { ...shared, dataTransfer: data })
          : new ClipboardEvent('paste', { ...shared, clipboardData: data });
        surface.dispatchEvent(event);
        return event.defaultPrevented;
      })()`);
    const rewrite = async (text: string) => {
      await surface.click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.press('Delete');
      if (text !== '') await page.keyboard.type(text);
    };
    const link = async (address: string) => {
      await tool(editor.link).click();
      await page.getByLabel(editor.address).fill(address);
      await page.getByRole('button', { name: editor.apply }).click();
    };
    await page.goto(`${home}/posts/new`);

    // A slash moves to the search elsewhere.
    await rewrite('https://example.org/a and/or b');
    expect(await field.inputValue()).toBe('https://example.org/a and/or b');

    await rewrite('');
    await give(
      'paste',
      '<b style="font-weight:normal" id="docs-internal-guid-1"><p onclick="x=1">a <span style="font-weight:700">bold</span>' +
        '<script>x=1</script><style>p{color:red}</style><img src="x" onerror="x=1"><img src="data:image/png;base64,AA">' +
        '<img src="https://example.com/a.png"><a href="javascript:x=1">b</a> <a href="https://example.org/a b">c</a></p></b>',
    );
    expect(await field.inputValue()).toBe('a **bold**b [c](https://example.org/a%20b)');

    // A link is changed where the cursor is, and removed. Addresses that pages do not link are rejected.
    await rewrite('river');
    await page.keyboard.press('ControlOrMeta+a');
    await link('javascript:alert(1)');
    const address = page.getByLabel(editor.address);
    expect(await address.evaluate((input: any) => input.validationMessage)).toBe(faults.webAddress);
    await address.fill('office@example.org');
    await page.getByRole('button', { name: editor.apply }).click();
    expect(await field.inputValue()).toBe('[river](mailto:office@example.org)');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    await link('example.org');
    expect(await field.inputValue()).toBe('[river](https://example.org)');
    await link('');
    expect(await field.inputValue()).toBe('river');

    // Other files do not replace the page, and an upload does not replace what was written since.
    expect(await give('drop', '', { name: 'a.pdf', type: 'application/pdf' })).toBe(true);
    await page.getByText(faults.noPicture).waitFor();
    let upload = () => undefined as void;
    const isUploaded = new Promise<void>((resolve) => (upload = resolve));
    await page.route('**/images/new', async (route) => {
      await isUploaded;
      await route.continue();
    });
    await page.locator('.editor ~ input[type=file]').setInputFiles(join(__dirname, '../src/demo/river.jpg'));
    await page.getByLabel(images.alt).fill('The river');
    await page.getByRole('button', { name: editor.insertImage }).click();
    await tool('Markdown').click();
    await field.fill('| a |\n| - |\n\n');
    upload();
    await eventually(async () =>
      expect(await field.inputValue()).toMatch(/^\| a \|\n\| - \|\n\n!\[The river\]\(\/images\/\S+\)$/),
    );

    // The image at the top is uploaded in place, too, and is chosen then.
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: images.add }).click();
    await (await chooser).setFiles(join(__dirname, '../src/demo/logo.png'));
    await page.getByLabel(images.alt).fill('Our logo');
    await page.getByRole('button', { name: editor.insertImage }).click();
    const top = page.locator('select[name=imageId]');
    await eventually(async () => expect(await top.locator('option:checked').textContent()).toBe('logo.png'));
    const { body } = await client.get('image.get-image', { imageId: await top.inputValue() });
    expect(body.data).toMatchObject({ name: 'logo.png', alt: 'Our logo' });
    window.requireQuiet(api.origin);
  });

  longIt('the dashboard works in a browser that refuses storage, or has a damaged draft', async () => {
    const { window, page, home } = await ownerIn({}, 'no-storage@example.org');
    await page.goto(`${home}/posts/new`);
    const draft = await page.locator('[data-draft]').getAttribute('data-draft');
    const key = `draft ${draft} /dashboard/${client.organizationId}/posts/new`;
    await page.evaluate(`localStorage.setItem(${JSON.stringify(key)}, '{"since')`);
    await page.reload();
    await page.locator('.ProseMirror').waitFor();
    window.requireQuiet(api.origin);
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, { get() { throw new DOMException('Denied', 'SecurityError'); } });`);
    for (const email of ['ada@example.org', 'ben@example.org'])
      await client.post('contact.create-contact', { organizationId: client.organizationId, email });
    await page.goto(`${home}/contacts`);
    await page.locator('tbody input[type=checkbox]').first().check();
    expect(await page.locator('tbody input:checked').count()).toBe(1);
    await page.goto(`${home}/posts/new`);
    await page.locator('.ProseMirror').fill('Kept');
    expect(await page.locator('textarea[name=content]').inputValue()).toBe('Kept');
    window.requireQuiet(api.origin);
  });

  longIt('every section is accessible, dark and light, wide and narrow', async () => {
    // `dashboard-crawl.e2e.spec.ts` opens every page in the second look.
    for (const look of someOf<Look>([{ isDark: true }, { width: 360, locale: 'de-DE' }])) {
      const window = await browser.open(look);
      await window.page.goto(
        api.origin + (await invitationTo(api, client, 'OWNER', `all-${look.width}@example.org`)),
      );
      await window.page.locator('form .button').click();
      await window.page.waitForLoadState();
      const links = await window.page
        .locator('nav a')
        .evaluateAll((all) => all.map((a) => String(a.getAttribute('href'))));
      expect(links.length).toBeGreaterThan(10);
      // Lists differ only in their text, so one of them and the figures show the dark colours.
      const isOpened = (path: string) =>
        isLong || path.endsWith('/contacts') || path === `/dashboard/${client.organizationId}`;
      const opened = [...new Set([...links, '/dashboard/account'])].filter(isOpened);
      expect(opened.length).toBeGreaterThan(1);
      for (const path of opened) {
        await window.page.goto(api.origin + path);
        const findings = await window.findings();
        expect([path, findings, await window.isTooWide()]).toEqual([path, [], false]);
      }
      window.requireQuiet(api.origin);
    }
  });
});
