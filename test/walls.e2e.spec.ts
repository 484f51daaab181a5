import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = process.cwd();

/** A small source tree: each file with its imports. The files in the first part follow the rules. */
const TREE: Record<string, string[]> = {
  'node_modules/pg/index.js': [],
  'libs/tracing/index.ts': [],
  'libs/database/index.ts': ['./connection.js', '#libs/tracing'],
  'libs/database/connection.ts': ['pg', 'node:net'],
  'libs/database/connection.int.spec.ts': ['./connection.js', '#libs/testing', '#migrations'],
  'libs/testing/index.ts': ['#libs/database', '#migrations'],
  'locales/index.ts': [],
  'migrations/index.ts': ['pg'],
  'src/modules.ts': ['./contacts/index.js', './dashboard/index.js'],
  'src/server/index.ts': ['../modules.js', '../lists/index.js'],
  'src/dashboard/index.ts': ['./pages.js', '../lists/index.js'],
  'src/dashboard/pages.ts': ['./keys/pages.js', './home-pages.js'],
  'src/dashboard/page.ts': [],
  'src/dashboard/home-pages.ts': ['./page.js'],
  'src/dashboard/keys/pages.ts': ['../page.js', '../home-pages.js'],
  'src/contacts/index.ts': ['./contact.js'],
  'src/contacts/contact.ts': ['#libs/database', '../lists/index.js'],
  'src/lists/index.ts': ['./list.js'],
  'src/lists/list.ts': [],
  'src/audit/index.ts': ['./monitor/monitor.js', './anchors/anchors.js'],
  'src/audit/fetch-answer.ts': ['node:http'],
  'src/audit/anchors/anchors.ts': ['../verify/verify.js', '#libs/tracing'],
  'src/audit/monitor/monitor.ts': ['../verify/verify.js', '../fetch-answer.js'],
  'src/audit/verify/verify.ts': ['#libs/database', '#libs/verify', 'node:crypto'],
  'libs/verify/index.ts': ['./note.js', 'node:crypto'],
  'test/contact.e2e.spec.ts': ['../src/contacts/index.js', '#libs/testing'],

  'src/dashboard/contacts/pages.ts': ['pg', '#libs/database', '../../lists/index.js'],
  'libs/event-store/index.ts': ['./event-store.js'],
  'libs/event-store/event-store.ts': ['#libs/projections'],
  'libs/projections/index.ts': ['./projections.js'],
  'libs/projections/projections.ts': ['#libs/event-store'],
  'libs/verify/note.ts': ['pg', '#libs/database'],
  'libs/sealing/index.ts': ['#libs/rpc', '#libs/testing'],
  'libs/rpc/index.ts': ['../../src/lists/index.js'],
  'libs/records/index.ts': ['../database/connection.js'],
  'libs/commands/index.ts': ['#libs/database/connection', '#libs/nothing'],
  'src/petitions/index.ts': ['./petition.js'],
  'src/petitions/petition.ts': ['../lists/list.js', '../organizations/index.js', '#libs/testing'],
  'src/organizations/index.ts': ['../petitions/index.js'],
  'src/audit/verify/chain.ts': ['pg', '../../lists/index.js', '../monitor/monitor.js'],
  'src/audit/witness/witness.ts': ['../anchors/anchors.js', '../../lists/index.js'],
  'src/history/history.ts': ['../audit/verify/verify.js'],
  'src/tags/index.ts': ['../site/index.js', '../modules.js'],
  'src/site/index.ts': ['../server/index.js'],
  'src/unsubscribe/index.ts': ['../site/index.js'],
  'src/dashboard/parts.ts': ['./home-pages.js', './keys/pages.js'],
  'test/list.e2e.spec.ts': ['../src/lists/list.js'],
};

const BROKEN: [wall: string, from: string, to: string][] = [
  ['no-cycles', 'libs/event-store/event-store.ts', 'libs/projections/index.ts'],
  ['libs-build-upwards', 'libs/event-store/event-store.ts', 'libs/projections/index.ts'],
  ['libs-build-upwards', 'libs/sealing/index.ts', 'libs/rpc/index.ts'],
  ['libs-build-upwards', 'libs/sealing/index.ts', 'libs/testing/index.ts'],
  ['libs-never-import-src', 'libs/rpc/index.ts', 'src/lists/index.ts'],
  ['through-the-door-only', 'libs/records/index.ts', 'libs/database/connection.ts'],
  ['no-dead-ends', 'libs/commands/index.ts', '#libs/database/connection'],
  ['no-dead-ends', 'libs/commands/index.ts', '#libs/nothing'],
  ['through-the-door-only', 'src/petitions/petition.ts', 'src/lists/list.ts'],
  ['no-cycles', 'src/petitions/petition.ts', 'src/organizations/index.ts'],
  ['dashboard-has-no-data', 'src/dashboard/contacts/pages.ts', 'node_modules/pg/index.js'],
  ['dashboard-has-no-data', 'src/dashboard/contacts/pages.ts', 'libs/database/index.ts'],
  ['testing-is-for-tests', 'src/petitions/petition.ts', 'libs/testing/index.ts'],
  ['verification-stands-alone', 'libs/verify/note.ts', 'node_modules/pg/index.js'],
  ['verification-stands-alone', 'libs/verify/note.ts', 'libs/database/index.ts'],
  ['libs-build-upwards', 'libs/verify/note.ts', 'libs/database/index.ts'],
  ['verification-only-reads', 'src/audit/verify/chain.ts', 'node_modules/pg/index.js'],
  ['verification-only-reads', 'src/audit/verify/chain.ts', 'src/lists/index.ts'],
  ['verification-only-reads', 'src/audit/verify/chain.ts', 'src/audit/monitor/monitor.ts'],
  ['watchers-stand-alone', 'src/audit/witness/witness.ts', 'src/audit/anchors/anchors.ts'],
  ['watchers-stand-alone', 'src/audit/witness/witness.ts', 'src/lists/index.ts'],
  ['through-the-door-only', 'src/history/history.ts', 'src/audit/verify/verify.ts'],
  ['floors-build-upwards', 'src/tags/index.ts', 'src/site/index.ts'],
  ['floors-build-upwards', 'src/tags/index.ts', 'src/modules.ts'],
  ['floors-build-upwards', 'src/site/index.ts', 'src/server/index.ts'],
  ['pages-never-import-other-pages', 'src/unsubscribe/index.ts', 'src/site/index.ts'],
  ['parts-never-import-pages', 'src/dashboard/parts.ts', 'src/dashboard/home-pages.ts'],
  ['parts-never-import-pages', 'src/dashboard/parts.ts', 'src/dashboard/keys/pages.ts'],
  ['through-the-door-only', 'test/list.e2e.spec.ts', 'src/lists/list.ts'],
];

type Violation = { wall: string; from: string; to: string; cycle: string[] };

/** The lines `error wall: from → to`. Those of a cycle list its other files, one per line: `error wall: from → ⏎ to → ⏎ …`. */
function violationsIn(output: string): Violation[] {
  return output.split(/^ {2}(?=error )/m).flatMap((text) => {
    const [, wall, from] = /^error ([\w-]+): (\S+)/.exec(text) ?? [];
    if (wall === undefined || from === undefined) return [];
    const [to = '', ...others] = [...text.matchAll(/→\s+(\S+)/g)].map(([, file]) => file!);
    return [{ wall, from, to, cycle: [from, to, ...others] }];
  });
}

describe('the rules between modules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'folder-'));
  let status: number | null;
  let violations: Violation[];

  beforeAll(() => {
    for (const file of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs']) {
      copyFileSync(join(root, file), join(folder, file));
    }
    for (const [file, imports] of Object.entries(TREE)) {
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      // Type imports, because cycles of types are forbidden, too.
      writeFileSync(path, imports.map((from) => `import type {} from '${from}';\n`).join(''));
    }
    const check = spawnSync(process.execPath, [join(root, 'scripts/walls.mjs')], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (check.stdout === '') throw new Error(check.stderr);
    status = check.status;
    violations = violationsIn(check.stdout);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(BROKEN)('%s: %s does not import %s', (wall, from, to) => {
    const isIt = (one: Violation) =>
      one.wall === wall &&
      // A cycle is reported once, from any of its files.
      (wall === 'no-cycles' ? one.cycle.includes(from) : one.from === from && one.to === to);
    expect(violations.filter(isIt)).not.toEqual([]);
  });

  it('fail the check if a wall is violated', () => {
    expect(status).toBe(1);
  });

  it('permit all other imports', () => {
    const violated = violations.filter(({ wall }) => wall !== 'no-cycles');
    const files = new Set(violated.map(({ from, to }) => `${from} → ${to}`));
    const walls = BROKEN.filter(([wall]) => wall !== 'no-cycles');
    expect([...files].sort()).toEqual([...new Set(walls.map(([, from, to]) => `${from} → ${to}`))].sort());
  });
});
