import { type DatabaseCheck } from './deployment.js';

type Rule = {
  setting: string;
  isWrong: (value: string) => boolean;
  level: 'problem' | 'warning';
  message: (value: string) => string;
  /** The correct value, or how to change it if it cannot simply be set. */
  right: { value: string } | { advice: string };
};

const is = (wrong: string) => (value: string) => value === wrong;
/** Whether a limit, in milliseconds, is active. */
const isOn = (value: string) => Number(value) > 0;

const DATA_LOSS = 'acknowledged data can be lost if the machine crashes';
const LEAK = 'names and addresses can appear in PostgreSQL’s log';

/** PostgreSQL settings, for this role in this database, that the application does not set itself. */
const RULES: readonly Rule[] = [
  {
    setting: 'fsync',
    isWrong: is('off'),
    level: 'problem',
    message: () => `fsync is off: ${DATA_LOSS}, and the database can be corrupted.`,
    right: { value: 'on' },
  },
  {
    setting: 'full_page_writes',
    isWrong: is('off'),
    level: 'problem',
    message: () => 'full_page_writes is off: a crash can corrupt pages.',
    right: { value: 'on' },
  },
  {
    setting: 'synchronous_commit',
    isWrong: is('off'),
    level: 'problem',
    message: () => `synchronous_commit is off: ${DATA_LOSS}.`,
    right: { value: 'on' },
  },
  {
    setting: 'default_transaction_read_only',
    isWrong: is('on'),
    level: 'problem',
    message: () =>
      'Transactions are read-only by default (default_transaction_read_only is on): nothing can be written.',
    right: { value: 'off' },
  },
  {
    setting: 'default_transaction_isolation',
    isWrong: (value) => value !== 'read committed',
    level: 'problem',
    message: (value) =>
      `Transactions are ${value} by default: concurrent writes to a record would fail instead of waiting.`,
    right: { value: "'read committed'" },
  },
  {
    setting: 'DateStyle',
    isWrong: (value) => !value.startsWith('ISO'),
    level: 'problem',
    message: (value) => `DateStyle is ${value}: times cannot be parsed.`,
    right: { value: "'ISO, MDY'" },
  },
  {
    setting: 'autovacuum',
    isWrong: is('off'),
    level: 'warning',
    message: () => 'autovacuum is off: tables grow and become slower without limit.',
    right: { value: 'on' },
  },
  {
    setting: 'data_checksums',
    isWrong: is('off'),
    level: 'warning',
    message: () => 'The cluster has no data checksums: corruption by a disk is not detected.',
    right: {
      advice:
        'Stop PostgreSQL and run pg_checksums --enable, or create the next cluster with initdb --data-checksums.',
    },
  },
  {
    setting: 'wal_level',
    isWrong: is('minimal'),
    level: 'warning',
    message: () => 'wal_level is minimal: point-in-time recovery and replicas are impossible.',
    right: { advice: 'As a superuser: ALTER SYSTEM SET wal_level = replica; then restart PostgreSQL.' },
  },
  {
    setting: 'log_statement',
    isWrong: (value) => value === 'mod' || value === 'all',
    level: 'warning',
    message: (value) => `log_statement is ${value}: ${LEAK}, and erasures do not remove them there.`,
    right: { value: 'ddl' },
  },
  {
    setting: 'log_error_verbosity',
    isWrong: (value) => value !== 'terse',
    level: 'warning',
    message: (value) => `log_error_verbosity is ${value}: ${LEAK} in the details of errors.`,
    right: { value: 'terse' },
  },
  {
    setting: 'log_parameter_max_length_on_error',
    isWrong: (value) => value !== '0',
    level: 'warning',
    message: () => `Failed statements are logged with their values: ${LEAK}.`,
    right: { value: '0' },
  },
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'].map(
    (setting): Rule => ({
      setting,
      isWrong: isOn,
      level: 'warning',
      message: (value) =>
        `${setting} is ${value} ms for this role. Instances set their own limits, and migrations and rebuilds can take longer.`,
      right: { value: '0' },
    }),
  ),
];

type Setting = { name: string; value: string; source: string; set_by: string | null };

export const settings: DatabaseCheck = {
  name: 'settings',
  async examine({ database }, found) {
    const rows = await database.query<Setting[]>(SETTINGS, [RULES.map(({ setting }) => setting)]);
    for (const { setting, isWrong, level, message, right } of RULES) {
      const row = rows.find(({ name }) => name === setting);
      if (!row || !isWrong(row.value)) continue;
      found[level](message(row.value), 'advice' in right ? right.advice : fixOf(row, right.value));
    }
    return 'PostgreSQL stores acknowledged data safely, and logs no values.';
  },
};

/** Resets the setting where it was set, because settings of a role or a database override all others. */
function fixOf({ name, source, set_by }: Setting, value: string): string {
  if (set_by !== null) {
    // Otherwise the session that runs the fix would also be read-only.
    const first = name === 'default_transaction_read_only' ? `SET ${name} = off; ` : '';
    return `As a superuser: ${first}${set_by} RESET ${name}; this applies to new connections, so restart the instances one by one, and PgBouncer.`;
  }
  if (source === 'command line') {
    return `Remove ${name} from the command line that starts PostgreSQL, and restart it.`;
  }
  return `As a superuser: ALTER SYSTEM SET ${name} = ${value}; SELECT pg_reload_conf();`;
}

// Reads reset_val, the value with which other connections start, because this connection sets its own limits. The most specific
// setting applies.
const SETTINGS = `
  SELECT s.name, coalesce(s.reset_val, s.setting) AS value, s.source,
    (SELECT CASE
         WHEN r.setrole = 0 AND r.setdatabase = 0 THEN 'ALTER ROLE ALL'
         WHEN r.setrole = 0 THEN format('ALTER DATABASE %I', current_database())
         WHEN r.setdatabase = 0 THEN format('ALTER ROLE %I', session_user)
         ELSE format('ALTER ROLE %I IN DATABASE %I', session_user, current_database())
       END
     FROM pg_db_role_setting r, unnest(r.setconfig) AS entry
     WHERE lower(split_part(entry, '=', 1)) = lower(s.name)
       AND r.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
       AND r.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
     ORDER BY r.setrole = 0, r.setdatabase = 0 LIMIT 1) AS set_by
  FROM pg_settings s WHERE s.name = ANY ($1)`;
