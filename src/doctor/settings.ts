import { type Finding, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './patient.js';

type Rule = {
  setting: string;
  isWrong: (value: string) => boolean;
  finding: (value: string) => Finding;
};

const is = (wrong: string) => (value: string) => value === wrong;
/** A limit that is on, in the setting's own unit of milliseconds. */
const isOn = (value: string) => Number(value) > 0;

const LOSES = 'what was acknowledged can be lost when the machine stops';
const SHOWS = 'names and addresses can get into PostgreSQL’s log';

const set = (setting: string, value: string) =>
  `ALTER SYSTEM SET ${setting} = ${value}, SELECT pg_reload_conf(); and look at ALTER ROLE and ALTER DATABASE … SET.`;

/** What PostgreSQL is set to, for this role in this database, that the application does not set by itself. */
const RULES: readonly Rule[] = [
  {
    setting: 'fsync',
    isWrong: is('off'),
    finding: () => problem(`fsync is off: ${LOSES}, the database with it.`, set('fsync', 'on')),
  },
  {
    setting: 'full_page_writes',
    isWrong: is('off'),
    finding: () =>
      problem(
        'full_page_writes is off: a crash in the middle of a page spoils it.',
        set('full_page_writes', 'on'),
      ),
  },
  {
    setting: 'synchronous_commit',
    isWrong: is('off'),
    finding: () => problem(`synchronous_commit is off: ${LOSES}.`, set('synchronous_commit', 'on')),
  },
  {
    setting: 'default_transaction_read_only',
    isWrong: is('on'),
    finding: () =>
      problem(
        'Transactions are read-only by default: nothing can be written.',
        set('default_transaction_read_only', 'off'),
      ),
  },
  {
    setting: 'default_transaction_isolation',
    isWrong: (value) => value !== 'read committed',
    finding: (value) =>
      problem(
        `Transactions are ${value} by default: writers of the same stream would fail instead of waiting.`,
        set('default_transaction_isolation', "'read committed'"),
      ),
  },
  {
    setting: 'DateStyle',
    isWrong: (value) => !value.startsWith('ISO'),
    finding: (value) =>
      problem(`DateStyle is ${value}: times cannot be read.`, set('DateStyle', "'ISO, MDY'")),
  },
  {
    setting: 'autovacuum',
    isWrong: is('off'),
    finding: () =>
      warning('autovacuum is off: tables grow and slow down without end.', set('autovacuum', 'on')),
  },
  {
    setting: 'data_checksums',
    isWrong: is('off'),
    finding: () =>
      warning(
        'The cluster has no data checksums: a disk that returns something else is not noticed.',
        'Stop PostgreSQL and run pg_checksums --enable, or make the next cluster with initdb --data-checksums.',
      ),
  },
  {
    setting: 'wal_level',
    isWrong: is('minimal'),
    finding: () =>
      warning(
        'wal_level is minimal: neither base backups that can be brought up to a moment nor replicas are possible.',
        'ALTER SYSTEM SET wal_level = replica, and restart PostgreSQL.',
      ),
  },
  {
    setting: 'log_statement',
    isWrong: (value) => value === 'mod' || value === 'all',
    finding: (value) =>
      warning(
        `log_statement is ${value}: ${SHOWS}, where erasures do not reach.`,
        set('log_statement', 'ddl'),
      ),
  },
  {
    setting: 'log_error_verbosity',
    isWrong: (value) => value !== 'terse',
    finding: (value) =>
      warning(
        `log_error_verbosity is ${value}: by the details of errors ${SHOWS}.`,
        set('log_error_verbosity', 'terse'),
      ),
  },
  {
    setting: 'log_parameter_max_length_on_error',
    isWrong: (value) => value !== '0',
    finding: () =>
      warning(
        `Statements that fail are logged with their values: ${SHOWS}.`,
        set('log_parameter_max_length_on_error', '0'),
      ),
  },
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'].map(
    (setting): Rule => ({
      setting,
      isWrong: isOn,
      finding: (value) =>
        warning(
          `${setting} is ${value} ms for this role: the instances set their own limits, and migrations and rebuilds take longer.`,
          set(setting, '0'),
        ),
    }),
  ),
];

export const settings: DatabaseCheck = {
  name: 'settings',
  async examine({ database }) {
    const rows = await database.query<{ name: string; setting: string }[]>(
      // Our own connection has limits of its own: reset_val is what others begin with.
      'SELECT name, coalesce(reset_val, setting) AS setting FROM pg_settings WHERE name = ANY ($1)',
      [RULES.map(({ setting }) => setting)],
    );
    const values = new Map(rows.map(({ name, setting }) => [name, setting]));
    const found = RULES.flatMap(({ setting, isWrong, finding }) => {
      const value = values.get(setting);
      return value !== undefined && isWrong(value) ? [finding(value)] : [];
    });
    return found.length > 0 ? found : [ok('PostgreSQL keeps what it acknowledges, and logs no values.')];
  },
};
