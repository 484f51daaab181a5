import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
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
    expect(run('node_modules/typescript/bin/tsc')).toMatchObject({ status: 0, stdout: '' });
    const files = ['test/gathering', 'test/documentation', 'src/modules', 'src/dashboard/sections'];
    const env = { ...process.env, UPDATE_OPENAPI: '1', TEST_LENGTH: '' };
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test.mjs', ...files], {
      ...{ cwd: copy, encoding: 'utf8', env },
    });
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  },
  600_000,
);
