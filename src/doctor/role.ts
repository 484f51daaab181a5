import { type Finding, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

type Rights = {
  name: string;
  superuser: boolean;
  may_create: boolean;
  may_end_others: boolean;
  may_change: string[];
  trigger: string | null;
  has_events: boolean;
  foreign_tables: string[];
};

/** What the application's role may, and must not: events are append-only for everybody. */
export const role: DatabaseCheck = {
  name: 'role',
  async examine({ database }) {
    const rights = await database.row<Rights>(RIGHTS);
    const { name } = rights;
    const found: Finding[] = [];
    if (rights.superuser) {
      found.push(
        warning(
          `The role ${name} is a superuser: a fault or an intruder could change the history.`,
          'Give the instances a role of their own that owns this database and is no superuser.',
        ),
      );
    }
    if (!rights.may_create) {
      found.push(
        problem(
          `The role ${name} may make no schemas in this database: read models of a new version cannot be built.`,
          `GRANT CREATE ON DATABASE … TO ${name}.`,
        ),
      );
    }
    if (!rights.may_end_others) {
      found.push(
        problem(
          `The role ${name} may not call pg_terminate_backend: an instance that hangs would hold its leases.`,
          `GRANT EXECUTE ON FUNCTION pg_terminate_backend TO ${name}.`,
        ),
      );
    }
    if (!rights.superuser && rights.may_change.length > 0) {
      found.push(
        problem(
          `The role ${name} may ${rights.may_change.join(', ')} the events.`,
          `REVOKE UPDATE, DELETE, TRUNCATE ON events FROM ${name}, PUBLIC; and look who granted it.`,
        ),
      );
    }
    if (rights.has_events && rights.trigger !== 'A') {
      found.push(
        problem(
          `The trigger that keeps events from being changed is ${rights.trigger === null ? 'gone' : 'not always on'}.`,
          'Ask who did it, verify the history against a checkpoint that was kept elsewhere, then ALTER TABLE events ' +
            'ENABLE ALWAYS TRIGGER events_are_append_only (made by migrations/0001-event-store.ts).',
        ),
      );
    }
    if (rights.foreign_tables.length > 0) {
      found.push(
        problem(
          `The role ${name} does not own ${rights.foreign_tables.join(', ')}: migrations cannot change them.`,
          `REASSIGN OWNED BY the other role TO ${name}, in this database.`,
        ),
      );
    }
    return found.length > 0 ? found : [ok(`The role ${name} may what it must, and cannot change events.`)];
  },
};

const RIGHTS = `
  SELECT r.rolname AS name, r.rolsuper AS superuser,
    has_database_privilege(current_database(), 'CREATE') AS may_create,
    has_function_privilege('pg_terminate_backend(int, bigint)', 'EXECUTE') AS may_end_others,
    to_regclass('events') IS NOT NULL AS has_events,
    ARRAY(SELECT p FROM unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS p
      WHERE to_regclass('events') IS NOT NULL AND has_table_privilege(to_regclass('events'), p)) AS may_change,
    (SELECT t.tgenabled FROM pg_trigger t
      WHERE t.tgrelid = to_regclass('events') AND t.tgname = 'events_are_append_only') AS trigger,
    ARRAY(SELECT c.relname::text FROM pg_class c
      WHERE c.relkind IN ('r', 'S') AND c.relnamespace = (SELECT e.relnamespace FROM pg_class e WHERE e.oid = to_regclass('events'))
        AND c.relname = ANY ($names$
          {migrations,events,events_position,unique_keys,idempotency_keys,subject_keys,checkpoints,key_check,serving,sealing,seals,seal_tiles,signed_notes,checkpoint_leaves}
        $names$::text[])
        AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY 1) AS foreign_tables
  FROM pg_roles r WHERE r.rolname = current_user`;
