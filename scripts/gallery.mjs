/**
 * npm run gallery: takes a picture of every page of the dashboard and of the public site: empty, with typical data and full.
 * npm run gallery -- 'contacts$' petitions/new: only pages whose path matches one of these patterns, again.
 *
 * Pages are found by following links, and compared with the list of all pages. Pictures that exist are kept, so an
 * interrupted run continues where it stopped. Exits with 1 if a page is missing or has a fault that a machine can see.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
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
/** Looks of which pictures are taken at the same time. */
const PARALLEL = 2;
/** Taller pages are reported. */
const MAX_SCREENS = 3;
/** Looks in which axe-core examines each page: both widths and both schemes. It takes longer than the picture. */
const EXAMINED = ['1280-light-en', '360-dark-de'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The style guide shows every component in every state, so it may be tall and have several main buttons. */
const STYLE_GUIDE = 'dashboard.styleguide';
/** Evaluated in each page: its height, and what is too wide, wrapped, cut off, missing or too much. */
const MEASURES = `(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const text = (element) => element.textContent.trim().replace(/\\s+/g, ' ').slice(0, 40);
  const isWrapped = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element.lastChild ?? element);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
  };
  const isClipped = (element) =>
    element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX === 'hidden' && element.clientWidth > 1 && !element.title;
  const isBlank = (element) => text(element) === '' && !element.querySelector('svg, img');
  const scrolls = (element) => element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX);
  const isFilled = (element) => {
    const [, , , alpha = '1'] = getComputedStyle(element).backgroundColor.match(/[\\d.]+/g);
    return alpha !== '0' && !element.matches('.plain, .final, [role=toolbar] *');
  };
  const filled = all('main .button').filter(isFilled);
  const own = [...document.querySelectorAll('main')].map(({ innerText }) => innerText).join(' ');
  const leaked = own.match(/\\bundefined\\b|\\bNaN\\b|\\[object \\w+\\]|Invalid Date/);
  return { height: root.scrollHeight, faults: [
    ...(root.scrollWidth > root.clientWidth ? ['too wide'] : []),
    ...all('time, .badge, td.number, .beside-ways a').filter(isWrapped).map((element) => 'wrapped: ' + text(element)),
    ...all('button, .button').filter(isBlank).map((element) => 'blank button: ' + element.ariaLabel),
    ...all('main *').filter(isClipped).map((element) => 'clipped: ' + text(element)),
    ...all('main .table, main .views ul').filter(scrolls).map((element) => 'scrolls sideways: ' + text(element)),
    ...(filled.length > 1 ? ['filled buttons: ' + filled.map(text).join(', ')] : []),
    ...(leaked ? ['leaked: ' + leaked[0]] : []),
    ...(document.querySelectorAll('h1').length === 1 ? [] : ['headings: ' + document.querySelectorAll('h1').length]),
  ] };
})()`;
/** Typical data: a campaign of some weeks. */
const TYPICAL = {
  contacts: 400,
  petitions: ['Keep the library open', 'Safe routes to school', 'Nachtzug nach Wien', 'Plant 1,000 trees'],
  tags: ['Volunteer', 'Press', 'Ehrenamtskoordinatorinnen'],
  lists: ['Newsletter', 'Local groups'],
  others: 1,
};
/** What a large organization has after some years. */
const FULL = {
  contacts: 5_000,
  petitions: Array.from({ length: 200 }, (_, n) => `${TYPICAL.petitions[n % 4]} ${n + 1}`),
  tags: Array.from({ length: 60 }, (_, n) => `Ehrenamtskoordinatorinnen ${n + 1}`),
  lists: Array.from({ length: 40 }, (_, n) => `Local group ${n + 1}`),
  others: 30,
};
const DATA = { typical: TYPICAL, full: FULL, empty: null };
/** At most this many signatures of one petition are imported. */
const SIGNATURES = 2_000;
/** So many that a contact's page does not show all. */
const NOTES = 8;
/** Pages outside organizations, which are not in the list of pages. */
const OUTSIDE = [
  'dashboard.account',
  'dashboard.sign-in',
  'dashboard.invitations.TOKEN',
  'dashboard.notifications.ID.TOKEN',
];
/** Pages that are only reached by sending a form, or by programs that watch the history. */
const HIDDEN = [
  'dashboard.broadcasts.preview',
  'dashboard.history.checkpoint.witnessed',
  'dashboard.history.checkpoint.consistency',
];
/** Of each kind, links of this many pages are followed, because records in other states have other actions. */
const FOLLOWED = 5;
/** Pages in a state that no link opens: the path below the organization, then what to do there. */
const STATES = {
  'contacts.many-selected': ['contacts', (page) => tick(page, 3)],
  'contacts.changed-together': [
    'contacts',
    async (page) => {
      await tick(page, 3);
      await page.locator('.choosing button').first().click();
    },
  ],
  'contacts.import.ID.reviewed': ['contacts/import', uploadTable],
  'broadcasts.new.wrong': ['broadcasts/new', submit],
  'petitions.new.wrong': ['petitions/new', submit],
  'petitions.menu-open': ['petitions/RECORD', (page) => page.locator('.more summary').first().click()],
  'contacts.searched': ['search?q=annegret'],
  'contacts.filtered': ['contacts?city=Berlin&subscribed=true'],
  'contacts.none-found': ['contacts?q=nobody-has-this-name'],
};

const HELP = `npm run gallery [-- options] [patterns]

Takes pictures of pages whose path matches one of the patterns, or of all pages that have none yet.

  --looks TEXT    only looks whose name contains this: 360, dark, 1280-light-en
  --data NAME     only the organization with this data: typical, full or empty
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
let pictures = 0;
const faults = [];
try {
  await isReady();
  for (const data of Object.keys(DATA).filter((name) => name.includes(options.data))) {
    const organization = await organizationWith(data);
    const storageState = await signIn(organization.id);
    const home = `/dashboard/${organization.id}`;
    const starts = [
      home,
      `${home}/styleguide`,
      `${home}/nothing`,
      '/dashboard/account',
      '/dashboard/sign-in',
    ];
    const { pages, missing } = await findPages(storageState, organization.id, [
      ...starts,
      ...organization.starts,
    ]);
    if (data === 'typical') faults.push(...missing.map((name) => `not found: ${name}`));
    const queue = looks();
    const photographer = async () => {
      for (let look = queue.shift(); look; look = queue.shift())
        await takePictures(organization, pages, look, storageState);
    };
    await Promise.all(Array.from({ length: PARALLEL }, photographer));
  }
  writeIndex();
  for (const fault of faults) console.log(fault);
  console.log(`${pictures} pictures, ${faults.length} faults`);
  if (faults.length > 0) process.exitCode = 1;
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

/** The demo organization with more data, a full one or an empty one. Each is created once. */
async function organizationWith(data) {
  const file = join(directory, `${data}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const create = () => cli('organization', 'create', '--name', `Organization with ${data} data`);
  const { organizationId: id } = data === 'typical' ? cli('organization', 'list')[0] : create();
  const starts = [];
  if (DATA[data]) {
    // Members get emails about what happens.
    await signIn(id);
    await signIn(id, 'colleague@example.org');
    starts.push(...(await fill(id, DATA[data])), ...unsubscribeLinks());
    starts.push(await importContacts(id));
  }
  if (data === 'typical') starts.push('/demo');
  const organization = { data, id, starts };
  writeFileSync(file, JSON.stringify(organization));
  return organization;
}

/** The path that turns off notifications, from an email. */
function unsubscribeLinks() {
  const mails = join(directory, 'data/mail');
  const files = readdirSync(mails, { recursive: true }).filter((file) => file.endsWith('.eml'));
  const texts = files.map((file) => readFileSync(join(mails, file), 'utf8').replaceAll(/=\r?\n/g, ''));
  return texts
    .flatMap((text) => /\/dashboard\/notifications\/[\w-]+\/[\w.-]+/.exec(text)?.[0] ?? [])
    .slice(0, 1);
}

/** Imports a table with a row that is wrong. @returns the path of the import's page */
async function importContacts(organizationId) {
  const context = await browser.newContext({ storageState: await signIn(organizationId) });
  const page = await context.newPage();
  await page.goto(`${origin}/dashboard/${organizationId}/contacts/import`);
  await uploadTable(page);
  await submit(page);
  await page.locator('a[href$="/wrong-lines"]').waitFor();
  await context.close();
  return new URL(page.url()).pathname;
}

async function uploadTable(page) {
  const content =
    'E-Mail;Vorname;Schuhgröße;Telefonnummer\nada@example.org;Ada;38;030 1234567\nwrong;Bo;40;\n';
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.setInputFiles('input[type=file]', file);
  await submit(page);
}

/**
 * Adds contacts of every length, petitions in every state with signatures of the last weeks, and some of everything else.
 *
 * @returns paths of pages to which no link leads
 */
async function fill(organizationId, { contacts, petitions, tags, lists, others }) {
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
  await post('organization.update-organization', {
    mailFrom: { name: 'Gallery', address: 'gallery@example.org' },
    postalAddress: '1 River Road\nHarbour Town',
  });
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
  const lines = Array.from({ length: contacts }, (_, n) => {
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
  const file = join(directory, 'signatures.ndjson');
  const importLines = (some, ...to) => {
    writeFileSync(file, some.join('\n'));
    cli('contacts', 'import', '--organization', organizationId, ...to, '--subscribed', 'yes', file);
  };
  const tagIds = [];
  for (const name of tags) tagIds.push((await post('tag.create-tag', { name })).tagId);
  const listIds = [];
  for (const name of lists) listIds.push((await post('list.create-list', { name })).listId);
  const petitionIds = [];
  for (const [n, name] of petitions.entries()) {
    const { petitionId } = await post('petition.create-petition', {
      name,
      title: name,
      goal: 500,
      comments: 'APPROVED',
      thankYouMail: { subject: 'Thank you', content: 'We will keep you informed.' },
      translations: { de: { title: `Deutsch: ${name}` } },
    });
    if (n === petitions.length - 1) break;
    await post('petition.publish-petition', { petitionId });
    if (n >= TYPICAL.petitions.length - 1) continue;
    const signers = lines.slice(0, Math.min(SIGNATURES, contacts) / (n + 1));
    importLines(
      n === 0 ? signers.map((line) => line.replace('}', ',"comment":"I read here as a child."}')) : signers,
      '--petition',
      petitionId,
    );
    await post('petition.record-offline-signatures', {
      petitionId,
      count: 42,
      collectedOn: '2026-01-31',
      note: 'Market',
    });
    await post('petition.add-signature', { petitionId, contact: { email: 'bot@spam.example' } });
    await post('petition.invalidate-signatures', { petitionId, emailDomain: 'spam.example' });
    petitionIds.push(petitionId);
    if (n === TYPICAL.petitions.length - 2) await post('petition.close-petition', { petitionId });
  }
  const rest = lines
    .slice(SIGNATURES)
    .map((line) => JSON.stringify({ ...JSON.parse(line), signedAt: undefined, source: undefined }));
  if (rest.length > 0) importLines(rest, '--list', listIds[0]);
  const people = await (
    await fetch(`${origin}/v1/contact.list-contacts?limit=100&organizationId=${organizationId}`, {
      headers: { Authorization: `Bearer ${key}` },
    })
  ).json();
  const contactIds = people.data.map(({ id }) => id);
  for (const tagId of tagIds.slice(0, 12)) await post('tag.add-contacts', { tagId, contactIds });
  for (const listId of listIds.slice(0, 12)) await post('list.add-contacts', { listId, contactIds });
  const text =
    'Called twice. Prefers to be called after six, and wants to help at the stall in front of the library.';
  for (let n = 1; n <= NOTES; n += 1) await post('note.create-note', { contactId: contactIds[0], text });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  for (let n = 1; n <= others; n += 1) {
    const name = `Straßenverkehrsordnung ${n}`;
    await post('field.create-field', { name, type: 'TEXT' });
    await post('form.create-form', { name });
    await post('post.create-post', { name, petitionId: petitionIds[0] });
    await post('team.invite-member', { email: `colleague-${n}@example.org`, role: 'EDITOR' });
    await post('segment.create-segment', {
      name,
      filter: { all: [{ field: 'city', op: 'is', value: 'Berlin' }] },
    });
    await post('api-key.create-api-key', { name, scopes: ['contact:read'] });
    await post('publishable-key.create-publishable-key', { name, origins: ['https://www.example.org'] });
    await post('webhook.create-webhook', { url: `https://crm.example.org/hooks/advocacy/${n}` });
    await post('suppression.create-suppression', { email: `do-not-write-${n}@example.org` });
    const written = {
      subject: name,
      content: 'Dear {{ contact.firstName | default: "friend" }},\n\nwe **won**.',
    };
    const audience = { tagIds: [tagIds[0]] };
    const { broadcastId } = await post('broadcast.create-broadcast', { name, ...written, audience });
    if (n % 2 === 0) await post('broadcast.send-broadcast', { broadcastId });
  }
  const { broadcastId } = await post('broadcast.create-broadcast', {
    name: 'Einladung zur Mitgliederversammlung',
    subject: 'Tomorrow',
    content: 'See you tomorrow.',
    audience: { listIds: [listIds[0]] },
  });
  await post('broadcast.send-broadcast', { broadcastId, sendAt: tomorrow });
  const parameters = { city: 'Berlin', subscribed: 'true' };
  await post('view.create-view', { name: 'Berlin', operation: 'contact.list-contacts', parameters });
  const pages = [...petitionIds.map((id) => `petitions/${id}`), `contacts/${contactIds[0]}`];
  return pages.map((page) => `/dashboard/${organizationId}/${page}`);
}

async function signIn(organizationId, email = 'you@example.org') {
  const { url } = cli('user', 'invite', '--organization', organizationId, '--email', email);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(origin + new URL(url).pathname);
  await page.locator('main form button').first().click();
  await page.waitForURL(/\/dashboard\/?[^/]*$/);
  const state = await context.storageState();
  await context.close();
  return state;
}

/**
 * Follows links to pages of every kind. Ids are what distinguishes pages of the same kind; the longest of them is shown.
 *
 * @returns the path of each page by its name, and the names of pages that were not found
 */
async function findPages(storageState, id, starts) {
  const context = await browser.newContext({ storageState, locale: LANGUAGES.en });
  const found = new Map();
  const files = new Set();
  const queue = [...starts];
  const seen = new Set();
  for (const path of queue) {
    const name = nameOf(path);
    const { paths = 0, size = 0 } = found.get(name) ?? {};
    if (paths === FOLLOWED || seen.has(path) || files.has(name)) continue;
    const response = await ask(() => context.request.get(origin + path));
    seen.add(path);
    if (!isPage(response)) {
      files.add(name);
      continue;
    }
    const text = await response.text();
    // A page that has nothing to show is not the page.
    if (response.ok() || name === 'dashboard.nothing')
      found.set(name, {
        ...(text.length > size && !(path.includes('?') && paths > 0)
          ? { path, size: text.length }
          : found.get(name)),
        paths: paths + 1,
      });
    if (name.startsWith(`${STYLE_GUIDE}.`)) found.delete(name);
    for (const [, href] of text.matchAll(/\s(?:href|action|src)="([^"]+)"/g)) {
      const { pathname, search, origin: other } = new URL(href.replaceAll('&amp;', '&'), origin + path);
      // The person belongs to the other organizations too.
      const [, organizationId = id] = /^\/dashboard\/([0-9a-f]{8}-[0-9a-f-]{27})/.exec(pathname) ?? [];
      const isOwn = other === origin && organizationId === id;
      if (isOwn && /^\/(dashboard|demo)(\/|$)/.test(pathname) && !/\.\w+$/.test(pathname))
        queue.push(found.has(nameOf(pathname)) ? pathname : pathname + search);
    }
  }
  const pages = new Map([...found].map(([name, { path }]) => [name, path]));
  // Pages to which a link leads only in another state.
  const missing = [...OUTSIDE].filter((name) => !pages.has(name));
  for (const name of await allPages()) {
    if (pages.has(name) || files.has(name) || HIDDEN.includes(name)) continue;
    const [, parent, last] = /^(.*)\.([^.]+)$/.exec(name);
    const path = `${pages.get(parent)?.replace(/\?.*/, '')}/${last}`;
    const response =
      pages.has(parent) && last !== 'ID' ? await ask(() => context.request.get(origin + path)) : undefined;
    if (!response?.ok()) missing.push(name);
    else if (isPage(response)) pages.set(name, path);
  }
  await context.close();
  return { pages, missing };
}

/** Not a download, and not an email for a frame, which is on the page around it and runs no scripts. */
function isPage(response) {
  const {
    'content-type': type = '',
    'content-disposition': download,
    'content-security-policy': policy = '',
  } = response.headers();
  return type.startsWith('text/html') && download === undefined && !/\bsandbox\b/.test(policy);
}

/** The names of all pages of an organization. */
async function allPages() {
  await import(join(root, 'dist/src/modules.js'));
  const { PAGES } = await import(join(root, 'dist/src/dashboard/index.js'));
  return PAGES.map(({ path }) =>
    `dashboard/${path}`.replace(/\/$/, '').replaceAll(/:\w+/g, 'ID').replaceAll('/', '.'),
  );
}

/** Asks again if there were too many requests. */
async function ask(request) {
  for (;;) {
    const response = await request();
    if (response.status() !== 429) return response;
    await sleep(1_000);
  }
}

function nameOf(path) {
  const name = path
    .replace(/\?.*/, '')
    .replace(/^\/dashboard\/[0-9a-f]{8}-[0-9a-f-]{27}/, '/dashboard')
    .replace(/^\/dashboard\/(sign-in|invitations|notifications\/[^/]+)\/[^/]+$/, '/dashboard/$1/TOKEN')
    .replace(/^\/dashboard\/notifications\/[^/]+\/TOKEN/, '/dashboard/notifications/ID/TOKEN')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replace(/^\/(demo\/(petitions|posts|forms))\/[^/]+/, '/$1/NAME');
  return name.slice(1).replaceAll('/', '.');
}

async function tick(page, count) {
  for (let n = 0; n < count; n += 1) await page.locator('tbody .tick input').nth(n).check();
}

async function submit(page) {
  await page.locator('main form:not(.find) .button:not(.plain)').first().click();
  await page.waitForLoadState();
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

async function takePictures({ data, id }, pages, { width, scheme, language, name: look }, storageState) {
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
  const take = async (name, path, act) => {
    const file = join(directory, data, look, `${name}.png`);
    const isWanted =
      patterns.length === 0
        ? !existsSync(file)
        : patterns.some((pattern) => new RegExp(pattern).test(name.replaceAll('.', '/')));
    if (!isWanted) return;
    await ask(() => page.goto(origin + path));
    await act?.(page);
    // Scripts draw previews and counts.
    if ((await page.locator('[data-live]').count()) > 0) await page.waitForLoadState('networkidle');
    const seen = await page.evaluate(MEASURES);
    const screens = seen.height / height;
    const notes = [
      ...(screens > MAX_SCREENS && data !== 'full' ? [`${screens.toFixed(1)} screens`] : []),
      ...seen.faults,
    ];
    if (EXAMINED.includes(look)) notes.push(...(await examine(page)));
    await page.screenshot({ path: file, fullPage: true });
    pictures += 1;
    // The public pages have their own design.
    const isFree = name === STYLE_GUIDE || name.startsWith('demo');
    const found = isFree ? notes.filter((note) => !/screens$|^filled/.test(note)) : notes;
    const line = [data, look, name, ...found].join('  ');
    console.log(line);
    if (found.length > 0) faults.push(line);
  };
  for (const [name, path] of pages) await take(name, path);
  if (data !== 'empty') {
    for (const [name, [path, act]] of Object.entries(STATES)) {
      const [, kind] = /^(\w+)\/RECORD$/.exec(path) ?? [];
      const at = kind ? pages.get(`dashboard.${kind}.ID`) : `/dashboard/${id}/${path}`;
      await take(`states.${name}`, at, act);
    }
  }
  await context.close();
}

/** Findings of axe-core for WCAG 2.2 AA, such as controls without a label and weak contrast. */
async function examine(page) {
  await page.evaluate(AXE);
  const rules = `axe.run({ iframes: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })`;
  const { violations } = await page.evaluate(rules);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 80)).join(' ')}`);
}

/** All pictures in one page: a row for each page, a column for each look. */
function writeIndex() {
  const rows = ['typical', 'full', 'empty'].flatMap((data) => {
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
