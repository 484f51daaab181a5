import { Client } from 'pg';
import { said, type Sql } from '#libs/database';

/** Detects an unresponsive database within seconds. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const LOCK_MS = 2_000;

/** The server accepted the connection but sent nothing. */
export class Unanswered extends Error {
  constructor() {
    super(`it accepts connections but does not respond within ${CONNECT_MS / 1_000} s`);
  }
}

/**
 * A read-only connection. Every statement runs in its own READ ONLY transaction, so that PostgreSQL enforces it.
 */
export class ReadOnlyDatabase implements Sql {
  private constructor(
    private readonly client: Client,
    readonly connectedInMs: number,
  ) {}

  /** @throws the error of the server or the network. */
  static async connect(url: string): Promise<ReadOnlyDatabase> {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      // statement_timeout aborts slow statements. This limit detects a server that does not respond at all.
      query_timeout: STATEMENT_MS + LOCK_MS,
      application_name: 'advocacy doctor',
    });
    // Ignored here, because the next statement on a broken connection fails with the error.
    client.on('error', () => undefined);
    const before = performance.now();
    let isConnected = false;
    client.connection.once('connect', () => (isConnected = true));
    try {
      await client.connect();
    } catch (error) {
      await client.end().catch(() => undefined);
      throw isConnected && said(error).message === 'timeout expired' ? new Unanswered() : error;
    }
    return new ReadOnlyDatabase(client, performance.now() - before);
  }

  /** The process id that PostgreSQL, or a pooler in between, reported for this connection. */
  get reportedProcessId(): number | null {
    // Missing in the types of pg.
    return (this.client as unknown as { processID: number | null }).processID;
  }

  /** The address of the server; undefined for a Unix socket. */
  get address(): string | undefined {
    const { stream } = (this.client as unknown as { connection: { stream: { remoteAddress?: string } } })
      .connection;
    return stream.remoteAddress;
  }

  async query<Rows>(text: string, values: unknown[] = []): Promise<Rows> {
    await this.client.query(
      // Makes results independent of the role's DateStyle, which another check reports.
      `BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_MS}; SET LOCAL lock_timeout = ${LOCK_MS}; SET LOCAL DateStyle = ISO`,
    );
    try {
      return (await this.client.query(text, values)).rows as Rows;
    } finally {
      await this.client.query('ROLLBACK').catch(() => undefined);
    }
  }

  /** The first row of a statement that always has one. */
  async row<Row>(text: string, values: unknown[] = []): Promise<Row> {
    return (await this.query<[Row]>(text, values))[0];
  }

  /** Whether this table exists. */
  async has(table: string): Promise<boolean> {
    const text = 'SELECT to_regclass($1) IS NOT NULL AS has';
    return (await this.row<{ has: boolean }>(text, [table])).has;
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}
