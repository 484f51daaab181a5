import { type Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { readMoments } from './moments.js';
import { type PreparedNames } from './prepared-names.js';
import { type ConnectionWatchdog, type WatchedConnection } from './connection-watchdog.js';

/** What a transaction begins with; see `inTransaction`. What PostgreSQL ends by itself, in milliseconds. */
export type TransactionLimits = {
  /** A transaction whose client sends nothing, because it hangs or is gone: its locks are in everybody's way. */
  idle?: number;
  /** One statement, waiting for locks included. */
  statement?: number;
  /** Not a limit: all its statements see the database as the first does. */
  isSnapshot?: boolean;
};

/**
 * For every transaction that does not say otherwise: none waits for anything but the database for so long. What a lost
 * instance held, or one whose connection went silent, is free then.
 */
const IDLE_MS = 5_000;

/** The statements with which a transaction begins. */
export function limitsAsSql({ idle = IDLE_MS, statement, isSnapshot }: TransactionLimits): string {
  const limits = [`SET LOCAL idle_in_transaction_session_timeout = ${idle}`];
  if (statement !== undefined) limits.push(`SET LOCAL statement_timeout = ${statement}`);
  if (isSnapshot) limits.push('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  return limits.join('; ');
}

/** SQLSTATE: a write on a standby, or where transactions are read-only. */
const READ_ONLY = '25006';

/** A goodbye that a silent server does not answer is waited for so long. */
const GOODBYE_MS = 1_000;

/** Bytes were sent, and nothing ever came back: whether they were received, nobody knows. */
class ConnectionSilent extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the connection to the database went silent and was given up');
    this.name = 'ConnectionSilent';
  }
}

/** It led to a server that takes no writes; the address may lead elsewhere by now. */
class ConnectionReadOnly extends Error {
  readonly code = '25006';

  constructor() {
    super('the server of this connection accepts no writes: the connection was replaced');
    this.name = 'ConnectionReadOnly';
  }
}

/** What the pool is given to make its connections of. */
export type ConnectionConfig = ClientConfig & { watch: ConnectionWatchdog; prepared: PreparedNames };

/** A connection of the pool that knows since when it has waited for an answer in vain, and can be given up. */
export class Connection extends Client implements WatchedConnection {
  patient = false;
  /** Of the next transaction that TypeORM begins. */
  limits: TransactionLimits = {};
  suspected = false;
  private quietSince: number | undefined;
  private heardBefore = 0;
  private isAtRest = false;
  /** It ends as soon as it is in no transaction. */
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
      if (code === READ_ONLY) watch.leadsAstray();
    });
    connection.on('readyForQuery', ({ status }: { status?: string }) => {
      this.isAtRest = status === 'I';
      if (this.isAtRest && this.isRetired) void this.end();
    });
  }

  private async findWhetherDirect(): Promise<void> {
    const asked: Promise<{ rows: { id: number }[] }> = this.query('SELECT pg_backend_pid() AS id');
    // A broken connection is reported by the statement that its user sends.
    const { rows } = await asked.catch(() => ({ rows: [] }));
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
    // Of an idle connection the pool hears by its error; of one at work by its end, when it is given back.
    if (this.isAtRest && this.quietSince === undefined)
      this.connection.stream.destroy(new ConnectionReadOnly());
  }

  /** As pg's own, whose many forms TypeScript cannot hand on. */
  override query(...args: unknown[]): never {
    this.quietSince = performance.now();
    this.isAtRest = false;
    // In the same message: it costs no round trip, and PgBouncer keeps it with the transaction.
    if (args[0] === 'START TRANSACTION') {
      args[0] += `; ${limitsAsSql(this.limits)}`;
      this.limits = {};
    }
    return (super.query as (...all: unknown[]) => never)(...args);
  }

  /** What is sent in this turn of the event loop goes out in one write. */
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
