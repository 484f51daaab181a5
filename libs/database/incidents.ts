// Not all of TypeORM, which takes a fifth of a second to load: whoever opens no database has errors to describe, too.
import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { QueryRunnerProviderAlreadyReleasedError } from 'typeorm/error/QueryRunnerProviderAlreadyReleasedError.js';
import { types } from 'node:util';

/** What can be wrong with the database, as opposed to a statement. */
export type Incident = {
  /** Of PostgreSQL and PgBouncer (SQLSTATE) or the operating system; none where pg and its pool have words alone. */
  code: RegExp | '';
  words?: RegExp;
  kind?: 'connection lost' | 'takes no writes' | 'turned away';
  /** For everybody, where there is more to say than that it does not answer. */
  publicly?: string;
  /** For operators: what it is, and what to do. It holds no data, and may stand in logs and reports. */
  sentence: string;
};

const NO_CONNECTIONS = 'The database accepts no more connections.';
const NO_ANSWER =
  'PostgreSQL does not respond: it hangs or is overloaded, or the network loses packets. Check its host.';
const BROKEN =
  'Connections to PostgreSQL broke: it or its host stopped or failed over, or the network cut them. The server reconnects as soon as possible.';

/** The first match counts. Errors that match none are not a database problem. */
const INCIDENTS: readonly Incident[] = [
  {
    code: /^53100/,
    kind: 'takes no writes',
    publicly: 'The disk of the database is full: it accepts no writes at the moment.',
    sentence: "PostgreSQL's disk is full, so writes fail. Free disk space or enlarge the disk.",
  },
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
      'PostgreSQL rejects further connections. Raise max_connections, run fewer instances, lower DATABASE_POOL_SIZE, or put PgBouncer in between.',
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
      'PgBouncer cannot connect to PostgreSQL. Its log shows the cause: check host and port in pgbouncer.ini, the role and its password.',
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
  { code: /^58/, sentence: 'PostgreSQL reported an error of its files or its machine. See its log.' },
  {
    code: /^55000/,
    sentence: 'PostgreSQL cannot do this in its current state. Usually it is recovering or a standby.',
  },
  {
    code: /^ECONNREFUSED$/,
    sentence:
      'PostgreSQL accepts no connections at the address in DATABASE_URL. Start PostgreSQL, or correct host and port. Instances recover by themselves.',
  },
  {
    code: /^(ENOTFOUND|EAI_AGAIN)$/,
    sentence: 'The host in DATABASE_URL cannot be resolved. Correct its name, or repair the name service.',
  },
  {
    code: /^(EHOSTUNREACH|ENETUNREACH)$/,
    sentence: 'PostgreSQL is unreachable over the network: its host is down, or a route or firewall changed.',
  },
  {
    code: '',
    words: /timeout exceeded when trying to connect/,
    sentence:
      'No connection to PostgreSQL was available in time: it accepts none, or all of DATABASE_POOL_SIZE are busy. `doctor` shows what they do, in its line "activity".',
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

/** What is wrong with the database; undefined where it is the statement, or nothing that an operator could mend. */
export function incidentOf(error: unknown): Incident | undefined {
  if (error instanceof AggregateError) {
    return error.errors.map(incidentOf).find((trouble) => trouble !== undefined);
  }
  const { code, message } = said(error);
  return INCIDENTS.find(
    (trouble) =>
      (trouble.code === '' ? code === '' : trouble.code.test(code)) && (trouble.words?.test(message) ?? true),
  );
}

/** What is wrong with the database, in a sentence for operators. */
export function describeIncident(error: unknown): string | undefined {
  return incidentOf(error)?.sentence;
}

/** Whether an error means that the database cannot do its work now: the caller may try again later. */
export function isUnavailable(error: unknown): boolean {
  return incidentOf(error) !== undefined;
}

/** Whether only the connection broke: the same may well succeed at once on a new one. */
export function isConnectionLost(error: unknown): boolean {
  return incidentOf(error)?.kind === 'connection lost';
}

/**
 * Whether the server refuses the role, its password or the database. While we run, somebody changes that and will mend it;
 * at the start it is the configuration that is wrong.
 */
export function isTurnedAway(error: unknown): boolean {
  return incidentOf(error)?.kind === 'turned away';
}

/**
 * Two transactions were in each other's way and PostgreSQL undid this one, a deadlock say: the same may well succeed
 * when it is repeated at once.
 */
const COLLISIONS = new Set(['40P01', '40001']);

export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(said(error).code) || isStalePreparedStatement(error);
}

/**
 * Whether a prepared statement is out of date because a migration changed the type of its result, or is unknown to the backend. It
 * did nothing, and succeeds if it is sent as text.
 */
export function isStalePreparedStatement(error: unknown): boolean {
  const { code } = said(error);
  if (code !== '0A000') return code === '26000';
  // By routine, because the message is in the server's language.
  const { routine } = (error instanceof QueryFailedError ? error.driverError : error) as { routine?: string };
  return routine === 'RevalidateCachedQuery';
}

/** Limits of time: of a statement, of waiting for a lock, of a transaction that sends nothing. */
const TIME_LIMITS = new Set(['57014', '55P03', '25P03']);

/**
 * Whether PostgreSQL undid the statement or its transaction for a reason that lies not in it but in the moment: it took
 * or waited too long, or collided with another. It says nothing against the data.
 */
export function isTransient(error: unknown): boolean {
  return isCollision(error) || TIME_LIMITS.has(said(error).code);
}

/** Whether PostgreSQL ended the statement because it took too long. */
export function isTimedOut(error: unknown): boolean {
  return said(error).code === '57014';
}

/** Whether PostgreSQL refused a statement because the role has not the right to it. */
export function isForbidden(error: unknown): boolean {
  return said(error).code === '42501';
}

/**
 * An error in words fit for logs and reports, with what to do where the database is what is wrong.
 *
 * @param isOfDatabase whether the caller knows that it is; other servers refuse connections too, so only SQLSTATEs tell otherwise.
 */
export function describeError(error: unknown, isOfDatabase = false): string {
  const trouble = isOfDatabase || /^\d/.test(said(error).code) ? describeIncident(error) : undefined;
  const reason = reasonOf(error);
  // Whoever asks puts it into a sentence of their own.
  const open = (sentence: string) => sentence.replace(/\.$/, '');
  return trouble === undefined ? reason : `${open(trouble)} (${open(reason)})`;
}

/**
 * The words of an error, fit for logs and reports. SQLSTATE classes 22 and 23 quote the offending value, which
 * may be personal: of those only the code is told.
 */
export function reasonOf(error: unknown): string {
  // Node's error for a name with several addresses holds one error for each, and no message.
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (!isError(error)) return String(error);
  if (error instanceof QueryFailedError) {
    const { code } = error.driverError as { code?: string };
    if (code && /^2[23]/.test(code)) return `SQLSTATE ${code}`;
  }
  return said(error).message;
}

/** Code and words of whoever spoke: PostgreSQL, PgBouncer, the operating system. */
export function said(error: unknown): { code: string; message: string } {
  if (error instanceof QueryFailedError) return said(error.driverError);
  // Of a connection that breaks while a transaction has nothing under way TypeORM says only that its runner is gone.
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

/** Errors that Node itself makes are of another realm's Error inside Jest. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}
