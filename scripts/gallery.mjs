/**
 * npm run gallery: takes a picture of every page of the dashboard and of the public site, empty and with typical data.
 * npm run gallery -- 'contacts$' petitions/new: only pages whose path matches one of these patterns, again.
 *
 * Pages are found by following links. Pictures that exist are kept, so an interrupted run continues where it stopped.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { root } from './build.mjs';
import { prepare } from './prepare.mjs';

const SIZES = { 1280: 900, 360: 740 };
const SCHEMES = ['light', 'dark'];
const LANGUAGES = { en: 'en-GB', de: 'de-DE' };
/** Taller pages are reported. */
const MAX_SCREENS = 3;
/** Evaluated in each page: its height, and whether it scrolls sideways, wraps a date or cuts text off. */
const MEASURES = `(() => {
  const root = document.documentElement;
  const isWrapped = (element) => new Set([...element.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
  const isClipped = (element) =>
    element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX === 'hidden' && element.clientWidth > 1 && !element.title;
  const faults = [
    ...(root.scrollWidth > root.clientWidth ? ['too wide'] : []),
    ...[...document.querySelectorAll('time, .badge')].filter(isWrapped).map((element) => 'wrapped: ' + element.textContent),
    ...[...document.querySelectorAll('main *')].filter(isClipped).map((element) => 'clipped: ' + element.textContent.trim().slice(0, 40)),
  ];
  return { height: root.scrollHeight, faults };
})()`;
const CONTACTS = 400;
const PETITIONS = [
  'Keep the library open',
  'Safe routes to school',
  'Nachtzug nach Wien',
  'Plant 1,000 trees',
];

const HELP = `npm run gallery [-- options] [patterns]

Takes pictures of pages whose path matches one of the patterns, or of all pages that have none yet.

  --looks TEXT    only looks whose name contains this: 360, dark, 1280-light-en
  --data NAME     only the organization with this data: typical or empty
  --directory DIR where pictures and data are stored (default: .data/gallery)`;

const { values: options, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: {
    looks: { type: 'string', default: '' },
    data: { type: 'string', default: '' },
    directory: { type: 'string', default: join(root, '.data/gallery') },
    help: { type: 'boolean' },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit();
}

const port = process.env.PORT ?? '3907';
const origin = `http://localhost:${port}`;
const directory = options.directory;
const environment = { ...process.env, PORT: port, DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'warn' };
mkdirSync(directory, { recursive: true });

await prepare({ isBundle: false });
const executablePath = ['chromium-headless-shell', 'chromium']
  .map((program) => `/usr/bin/${program}`)
  .find((path) => existsSync(path));
if (!executablePath) throw new Error('Chromium is not installed.');
const server = spawn(process.execPath, [join(root, 'dist/src/main.js')], {
  env: environment,
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ended = new Promise((resolve) => server.once('exit', resolve));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  await isReady();
  for (const organization of await organizations()) {
    if (!organization.data.includes(options.data)) continue;
    const storageState = await signIn(organization.id);
    const pages = await findPages(storageState, [
      `/dashboard/${organization.id}`,
      `/dashboard/${organization.id}/styleguide`,
      '/dashboard/account',
      ...organization.site,
    ]);
    for (const look of looks()) await takePictures(organization.data, pages, look, storageState);
  }
  writeIndex();
} finally {
  await browser.close();
  server.kill();
  await ended;
}

async function isReady() {
  for (let n = 0; n < 300; n += 1) {
    const response = await fetch(`${origin}/health/ready`).catch(() => undefined);
    if (response?.ok) return;
    if (server.exitCode !== null) break;
    await sleep(200);
  }
  throw new Error(`The server does not start on port ${port}.`);
}

function cli(...args) {
  const output = execFileSync(process.execPath, [join(root, 'dist/src/cli.js'), '--json', ...args], {
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(output);
}

/** The demo organization with more data, and an empty one. Created once. */
async function organizations() {
  const file = join(directory, 'organizations.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const [demo] = cli('organization', 'list');
  const empty = cli('organization', 'create', '--name', 'New organization');
  await fill(demo.organizationId);
  const created = [
    { data: 'typical', id: demo.organizationId, site: ['/demo'] },
    { data: 'empty', id: empty.organizationId, site: [] },
  ];
  writeFileSync(file, JSON.stringify(created));
  return created;
}

/** Adds contacts of every length, and petitions in every state with signatures of the last weeks. */
async function fill(organizationId) {
  const rights = ['--scopes', '*', '--rate-limit', 'unlimited'];
  const { key } = cli('api-key', 'create', '--organization', organizationId, '--name', 'Gallery', ...rights);
  const post = async (operation, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${origin}/v1/${operation}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${operation}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  const names = [
    'Ada Lovelace',
    'Bo Li',
    'José Álvarez',
    'Annegret Kramp-Hohenzollern-Sigmaringen',
    'Wangari Maathai',
    'Мария Кюри',
    'Rachel Carson',
    '',
  ];
  const lines = Array.from({ length: CONTACTS }, (_, n) => {
    const [firstName = '', lastName = ''] = names[n % names.length].split(' ');
    const email = `${lastName.length > 12 ? 'annegret.kramp-hohenzollern-sigmaringen' : 'person'}.${n}@example.org`;
    const signedAt = new Date(Date.now() - (n % 28) ** 1.2 * 86_400_000).toISOString();
    return JSON.stringify({
      email,
      firstName,
      lastName,
      city: ['Berlin', 'Wien', 'London'][n % 3],
      country: ['DE', 'AT', 'GB'][n % 3],
      signedAt,
      source: ['newsletter', 'whatsapp', ''][n % 3],
    });
  });
  for (const [n, name] of PETITIONS.entries()) {
    const { petitionId } = await post('petition.create-petition', {
      name,
      title: name,
      goal: 500,
      comments: 'SHOWN',
    });
    if (n === PETITIONS.length - 1) break;
    await post('petition.publish-petition', { petitionId });
    const file = join(directory, 'signatures.ndjson');
    writeFileSync(file, lines.slice(0, CONTACTS / (n + 1)).join('\n'));
    const signed = ['--petition', petitionId, '--subscribed', 'yes', file];
    cli('contacts', 'import', '--organization', organizationId, ...signed);
    if (n === PETITIONS.length - 2) await post('petition.close-petition', { petitionId });
  }
  for (const name of ['Volunteer', 'Press', 'Ehrenamtskoordinatorinnen'])
    await post('tag.create-tag', { name });
  for (const name of ['Newsletter', 'Local groups']) await post('list.create-list', { name });
  const parameters = { city: 'Berlin', subscribed: 'true' };
  await post('view.create-view', { name: 'Berlin', operation: 'contact.list-contacts', parameters });
  await post('webhook.create-webhook', { url: 'https://crm.example.org/hooks/advocacy' });
  await post('suppression.create-suppression', { email: 'do-not-write@example.org' });
}

async function signIn(organizationId) {
  const { url } = cli('user', 'invite', '--organization', organizationId, '--email', 'you@example.org');
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(origin + new URL(url).pathname);
  await page.locator('main form button').first().click();
  await page.waitForURL(/\/dashboard\/?[^/]*$/);
  const state = await context.storageState();
  await context.close();
  return state;
}

/** Follows links to one page of each kind. Ids are what distinguishes pages of the same kind. */
async function findPages(storageState, starts) {
  const context = await browser.newContext({ storageState, locale: LANGUAGES.en });
  const found = new Map();
  const queue = [...starts];
  for (const path of queue) {
    const name = nameOf(path);
    if (found.has(name)) continue;
    const response = await context.request.get(origin + path);
    if (response.status() === 429) {
      await sleep(1_000);
      queue.push(path);
      continue;
    }
    const headers = response.headers();
    if (!headers['content-type']?.startsWith('text/html') || 'content-disposition' in headers) continue;
    found.set(name, path);
    for (const [, href] of (await response.text()).matchAll(/<a\b[^>]*?\shref="([^"]+)"/g)) {
      const { pathname, origin: other } = new URL(href.replaceAll('&amp;', '&'), origin + path);
      if (
        other === origin &&
        /^\/(dashboard|demo)(\/|$)/.test(pathname) &&
        !/\/(export|proof|tlog-proof)$/.test(pathname)
      )
        queue.push(pathname);
    }
  }
  await context.close();
  return found;
}

function nameOf(path) {
  const name = path
    .replace(/^\/dashboard\/[0-9a-f-]{36}/, '/dashboard')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replace(/^\/(demo\/(petitions|posts))\/[^/]+/, '/$1/NAME');
  return name.slice(1).replaceAll('/', '.');
}

function looks() {
  return Object.keys(SIZES)
    .flatMap((width) =>
      SCHEMES.flatMap((scheme) =>
        Object.keys(LANGUAGES).map((language) => ({
          width,
          scheme,
          language,
          name: `${width}-${scheme}-${language}`,
        })),
      ),
    )
    .filter(({ name }) => name.includes(options.looks));
}

async function takePictures(data, pages, { width, scheme, language, name: look }, storageState) {
  const height = SIZES[width];
  const context = await browser.newContext({
    storageState,
    viewport: { width: Number(width), height },
    colorScheme: scheme,
    locale: LANGUAGES[language],
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  mkdirSync(join(directory, data, look), { recursive: true });
  for (const [name, path] of pages) {
    const file = join(directory, data, look, `${name}.png`);
    const isWanted =
      patterns.length === 0
        ? !existsSync(file)
        : patterns.some((pattern) => new RegExp(pattern).test(name.replaceAll('.', '/')));
    if (!isWanted) continue;
    await page.goto(origin + path);
    const seen = await page.evaluate(MEASURES);
    await page.screenshot({ path: file, fullPage: true });
    const screens = seen.height / height;
    const notes = [...(screens > MAX_SCREENS ? [`${screens.toFixed(1)} screens`] : []), ...seen.faults];
    console.log([data, look, name, ...notes].join('  '));
  }
  await context.close();
}

/** All pictures in one page: a row for each page, a column for each look. */
function writeIndex() {
  const rows = ['typical', 'empty'].flatMap((data) => {
    const columns = list(join(directory, data));
    const pages = [...new Set(columns.flatMap((look) => list(join(directory, data, look))))].toSorted();
    return pages.map((page) => {
      const cells = columns.map(
        (look) =>
          `<td><a href="${data}/${look}/${page}"><img loading="lazy" width="240" alt="${look}" src="${data}/${look}/${page}"></a><br>${look}</td>`,
      );
      return `<tr><th>${data}<br>${page.replace('.png', '')}</th>${cells.join('')}</tr>`;
    });
  });
  const style =
    'body,table{font:13px system-ui}td,th{vertical-align:top;text-align:left;padding:8px}img{border:1px solid #999}';
  const page = `<!doctype html><meta charset="utf-8"><title>Gallery</title><style>${style}</style><table>${rows.join('')}</table>`;
  writeFileSync(join(directory, 'index.html'), page);
  console.log(join(directory, 'index.html'));
}

function list(path) {
  return existsSync(path) ? readdirSync(path) : [];
}
