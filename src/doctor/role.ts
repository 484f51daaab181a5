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

/** Privileges that the application's role needs, and those that it must not have: events are append-only. */
export const role: DatabaseCheck = {
  name: 'role',
  async examine({ database }, found) {
    const rights = await database.row<Rights>(RIGHTS);
    const { name } = rights;
    if (rights.superuser)
      found.warning(
        `The role ${name} is a superuser, so a bug or an intruder could change the history.`,
        'Create a role for the instances that owns this database and is not a superuser.',
      );
    if (!rights.may_create)
      found.problem(
        `The role ${name} cannot create schemas in this database, so projections of a new version cannot be built.`,
        `GRANT CREATE ON DATABASE … TO ${name}.`,
      );
    if (!rights.may_end_others)
      found.problem(
        `The role ${name} cannot call pg_terminate_backend, so a hanging instance would keep its leases.`,
        `GRANT EXECUTE ON FUNCTION pg_terminate_backend TO ${name}.`,
      );
    if (!rights.superuser && rights.may_change.length > 0)
      found.problem(
        `The role ${name} has ${rights.may_change.join(', ')} on the table events.`,
        `REVOKE UPDATE, DELETE, TRUNCATE ON events FROM ${name}, PUBLIC; and find out who granted it.`,
      );
    if (rights.has_events && rights.trigger !== 'A')
      found.problem(
        `The trigger that protects events from changes is ${rights.trigger === null ? 'missing' : 'not always enabled'}.`,
        'Find out who changed it. Verify the history with a checkpoint kept elsewhere. Then run ALTER TABLE events ' +
          'ENABLE ALWAYS TRIGGER events_are_append_only (created by migrations/0001-event-store.ts).',
      );
    if (rights.foreign_tables.length > 0)
      found.problem(
        `The role ${name} does not own ${rights.foreign_tables.join(', ')}, so migrations cannot change them.`,
        `In this database, run REASSIGN OWNED BY <their owner> TO ${name}.`,
      );
    return `The role ${name} has the privileges it needs, and cannot change events.`;
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
