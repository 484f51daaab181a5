import { createHash } from 'node:crypto';
import { type Request, type RequestHandler, type Response } from 'express';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { documentOf, html, type Html, type Page, scriptFile, stylesOf, trusted } from '#libs/pages';
import { shared } from '#libs/rpc';
import { plain, rendered, type Sheet, sheetOf } from './docs-markdown.js';

const ROOT = dirname(createRequire(import.meta.url).resolve('#docs/README.md'));
const OPERATIONS = 'reference/operations';
/** Pages outside of the folder that others link to. */
const OUTSIDE = ['../ARCHITECTURE.md', '../CHANGELOG.md', '../CONTRIBUTING.md', '../client/README.md'];
const MAX_RESULTS = 30;
const MAX_QUERY = 100;
const MAX_WORDS = 10;

/** A request of the collection in docs/reference/postman.json. */
type Call = {
  name: string;
  request: {
    method: string;
    url: { query?: { key: string; value: string; disabled?: boolean }[] };
    header?: { value: string }[];
    body?: { raw?: string; file?: { content?: string } };
  };
};

const styleFor = stylesOf(`
.docs{display:grid;gap:0 var(--space-5);max-width:82rem;margin:0 auto;padding:0 var(--space-4)}
.docs>*{min-width:0}.docs main{max-width:52rem}
.bar{display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-4);align-items:center;justify-content:space-between;max-width:82rem;margin:0 auto;padding:var(--space-3) var(--space-4);border-bottom:1px solid var(--line)}
.bar>a{color:var(--ink);font-weight:700;text-decoration:none}.bar form{display:flex;gap:var(--space-2);flex:0 1 26rem}.bar form .button{width:auto;padding:.5rem 1rem}
.docs nav h1,.docs nav p{display:none}.docs nav h2{margin:var(--space-4) 0 var(--space-2);font-size:var(--text-3)}
.docs nav ul{margin:0;padding:0;list-style:none;font-size:var(--text-1)}.docs nav a{display:inline-block;padding:.25rem 0}
.docs nav [aria-current]{color:var(--ink);font-weight:700}
.docs main h2{margin-top:var(--space-5)}.docs main h3{margin-top:var(--space-4)}
.docs pre{overflow-x:auto;padding:var(--space-3);border-radius:.5rem;background:var(--sheet);font-size:.875rem;line-height:1.45;overflow-wrap:normal}
.docs :not(pre)>code{padding:.1em .25em;border-radius:.25rem;background:var(--sheet);font-size:.9em}
.scrolls{overflow-x:auto;margin:0 0 var(--space-3)}.docs table{border-collapse:collapse;font-size:var(--text-1);overflow-wrap:normal}
.docs td,.docs th{padding:var(--space-1) var(--space-2);border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.docs td:last-child{min-width:14rem}.try textarea,.try pre{font-family:ui-monospace,monospace;font-size:.875rem}.try pre{max-height:30rem;overflow:auto;white-space:pre-wrap}
.results li{margin:0 0 var(--space-3)}
@media (min-width:60rem){.docs{grid-template-columns:16rem minmax(0,1fr)}.docs nav{grid-area:1/1}.docs main{grid-column:2}.bar a[href='#pages']{display:none}}
`);

/** The pages at /docs, written from the folder docs. `next` gets requests for anything else. */
export function docsSite(): RequestHandler {
  const names = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.split(sep).join('/'),
  );
  const files = names.filter((name) => name.endsWith('.md'));
  const pictures = new Set(names.filter((name) => /^(pictures|internals)\/[\w-]+\.(png|svg)$/.test(name)));
  const texts = new Map(
    [...files, ...OUTSIDE].map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const),
  );
  const sheets = new Map([...texts].map(([file, text]) => [file, sheetOf(text)] as const));
  const calls = new Map(
    (
      JSON.parse(readFileSync(join(ROOT, 'reference/postman.json'), 'utf8')) as { item: { item: Call[] }[] }
    ).item.flatMap(({ item }) => item.map((call) => [call.name, call] as const)),
  );
  const addressOf = (file: string) => {
    if (texts.has(file)) return addressOfPage(file);
    return pictures.has(file) ? `/docs/${file}` : undefined;
  };
  const index = rendered(texts.get('README.md')!, 'README.md', addressOf);
  const menuOf = (address: string) =>
    trusted(
      index
        .replaceAll(/ id="[^"]*"/g, '')
        .replace(`href="${address}"`, `href="${address}" aria-current="page"`),
    );
  const pageOf = (address: string, title: string, content: Html, scripts: string[] = []): Page =>
    documentOf({
      language: 'en',
      title: `${title} – Advocacy API`,
      style: styleFor(null),
      head: html`<link rel="icon" href="/site/icon.svg" type="image/svg+xml" />`,
      scripts: scripts.map((script) => html`<script src="${script}" defer></script>`),
      body: html`<a class="skip" href="#content">Skip to the content</a>
        <header class="bar">
          <a href="/docs">Documentation</a> <a href="#pages">All pages</a>
          <form role="search" action="/docs/search">
            <input type="search" name="q" aria-label="Search the documentation" required maxlength="${MAX_QUERY}" />
            <button class="button">Search</button>
          </form>
        </header>
        <div class="docs">
          <main id="content">${content}</main>
          <nav id="pages" aria-label="Documentation">${menuOf(address)}</nav>
        </div>`,
      loads: ['img', 'script', 'connect'],
    });
  /** A call's section of the page of its service, and a form that sends it. */
  const operationOf = (call: Call): Page => {
    const [service] = call.name.split('.');
    const file = `${OPERATIONS}/${service}.md`;
    const section = sheets.get(file)!.sections.find(({ title }) => title === call.name)!;
    const text = section.text.replace('<details>', '<details open>');
    const content = html`<p><a href="${addressOfPage(file)}">${`All operations of ${service}`}</a></p>
      <h1>${call.name}</h1>
      ${trusted(rendered(text, file, addressOf))} ${tryOf(call, calls)}`;
    return pageOf(`/docs/${call.name}`, call.name, content, ['/docs/try.js']);
  };
  const render = (path: string): Page | undefined => {
    const name = path.slice('/docs/'.length);
    if (name === 'try.js') return SCRIPT;
    if (pictures.has(name)) return pictureOf(name);
    const call = calls.get(name);
    if (call) return operationOf(call);
    const [file, text] = [...texts].find(([name]) => addressOfPage(name) === path) ?? [];
    if (file === undefined) return undefined;
    const content = rendered(text!, file, addressOf);
    // Each operation has a page of its own.
    const linked = file.startsWith(`${OPERATIONS}/`)
      ? content.replaceAll(/(<h2 id="[^"]*">)([^<]+)/g, '$1<a href="/docs/$2">$2</a>')
      : content;
    return pageOf(path, sheets.get(file)!.title, trusted(linked), ['/docs/try.js']);
  };
  const notFound = html`<h1>Page not found</h1><p>Search for it, or choose a page.</p>`;
  const missing = { ...pageOf('', 'Page not found', notFound), status: 404 };
  const pages = new Map<string, Page>();
  return (request: Request, response: Response, next) => {
    const path = request.path.replace(/(?<=.)\/$/, '');
    if (path === '/docs/search') return send(request, response, searchPage(request, sheets, pageOf));
    const page = pages.get(path) ?? render(path);
    if (page) pages.set(path, page);
    else if (request.accepts(['json', 'html']) !== 'html') return next();
    send(request, response, page ?? missing);
  };
}

const SCRIPT: Page = {
  status: 200,
  headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
  body: scriptFile('#site-browser/try').text,
};

function pictureOf(name: string): Page {
  const headers = {
    'Content-Type': name.endsWith('.svg') ? 'image/svg+xml' : 'image/png',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  };
  return { status: 200, headers, body: readFileSync(join(ROOT, name)) };
}

/** Browsers ask whether a page has changed. */
function send(request: Request, response: Response, page: Page): void {
  const { headers, body } = shared(request, page.headers, page.body);
  const digest = createHash('sha256').update(page.body).digest('base64url').slice(0, 16);
  const caching = { 'Cache-Control': 'no-cache', ETag: `W/"${digest}"` };
  response.status(page.status).set(headers).set(caching).send(body);
}

/** `guides/webhooks.md` is at /docs/guides/webhooks, and README.md at its folder. */
function addressOfPage(file: string): string {
  const path = relative('.', file.replace('../', ''))
    .split(sep)
    .join('/')
    .replace(/(\/?README)?\.md$/, '');
  return path === '' ? '/docs' : `/docs/${path}`;
}

/** The operation that lists the ids for each field of an example: `petition.list-petitions` for `petitionId`. */
function sourcesOf(calls: ReadonlyMap<string, Call>): Record<string, string> {
  return {
    ...byIdField(calls, /\.list-(.+)s$/),
    otherId: 'contact.list-contacts',
    offlineCountId: 'petition.list-offline-signatures',
    organizationId: 'organization.get-organization',
  };
}

/** The operation that creates what the field of an example identifies: `webhook.create-webhook` for `webhookId`. */
function creatorsOf(calls: ReadonlyMap<string, Call>): Record<string, string> {
  return {
    ...byIdField(calls, /\.(?:create|upload|invite)-(.+)$/),
    updateId: 'contact.update-contacts',
    offlineCountId: 'petition.record-offline-signatures',
    invalidationId: 'petition.invalidate-signatures',
  };
}

/** @param record matches the names of operations, and captures the record: the key is the field of its id. */
function byIdField(calls: ReadonlyMap<string, Call>, record: RegExp): Record<string, string> {
  const named = [...calls.keys()].flatMap((name) => {
    const found = record.exec(name)?.[1];
    return found === undefined ? [] : [[`${camelCase(found)}Id`, name] as const];
  });
  return Object.fromEntries(named);
}

const camelCase = (words: string) => words.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

function tryOf({ name, request }: Call, calls: ReadonlyMap<string, Call>): Html {
  const { method, url, header, body } = request;
  const query = (url.query ?? []).filter(({ disabled }) => !disabled);
  const fields =
    body?.raw ?? JSON.stringify(Object.fromEntries(query.map(({ key, value }) => [key, value])), null, 2);
  const type = header?.[0]?.value;
  const isFile = type !== undefined && body?.raw === undefined;
  const file = body?.file?.content;
  return html`<section class="try sheet" hidden aria-labelledby="try" data-name="${name}" data-method="${method}"
    data-type="${type}" data-sources="${JSON.stringify(sourcesOf(calls))}" data-creators="${JSON.stringify(creatorsOf(calls))}">
    <h2 id="try">Try it</h2>
    <form>
      <div class="field">
        <label for="key">API key</label>
        <p class="hint">The one that the first start printed, or another. This tab remembers it until you close it.</p>
        <input id="key" autocomplete="off" spellcheck="false" required />
      </div>
      <div class="field">
        <label for="fields">${isFile || method === 'GET' ? 'Query' : 'Body'}</label>
        <textarea id="fields" spellcheck="false" rows="6">${fields}</textarea>
      </div>
      ${
        isFile
          ? html`<div class="field"><label for="file">File</label>${
              file === undefined
                ? html`<p class="hint">Without a file, a small picture is sent.</p><input id="file" type="file" accept="image/*" />`
                : html`<textarea id="file" spellcheck="false">${file}</textarea>`
            }</div>`
          : null
      }
      <button class="button">Send</button>
      ${method === 'GET' ? null : html`<p class="small">This changes the data of your organization.</p>`}
    </form>
    <div role="status"></div>
  </section>`;
}

function searchPage(
  request: Request,
  sheets: ReadonlyMap<string, Sheet>,
  pageOf: (address: string, title: string, content: Html) => Page,
): Page {
  const query = typeof request.query.q === 'string' ? request.query.q.slice(0, MAX_QUERY).trim() : '';
  const found = query === '' ? [] : search(query.toLowerCase().split(/\s+/).slice(0, MAX_WORDS), sheets);
  const content = html`<h1>${query === '' ? 'Search' : `Results for “${query}”`}</h1>
    ${found.length === 0 ? html`<p>Nothing was found. Try fewer or other words.</p>` : null}
    <ul class="results">
      ${found.map(({ address, title, page, excerpt }) => html`<li><a href="${address}">${title}</a> <span class="small">${page}</span><br />${excerpt}</li>`)}
    </ul>`;
  return pageOf('/docs/search', 'Search', content);
}

type Found = { address: string; title: string; page: string; excerpt: string; score: number };

/** Sections with all of the words. Those with words in their titles come first. */
function search(words: readonly string[], sheets: ReadonlyMap<string, Sheet>): Found[] {
  const found: Found[] = [];
  for (const [file, { title: page, sections }] of sheets)
    for (const { title, anchor, text, head, body } of sections) {
      if (!words.every((word) => head.includes(word) || body.includes(word))) continue;
      const isOperation = file.startsWith(`${OPERATIONS}/`) && anchor !== '';
      const address = isOperation ? `/docs/${title}` : `${addressOfPage(file)}${anchor && `#${anchor}`}`;
      const inTitle = words.filter((word) => head.includes(word)).length;
      const ofPage = words.filter((word) => page.toLowerCase().includes(word)).length;
      const isGuide = /^(guides|tutorials)\//.test(file);
      const score =
        inTitle * 10 + ofPage * 4 + (head === words.join(' ') ? 10 : 0) + (isGuide ? 2 : isOperation ? 1 : 0);
      const at = Math.max(0, body.indexOf(words.find((word) => body.includes(word)) ?? '') - 80);
      const excerpt = plain(text.slice(at, at + 240));
      found.push({ address, title, page, excerpt, score });
    }
  return found.toSorted((one, other) => other.score - one.score).slice(0, MAX_RESULTS);
}
