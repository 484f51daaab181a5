import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import { types } from 'node:util';

/** Classes of SQLSTATE that speak of the connection or the server, not of the statement. */
const UNAVAILABLE_STATES = /^(08|57P|53|58|25006|25P03|55000|28|3D000)/;
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** What pg and its pool say in words only. */
const UNAVAILABLE_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|not queryable|connection timeout|already released/i;

/** Whether an error means that the database cannot be reached now: the caller may try again later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  // Of a connection that breaks between two statements of a transaction TypeORM says only that it is gone.
  if (error instanceof QueryRunnerAlreadyReleasedError) return true;
  if (error instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  const { code, message } = said(error);
  return UNAVAILABLE_STATES.test(code) || UNAVAILABLE_CODES.has(code) || UNAVAILABLE_MESSAGES.test(message);
}

/**
 * Whether the server refuses the role, its password or the database. While we run, somebody changes that and will mend it;
 * at the start it is the configuration that is wrong.
 */
export function isTurnedAway(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isTurnedAway);
  return /^(28|3D000)/.test(said(error).code);
}

/**
 * Two transactions were in each other's way and PostgreSQL undid this one, a deadlock say: the same may well succeed
 * when it is repeated at once.
 */
const COLLISIONS = new Set(['40P01', '40001']);

export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(said(error).code);
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

/** What an operator can do something about: by code and words, the first that fits. */
const TROUBLES: [code: string, words: RegExp, sentence: string][] = [
  [
    '53100',
    /./,
    "PostgreSQL's disk is full: nothing can be written until there is room again. Make room or enlarge it.",
  ],
  ['53200', /./, 'PostgreSQL is out of memory.'],
  [
    '53300',
    /connections for role/,
    "PostgreSQL takes no more connections of this role. Raise the role's CONNECTION LIMIT, run fewer instances, or lower DATABASE_POOL_SIZE.",
  ],
  [
    '53300',
    /connections for database/,
    "PostgreSQL takes no more connections to this database. Raise the database's CONNECTION LIMIT, run fewer instances, or lower DATABASE_POOL_SIZE.",
  ],
  [
    '53300',
    /./,
    'PostgreSQL takes no more connections. Raise max_connections, run fewer instances, lower DATABASE_POOL_SIZE, or put PgBouncer in between.',
  ],
  ['53400', /./, 'A limit of PostgreSQL or of the role is exceeded, such as temp_file_limit.'],
  [
    '08P01',
    /no more connections allowed/,
    'PgBouncer takes no more connections. Raise max_client_conn, run fewer instances, or lower DATABASE_POOL_SIZE.',
  ],
  [
    '08P01',
    /query_wait_timeout/,
    'PgBouncer had no connection to PostgreSQL for too long. Raise default_pool_size, or find what holds its connections.',
  ],
  ['08P01', /server login|cannot connect|server conn/i, 'PgBouncer cannot connect to PostgreSQL.'],
  [
    '25006',
    /./,
    'PostgreSQL takes no writes: it is a standby, or set read-only. DATABASE_URL must name the primary.',
  ],
  ['57P03', /./, 'PostgreSQL is starting, recovering or shutting down.'],
  ['28', /./, 'PostgreSQL refuses the role or its password in DATABASE_URL.'],
  ['3D000', /./, 'The database in DATABASE_URL does not exist.'],
];

/**
 * What is wrong with the database, in a sentence that says what to do; undefined where it is nothing that an operator
 * could mend. It holds no data, and may stand in logs and reports.
 */
export function describeTrouble(error: unknown): string | undefined {
  if (error instanceof AggregateError) return describeTrouble(error.errors[0]);
  const { code, message } = said(error);
  if (code === '') return undefined;
  return TROUBLES.find(([state, words]) => code.startsWith(state) && words.test(message))?.[2];
}

/**
 * An error in words fit for logs and reports. SQLSTATE classes 22 and 23 quote the offending value, which
 * may be personal: of those only the code is told.
 */
export function describeError(error: unknown): string {
  // Node's error for a name with several addresses holds one error for each, and no message.
  if (error instanceof AggregateError) return describeError(error.errors[0]);
  if (!isError(error)) return String(error);
  if (error instanceof QueryFailedError) {
    const { code } = error.driverError as { code?: string };
    if (code && /^2[23]/.test(code)) return `SQLSTATE ${code}`;
  }
  const trouble = describeTrouble(error);
  return trouble === undefined ? error.message : `${trouble} (${error.message})`;
}

/** Code and words of whoever spoke: PostgreSQL, PgBouncer, the operating system. */
function said(error: unknown): { code: string; message: string } {
  if (error instanceof QueryFailedError) return said(error.driverError);
  if (!isError(error)) return { code: '', message: '' };
  const { code } = error as { code?: unknown };
  return { code: typeof code === 'string' ? code : '', message: error.message };
}

/** Errors that Node itself makes are of another realm's Error inside Jest. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}
