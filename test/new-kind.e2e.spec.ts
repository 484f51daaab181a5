import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { longIt } from './length.js';

/** A copy of the project with a generated kind of record, as docs/tutorials/adding-a-record-kind.md describes. */
const ROOT = join(__dirname, '..');
const COPIED = spawnSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).stdout.trim().split('\n');
let copy: string;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'new-kind-'));
  for (const file of COPIED) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  expect(run('scripts/new.mjs', 'kind', 'gathering')).toMatchObject({ status: 0 });
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function run(program: string, ...args: string[]) {
  return spawnSync(process.execPath, [program, ...args], { cwd: copy, encoding: 'utf8' });
}

function edit(file: string, replacements: [from: string, to: string][]): void {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  for (const [from] of replacements) expect(text).toContain(from);
  writeFileSync(
    path,
    replacements.reduce((before, [from, to]) => before.replaceAll(from, to), text),
  );
}

/** Further fields, as the tutorial describes them. */
const FIELDS = `fields: {
    place: { decorator: Text({ max: 500, optional: true, nullable: true }), schema: textOrNull },
    time: {
      decorator: Timestamp({ optional: true, nullable: true }),
      schema: { type: ['string', 'null'], format: 'date-time' },
    },
  },`;
const FIELDS_TEST = `
it('the dashboard shows further fields, and its form changes them', async () => {
  const time = '2026-12-05T10:00:00+01:00';
  await call(client, 'gathering.update-gathering', { gatheringId, place: 'The bridge', time });
  const owner = await signedIn(api, client, 'OWNER', 'owner@example.org');
  const path = \`/dashboard/\${client.organizationId}/gatherings/\${gatheringId}\`;
  const { text } = await owner.get(path);
  for (const shown of ['The bridge', '5 Dec 2026, 09:00 UTC']) expect(text).toContain(shown);
  const get = async () => (await client.get('gathering.get-gathering', { gatheringId })).body.data;
  for (const [typed, stored] of [['2026-12-05T09:00', time], ['2026-12-06T09:00', '2026-12-06T09:00:00.000Z']]) {
    const form = { name: 'River day', place: 'The mill', time: typed! };
    expect((await owner.post(\`\${path}/edit\`, form)).status).toBe(303);
    expect(await get()).toMatchObject({ name: 'River day', place: 'The mill', time: stored });
  }
});
`;

it('the generated kind adds one line elsewhere', () => {
  const changed = COPIED.filter(
    (file) => !readFileSync(join(ROOT, file)).equals(readFileSync(join(copy, file))),
  );
  expect(changed).toEqual(['src/kinds.ts']);
  const added = readFileSync(join(copy, 'src/kinds.ts'), 'utf8').trim().split('\n').at(-1);
  expect(added).toBe("export { GatheringsModule } from './gatherings/index.js';");
});

it('a name that is not one word, or that exists, is rejected', () => {
  for (const name of ['Gathering', 'two-words', 'gathering', 'tag'])
    expect(run('scripts/new.mjs', 'kind', name).status).toBe(1);
});

longIt(
  'the generated kind passes the type check and its tests, and is documented and in the lists of the product',
  () => {
    edit('src/gatherings/gatherings.ts', [
      [
        'import { groupOfContacts',
        "import { Text, textOrNull, Timestamp } from '#libs/rpc';\nimport { groupOfContacts",
      ],
      ['  link: {', `  ${FIELDS}\n  link: {`],
    ]);
    edit('src/gatherings/words.ts', [
      ['    sendTo:', `    fields: { place: 'Place', time: 'Time' },\n    sendTo:`],
    ]);
    const tests = join(copy, 'test/gathering.e2e.spec.ts');
    writeFileSync(tests, readFileSync(tests, 'utf8') + FIELDS_TEST);
    expect(run('node_modules/typescript/bin/tsc')).toMatchObject({ status: 0, stdout: '' });
    // The others read the document.
    for (const files of [
      ['test/documentation'],
      ['test/gathering', 'src/modules', 'src/dashboard/sections'],
    ]) {
      const env = { ...process.env, UPDATE_OPENAPI: '1', TEST_LENGTH: '' };
      const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test.mjs', ...files], {
        ...{ cwd: copy, encoding: 'utf8', env },
      });
      expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
    }
  },
);
