import { readdirSync, readFileSync } from 'node:fs';
import { writeLetter } from '#libs/mail';
import { Browser, findChromium, type Look, type Window } from '../../test/browser.js';
import { isLong, someOf } from '../../test/length.js';
import { htmlOf } from './layout.js';
import { compile, render } from './template.js';

const withChromium = findChromium() === undefined ? describe.skip : describe;
/** Wider than the page, so that a picture without a limit would make the page too wide. */
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="400"><rect width="1200" height="400" fill="#246"/></svg>`;

const LOOKS: [width: number, isDark: boolean][] = [
  [360, true],
  [600, false],
  [360, false],
  [600, true],
];

const brand = {
  name: 'Clean Rivers',
  colour: '#00aa55',
  logo: { url: 'https://example.org/logo.png', width: 640, height: 160 },
};
const nobody = {
  ...{ firstName: null, lastName: null, email: null, phone: null, mobile: null, address: null, zip: null },
  ...{ city: null, region: null, country: null, fields: {} },
};

function broadcast(content: string, format: 'HTML' | 'MARKDOWN'): string {
  const available = { hasPetition: false, fieldKeys: [], colour: brand.colour };
  const template = compile({ subject: 'News', preheader: null, content, format }, available);
  const organization = { name: brand.name, website: null, email: null, country: null, postalAddress: null };
  const unsubscribeUrl = 'https://example.org/u/x';
  const rendered = render(template, { contact: nobody, organization, unsubscribeUrl, language: 'en' });
  return htmlOf(rendered, { brand, postalAddress: '1 Quay\nHarbour', language: 'en' }, unsubscribeUrl);
}

/** Newsletters of further programs, which only `npm run test:long` examines. */
const FURTHER = /^(0[6-9]|1)/;

const EMAILS: [name: string, html: () => string][] = [
  ...readdirSync('test/newsletters')
    // Its tags are rejected.
    .filter((name) => !name.startsWith('04'))
    .map((name): [string, () => string] => [
      name,
      () => broadcast(readFileSync(`test/newsletters/${name}`, 'utf8'), 'HTML'),
    ]),
  [
    'Markdown with a button, a picture, a table and a long word',
    () =>
      broadcast(
        '# News\n\n[Sign now](https://example.org "button")\n\n![River](https://example.org/a.jpg)\n\n---\n\n' +
          `| Day | Place |\n|---|---|\n| Monday | [Harbour](https://example.org) |\n\n${'Donaudampfschiff'.repeat(8)}`,
        'MARKDOWN',
      ),
  ],
  [
    'a letter with a button',
    () =>
      writeLetter({
        ...{ language: 'en', subject: 'Confirm', brand, paragraphs: ['Hello', 'Two\nlines'], after: ['Bye'] },
        button: { url: `https://example.org/${'x'.repeat(120)}`, text: 'Confirm my signature' },
        foot: ['Clean Rivers'],
      }).html,
  ],
];

withChromium('every email', () => {
  let browser: Browser;
  /** One per look, because opening a window and loading axe-core takes longer than examining an email. */
  const windows: [window: Window, isDark: boolean, width: number][] = [];
  const open = async (look: Look): Promise<Window> => {
    const window = await browser.open(look);
    await window.page.route('**/*', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }),
    );
    return window;
  };
  beforeAll(async () => {
    browser = await Browser.start();
    for (const [width, isDark] of someOf(LOOKS)) windows.push([await open({ width, isDark }), isDark, width]);
  });
  afterAll(() => browser.stop());

  const examined = EMAILS.filter(([name]) => isLong || !FURTHER.test(name));
  it.each(examined)('fits 360 and 600 pixels and is readable, light and dark: %s', async (_, html) => {
    for (const [window, isDark, width] of windows) {
      await window.page.setContent(html(), { waitUntil: 'load' });
      const findings = await window.findings();
      const bad = findings.filter(({ rule }) => rule === 'color-contrast');
      expect([isDark, width, await window.isTooWide(), bad]).toEqual([isDark, width, false, []]);
    }
  });

  it.each(
    someOf([
      ['07-mjml-columns', 'An hour', 'A euro'],
      ['08-brevo-hybrid', 'Le marais au printemps', 'Le marais respire'],
      ['14-foundation-sidebar', 'Two petitions won', 'Next'],
    ] as const),
  )(
    'shows columns next to each other at 600 pixels, and below each other at 360: %s',
    async (name, left, right) => {
      const html = broadcast(readFileSync(`test/newsletters/${name}.html`, 'utf8'), 'HTML');
      for (const width of [600, 360]) {
        const { page } = await open({ width });
        await page.setContent(html, { waitUntil: 'load' });
        const find = (text: string) =>
          page.getByText(text, { exact: true }).or(page.getByAltText(text)).first();
        const [one, two] = await Promise.all([left, right].map((text) => find(text).boundingBox()));
        expect([width, two!.x > one!.x + one!.width / 2]).toEqual([width, width === 600]);
        expect([width, two!.y > one!.y + one!.height]).toEqual([width, width === 360]);
        await page.close();
      }
    },
  );
});

it('has what Outlook for Windows needs: a fixed width, sizes of images, and space and colour of buttons in cells', () => {
  const html = broadcast('[Sign now](https://example.org "button")', 'MARKDOWN');
  expect(html).toMatch(/<!--\[if mso\]><table role="presentation" width="600"/);
  expect(html).toMatch(
    /<img src="https:\/\/example.org\/logo.png" width="192" height="48" alt="Clean Rivers"/,
  );
  expect(html).toMatch(
    /<td class="action" align="center" bgcolor="#008141" style="[^"]*mso-padding-alt:12px 24px">/,
  );
  expect(html).not.toMatch(/<p>\s*<table/);
});
