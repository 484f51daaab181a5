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
 * Existing databases must stay valid: landed migrations are never edited, and a projection with changed tables has a higher
 * version. The checked-in files only grow: UPDATE_LANDED=1 adds new entries and changes no existing one.
 */
const MIGRATIONS = resolve(__dirname, '../migrations');
const LANDED = join(MIGRATIONS, 'landed.json');
const SCHEMA = join(MIGRATIONS, 'schema.ts');
const SHAPES = join(__dirname, 'databases/shapes.json');

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
/** All files except the growing lists of migrations and of their schema. */
const isMigration = (name: string) => name.endsWith('.ts') && !['index.ts', 'schema.ts'].includes(name);

/** Returns the checked-in file, after adding new entries if UPDATE_LANDED is set. */
function landed(file: string, now: { [name: string]: unknown }): { [name: string]: unknown } {
  const before = read(file);
  if (process.env.UPDATE_LANDED === undefined) return before;
  const all = { ...now, ...before };
  writeFileSync(file, `${JSON.stringify(all, Object.keys(all).sort(), 2)}\n`);
  return all;
}

it('landed migrations are unchanged', () => {
  const names = readdirSync(MIGRATIONS).filter(isMigration);
  const now = Object.fromEntries(names.map((name) => [name, sha256(readFileSync(join(MIGRATIONS, name)))]));
  // For a new migration, run UPDATE_LANDED=1 npm test -- landed. If one differs, revert the change and add another migration.
  expect(now).toEqual(landed(LANDED, now));
});

it('the migrations of published versions are as published', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: MIGRATIONS, stdio: 'pipe' }).toString();
  /** Git's id of this content. Comparing ids takes one call of git per version instead of one per file. */
  const blobOf = (content: Buffer) =>
    createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
  const now = readdirSync(MIGRATIONS).map((name) => [name, blobOf(readFileSync(join(MIGRATIONS, name)))]);
  for (const { version, commit } of published) {
    try {
      git('cat-file', '-e', commit);
    } catch {
      console.log(`Not compared with ${version}: this checkout lacks its commit.`);
      continue;
    }
    const files = git('ls-tree', commit, './').trim().split('\n');
    const then = files
      .map((line) => line.split(/\s/))
      .filter(([, , , name = '']) => isMigration(name))
      .map(([, , id, name = '']) => [name, id]);
    expect(then.length).toBeGreaterThan(0);
    expect(Object.fromEntries(now)).toMatchObject(Object.fromEntries(then));
  }
});

it('a projection with changed tables has a higher version', async () => {
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
    // For a new version, run UPDATE_LANDED=1 npm test -- landed. Otherwise raise the version.
    expect(landed(SHAPES, now)).toMatchObject(now);
  } finally {
    await database.drop();
  }
});

it('the schema that a start requires is the one that the migrations create', async () => {
  const database = await createTestDatabase();
  try {
    const made = await schemaOfDatabase(database.source);
    if (process.env.UPDATE_LANDED !== undefined) writeFileSync(SCHEMA, moduleOf(made));
    // After a new migration, run UPDATE_LANDED=1 npm test -- landed.
    else expect(schema).toEqual(made);
  } finally {
    await database.drop();
  }
});

/** Quoted like the formatter does, with fewer escapes. */
function quoted(line: string): string {
  const count = (mark: string) => line.split(mark).length;
  return count("'") > count('"') ? JSON.stringify(line) : `'${line.replaceAll("'", "\\'")}'`;
}

function moduleOf(lines: readonly string[]): string {
  const list = lines.map((line) => `  ${quoted(line)},\n`).join('');
  return `${readFileSync(SCHEMA, 'utf8').replace(/= \[.*/s, '= ')}[\n${list}];\n`;
}
