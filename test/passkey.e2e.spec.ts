import { eventually } from '#libs/testing';
import { type CDPSession, type Page } from 'playwright-core';
import { DASHBOARD, type DashboardWords } from '#locales';
import { Browser, findChromium, type Look, type Window } from './browser.js';
import { newAddress } from './dashboard-pages.js';
import { SharedApi, type Client } from './harness.js';
import { invitationTo, signedIn, Visitor } from './people-in.js';
import { isLong, longIt, someOf } from './length.js';

const inBrowser = findChromium() === undefined ? describe.skip : describe;
if (findChromium() === undefined) console.log('Chromium is not installed: passkeys are not tried in it.');

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

/** Passkeys need a host name. An IP address cannot have any. */
const atLocalhost = (n = 0) => api.instances[n]!.origin.replace('127.0.0.1', 'localhost');

const LOOKS: [string, Look, DashboardWords][] = [
  // Reaching each element with Tab takes most of the time, so `npm test` uses the mouse.
  [
    `${isLong ? 'with the keyboard only, ' : ''}on a phone, in German`,
    { width: 360, locale: 'de-DE', byKeyboard: isLong },
    DASHBOARD.de,
  ],
  ['wide', {}, DASHBOARD.en],
];

inBrowser.each(someOf(LOOKS))('in Chromium, %s', (_, look, words) => {
  let browser: Browser;
  let window: Window;
  let page: Page;
  let device: CDPSession;
  beforeAll(async () => {
    browser = await Browser.start();
  });
  afterAll(() => browser.stop());
  beforeEach(async () => {
    window = await browser.open(look);
    ({ page } = window);
    device = await page.context().newCDPSession(page);
    await device.send('WebAuthn.enable');
    await device.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    });
    await page.goto(atLocalhost() + (await invitationTo(api, client, 'EDITOR', newAddress())));
    await press(words.invitation.button);
  });

  const press = (name: string) => window.press(name);
  const add = async () => {
    await page.goto(`${atLocalhost()}/dashboard/account`);
    await press(words.passkeys.add);
    await page.getByText(words.passkeys.done.added).waitFor();
  };

  it('is added, signs in repeatedly on any instance, and is removed', async () => {
    await add();
    // The device already has a passkey for this person and creates no second one.
    await press(words.passkeys.add);
    await page.getByText(words.passkeys.failed).waitFor();
    for (const n of [0, 1]) {
      await page.context().clearCookies();
      await page.goto(`${atLocalhost(n)}/dashboard/sign-in`);
      // A passkey works on every port, because it is bound to the host name.
      await press(words.passkeys.signIn);
      await page.waitForURL(`${atLocalhost(n)}/dashboard/${client.organizationId}`);
    }
    await page.goto(`${atLocalhost()}/dashboard/account`);
    await window.use(page.locator('a[href*="/account/passkeys/"]'));
    await press(words.passkeys.remove);
    await page.getByText(words.passkeys.done.removed).waitFor();
    await page.context().clearCookies();
    await page.goto(`${atLocalhost()}/dashboard/sign-in`);
    await press(words.passkeys.signIn);
    await page.getByText(words.passkeys.refused).waitFor();
  });

  longIt('rejects a replayed response, and one that was changed or created for another origin', async () => {
    await add();
    await page.context().clearCookies();
    await page.goto(`${atLocalhost()}/dashboard/sign-in`);
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.url().endsWith('/dashboard/passkey')),
      press(words.passkeys.signIn),
    ]);
    // The browser's own request was the first.
    await request.response();
    const response = new URLSearchParams(request.postData()!).get('response')!;
    const send = async (answer: string, origin = atLocalhost()) => {
      const { status } = await new Visitor(origin).post('/dashboard/passkey', { response: answer });
      return status;
    };
    expect(await send(response)).toBe(403);

    // A response that was never sent, with each possible change.
    await page.context().clearCookies();
    await page.route('**/dashboard/passkey', (route) => route.abort());
    await page.goto(`${atLocalhost()}/dashboard/sign-in`);
    const [fresh] = await Promise.all([
      page.waitForRequest((one) => one.url().endsWith('/dashboard/passkey')),
      press(words.passkeys.signIn),
    ]);
    const answer = new URLSearchParams(fresh.postData()!).get('response')!;
    const parsed = JSON.parse(answer);
    const { signature } = parsed.response;
    const other = `${signature.slice(0, -4)}${signature.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    const changed = [
      { ...parsed, response: { ...parsed.response, signature: other } },
      { ...parsed, id: 'AAAA', rawId: 'AAAA' },
      { ...parsed, response: { ...parsed.response, clientDataJSON: 'AAAA' } },
      {},
      [],
      'nothing',
    ];
    for (const one of changed) expect(await send(JSON.stringify(one))).toBe(403);
    expect(await send('no JSON')).toBe(403);
    expect(await send(answer, atLocalhost(1))).toBe(403);
  });
});

it('rejects forms of other sites, and is not offered on an IP address', async () => {
  const editor = await signedIn(api, client, 'EDITOR', 'eve@example.org');
  const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
  for (const path of ['/dashboard/account/passkeys', '/dashboard/passkey'])
    expect((await editor.post(path, { response: '{}' }, foreign)).status).toBe(403);
  expect((await editor.post('/dashboard/account/passkeys', { response: '{}' })).status).toBe(422);
  expect((await editor.get('/dashboard/account')).text).not.toContain('data-passkey');
  expect((await editor.get('/dashboard/account/passkeys/nothing')).status).toBe(404);
});

it('rate-limits a client that guesses', async () => {
  const visitor = new Visitor(api.origin).impatient();
  const guess = () => visitor.post('/dashboard/passkey', { response: '{}' });
  // The limit is per second, in which a busy machine may not send enough.
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, guess));
    expect(answers.map(({ status }) => status)).toContain(429);
  });
});
