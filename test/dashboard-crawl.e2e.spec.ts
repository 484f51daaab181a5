import { PAGES, WORDS } from '../src/dashboard/index.js';
import { Browser, findChromium } from './browser.js';
import { RECORDS, TABLE } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { invitationTo } from './people-in.js';

const inBrowser = findChromium() === undefined ? describe.skip : describe;
if (findChromium() === undefined) console.log('Chromium is not installed: not every page is opened in it.');

/** What is no page, but a file, or a mail as people get it. */
const isFile = (path: string) =>
  /(^|\/)(export|mail)$|^history\/(checkpoint|events\/:event\/.+)(\/|$)/.test(path);

inBrowser('every page, of an organization that has something of everything, on a phone, in German', () => {
  let api: Api;
  let browser: Browser;
  let client: Client;
  /** Records that pages of one kind share: what is looked at is not changed. */
  const made = new Map<string, string>();
  beforeAll(async () => {
    api = await Api.start({ environment: { TRUST_PROXY: '1' } });
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

  it('keeps nobody out, is as wide as the window, and is called by one heading and a title', async () => {
    const window = await browser.open({ width: 360, height: 740, locale: 'de-DE' });
    const { page } = window;
    await page.goto(api.origin + (await invitationTo(api, client, 'OWNER', 'crawler@example.org')));
    await window.press(WORDS.de.invitation.button);
    const faults: unknown[] = [];
    const paths = PAGES.map(({ path }) => path).filter((path) => !isFile(path));
    // Records of a page's own may take the place of those that others share.
    const hasOwn = (path: string) => Number(TABLE[path]!.records !== undefined);
    for (const path of paths.toSorted((one, other) => hasOwn(one) - hasOwn(other))) {
      const answer = await page.goto(
        `${api.origin}/dashboard/${client.organizationId}/${await withIds(path)}`,
      );
      const isPage = answer!.headers()['content-type']?.startsWith('text/html') === true;
      const seen = {
        status: answer!.status(),
        isPage,
        findings: await window.findings(),
        isTooWide: await window.isTooWide(),
        headings: await page.locator('h1').count(),
        title: await page.title(),
        unnamed: await page.locator('nav:not([aria-label])').count(),
      };
      const good = {
        // What is shown of nothing is a page, too.
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
    window.requireQuiet(api.origin, /status of 404/);
  }, 180_000);
});
