import { type Missing, missingFromSchema } from '#libs/database';
import { migrations as ours, schema } from '#migrations';
import { counted, type Finding, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Whether the tables are those of this version of the program. */
export const migrations: DatabaseCheck = {
  name: 'migrations',
  async examine({ database }) {
    const { there } = await database.row<{ there: boolean }>(
      `SELECT to_regclass('migrations') IS NOT NULL AS there`,
    );
    if (!there)
      return [warning('The database is empty.', 'Start a server, or run migrate: either fills it.')];
    const rows = await database.query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id');
    const ran = rows.map(({ name }) => name);
    const known = ours.map(({ name }) => name);
    const pending = known.filter((name) => !ran.includes(name));
    const unknown = ran.filter((name) => !known.includes(name));
    const found: Finding[] = [];
    if (pending.length > 0) {
      found.push(
        warning(
          `${pending.join(', ')} has not run here yet.`,
          'The first server of this version runs it when it starts; migrate does it now. UPGRADING: docs/guides/upgrades.md.',
        ),
      );
    }
    if (unknown.length > 0) {
      found.push(
        warning(
          `${unknown.join(', ')} is of a newer version than this one.`,
          'Right in the middle of an upgrade. Otherwise run doctor of the version that is deployed.',
        ),
      );
    }
    // Of what is still to run nobody knows what it will make.
    const missing = pending.length === 0 ? await missingFromSchema(database, schema) : undefined;
    if (missing) found.push(...judge(missing));
    const broken = await database.query<{ name: string; table: string }[]>(
      `SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS table
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE NOT i.indisvalid AND n.nspname NOT IN ('pg_catalog', 'pg_toast')`,
    );
    for (const { name, table } of broken) {
      found.push(
        problem(
          `The index ${name} of ${table} is not valid: its making was interrupted, and no query uses it.`,
          `REINDEX INDEX CONCURRENTLY ${name}.`,
        ),
      );
    }
    return found.length > 0 ? found : [ok(`All ${known.length} migrations of this version have run.`)];
  },
};

function judge({ parts, indexes }: Missing): Finding[] {
  const found: Finding[] = [];
  if (parts.length > 0) {
    found.push(
      problem(
        `Every migration has run, and yet there is no ${parts.join(', no ')}: no server starts on it.`,
        'Somebody dropped or changed it, or a backup was restored in part: restore it whole (docs/guides/restore.md), or start the version that made it.',
      ),
    );
  }
  if (indexes.length > 0) {
    found.push(
      warning(
        `${counted(indexes.length, 'index', 'indexes')} of the migrations ${indexes.length === 1 ? 'is' : 'are'} gone: what is found by ${indexes.length === 1 ? 'it' : 'them'} is looked for in the whole table.`,
        `Make it again, which nobody waits for: ${indexes.map((one) => `${one.replace(' INDEX ', ' INDEX CONCURRENTLY ')};`).join(' ')}`,
      ),
    );
  }
  return found;
}

/** What searching needs. */
export const extensions: DatabaseCheck = {
  name: 'extensions',
  async examine({ database }) {
    const rows = await database.query<Extension[]>(EXTENSIONS);
    const [first] = rows;
    if (!first) return [ok('pg_trgm and btree_gin are there.')];
    const names = rows.map(({ name }) => name).join(' and ');
    const isWhole = rows.every(({ offered }) => offered);
    const mayMake = rows.every(({ may_make }) => may_make);
    if (first.is_empty && mayMake) return [ok(`The migrations will make ${names}.`)];
    const install = isWhole ? '' : 'Install the contrib package of PostgreSQL. ';
    const create = rows.map(({ name }) => `CREATE EXTENSION ${name};`).join(' ');
    const who = mayMake ? `In this database: ${create}` : `As a superuser, in this database: ${create}`;
    return [
      first.is_empty
        ? warning(
            `The migrations cannot make ${names}: q will find only what a text begins with.`,
            `${install}${who} before the first start.`,
          )
        : warning(
            `${names} ${rows.length === 1 ? 'is' : 'are'} not there: q finds only what a text begins with.`,
            `${install}${who} then projections rebuild of each read model.`,
          ),
    ];
  },
};

type Extension = { name: string; offered: boolean; may_make: boolean; is_empty: boolean };

// Those that are trusted may be made by whoever may create in the database.
const EXTENSIONS = `
  SELECT wanted.name, a.name IS NOT NULL AS offered, to_regclass('migrations') IS NULL AS is_empty,
    coalesce((SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
      OR (v.trusted AND has_database_privilege(current_database(), 'CREATE')), false) AND a.name IS NOT NULL AS may_make
  FROM unnest(ARRAY['pg_trgm', 'btree_gin']) AS wanted(name)
  LEFT JOIN pg_available_extensions a ON a.name = wanted.name
  LEFT JOIN pg_available_extension_versions v ON v.name = a.name AND v.version = a.default_version
  WHERE NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = wanted.name)
  ORDER BY 1 DESC`;
