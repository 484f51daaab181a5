import { type Missing, missingFromSchema } from '#libs/database';
import { migrations as ours, schema } from '#migrations';
import { counted, type Findings } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

export const migrations: DatabaseCheck = {
  name: 'migrations',
  async examine({ database }, found) {
    if (!(await database.has('migrations')))
      return found.warning(
        'The database is empty.',
        'Start a server, or run migrate. Both create the schema.',
      );
    const rows = await database.query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id');
    const ran = rows.map(({ name }) => name);
    const known = ours.map(({ name }) => name);
    const pending = known.filter((name) => !ran.includes(name));
    const unknown = ran.filter((name) => !known.includes(name));
    if (pending.length > 0)
      found.warning(
        `Pending migrations: ${pending.join(', ')}.`,
        'The first server of this version runs them when it starts. To run them now, use migrate: docs/guides/upgrades.md.',
      );
    if (unknown.length > 0)
      found.warning(
        `Migrations of a newer version: ${unknown.join(', ')}.`,
        'This is normal during an upgrade. Otherwise, run doctor of the deployed version.',
      );
    // Pending migrations may still create missing parts.
    const missing = pending.length === 0 ? await missingFromSchema(database, schema) : undefined;
    if (missing) judge(found, missing);
    const broken = await database.query<{ name: string; table: string }[]>(
      `SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS table
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE NOT i.indisvalid AND n.nspname NOT IN ('pg_catalog', 'pg_toast')`,
    );
    for (const { name, table } of broken)
      found.problem(
        `The index ${name} of ${table} is not valid. Its creation was interrupted, and no query uses it.`,
        `REINDEX INDEX CONCURRENTLY ${name}.`,
      );
    return `All ${known.length} migrations of this version have run.`;
  },
};

function judge(found: Findings, { parts, indexes }: Missing): void {
  if (parts.length > 0)
    found.problem(
      `All migrations have run, but the schema is incomplete. Missing: ${parts.join(', ')}. No server will start.`,
      'Someone dropped or changed it, or a restore was incomplete. Restore the whole backup (docs/guides/restore.md), or start the version that created it.',
    );
  if (indexes.length > 0)
    found.warning(
      `${counted(indexes.length, 'index', 'indexes')} of the migrations ${indexes.length === 1 ? 'is' : 'are'} missing, so queries scan whole tables.`,
      `Create ${indexes.length === 1 ? 'it' : 'them'} again, without blocking anyone: ${indexes.map((one) => `${one.replace(' INDEX ', ' INDEX CONCURRENTLY ')};`).join(' ')}`,
    );
}

/** Whether the extensions for search are installed, or can be. */
export const extensions: DatabaseCheck = {
  name: 'extensions',
  async examine({ database }, found) {
    const rows = await database.query<Extension[]>(EXTENSIONS);
    const [first] = rows;
    if (!first) return 'pg_trgm and btree_gin are installed.';
    const names = rows.map(({ name }) => name).join(' and ');
    const isWhole = rows.every(({ offered }) => offered);
    const mayMake = rows.every(({ may_make }) => may_make);
    if (first.is_empty && mayMake) return `The migrations will create ${names}.`;
    const install = isWhole ? '' : 'Install the contrib package of PostgreSQL. ';
    const create = rows.map(({ name }) => `CREATE EXTENSION ${name};`).join(' ');
    const how = mayMake ? `In this database: ${create}` : `As a superuser, in this database: ${create}`;
    if (first.is_empty)
      return found.warning(
        `The migrations cannot create ${names}, so q will only match the beginning of texts.`,
        `${install}${how} before the first start.`,
      );
    return found.warning(
      `${names} ${rows.length === 1 ? 'is' : 'are'} not installed, so q only matches the beginning of texts.`,
      `${install}${how} Then run projections rebuild for each projection.`,
    );
  },
};

type Extension = { name: string; offered: boolean; may_make: boolean; is_empty: boolean };

// Roles that can create in the database can create trusted extensions.
const EXTENSIONS = `
  SELECT wanted.name, a.name IS NOT NULL AS offered, to_regclass('migrations') IS NULL AS is_empty,
    coalesce((SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
      OR (v.trusted AND has_database_privilege(current_database(), 'CREATE')), false) AND a.name IS NOT NULL AS may_make
  FROM unnest(ARRAY['pg_trgm', 'btree_gin']) AS wanted(name)
  LEFT JOIN pg_available_extensions a ON a.name = wanted.name
  LEFT JOIN pg_available_extension_versions v ON v.name = a.name AND v.version = a.default_version
  WHERE NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = wanted.name)
  ORDER BY 1 DESC`;
