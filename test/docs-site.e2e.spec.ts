import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Browser, type Window } from './browser.js';
import { createDemo, demoIsSent, welcome } from '../src/demo/index.js';
import { Api } from './harness.js';
import { isLong, someOf } from './length.js';
import { eventually } from './processes.js';

type Item = { name: string; request: { method: string; url: { raw: string }; body?: { raw?: string } } };

const root = join(__dirname, '..');
const collection = JSON.parse(readFileSync(join(root, 'docs/reference/postman.json'), 'utf8'));
const items: Item[] = collection.item.flatMap(({ item }: { item: Item[] }) => item);
/** All operations in `npm run test:long`, and otherwise those of a service and those that need a certain state. */
const tried = isLong
  ? items
  : items.filter(({ name }) => /^list\.|-members?$|^notification\.|\.(pause|resume)-broadcast/.test(name));
const run = promisify(execFile);

let api: Api;
let browser: Browser;
let window: Window;
/** The link to the documentation that a first start prints. */
let printed: string;
beforeAll(async () => {
  [api, browser] = await Promise.all([Api.start(), Browser.start()]);
  api.startWorkers();
  const { app, runtime } = api.instances[0]!;
  const demo = await createDemo(app, runtime);
  await demoIsSent(app, demo!);
  printed = /documentation +(\S+)/.exec(welcome(api.origin, demo!))![1]!;
});
afterAll(async () => {
  await browser.stop();
  await api.stop();
});
afterEach(() => browser.closeWindows());

const get = (path: string) => fetch(`${api.origin}${path}`);
const textOf = async (path: string) => (await get(path)).text();

/** The demo's draft of an email is sent first, and the paused one is resumed after all others. Operations that need records follow those that create them, and those that end records come last. */
function placeOf({ name }: Item): number {
  if (name === 'broadcast.update-broadcast') return 0;
  if (name === 'broadcast.send-broadcast') return 1;
  if (name === 'broadcast.resume-broadcast') return 6;
  if (/\.(create|upload|invite|import|record)-/.test(name)) return 2;
  if (/\.(update|invalidate)-/.test(name)) return 3;
  if (/\.(delete|revoke|remove|withdraw|close|archive)-/.test(name)) return 5;
  return 4;
}

it('operations are called with one click, with the key that the first start printed', async () => {
  window = await browser.open();
  const { page } = window;
  await page.goto(printed);
  expect(page.url()).toBe(`${new URL(printed).origin}/docs`);
  await page.goto(`${new URL(printed).origin}/docs/api-key.revoke-api-key`);
  await page.getByRole('button', { name: 'Send' }).click();
  // The key of the page itself is not offered.
  await page.getByText('no record for: apiKeyId').waitFor();
  const creator = page.locator('.try [role=status] a');
  expect(await creator.getAttribute('href')).toBe('/docs/api-key.create-api-key');
  const failed: [string, string][] = [];
  for (const item of tried.toSorted((one, other) => placeOf(one) - placeOf(other))) {
    await page.goto(`${new URL(printed).origin}/docs/${item.name}`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.try [role=status] pre').waitFor();
    const answer = (await page.locator('.try [role=status]').textContent())!.replaceAll(/\s+/g, ' ');
    if (!answer.startsWith('200 in')) failed.push([item.name, answer.slice(0, 300)]);
  }
  expect(failed).toEqual([]);
});

it('a page that meets the limit per second waits and sends again', async () => {
  window = await browser.open();
  const { page } = window;
  const limited = new Set<string>();
  await page.route('**/v1/*', (route) => {
    const [address] = route.request().url().split('?');
    if (limited.has(address!)) return route.continue();
    limited.add(address!);
    return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, json: { error: {} } });
  });
  await page.goto(printed);
  await page.goto(`${new URL(printed).origin}/docs/list.get-list`);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.try [role=status] pre').waitFor();
  expect(await page.locator('.try').getAttribute('data-status')).toBe('200');
  expect([...limited].map((address) => new URL(address).pathname)).toEqual([
    '/v1/list.list-lists',
    '/v1/list.get-list',
  ]);
});

it('curl, TypeScript and Python send the same request', async () => {
  const sent: string[] = [];
  const recorder: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      // The client asks for NDJSON where a file has several formats.
      const query = [...searchParams].filter(([name]) => name !== 'format').sort();
      // A here-document ends with a line break.
      const text = Buffer.concat(chunks).toString('latin1').trim();
      const isJson = request.headers['content-type'] === 'application/json' && text !== '';
      const body = isJson ? JSON.parse(text) : text;
      sent.push(JSON.stringify([request.method, pathname, query, request.headers.authorization, body]));
      const isFile = /export-(?!person)|certificate|-rows|-problems/.test(pathname);
      response.setHeader('Content-Type', isFile ? 'application/x-ndjson' : 'application/json');
      response.end('{"data":{},"pagination":{"cursor":null,"hasMore":false}}');
    });
  });
  await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'advocacy-examples-'));
  try {
    const [shell, typescript, python]: string[][] = [[], [], []];
    for (const { name } of tried) {
      const markdown = await textOf(`/docs/${name}`);
      const codes = [...markdown.matchAll(/<pre tabindex="0"><code class="language-(\w+)">([^]*?)<\/code>/g)]
        .filter(([, language]) => ['sh', 'ts', 'python'].includes(language!))
        .map(([, , code]) =>
          unescaped(code!)
            .replaceAll('{{url}}', url)
            .replaceAll('{{key}}', 'adv_key')
            .replaceAll(/\{\{(\w+)\}\}/g, '$1'),
        );
      expect([name, codes.length]).toEqual([name, 3]);
      shell!.push(codes[0]!);
      typescript!.push(codes[1]!);
      python!.push(codes[2]!);
    }
    writeFileSync(join(folder, 'picture.png'), 'picture');
    writeFileSync(join(folder, 'all.sh'), shell!.join('\n'));
    writeFileSync(join(folder, 'all.py'), python!.join('\n'));
    typescript!.forEach((code, n) => writeFileSync(join(folder, `${n}.ts`), code));
    await build({
      stdin: {
        contents: typescript!.map((_, n) => `await import('./${n}.ts');`).join('\n'),
        resolveDir: folder,
      },
      alias: { '@advocacy/client': join(root, 'client/src/index.ts') },
      bundle: true,
      format: 'esm',
      platform: 'node',
      outfile: join(folder, 'all.mjs'),
    });
    const requestsOf = async (program: string, file: string) => {
      sent.length = 0;
      await run(program, [file], { cwd: folder, maxBuffer: 2 ** 26 });
      return [...sent];
    };
    const bySh = await requestsOf('sh', 'all.sh');
    expect(bySh.map((line) => JSON.parse(line)).map(([method, path]) => `${method} ${path}`)).toEqual(
      tried.map(({ name, request }) => `${request.method} /v1/${name}`),
    );
    expect(await requestsOf('python3', 'all.py')).toEqual(bySh);
    expect(await requestsOf(process.execPath, 'all.mjs')).toEqual(bySh);
  } finally {
    recorder.close();
    rmSync(folder, { recursive: true });
  }
});

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

it('every link of every page leads to a page and an anchor, and no page is larger than 300 KB', async () => {
  const pages = new Map<string, string>();
  const open = ['/docs'];
  const missing: string[] = [];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (pages.has(path)) continue;
    const response = await fetch(`${api.origin}${path}`, { headers: { 'Accept-Encoding': 'br' } });
    const text = await response.text();
    pages.set(path, text);
    if (response.status !== 200) missing.push(path);
    const length = Number(response.headers.get('content-length'));
    if (!path.includes('/pictures/')) expect([path, length < 300_000]).toEqual([path, true]);
    for (const [, address] of text.matchAll(/(?:href|src)="(\/docs[^"#]*)/g)) open.push(address!);
  }
  for (const [path, text] of pages)
    for (const [, to, anchor] of text.matchAll(/href="(\/docs[^"#?]*)?#([^"]+)"/g))
      if (!pages.get(to ?? path)?.includes(`id="${anchor}"`)) missing.push(`${path}: ${to ?? ''}#${anchor}`);
  expect(missing).toEqual([]);
  expect(pages.size).toBeGreaterThan(items.length + 100);
});

it('browsers keep what has not changed, pictures too, and get a page for an address that does not exist', async () => {
  for (const path of ['/docs', '/docs/contact.create-contact', '/docs/try.js', '/docs/internals/house.svg']) {
    const { headers } = await get(path);
    const again = await fetch(`${api.origin}${path}`, {
      headers: { 'If-None-Match': headers.get('etag') ?? '', 'Cache-Control': 'max-age=0' },
    });
    expect([path, again.status, headers.get('cache-control')]).toEqual([path, 304, 'no-cache']);
  }
  const missing = await fetch(`${api.origin}/docs/guides/nothing`, { headers: { Accept: 'text/html' } });
  expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining('Page not found')]);
  expect(await (await get('/docs/guides/nothing')).text()).toContain('"NOT_FOUND"');
});

it('ids of another organization take the place of those that the previous key found', async () => {
  window = await browser.open();
  const { page } = window;
  await page.goto(printed);
  await page.goto(`${new URL(printed).origin}/docs/list.update-list`);
  const fields = page.locator('#fields');
  await eventually(async () => expect(await fields.inputValue()).toMatch(/"listId": "[0-9a-f-]{36}"/));
  const found = await fields.inputValue();
  await page.route('**/v1/list.list-lists*', (route) =>
    route.fulfill({ json: { data: [{ id: 'other-list' }] } }),
  );
  await page.locator('#key').fill('adv_other');
  await page.locator('#key').blur();
  await eventually(async () => expect(await fields.inputValue()).toContain('other-list'));
  expect(found).not.toContain('other-list');
});

it('search finds operations, guides and settings by all of the words', async () => {
  const firstOf = async (query: string) =>
    /<ul class="results">\s*<li><a href="([^"]*)"/.exec(await textOf(`/docs/search?q=${query}`))?.[1];
  expect(await firstOf('contact.create-contact')).toBe('/docs/contact.create-contact');
  expect(await firstOf('verify+webhook')).toMatch(/webhook/);
  expect(await firstOf('MAIL_URL')).toMatch(/mail/i);
  expect(await textOf('/docs/search?q=nothing-like-it')).toContain('Nothing was found');
  expect(await textOf('/docs/search?q=%3Cscript%3E')).not.toContain('<script>');
});

it.each(
  someOf(['/docs/contact.create-contact', '/docs', '/docs/reference/errors', '/docs/search?q=webhook']),
)(
  '%s is readable on a phone, by keyboard and screen reader, light and dark, and loads nothing from elsewhere',
  async (path) => {
    for (const isDark of [false, true]) {
      window = await browser.open({ width: 360, height: 740, isDark });
      await window.page.goto(`${api.origin}${path}`);
      expect(await window.isTooWide()).toBe(false);
      expect(await window.findings()).toEqual([]);
      window.requireQuiet(api.origin);
    }
  },
);
