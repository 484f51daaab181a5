// Loading all of TypeORM takes 0.2 s, and programs without a database also load this file.
import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { QueryRunnerProviderAlreadyReleasedError } from 'typeorm/error/QueryRunnerProviderAlreadyReleasedError.js';
import { types } from 'node:util';

/** A problem of the database itself, as opposed to one of a statement. */
export type Incident = {
  /** Matches a SQLSTATE (PostgreSQL, PgBouncer) or a code of the operating system. Empty for errors of pg and its pool, which have none. */
  code: RegExp | '';
  words?: RegExp;
  kind?: 'connection lost' | 'takes no writes' | 'turned away';
  /** For API clients, if there is more to report than that the database does not respond. */
  publicly?: string;
  /** For operators: the problem and its fix. Contains no data, so it may appear in logs and reports. */
  sentence: string;
};

const NO_CONNECTIONS = 'The database accepts no more connections.';
const NOBODY_LISTENS =
  'PostgreSQL accepts no connections at its address. Start PostgreSQL. If DATABASE_URL is set, check its host and port. Instances recover by themselves.';
const NO_ANSWER =
  'PostgreSQL does not respond: it hangs or is overloaded, or the network loses packets. Check its host.';
const FULL: Omit<Incident, 'code'> = {
  kind: 'takes no writes',
  publicly: 'The disk of the database is full: it accepts no writes at the moment.',
  sentence: "PostgreSQL's disk is full, so writes fail. Free disk space or enlarge the disk.",
};
const BROKEN =
  'Connections to PostgreSQL broke: it or its host stopped or failed over, or the network cut them. The server reconnects as soon as possible.';

/** The first match counts. Errors that match none are not a database problem. */
const INCIDENTS: readonly Incident[] = [
  { code: /^53100/, ...FULL },
  // A new connection cannot cache the catalog.
  { code: /^XX000/, words: /could not write init file/, ...FULL },
  { code: /^53200/, sentence: 'PostgreSQL is out of memory.' },
  {
    code: /^53300/,
    words: /connections for role/,
    publicly: NO_CONNECTIONS,
    sentence:
      "PostgreSQL rejects further connections of this role. Raise the role's CONNECTION LIMIT, run fewer instances, or lower DATABASE_POOL_SIZE.",
  },
  {
    code: /^53300/,
    words: /connections for database/,
    publicly: NO_CONNECTIONS,
    sentence:
      "PostgreSQL rejects further connections to this database. Raise the database's CONNECTION LIMIT, run fewer instances, or lower DATABASE_POOL_SIZE.",
  },
  {
    code: /^53300/,
    publicly: NO_CONNECTIONS,
    sentence:
      'PostgreSQL rejects further connections. Raise max_connections, run fewer instances, lower DATABASE_POOL_SIZE, or use PgBouncer.',
  },
  { code: /^53/, sentence: 'A limit of PostgreSQL or of the role is exceeded, such as temp_file_limit.' },
  {
    code: /^08P01/,
    words: /no more connections allowed/,
    publicly: NO_CONNECTIONS,
    sentence:
      'PgBouncer rejects further connections. Raise max_client_conn, run fewer instances, or lower DATABASE_POOL_SIZE.',
  },
  {
    code: /^08P01/,
    words: /query_wait_timeout/,
    sentence:
      'PgBouncer had no free connection to PostgreSQL for too long. Raise default_pool_size, or find out what uses its connections.',
  },
  {
    code: /^08P01/,
    words: /server login|cannot connect|server conn/i,
    sentence:
      'PgBouncer cannot connect to PostgreSQL. Its log shows the cause: check the host and port in pgbouncer.ini, and the role and its password.',
  },
  {
    code: /^25006/,
    kind: 'takes no writes',
    publicly: 'The database accepts no writes at the moment.',
    sentence:
      'PostgreSQL rejects writes: it is a standby, or default_transaction_read_only is on. DATABASE_URL must point to the primary. `doctor` shows which server it is.',
  },
  {
    code: /^57P03/,
    sentence:
      'PostgreSQL is starting, recovering or shutting down. Wait, and follow its progress in its log.',
  },
  {
    code: /^28/,
    kind: 'turned away',
    sentence:
      'PostgreSQL rejects the role or password in DATABASE_URL. Correct them (percent-encode the password), or allow the role in pg_hba.conf.',
  },
  {
    code: /^3D000/,
    kind: 'turned away',
    sentence:
      'The database in DATABASE_URL does not exist. Correct the name, or create it: CREATE DATABASE … OWNER the role.',
  },
  {
    code: /^25P03/,
    kind: 'connection lost',
    sentence:
      'PostgreSQL ended an idle transaction of this process. The process or its machine was suspended or is overloaded.',
  },
  {
    code: /^(08|57P)/,
    kind: 'connection lost',
    sentence:
      'PostgreSQL closed connections: it was stopped, failed over, or an administrator ended them. The server reconnects as soon as possible.',
  },
  { code: /^58/, sentence: 'PostgreSQL reported an error with its files or its machine. See its log.' },
  {
    code: /^55000/,
    sentence: 'PostgreSQL cannot do this in its current state. Usually it is recovering or a standby.',
  },
  { code: /^ECONNREFUSED$/, sentence: NOBODY_LISTENS },
  // A server that stops removes its socket.
  { code: /^ENOENT$/, words: /^connect /, sentence: NOBODY_LISTENS },
  {
    code: /^(ENOTFOUND|EAI_AGAIN)$/,
    sentence: 'The host in DATABASE_URL cannot be resolved. Correct its name, or fix DNS.',
  },
  {
    code: /^(EHOSTUNREACH|ENETUNREACH)$/,
    sentence: 'PostgreSQL is unreachable over the network: its host is down, or a route or firewall changed.',
  },
  {
    code: '',
    words: /timeout exceeded when trying to connect/,
    sentence:
      'No connection to PostgreSQL was available in time: it accepts none, or all of DATABASE_POOL_SIZE are busy. `doctor` shows what they are doing, in its line "activity".',
  },
  { code: /^ETIMEDOUT$/, sentence: NO_ANSWER },
  { code: '', words: /connection timeout|timeout expired|query read timeout/i, sentence: NO_ANSWER },
  { code: /^(ECONNRESET|EPIPE)$/, kind: 'connection lost', sentence: BROKEN },
  {
    code: '',
    words:
      /connection terminated|client has encountered a connection error|not queryable|lost between two statements/i,
    kind: 'connection lost',
    sentence: BROKEN,
  },
];

/** The incident behind an error. Undefined if the statement is at fault, or if an operator could not fix it. */
export function incidentOf(error: unknown): Incident | undefined {
  if (error instanceof AggregateError) {
    return error.errors.map(incidentOf).find((incident) => incident !== undefined);
  }
  const { code, message } = said(error);
  return INCIDENTS.find(
    (incident) =>
      (incident.code === '' ? code === '' : incident.code.test(code)) &&
      (incident.words?.test(message) ?? true),
  );
}

/** The problem and its fix, in a sentence for operators. */
export function describeIncident(error: unknown): string | undefined {
  return incidentOf(error)?.sentence;
}

/** Whether the database cannot serve now. The caller may retry later. */
export function isUnavailable(error: unknown): boolean {
  return incidentOf(error) !== undefined;
}

/** Whether only the connection broke. A retry on a new connection may succeed immediately. */
export function isConnectionLost(error: unknown): boolean {
  return incidentOf(error)?.kind === 'connection lost';
}

/**
 * Whether the server rejects the role, its password or the database. At the start, the configuration is wrong. Later, an
 * operator is changing it, so the program keeps trying.
 */
export function isTurnedAway(error: unknown): boolean {
  return incidentOf(error)?.kind === 'turned away';
}

/** SQLSTATEs of a deadlock and of a serialization failure. */
const COLLISIONS = new Set(['40P01', '40001']);

/** Whether PostgreSQL rolled the transaction back because of another one. An immediate retry may succeed. */
export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(said(error).code) || isStalePreparedStatement(error);
}

/**
 * Whether a prepared statement is outdated because a migration changed its result type, or is unknown to the backend. It
 * had no effect, and succeeds if sent as text.
 */
export function isStalePreparedStatement(error: unknown): boolean {
  const { code } = said(error);
  if (code !== '0A000') return code === '26000';
  // By routine, because the message is in the server's language.
  const { routine } = (error instanceof QueryFailedError ? error.driverError : error) as { routine?: string };
  return routine === 'RevalidateCachedQuery';
}

/** SQLSTATEs of timeouts: of a statement, of a lock, of an idle transaction. */
const TIMEOUTS = new Set(['57014', '55P03', '25P03']);

/**
 * Whether PostgreSQL rolled the statement or its transaction back for a temporary reason: a timeout or a collision. The
 * data is not at fault.
 */
export function isTransient(error: unknown): boolean {
  return isCollision(error) || TIMEOUTS.has(said(error).code);
}

/** Whether PostgreSQL ended the statement because it took too long. */
export function isTimedOut(error: unknown): boolean {
  return said(error).code === '57014';
}

/** Whether the role lacks the privilege for a statement. */
export function isForbidden(error: unknown): boolean {
  return said(error).code === '42501';
}

/**
 * Describes an error for logs and reports. For database incidents, includes the fix.
 *
 * @param isOfDatabase whether the error is known to come from the database. By default only errors with a SQLSTATE count,
 *   because other servers reject connections too.
 */
export function describeError(error: unknown, isOfDatabase = false): string {
  const incident = isOfDatabase || /^\d/.test(said(error).code) ? describeIncident(error) : undefined;
  const reason = reasonOf(error);
  // Without a full stop, because callers embed it in a sentence.
  const open = (sentence: string) => sentence.replace(/\.$/, '');
  return incident === undefined ? reason : `${open(incident)} (${open(reason)})`;
}

/**
 * An error's message, safe for logs and reports. Messages of SQLSTATE classes 22 and 23 quote the offending value, which
 * may be personal, so only their code is returned.
 */
export function reasonOf(error: unknown): string {
  // If a name has several addresses, Node's error contains one error for each and no message.
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (!isError(error)) return String(error);
  if (error instanceof QueryFailedError) {
    const { code } = error.driverError as { code?: string };
    if (code && /^2[23]/.test(code)) return `SQLSTATE ${code}`;
  }
  return said(error).message;
}

/** The original code and message from PostgreSQL, PgBouncer or the operating system. */
export function said(error: unknown): { code: string; message: string } {
  if (error instanceof QueryFailedError) return said(error.driverError);
  // If a connection breaks between two statements, TypeORM reports only that its runner was released.
  if (
    error instanceof QueryRunnerAlreadyReleasedError ||
    error instanceof QueryRunnerProviderAlreadyReleasedError
  ) {
    return { code: '', message: 'the connection was lost between two statements of a transaction' };
  }
  if (!isError(error)) return { code: '', message: '' };
  const { code } = error as { code?: unknown };
  return { code: typeof code === 'string' ? code : '', message: error.message };
}

/** Inside Jest, errors created by Node belong to another realm. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}
