import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { ERROR_CODES, reasonsOf } from '#libs/rpc';
import { createTestDatabase } from '#libs/testing';
import { withoutCode } from './markdown.js';
import { mismatches, resolved } from './openapi.js';
import { faultsOf } from './prose.js';

const root = resolve(__dirname, '..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const filesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));

const docs = filesIn('docs').filter((name) => name.endsWith('.md'));
const pages = [...readdirSync(root).filter((name) => name.endsWith('.md')), 'client/README.md', ...docs];
const written = pages.filter((page) => !page.startsWith('docs/reference/'));
const runbooks = docs.filter((page) => page.startsWith('docs/guides/runbooks/'));

const sources = ['src', 'libs']
  .flatMap(filesIn)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map(read)
  .join('\n');
/** Variables of tests, and columns in exports of other systems. */
const tests = filesIn('test')
  .filter((name) => /\.(ts|csv)$/.test(name))
  .map(read)
  .join('\n');
const variablesIn = (file: string) => [...read(file).matchAll(/^# ?([A-Z_]+)=/gm)].map(([, name]) => name!);
const variables = ['.env.example', 'scripts/rare.env'].flatMap(variablesIn);

it('docs/reference matches the code (npm run reference updates it)', () => {
  execFileSync(process.execPath, ['scripts/reference.mjs', '--check'], { cwd: root, stdio: 'pipe' });
});

it('.env.example explains at most 18 variables', () => {
  expect(variablesIn('.env.example').length).toBeLessThanOrEqual(18);
});

it('every variable that the code reads is in .env.example or scripts/rare.env', () => {
  const config = read('src/config/config.ts');
  const names = [...config.matchAll(/(?:get|integer|url)\('([A-Z_]+)'/g)]
    .map(([, name]) => name!)
    // Variables of Node.js that the image sets.
    .filter((name) => name !== 'NODE_ENV');
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !variables.includes(name))).toEqual([]);
});

const codes = ERROR_CODES.flatMap((code) => [code, ...reasonsOf(code)]);
const values = [...read('test/openapi.json').matchAll(/"([A-Z]+(?:_[A-Z]+)+)"/g)].map(([, name]) => name!);
const known = new Set([...variables, ...codes, ...values]);

it.each(docs)('%s names only existing variables, codes and values', (page) => {
  const isColumn = (name: string) => sources.includes(` ${name.replaceAll('_', '').toLowerCase()} `);
  // Values in events.
  const isValue = (name: string) => sources.includes(`'${name}'`);
  const named = [...read(page).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, name]) => name!);
  const isThere = (name: string) =>
    known.has(name) || tests.includes(name) || isColumn(name) || isValue(name);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

const anchors = new Map<string, Set<string>>();

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(page: string): Set<string> {
  if (!anchors.has(page)) anchors.set(page, new Set(headingsOf(page)));
  return anchors.get(page)!;
}

function headingsOf(page: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutCode(read(page), { keepsInline: true }).matchAll(/^#{1,6} (.+)$/gm)].map(
    ([, heading]) => {
      const slug = heading!
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-');
      const before = seen.get(slug) ?? 0;
      seen.set(slug, before + 1);
      return before === 0 ? slug : `${slug}-${before}`;
    },
  );
}

it.each(pages)('%s links only to existing pages, files and headings', (page) => {
  for (const [, target] of withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target!)) continue;
    const [path, anchor] = target!.split('#') as [string, string?];
    const file = path === '' ? page : join(page, '..', path);
    expect([target, existsSync(join(root, file))]).toEqual([target, true]);
    if (anchor !== undefined) expect([target, anchorsOf(file).has(anchor)]).toEqual([target, true]);
  }
});

it.each(pages)('%s names only existing files', (page) => {
  const named = [
    ...read(page)
      // A Kubernetes Deployment.
      .replaceAll('deploy/advocacy', '')
      .matchAll(/(?<![\w/-])(?:docs|deploy|bench|migrations|test|src|libs|scripts)\/[\w./-]*\w/g),
  ].map(([name]) => name);
  // `test/petition` stands for all tests whose path begins like this.
  const endings = [
    '',
    '.ts',
    '.spec.ts',
    '.mjs',
    '.e2e.spec.ts',
    '.long.spec.ts',
    '.int.spec.ts',
    '.unit.spec.ts',
  ];
  const isThere = (name: string) => endings.some((ending) => existsSync(join(root, name + ending)));
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

/** The words that a reader has to read, without numbers and code. */
const wordsOf = (page: string) =>
  withoutCode(read(page), { keepsInline: true })
    .split(/\s+/)
    .filter((word) => /\p{L}/u.test(word)).length;

it.each(written)('%s is within the size limit of a page', (page) => {
  // A specification and a changelog may have any length.
  const most: Record<string, number> = { 'README.md': 1_200, 'CHANGELOG.md': Infinity };
  expect(wordsOf(page)).toBeLessThanOrEqual(
    most[page] ?? (/^docs\/(decisions|spec)\//.test(page) ? Infinity : 1_500),
  );
});

it.each(written)('%s is plain English', (page) => {
  expect(faultsOf(read(page))).toEqual([]);
});

it('every page of docs is linked from another page', () => {
  const linked = new Set(
    pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)\s#]+)/g)].map(([, target]) => join(page, '..', target!)),
    ),
  );
  expect(docs.filter((page) => !linked.has(page))).toEqual([]);
});

it.each(['src', 'libs', 'test', 'scripts', 'bench', 'deploy', '.env.example', 'Dockerfile'])(
  '%s names only existing pages',
  (name) => {
    const files = name.includes('.') || name === 'Dockerfile' ? [name] : filesIn(name);
    for (const file of files.filter((one) => /\.(ts|mjs|ya?ml|example)$|Dockerfile/.test(one))) {
      const named = [
        ...read(file).matchAll(/\b(?:docs\/[\w/-]+|README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md/g),
      ];
      for (const [page] of named)
        expect([file, page, existsSync(join(root, page))]).toEqual([file, page, true]);
    }
  },
);

it('shell blocks use only variables that a first start prints, that responses contain, or that they set', () => {
  const introduced = new Set(
    'KEY ORG CONTACT PETITION IMAGE IMPORT BROADCAST LIST SEGMENT WEBHOOK ID PWD DATABASE_URL DATA_DIR HEALTH_TOKEN'.split(
      ' ',
    ),
  );
  for (const page of written) {
    const blocks = [...read(page).matchAll(/^ *```(?:sh|bash)?\n([^]*?)^ *```/gm)].map(([, block]) => block!);
    for (const block of blocks) {
      const own = new Set([...block.matchAll(/\b([A-Z][A-Z_]*)=/g)].map(([, name]) => name!));
      for (const [, name] of block.matchAll(/\$\{?([A-Z][A-Z_]*)/g)) {
        const isKnown = introduced.has(name!) || own.has(name!) || name!.endsWith('_KEY');
        expect([page, block, name, isKnown]).toEqual([page, block, name, true]);
      }
    }
  }
});

/** The code blocks of a language, with their pages. Decisions quote other systems. */
function blocksOf(language: string): [page: string, block: string][] {
  const fence = new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^\\1\`\`\`$`, 'gm');
  return written
    .filter((page) => !page.startsWith('docs/decisions/'))
    .flatMap((page) =>
      [...read(page).matchAll(fence)].map(([, , block]): [string, string] => [page, block!]),
    );
}

it('YAML blocks parse', () => {
  const blocks = blocksOf('yaml');
  expect(blocks.length).toBeGreaterThan(0);
  for (const [page, block] of blocks) expect([page, parse(block)]).toEqual([page, expect.any(Object)]);
});

it('JSON blocks are bodies of requests, responses or webhooks, as the OpenAPI document describes them', () => {
  const document = JSON.parse(read('test/openapi.json'));
  const operations = [
    ...Object.values<any>(document.paths),
    ...Object.values<any>(document.webhooks),
  ].flatMap((path) => Object.values<any>(path));
  const schemaOf = (body: any) => body?.content?.['application/json']?.schema ?? [];
  // Notices of mail services may have any form.
  const isNarrow = (schema: any) => resolved(document, schema).properties !== undefined;
  const requests = operations.flatMap(({ requestBody }) => schemaOf(requestBody)).filter(isNarrow);
  const responses = operations.flatMap(({ responses: all }) => Object.values(all).flatMap(schemaOf));
  const blocks = blocksOf('json').filter(([, block]) => !block.includes('arn:aws:'));
  expect(blocks.length).toBeGreaterThan(8);
  for (const [page, block] of blocks) {
    const value = JSON.parse(block);
    // A page may show only some of the fields, and shortens ids.
    const fits = [...requests, ...responses].some((schema) =>
      mismatches(schema, value, '', document).every((one) => / is (missing|no uuid)$/.test(one)),
    );
    expect([page, block, fits]).toEqual([page, block, true]);
  }
});

it('SQL runs on a migrated database, and creates indexes as migrations do', async () => {
  const inShell = written.flatMap((page) =>
    [...read(page).matchAll(/(?<=psql .*-c )(["'])(.*?)\1/g)].map(([, , text]): [string, string] => [
      page,
      text!,
    ]),
  );
  const database = await createTestDatabase();
  const runner = database.source.createQueryRunner();
  const indexes = () =>
    runner.query("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1");
  try {
    const before = await indexes();
    const run: string[] = [];
    for (const page of written) {
      await runner.startTransaction();
      for (const [, block] of [...blocksOf('sql'), ...inShell].filter(([name]) => name === page))
        for (const statement of block.replaceAll(/--.*/g, '').split(';')) {
          // These need a superuser, or no transaction.
          if (/^\s*($|COPY .* FROM STDIN|(CREATE|ALTER) DATABASE|CREATE ROLE|GRANT|.*reload)/.test(statement))
            continue;
          run.push(statement);
          await runner.query(
            statement
              .replace('$ORG', '01990a6e-1111-7000-8000-000000000001')
              .replace(/COPY \((.*)\) TO STDOUT/, '$1')
              .replace(/ALTER SYSTEM SET (\w+) = .*/, "SELECT current_setting('$1')")
              .replace(/CREATE INDEX CONCURRENTLY (\w+)/, 'DROP INDEX $1; CREATE INDEX $1'),
          );
        }
      expect([page, await indexes()]).toEqual([page, before]);
      await runner.rollbackTransaction();
    }
    expect(run.length).toBeGreaterThan(15);
  } finally {
    await runner.release();
    await database.drop();
  }
});

it('every documented command exists, with its options', () => {
  const lines = written.flatMap((page) =>
    [
      ...read(page).matchAll(
        /^ *(?:npm run -s cli --|docker compose .* api advocacy|kubectl .* -- advocacy) (?!--help)(.*)$/gm,
      ),
    ].map(([, line]) => line!),
  );
  expect(lines.length).toBeGreaterThan(20);
  // Read from the sources of the commands, because each `--help` takes a second.
  const files = ['src/cli.ts', ...readdirSync(join(root, 'src/cli')).map((name) => `src/cli/${name}`)].map(
    read,
  );
  for (const line of lines) {
    const [, group, command] = /^([a-z-]+)(?: ([a-z][a-z-]*)(?= |$))?/.exec(line)!;
    const words = [group, command].filter((word) => word !== undefined);
    const options = [...line.matchAll(/(?<= )--[a-z-]+/g)].map(([option]) => option);
    const isThere = words.every((word) => files.some((file) => file.includes(`command('${word}')`)));
    const takes = files.some(
      (file) =>
        file.includes(`command('${words.at(-1)}')`) &&
        options.every((option) => file.includes(`'${option} `) || file.includes(`'${option}'`)),
    );
    expect([line, isThere, takes]).toEqual([line, true, true]);
  }
});

it('every log message in a runbook exists', () => {
  const index = read('docs/guides/runbooks/README.md').split('## Never')[0]!;
  const named = [
    ...index
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .slice(2)
      .map((row) => row.split('|')[2]!),
    // A paragraph that begins with **Log:** or **Resolved when**, up to the next one, and warnings of Upgrades.
    ...runbooks.flatMap((page) => read(page).match(/\*\*(?:Log:|Resolved when)\*\*[^]*?(?:\n\n|$)/g) ?? []),
    ...(read('docs/guides/upgrades.md').match(/logs a warning:[^]*?`[^`]*`/g) ?? []),
  ];
  const messages = named
    .flatMap((text) => [...text.matchAll(/`([a-z][^`]{7,})`/gi)].map(([, message]) => message!))
    .filter((message) => message.includes(' '));
  expect(messages.length).toBeGreaterThan(40);
  expect(messages.filter((message) => !sources.includes(message))).toEqual([]);
});

it('the runbooks list every alert', () => {
  const alerts = [...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name!,
  );
  expect(alerts.length).toBeGreaterThan(20);
  const listed = [...read('docs/guides/runbooks/README.md').matchAll(/`(Advocacy\w+)`/g)].map(
    ([, name]) => name!,
  );
  expect(listed.toSorted()).toEqual(alerts.toSorted());
});

it('every promise names existing tests, and marks those that run only in npm run test:long', () => {
  const text = read('docs/internals/failure-model.md');
  const rows = text
    .split('## What fails')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  expect(rows.length).toBeGreaterThan(20);
  const specs = ['src', 'libs', 'test'].flatMap(filesIn).filter((name) => name.endsWith('.spec.ts'));
  const onlyLong = new Set<string>();
  for (const row of rows.filter((one) => !/^\| -+/.test(one))) {
    const names = [...row.split('|')[3]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    expect([row, names.length > 0]).toEqual([row, true]);
    for (const name of names) {
      const found = specs.filter((spec) => spec.startsWith(`${name}.`) || spec.startsWith(`${name}/`));
      expect([name, found.length > 0]).toEqual([name, true]);
      if (found.every((spec) => spec.endsWith('.long.spec.ts'))) onlyLong.add(name);
    }
  }
  const [, sentence] = /^`npm test` runs these files, except ([^]*?)\.$/m.exec(text)!;
  const listed = [...sentence!.matchAll(/`(test\/[^`]+)`/g)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual([...onlyLong].toSorted());
});

it.each([
  ['Who signs twice, is refused.', 1],
  ['The server is told at once.', 2],
  ['It looks at the events, of which there are many.', 1],
  [`It ${'reads and '.repeat(20)}stops.`, 1],
  ['| Where | What |', 0],
  ['What grows?', 0],
  ['The server rejects the request. `is told at once` is code.', 0],
])('the prose check finds in "%s": %i', (text, count) => {
  expect(faultsOf(text)).toHaveLength(count);
});

it('every dashboard label in a page exists', () => {
  const words = ['src/dashboard', 'locales']
    .flatMap(filesIn)
    .filter((name) => name.endsWith('.ts'))
    .map(read)
    .join('\n');
  const labels = written.flatMap((page) =>
    read(page)
      .split('\n')
      // Labels of other systems.
      .filter((line) => !line.includes('Mailchimp'))
      .flatMap((line) =>
        [...line.matchAll(/\b(?:open|under|then) \*\*([^*]+)\*\*/gi)].map(([, label]) => label!),
      ),
  );
  expect(labels.length).toBeGreaterThan(10);
  expect(labels.filter((label) => !words.includes(`'${label}'`))).toEqual([]);
});

it.each(docs.filter((page) => /decisions\/\d/.test(page)))(
  '%s has a context, a decision and its consequences',
  (page) => {
    const headings = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
    const number = Number(/\d+/.exec(page));
    expect(headings[0]).toMatch(new RegExp(`^${number}\\. `));
    expect(headings.slice(1).filter((heading) => heading !== 'Rejected')).toEqual([
      'Context',
      'Decision',
      'Consequences',
    ]);
  },
);
