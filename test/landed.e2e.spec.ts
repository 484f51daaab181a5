import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { schemaOfDatabase } from '#libs/database';
import { catalogOf, createTestDatabase } from '#libs/testing';
import { schema } from '#migrations';
import { projections } from '../src/modules.js';
import { published } from './releases.js';

/**
 * What databases hold already is never made another way: a migration that has landed is not edited, and a read model
 * whose tables are others has a higher version. What is checked in here only grows: UPDATE_LANDED=1 adds what is new,
 * and changes nothing.
 */
const MIGRATIONS = resolve(__dirname, '../migrations');
const LANDED = join(MIGRATIONS, 'landed.json');
const SCHEMA = join(MIGRATIONS, 'schema.ts');
const SHAPES = join(__dirname, 'databases/shapes.json');

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
/** Each but the list of them, and of what they make, which grow. */
const isMigration = (name: string) => name.endsWith('.ts') && !['index.ts', 'schema.ts'].includes(name);

/** Adds what is new to what is checked in, where that was asked for. @returns what is checked in. */
function landed(file: string, now: { [name: string]: unknown }): { [name: string]: unknown } {
  const before = read(file);
  if (process.env.UPDATE_LANDED === undefined) return before;
  const all = { ...now, ...before };
  writeFileSync(file, `${JSON.stringify(all, Object.keys(all).sort(), 2)}\n`);
  return all;
}

it('a migration that has landed is as it was', () => {
  const names = readdirSync(MIGRATIONS).filter(isMigration);
  const now = Object.fromEntries(names.map((name) => [name, sha256(readFileSync(join(MIGRATIONS, name)))]));
  // A new one: UPDATE_LANDED=1 npm test -- landed. One that differs: take the change back, and write another.
  expect(now).toEqual(landed(LANDED, now));
});

it('the migrations of published versions are as they were published', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: MIGRATIONS, stdio: 'pipe' });
  for (const { version, commit } of published) {
    try {
      git('cat-file', '-e', commit);
    } catch {
      console.log(`Not compared with ${version}: this checkout has not its commit.`);
      continue;
    }
    const names = git('ls-tree', '--name-only', commit, './')
      .toString()
      .trim()
      .split('\n')
      .filter(isMigration);
    expect(names.length).toBeGreaterThan(0);
    const then = names.map((name) => [name, sha256(git('show', `${commit}:./${name}`))]);
    expect(read(LANDED)).toMatchObject(Object.fromEntries(then));
  }
});

it('a read model whose tables are others has a higher version', async () => {
  const database = await createTestDatabase();
  try {
    const now: { [schema: string]: string[] } = {};
    for (const { name, version, tables } of projections) {
      const schema = `${name.replaceAll('-', '_')}_v${version}`;
      await database.source.transaction(async (transaction) => {
        await transaction.query(`CREATE SCHEMA ${schema}; SET LOCAL search_path = ${schema}, public`);
        await transaction.query(tables);
        await transaction.query('SET LOCAL search_path = public');
        now[schema] = await catalogOf(transaction, schema);
      });
    }
    // A new version: UPDATE_LANDED=1 npm test -- landed. The same version: raise it.
    expect(landed(SHAPES, now)).toMatchObject(now);
  } finally {
    await database.drop();
  }
});

it('the schema that a start asks for is the one that the migrations make', async () => {
  const database = await createTestDatabase();
  try {
    const made = await schemaOfDatabase(database.source);
    if (process.env.UPDATE_LANDED !== undefined) writeFileSync(SCHEMA, moduleOf(made));
    // After a migration: UPDATE_LANDED=1 npm test -- landed.
    else expect(schema).toEqual(made);
  } finally {
    await database.drop();
  }
});

/** As the formatter wants it: with fewer escapes. */
function quoted(line: string): string {
  const count = (mark: string) => line.split(mark).length;
  return count("'") > count('"') ? JSON.stringify(line) : `'${line.replaceAll("'", "\\'")}'`;
}

function moduleOf(lines: readonly string[]): string {
  const list = lines.map((line) => `  ${quoted(line)},\n`).join('');
  return `${readFileSync(SCHEMA, 'utf8').replace(/= \[.*/s, '= ')}[\n${list}];\n`;
}
