import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { NOBODY as NO_BROADCAST, unsubscribeToken } from '../src/broadcasts/index.js';
import { Browser, findChromium, type Look } from './browser.js';
import { ageForm, Public, linkIn, type PetitionPage, call } from './petition-page.js';
import { picture } from './pictures.js';
import { isLong, longIt, someOf } from './length.js';
import { eventually } from './processes.js';
import { LOCALES } from '#locales';
import { formatNumber } from '#libs/pages';

const withChromium = findChromium() === undefined ? describe.skip : describe;

let people: Public;
let browser: Browser;
let page: PetitionPage;
let origin: string;

const LONG = 'Rettet die Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';

/** A Sign button and the count lie in the window, and are not covered. The title leaves half of it. A string, because it runs in the page. */
const SEEN = `(() => {
  const isSeen = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const isInside = bottom > top && left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    return isInside && element.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  };
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY);
  return {
    button: [...document.querySelectorAll('form .submit .button, .sign-bar .button')].some(isSeen),
    count: scrollY > 0 || [...document.querySelectorAll('[data-signatures]')].some(isSeen),
    title: document.querySelector('h1').offsetHeight <= innerHeight / 2,
    innerScrolling: [...document.querySelectorAll('body *:not(textarea)')].some(scrolls),
    isTooWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
})()`;
const FRAME_DRAWN = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';
const ALL_SEEN = { button: true, count: true, title: true, innerScrolling: false, isTooWide: false };

withChromium('in Chromium', () => {
  beforeAll(async () => {
    people = await Public.start();
    ({ origin } = people.api);
    browser = await Browser.start();
    const client = await people.api.organization();
    const uploaded = await client.request(
      'POST',
      '/v1/image.upload-image?alt=A+river',
      await picture(900, 500),
      {
        'Content-Type': 'image/png',
      },
    );
    const { imageId } = uploaded.body.data;
    await call(client, 'organization.update-organization', {
      name: 'Clean Rivers',
      slug: 'clean-rivers',
      colour: '#ffcc00',
      imageId,
      privacyUrl: 'https://rivers.example.org/privacy',
      mailFrom: { name: 'Rivers', address: 'office@example.org' },
      postalAddress: '1 Quay',
    });
    page = await people.petition(
      {
        name: LONG,
        slug: 'river',
        imageId,
        target: 'The council',
        ask: 'Switch the basin on.',
        content: `## Why\n\n- One\n- ${LONG}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`\n${'x'.repeat(300)}\n\`\`\``,
        publicComments: true,
        thankYouMail: { subject: 'Thanks', content: 'Dear {{ contact.firstName }}' },
      },
      client,
    );
    const { postId } = await call(client, 'post.create-post', {
      name: 'News',
      imageId,
      content: 'Hello **world**',
    });
    await call(client, 'post.publish-post', { postId });
  });
  afterAll(async () => {
    // The browser may not have started.
    await (browser as Browser | undefined)?.stop();
    await people.stop();
  });

  afterEach(() => browser.closeWindows());

  const looks: [string, Look][] = [
    ['on a phone', { width: 360, height: 740 }],
    ['on a desktop in dark mode', { isDark: true }],
    ['on a phone in dark mode', { width: 360, height: 740, isDark: true }],
    ['on a desktop', {}],
  ];

  it.each(someOf(looks))('every page is accessible %s, and loads nothing from elsewhere', async (_, look) => {
    const window = await browser.open(look);
    const { page: tab } = window;
    const paths = [
      '/clean-rivers',
      page.path,
      `${page.path}/embed`,
      `${page.path}/paper`,
      `${page.path}/thanks`,
      '/clean-rivers/posts/news',
      `${page.path}/confirm/nothing`,
      '/nobody',
    ];
    // One of each shape: a petition with its form, a post, a notice. Each look uses a different organization's colours.
    const examined = isLong ? paths : [page.path, '/clean-rivers/posts/news', '/nobody'];
    // The desktop look differs in colours and width only.
    const opened = isLong || look.width !== undefined ? paths : examined;
    for (const path of opened) {
      const answer = await tab.goto(origin + path);
      if (examined.includes(path)) expect([path, await window.findings()]).toEqual([path, []]);
      expect([path, await window.isTooWide()]).toEqual([path, false]);
      expect([path, await tab.locator('h1').count()]).toEqual([path, 1]);
      // A browser logs each 404 in its console.
      if (answer!.status() >= 400) continue;
      const bytes = (await answer!.body()).length;
      expect([path, bytes < 50 * 1_024]).toEqual([path, true]);
    }
    await tab.goto(`${origin}${page.path}/paper`);
    for (const format of someOf(['A4', 'Letter'])) {
      const pdf = (await tab.pdf({ format })).toString('latin1');
      expect([format, pdf.match(/\/Type\s*\/Page\b/g)]).toEqual([format, [expect.any(String)]]);
    }
    const other = await browser.open(look);
    for (const path of isLong ? paths.slice(0, 5) : paths.slice(0, 2)) await other.page.goto(origin + path);
    other.requireQuiet(origin);
  });

  // The lowest window, and a phone.
  const sizes = [
    { width: 1_280, height: 720 },
    { width: 360, height: 740 },
    ...(isLong
      ? [
          { width: 1_366, height: 768 },
          { width: 1_440, height: 900 },
        ]
      : []),
  ];

  // German and French have the longest words.
  it.each(someOf(['de', 'fr', 'en', 'es'] as const))(
    'in %s, a Sign button is in the first screen of each window and stays in view, without inner scroll areas',
    async (language) => {
      const { site: words } = LOCALES[language]!;
      const client = await people.api.organization();
      await call(client, 'organization.update-organization', {
        name: 'Friends of the Clean Rivers',
        language,
      });
      await call(client, 'field.create-field', { name: 'Which part do you live in?' });
      const short = await people.petition({ name: 'Save the river', goal: 1_000_000 }, client);
      const long = await people.petition(
        {
          name: `${LONG} `.repeat(3).slice(0, 200).trim(),
          description: 'They left.',
          target: 'The council',
          ask: 'Switch the basin on.',
          content: 'A paragraph about kingfishers. '.repeat(200),
          closesAt: '2099-03-01T00:00:00Z',
          comments: 'SHOWN',
          form: {
            fields: [
              { field: 'firstName', required: true },
              { field: 'lastName' },
              { field: 'whichPartDoYouLiveIn', required: true },
              ...['zip', 'city', 'region', 'country', 'phone', 'comment'].map((field) => ({ field })),
            ],
            consent: { text: 'I would like to hear from you. '.repeat(8) },
          },
        },
        client,
      );
      const { petitionId } = short;
      await call(client, 'petition.add-signature', { petitionId, contact: { email: 'one@example.org' } });
      const [scripted, plain] = [await browser.open(), await browser.open({ javaScript: false })];
      for (const { page: tab } of [scripted, plain])
        for (const { path } of [short, long]) {
          await tab.goto(origin + path);
          for (const million of [false, true]) {
            if (million)
              for (const count of await tab.locator('[data-signatures]').all())
                await count.evaluate(
                  (element, text) => (element.textContent = text),
                  words.signatures(1_000_000, formatNumber(language, 1_000_000)),
                );
            for (const size of sizes) {
              await tab.setViewportSize(size);
              for (const at of [0, 0.5, 1]) {
                // Without scripts, the form is in the first screen, and scrolls with the page.
                if (at > 0 && tab === plain.page && size.width > 360) continue;
                await tab.evaluate(`scrollTo(0, ${at} * document.documentElement.scrollHeight)`);
                // The script places the form when the next frame is drawn.
                if (tab === scripted.page) await tab.evaluate(FRAME_DRAWN);
                const seen = await tab.evaluate(SEEN);
                expect([path, million, size, at, seen]).toEqual([path, million, size, at, ALL_SEEN]);
              }
            }
          }
        }
      // In a frame on another site. Only the embedding page can scroll.
      for (const { path } of [short, long])
        for (const width of [320, 360, 700]) {
          const { page: tab } = plain;
          // The long page also has the organization's question and long consent text.
          const height = path === long.path ? 1_000 : 640;
          await tab.setViewportSize({ width, height });
          await tab.goto(`${origin}${path}/embed`);
          expect([path, width, await tab.evaluate(SEEN)]).toEqual([path, width, ALL_SEEN]);
        }
    },
  );

  // `site.e2e.spec.ts` sends this form without a browser, so without scripts.
  it.each(
    someOf<[string, boolean]>([
      ['with JavaScript', true],
      ['without JavaScript', false],
    ]),
  )(
    'a visitor signs, confirms, recruits two more and signs again by email, with the keyboard only, %s',
    async (_, javaScript) => {
      const email = `keyboard-${javaScript}@gmail.com`;
      const window = await browser.open({ javaScript, width: 360 });
      const { page: tab } = window;
      await tab.goto(`${origin}${page.path}?source=share`);
      const before = await tab.locator('.count [data-signatures]').textContent();
      /**
       * axe-core needs scripts. Without them the page is the same.
       *
       * @param isOfOwnShape whether no other page that `npm test` examines looks like it.
       */
      const look = async (isOfOwnShape = false) =>
        expect(javaScript && (isLong || isOfOwnShape) ? await window.findings() : []).toEqual([]);
      const press = async (name: string, text = '') => {
        await window.tabTo(name);
        await tab.keyboard.type(text);
      };
      const names = await window.tabTo('Skip to main content');
      expect(names).toHaveLength(1);
      await ageForm(tab, people.api, page.petitionId);
      await press('First name', 'Ada');
      await press('Last name', 'Lovelace');
      await press('Email address', email.replace('gmail', 'gmial'));
      await window.tabTo('Comment and other details');
      await tab.keyboard.press('Enter');
      await press('Why are you signing?', 'For the kingfishers');
      await window.tabTo('Show my comment on this page?');
      await tab.keyboard.type('Yes');
      await window.tabTo('Clean Rivers may send me email updates');
      await tab.keyboard.press('Space');
      await window.tabTo('Sign now');
      await tab.keyboard.press('Enter');
      await tab.locator('h2', { hasText: `Did you mean ${email}?` }).waitFor();
      await look(true);
      await window.tabTo(`Use ${email}`);
      await tab.keyboard.press('Enter');
      await tab.locator('h1', { hasText: 'Check your email' }).waitFor();
      // Reloading the page does not sign again.
      if (javaScript) expect(new URL(tab.url()).pathname).toBe(`${page.path}/thanks`);
      expect(await tab.locator('.lead').innerText()).toContain(email);
      await look();

      const link = await people.linkTo(email);
      await tab.goto(origin + link);
      expect(await tab.locator('main').innerText()).toMatch(/Ada Lovelace[^]*For the kingfishers/);
      await look(true);
      await window.tabTo('Confirm my signature');
      await tab.keyboard.press('Enter');
      await tab.locator('h1', { hasText: 'Thank you for signing' }).waitFor();
      await window.tabTo('QR code');
      await tab.keyboard.press('Enter');
      await tab.locator('.qr').scrollIntoViewIfNeeded();
      await eventually(async () => {
        const isLoaded = (element: { naturalWidth: number }) => element.naturalWidth > 0;
        expect(await tab.locator('.qr').evaluate(isLoaded)).toBe(true);
      });
      await look(true);
      await tab.goto(origin + link);
      await window.tabTo('Back to the petition');
      await tab.keyboard.press('Enter');
      await tab.waitForURL(`**${page.path}`);
      await eventually(async () => {
        await tab.reload();
        expect(await tab.locator('.count [data-signatures]').textContent()).not.toBe(before);
        expect(await tab.locator('.comments').innerText()).toContain('For the kingfishers');
      });

      const thanked = () => people.mailsTo(email).filter(({ content }) => /^Subject: Thanks/m.test(content!));
      await eventually(() => expect(thanked()).toHaveLength(1));
      await tab.goto(origin + link);
      const [, via = ''] = /\?via=([\w-]{32})"/.exec(await tab.content()) ?? [];
      for (const friend of ['bob', 'eve'])
        await people.signAndConfirm(page, `${friend}-${javaScript}@example.org`, { via });
      await eventually(async () => {
        await tab.reload();
        expect(await tab.locator('main').innerText()).toContain('2 people signed through your link');
      });
      const { client, petitionId } = page;
      const stats = (await client.get('petition.get-stats', { petitionId })).body.data;
      expect(stats.recruiters[0].signatures).toBe(2);

      const lake = await people.petition({ name: `Save the lake ${javaScript}` }, client);
      const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
        name: `Lake ${javaScript}`,
        content: '[Sign]({{ petition.signUrl }})',
        audience: { all: true, excludePetitionIds: [lake.petitionId] },
      });
      await call(client, 'broadcast.send-broadcast', { broadcastId });
      await eventually(() => expect(people.mailsTo(email)).toHaveLength(3));
      const personal = origin + linkIn(people.mailsTo(email)[2]!, 'sign');
      const signed = async () =>
        (await client.get('petition.list-signatures', { petitionId: lake.petitionId })).body.data;
      await tab.goto(personal);
      await look();
      expect(await signed()).toEqual([]);
      await window.tabTo('Sign as Ada Lovelace');
      await tab.keyboard.press('Enter');
      await tab.locator('h1', { hasText: 'Thank you for signing' }).waitFor();
      await tab.goto(personal);
      await tab.locator('h1', { hasText: 'Thank you for signing' }).waitFor();
      expect(await signed()).toMatchObject([{ status: 'CONFIRMED', source: 'email' }]);
      // A browser logs the status of the question.
      window.requireQuiet(origin, /status of 422/);
    },
  );

  // `unsubscribe.e2e.spec.ts` sends these forms without a browser.
  longIt.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ] as [string, boolean][])(
    'a contact unsubscribes and undoes it with the keyboard only, %s',
    async (_, javaScript) => {
      const { client } = page;
      const { organizationId } = client;
      const email = `leaves-${javaScript}@example.org`;
      const { contactId } = await call(client, 'contact.create-contact', { organizationId, email });
      const { keyring } = people.api.instances[0]!.runtime.store;
      const whose = { organizationId, contactId, broadcastId: NO_BROADCAST };
      const link = `/u/${unsubscribeToken(keyring, whose)}`;
      const window = await browser.open({ javaScript, width: 360, isDark: javaScript });
      const { page: tab } = window;
      await tab.goto(origin + link);
      for (const [button, heading] of [
        ['Unsubscribe', 'You’ve been unsubscribed'],
        ['Subscribe again', 'You’re subscribed again'],
      ] as const) {
        expect(javaScript ? await window.findings() : []).toEqual([]);
        expect(await window.isTooWide()).toBe(false);
        await window.tabTo(button);
        await tab.keyboard.press('Enter');
        await tab.locator('h1', { hasText: heading }).waitFor();
        const { body } = await client.get('contact.get-contact', { organizationId, contactId });
        expect(body.data.subscribed).toBe(button !== 'Unsubscribe');
      }
      window.requireQuiet(origin);
    },
  );

  it('errors are shown at the top, at the field and to screen readers, and input is kept', async () => {
    const window = await browser.open({ width: 360 });
    const { page: tab } = window;
    await tab.goto(origin + page.path);
    await ageForm(tab, people.api, page.petitionId);
    await tab.fill('#email', 'not an address');
    await tab.click('summary');
    await tab.fill('#comment', 'Still here');
    await tab.click('form .button');
    await tab.waitForSelector('#faults');
    expect(await tab.title()).toMatch(/^Error: /);
    expect(await tab.evaluate('document.activeElement.id')).toBe('faults');
    expect(await tab.locator('#faults').innerText()).toContain('Enter your first name');
    expect(await tab.locator('#comment').inputValue()).toBe('Still here');
    const email = tab.locator('#email');
    expect([await email.getAttribute('aria-invalid'), await email.getAttribute('aria-describedby')]).toEqual([
      'true',
      'email-fault',
    ]);
    expect(await window.findings()).toEqual([]);
    await tab.click('#faults a[href="#email"]');
    expect(await tab.evaluate('document.activeElement.id')).toBe('email');
  });

  it('a screen reader reads the parts of a petition', async () => {
    const { page: tab } = await browser.open();
    await tab.goto(origin + page.path);
    const read = await tab.locator('body').ariaSnapshot();
    for (const line of [
      `- heading "${LONG}" [level=1]`,
      '- img "A river"',
      '- term: Petition to',
      '- definition: The council',
      '- heading "Why" [level=2]',
      '- progressbar "',
      '- heading "Sign this petition" [level=2]',
      '- textbox "First name"',
      '- textbox "Email address"',
      '- checkbox "Clean Rivers may send me email updates"',
      '- button "Sign now"',
      '- link "Privacy"',
    ])
      expect(read).toContain(line);
    // The honeypot is hidden from screen readers.
    expect(read).not.toContain('Leave this field blank');
  });

  longIt('the count of an open page is updated, and the address can be copied', async () => {
    const { client, petitionId } = page;
    const window = await browser.open();
    const { page: tab } = window;
    await tab.clock.install();
    await tab.goto(origin + page.path);
    const before = await tab.locator('.count [data-signatures]').textContent();
    await call(client, 'petition.add-signature', { petitionId, contact: { email: 'counted@example.org' } });
    await eventually(async () => {
      await tab.clock.fastForward(11_000);
      expect(await tab.locator('.count [data-signatures]').textContent()).not.toBe(before);
    });
    expect(await tab.locator('.copy button').textContent()).toBe('Copy');
    window.requireQuiet(origin);
  });

  it('the embed has the theme, the colour and the fields that its element names, on each page', async () => {
    const fields = [{ field: 'lastName', required: true }, { field: 'city' }, { field: 'zip' }];
    const other = await people.petition({ form: { fields } }, page.client);
    const { page: tab } = await browser.open();
    const look = () =>
      tab.evaluate<string[]>(`(() => {
        const style = getComputedStyle(document.documentElement);
        return [style.colorScheme, ...['--ground', '--accent'].map((name) => style.getPropertyValue(name))];
      })()`);
    const asked = () =>
      tab
        .locator('form :is([type=text], [type=email]):not([tabindex])')
        .evaluateAll((all) => all.map((one) => one.id));
    await tab.goto(`${origin + other.path}/embed`);
    const plain = await look();
    expect([plain[0], await asked()]).toEqual(['light dark', ['lastName', 'email', 'city', 'zip']]);
    await tab.goto(`${origin + other.path}/embed?theme=dark&colour=0a7d55&fields=zip`);
    const dark = await look();
    expect([dark[0], await asked()]).toEqual(['dark', ['lastName', 'email', 'zip']]);
    for (const n of [1, 2]) expect(dark[n]).not.toBe(plain[n]);
    // A form with errors, and the page after it.
    await tab.locator('form .button').click();
    await tab.locator('.faults').waitFor();
    expect([await look(), await asked()]).toEqual([dark, ['lastName', 'email', 'zip']]);
    await tab.goto(`${origin + other.path}/thanks?embed&theme=dark&colour=0a7d55`);
    expect(await look()).toEqual(dark);
    await tab.goto(`${origin + other.path}/embed?theme=blue&colour=red;}*{display:none`);
    expect(await look()).toEqual(plain);
  });

  it('the embed fits its frame on another page to its content, and dispatches events there', async () => {
    const elsewhere = createServer(({ url }, response) => {
      response.setHeader('Content-Type', 'text/html');
      if (url === '/thanks') return response.end('<!doctype html><title>Thanks</title>');
      return response.end(`<!doctype html><script>
          window.heard = [];
          for (const name of ['advocacy:ready', 'advocacy:signed', 'advocacy:confirmed'])
            addEventListener(name, ({ detail, target }) => heard.push([name, target.localName, detail]));
        </script><script src="${origin}/embed.js" defer></script>
        <advocacy-petition src="${page.path}" source="elsewhere" ${url === '/redirected' ? 'redirect="/thanks"' : ''}
          ><a href="${origin}${page.path}">Sign</a></advocacy-petition>`);
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { page: tab } = await browser.open();
    await tab.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const frame = tab.frameLocator('iframe');
    expect(await frame.locator('h1').innerText()).toBe(LONG);
    await eventually(async () => {
      const height = await tab.locator('iframe').evaluate((element) => element.clientHeight);
      const inside = await frame.locator('html').evaluate((element) => element.offsetHeight);
      expect(height).toBe(inside);
    });
    const ready = ['advocacy:ready', 'advocacy-petition', null];
    const heard = () => tab.evaluate('heard');
    expect(await heard()).toEqual([ready]);
    await ageForm(frame, people.api, page.petitionId);
    await frame.locator('#firstName').fill('Ada');
    await frame.locator('#lastName').fill('Lovelace');
    await frame.locator('#email').fill('ada.elsewhere@example.org');
    await frame.locator('form .button').click();
    const signed = ['advocacy:signed', 'advocacy-petition', { confirmation: 'EMAIL' }];
    await eventually(async () => expect(await heard()).toEqual([ready, signed]));
    // The other website has another origin, but the same site, so that browsers connect the two pages.
    const other = await tab.context().newPage();
    await other.goto(origin + (await people.linkTo('ada.elsewhere@example.org')));
    await other.locator('form .button').click();
    const confirmed = ['advocacy:confirmed', 'advocacy-petition', null];
    await eventually(async () => expect(await heard()).toEqual([ready, signed, confirmed]));
    await other.close();

    await tab.goto(`${new URL(tab.url()).origin}/redirected`);
    await ageForm(frame, people.api, page.petitionId);
    expect(await frame.locator('[name=source]').inputValue()).toBe('elsewhere');
    await frame.locator('#firstName').fill('Bea');
    await frame.locator('#lastName').fill('Lovelace');
    await frame.locator('#email').fill('bea.elsewhere@example.org');
    await frame.locator('form .button').click();
    await tab.waitForURL('**/thanks');
    elsewhere.close();
  });
});
