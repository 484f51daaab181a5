import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const guides = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));
const pages = ['README.md', ...guides];

const sources = ['src', 'libs']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map(read)
  .join('\n');
const variables = [...read('.env.example').matchAll(/^# ?([A-Z_]+)=/gm)].map(([, name]) => name!);

it('every variable that is read is in .env.example and in the table of the README', () => {
  const config = read('src/config.ts');
  const names = [...config.matchAll(/(?:get|integer|url)\('([A-Z_]+)'/g)]
    .map(([, name]) => name!)
    // Node.js's own, which the image sets.
    .filter((name) => name !== 'NODE_ENV');
  expect(names.length).toBeGreaterThan(10);
  const table = read('README.md').split('## Configuration')[1]!.split('\n## ')[0]!;
  for (const name of names) {
    expect([name, variables.includes(name), table.includes(`\`${name}\``)]).toEqual([name, true, true]);
  }
});

it.each(guides)('%s names only variables that there are', (page) => {
  const named = [...read(page).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, name]) => name!);
  for (const name of named) expect(variables).toContain(name);
});

it.each(pages)('%s links only to what is there', (page) => {
  for (const [, target] of read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
    expect([target, existsSync(join(root, page, '..', target!))]).toEqual([target, true]);
  }
  for (const [name] of read(page).matchAll(
    /\b(?:docs|deploy\/kubernetes|bench|migrations|test)\/[\w./-]*\w/g,
  )) {
    expect([name, existsSync(join(root, name))]).toEqual([name, true]);
  }
});

it('shell blocks of the README use only variables that it introduces', () => {
  const blocks = [...read('README.md').matchAll(/^```(?:sh|bash)?\n([^]*?)^```/gm)].map(
    ([, block]) => block!,
  );
  // Printed by the first start, or ids that the calls before them answered; each block sets the others itself.
  const introduced = new Set(['KEY', 'ORG', 'CONTACT', 'PETITION', 'IMAGE', 'BROADCAST', 'ID', 'PWD']);
  for (const block of blocks) {
    for (const [, name] of block.matchAll(/\b([A-Z][A-Z_]*)=/g)) introduced.add(name!);
    for (const [, name] of block.matchAll(/\$\{?([A-Z][A-Z_]*)/g)) {
      expect([block, name, introduced.has(name!) || name!.endsWith('_KEY')]).toEqual([block, name, true]);
    }
  }
});

it('every command that is documented is one, with its options', () => {
  const lines = pages.flatMap((page) =>
    [...read(page).matchAll(/^(?:npm run -s cli --|docker compose .* api advocacy) (?!--help)(.*)$/gm)].map(
      ([, line]) => line!,
    ),
  );
  expect(lines.length).toBeGreaterThan(20);
  // By the files of the commands: asking each for its help costs a process of a second.
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

it('every line of the log that a guide names is one', () => {
  const [symptoms] = read('docs/at-night.md').split('## What never');
  const rows = symptoms!.split('\n').filter((line) => line.startsWith('|'));
  const messages = rows
    .slice(2)
    .flatMap((row) =>
      [...(row.split('|')[2] ?? '').matchAll(/`([a-z][^`]{7,})`/gi)].map(([, text]) => text!),
    );
  expect(messages.length).toBeGreaterThan(10);
  for (const message of messages) {
    // Paths and names of tables are no messages.
    if (/^[/\w-]+$/.test(message) || /^projections? (status|rebuild|verify|purge)$/.test(message)) continue;
    expect([message, sources.includes(message)]).toEqual([message, true]);
  }
});
