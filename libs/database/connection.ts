import { type Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { readMoments } from './moments.js';
import { type PreparedNames } from './prepared-names.js';
import { type ConnectionWatchdog, type WatchedConnection } from './connection-watchdog.js';

/** Limits that PostgreSQL enforces on a transaction, in milliseconds; see `inTransaction`. */
export type TransactionLimits = {
  /** Ends a transaction whose client sends nothing for this long, because its locks block others. */
  idle?: number;
  /** Ends a statement after this long, including waits for locks. */
  statement?: number;
  /** Not a limit: all statements see the same snapshot of the database. */
  isSnapshot?: boolean;
};

/** The default for `idle`. After this time, the locks of a lost instance or a silent connection are released. */
const IDLE_MS = 5_000;

export function limitsAsSql({ idle = IDLE_MS, statement, isSnapshot }: TransactionLimits): string {
  const limits = [`SET LOCAL idle_in_transaction_session_timeout = ${idle}`];
  if (statement !== undefined) limits.push(`SET LOCAL statement_timeout = ${statement}`);
  if (isSnapshot) limits.push('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  return limits.join('; ');
}

/** SQLSTATE of a write on a standby or in a read-only transaction. */
const READ_ONLY = '25006';

/** How long closing a connection waits for a silent server. */
const GOODBYE_MS = 1_000;

/** Bytes were sent and nothing came back. The server may or may not have received them. */
class ConnectionSilent extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the connection to the database stopped responding and was closed');
    this.name = 'ConnectionSilent';
  }
}

/** The connection's server rejects writes. The address may point to another server by now. */
class ConnectionReadOnly extends Error {
  readonly code = '25006';

  constructor() {
    super('this connection led to a server that accepts no writes: it was replaced');
    this.name = 'ConnectionReadOnly';
  }
}

/** The pool's configuration for its connections. */
export type ConnectionConfig = ClientConfig & { watch: ConnectionWatchdog; prepared: PreparedNames };

/** A connection of the pool that records how long a response has been due, and can be closed by the watchdog. */
export class Connection extends Client implements WatchedConnection {
  patient = false;
  /** For the next transaction that TypeORM begins. */
  limits: TransactionLimits = {};
  suspected = false;
  private quietSince: number | undefined;
  private heardBefore = 0;
  private isAtRest = false;
  /** Closes as soon as it is outside a transaction. */
  isRetired = false;
  private isHeldBack = false;
  /**
   * Whether prepared statements survive on this connection. They do not if a pooler such as PgBouncer sends each transaction to
   * another backend. A pooler reports a process id of its own at login, not the backend's.
   */
  keepsStatements = false;
  readonly prepared: PreparedNames;

  constructor(config: ConnectionConfig) {
    super({ ...config, pipeline: true });
    const { watch, prepared, ...own } = config;
    this.prepared = prepared;
    readMoments(this);
    this.once('connect', () => watch.add(this, own));
    this.once('connect', () => void this.findWhetherDirect());
    this.once('end', () => watch.remove(this));
    this.on('drain', () => (this.quietSince = undefined));
    const { connection } = this;
    connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY) watch.replaceAll();
    });
    connection.on('readyForQuery', ({ status }: { status?: string }) => {
      this.isAtRest = status === 'I';
      if (this.isAtRest && this.isRetired) void this.end();
    });
  }

  private async findWhetherDirect(): Promise<void> {
    const result: Promise<{ rows: { id: number }[] }> = this.query('SELECT pg_backend_pid() AS id');
    // If the connection is broken, its user's own statement reports that.
    const { rows } = await result.catch(() => ({ rows: [] }));
    this.keepsStatements = rows[0]?.id === this.backend;
  }

  get backend(): number {
    return (this as unknown as { processID: number }).processID;
  }

  get heard(): number {
    return (this.connection.stream as Socket).bytesRead;
  }

  quietFor(now: number): number {
    return this.quietSince === undefined ? 0 : now - this.quietSince;
  }

  look(now: number): void {
    const { heard } = this;
    if (heard === this.heardBefore) return;
    this.heardBefore = heard;
    this.suspected = false;
    if (this.quietSince !== undefined) this.quietSince = now;
  }

  giveUp(): void {
    this.connection.stream.destroy(new ConnectionSilent());
  }

  retire(): void {
    this.isRetired = true;
    // The pool drops an idle connection on its error, and a busy one when it is released.
    if (this.isAtRest && this.quietSince === undefined)
      this.connection.stream.destroy(new ConnectionReadOnly());
  }

  /** Forwards to pg's method, whose many overloads TypeScript cannot express here. */
  override query(...args: unknown[]): never {
    this.quietSince = performance.now();
    this.isAtRest = false;
    // In the same message, so that it costs no round trip and PgBouncer sends it to the same backend.
    if (args[0] === 'START TRANSACTION') {
      args[0] += `; ${limitsAsSql(this.limits)}`;
      this.limits = {};
    }
    return (super.query as (...all: unknown[]) => never)(...args);
  }

  /** Sends everything of this turn of the event loop in one write. */
  holdBack(): void {
    if (this.isHeldBack) return;
    this.isHeldBack = true;
    const stream = this.connection.stream as Socket;
    stream.cork();
    process.nextTick(() => {
      this.isHeldBack = false;
      stream.uncork();
    });
  }

  override end(...args: unknown[]): never {
    const timer = setTimeout(() => this.connection.stream.destroy(), GOODBYE_MS);
    this.once('end', () => clearTimeout(timer));
    return (super.end as (...all: unknown[]) => never)(...args);
  }
}
