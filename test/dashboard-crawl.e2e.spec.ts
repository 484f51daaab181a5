import { DASHBOARD } from '#locales';
import { PAGES } from '../src/dashboard/index.js';
import { Browser, findChromium, type Window } from './browser.js';
import { isFile, RECORDS, TABLE } from './dashboard-pages.js';
import { retryAfter, SharedApi, type Client } from './harness.js';
import { isLong, longIt } from './length.js';
import { invitationTo } from './people-in.js';

const inBrowser = findChromium() === undefined ? describe.skip : describe;
if (findChromium() === undefined) console.log('Chromium is not installed: not every page is opened in it.');

/** One page of each shape. `npm test` only opens these; `dashboard-roles` reads the HTML of all. */
const SHAPES: Record<string, string> = {
  list: 'contacts',
  record: 'contacts/:contact',
  form: 'petitions/new',
  confirmation: 'petitions/:petition/delete',
  'form of many choices': 'keys/new',
  'wide table': 'contacts/import/:import',
  'record with figures': 'petitions/:petition',
  letter: 'broadcasts/:broadcast/preview',
  verification: 'history/verify',
};
const isExamined = (path: string) => isLong || Object.values(SHAPES).includes(path);

it('each shape names an existing page', () => {
  const paths = PAGES.map(({ path }) => path);
  for (const [shape, path] of Object.entries(SHAPES))
    expect([shape, paths]).toEqual([shape, expect.arrayContaining([path])]);
});

inBrowser('every page of an organization with all kinds of records, on a phone, in German', () => {
  let api: SharedApi;
  let browser: Browser;
  let client: Client;
  /** Records that pages share, because this test only reads. */
  const made = new Map<string, string>();
  beforeAll(async () => {
    api = await SharedApi.open();
    browser = await Browser.start();
    client = await api.organization();
  });
  afterAll(async () => {
    await browser.stop();
    await api.stop();
  });

  async function withIds(path: string): Promise<string> {
    const ids: Record<string, string> = {};
    let [whole, before] = [path, ''];
    for (const part of path.split('/')) {
      const name = part.slice(1);
      before += `/${part}`;
      if (!part.startsWith(':')) continue;
      const { records = {} } = TABLE[path]!;
      const key = records[name] ? path : before;
      const id = made.get(key) ?? (await (records[name] ?? RECORDS[name]!)(api, client, ids));
      made.set(key, id);
      ids[name] = id;
      whole = whole.replace(part, id);
    }
    return whole;
  }

  type Seen = {
    status: number;
    isPage: boolean;
    findings: unknown[];
    isTooWide: boolean;
    headings: number;
    title: string;
    unnamed: number;
  };
  const isHtml = (headers: Headers) => headers.get('content-type')?.startsWith('text/html') === true;
  const responseOf = (response: { status(): number; headers(): Record<string, string> }) => ({
    status: response.status(),
    headers: new Headers(response.headers()),
  });

  async function openPage(window: Window, url: string): Promise<Seen> {
    const { page } = window;
    const { status, headers } = await retryAfter(async () => responseOf((await page.goto(url))!));
    return {
      status,
      isPage: isHtml(headers),
      findings: await window.findings(),
      isTooWide: await window.isTooWide(),
      headings: await page.locator('h1').count(),
      title: await page.title(),
      unnamed: await page.locator('nav:not([aria-label])').count(),
    };
  }

  it('is accessible, fits the window, and has one heading and a title', async () => {
    const window = await browser.open({ width: 360, height: 740, locale: 'de-DE' });
    const { page } = window;
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'crawler@example.org')));
    await window.press(DASHBOARD.de.invitation.button);
    const faults: unknown[] = [];
    const paths = PAGES.map(({ path }) => path).filter((path) => isExamined(path) && !isFile(path));
    // Pages with their own records come last, because those may replace the shared ones.
    const hasOwn = (path: string) => Number(TABLE[path]!.records !== undefined);
    for (const path of paths.toSorted((one, other) => hasOwn(one) - hasOwn(other))) {
      const url = `${api.origin}/dashboard/${client.organizationId}/${await withIds(path)}`;
      const seen = await openPage(window, url);
      const good = {
        // An error page is a page, too.
        status: TABLE[path]!.shown ?? 200,
        isPage: true,
        findings: [],
        isTooWide: false,
        headings: 1,
        title: seen.title,
        unnamed: 0,
      };
      if (JSON.stringify(seen) !== JSON.stringify(good) || !/\S – \S/.test(seen.title))
        faults.push([path, seen]);
    }
    expect(faults).toEqual([]);
    // Opening every page can exceed the rate limit per person.
    window.requireQuiet(api.origin, /status of (404|429)/);
  });

  longIt('is accessible if lists are empty, a page is missing, or no one is signed in', async () => {
    const empty = await api.organization();
    const window = await browser.open({ width: 360, height: 740, locale: 'de-DE' });
    const { page } = window;
    const home = `/dashboard/${empty.organizationId}`;
    const good = { findings: [], isTooWide: false, headings: 1 };
    const lookAt = async (path: string) => {
      await page.goto(api.origin + path);
      const findings = await window.findings();
      const seen = {
        findings,
        isTooWide: await window.isTooWide(),
        headings: await page.locator('h1').count(),
      };
      expect([path, seen]).toEqual([path, good]);
    };
    await lookAt('/dashboard/sign-in');
    const invitation = await invitationTo(api, empty, 'OWNER', 'first@example.org');
    if (isLong) await lookAt(invitation);
    else await page.goto(api.origin + invitation);
    await window.press(DASHBOARD.de.invitation.button);
    const others = isLong ? [home, '/dashboard/account'] : [];
    for (const path of [`${home}/petitions`, `${home}/nothing`, ...others]) await lookAt(path);
    window.requireQuiet(api.origin, /status of 404/);
  });
});
