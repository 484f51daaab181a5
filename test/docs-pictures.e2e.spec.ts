import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Page } from 'playwright-core';
import { DASHBOARD } from '#locales';
import { createDemo } from '../src/demo/index.js';
import { Browser, type Look } from './browser.js';
import { Api } from './harness.js';
import { longDescribe } from './length.js';

/** `UPDATE_PICTURES=1 npm run test:long -- docs-pictures` updates them. Without it, they are taken and discarded. */
const IS_UPDATE = process.env.UPDATE_PICTURES === '1';
const DIRECTORY = join(process.cwd(), 'docs', 'pictures');

const WIDE: Look = { width: 1_120, height: 860 };
const words = DASHBOARD.en;

type Place = { page: Page; home: string; petition: string; campaign: string };

/** The steps to the scene of each picture. */
const SCENES: Record<string, { look?: Look; open: (place: Place) => Promise<unknown> }> = {
  overview: { open: ({ page, home }) => page.goto(home) },
  petition: { open: ({ page, petition }) => page.goto(petition) },
  import: {
    open: async ({ page, home }) => {
      await page.goto(`${home}/contacts/import`);
      const buffer = Buffer.from(
        'E-mail;First name;Town\nsigrid@example.org;Sigrid;Oslo\njoan@example.org;Joan;Lagos\n',
      );
      await page
        .getByLabel(words.contacts.imports.file)
        .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
      await page.getByRole('button', { name: words.contacts.imports.look }).click();
      await page.getByRole('button', { name: words.contacts.imports.start(2) }).waitFor();
    },
  },
  verify: {
    open: async ({ page, home }) => {
      await page.goto(`${home}/history/verify`);
      await page.getByRole('button', { name: words.history.verifying.start }).click();
      await page.locator('[data-result]').getByText(words.history.verifying.ok).waitFor();
    },
  },
  campaign: { open: ({ page, campaign }) => page.goto(campaign) },
  'campaign-phone': {
    look: { width: 360, height: 760 },
    open: ({ page, campaign }) => page.goto(campaign),
  },
};

longDescribe('the pictures in docs/', () => {
  let api: Api;
  let browser: Browser;
  let demo: NonNullable<Awaited<ReturnType<typeof createDemo>>>;
  let cookies: Awaited<ReturnType<ReturnType<Page['context']>['cookies']>>;
  beforeAll(async () => {
    api = await Api.start();
    const [{ app, runtime }] = api.instances as [Api['instances'][0]];
    demo = (await createDemo(app, runtime))!;
    browser = await Browser.start();
    const { page } = await browser.open(WIDE);
    await page.goto(api.origin + demo.invitation);
    await page.getByRole('button', { name: words.invitation.button }).click();
    await page.waitForURL(/\/dashboard\/[^/]+$/);
    cookies = await page.context().cookies();
  });
  afterAll(async () => {
    await browser.stop();
    await api.stop();
  });

  it.each(Object.keys(SCENES))('%s', async (name) => {
    const { look = WIDE, open } = SCENES[name]!;
    const window = await browser.open(look);
    await window.page.context().addCookies(cookies);
    const home = `${api.origin}/dashboard/${demo.organizationId}`;
    const petition = `${home}/petitions/${demo.petitionId}`;
    await open({ page: window.page, home, petition, campaign: api.origin + demo.path });
    expect(await window.isTooWide()).toBe(false);
    const taken = await window.page.screenshot();
    if (IS_UPDATE) {
      mkdirSync(DIRECTORY, { recursive: true });
      writeFileSync(join(DIRECTORY, `${name}.png`), taken);
    }
    // The same size as the documentation shows.
    const kept = readFileSync(join(DIRECTORY, `${name}.png`));
    expect([kept.readUInt32BE(16), kept.readUInt32BE(20)]).toEqual([look.width, look.height]);
    window.requireQuiet(api.origin);
  });
});

it('every picture is used, and no other exists', () => {
  const shown = ['README.md', 'docs/guides/dashboard.md'].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/!\[[^\]]+\]\((?:docs|\.\.)\/pictures\/([\w-]+)\.png\)/g)].map(
      ([, name]) => name!,
    ),
  );
  expect([...new Set(shown)].toSorted()).toEqual(Object.keys(SCENES).toSorted());
  expect(readdirSync(DIRECTORY).toSorted()).toEqual(
    Object.keys(SCENES)
      .map((name) => `${name}.png`)
      .toSorted(),
  );
});
