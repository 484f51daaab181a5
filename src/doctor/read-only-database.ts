import { Client } from 'pg';
import { said, type Sql } from '#libs/database';

/** A database that does not answer is found out in seconds. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const LOCK_MS = 2_000;

/** Something took the connection, and then said nothing. */
export class Unanswered extends Error {
  constructor() {
    super(`it takes connections and does not answer within ${CONNECT_MS / 1_000} s`);
  }
}

/**
 * One connection that can only read: every statement runs in a READ ONLY transaction of its own, so that PostgreSQL itself
 * holds us to it, whatever a check asks.
 */
export class ReadOnlyDatabase implements Sql {
  private constructor(
    private readonly client: Client,
    /** Between asking for the connection and having it. */
    readonly connectedInMs: number,
  ) {}

  /** @throws what the server or the network said. */
  static async connect(url: string): Promise<ReadOnlyDatabase> {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      // PostgreSQL's own limit ends a statement; this one ends a server that says nothing at all.
      query_timeout: STATEMENT_MS + LOCK_MS,
      application_name: 'advocacy doctor',
    });
    // A connection that breaks is told of by the statement that needs it.
    client.on('error', () => undefined);
    const before = performance.now();
    let isTaken = false;
    client.connection.once('connect', () => (isTaken = true));
    try {
      await client.connect();
    } catch (error) {
      await client.end().catch(() => undefined);
      throw isTaken && said(error).message === 'timeout expired' ? new Unanswered() : error;
    }
    return new ReadOnlyDatabase(client, performance.now() - before);
  }

  /** The process that PostgreSQL (or a pooler in its place) said serves this connection. */
  get toldProcessId(): number | null {
    // pg has it, and its types do not say so.
    return (this.client as unknown as { processID: number | null }).processID;
  }

  /** The address that answered; undefined for a socket of the file system. */
  get address(): string | undefined {
    const { stream } = (this.client as unknown as { connection: { stream: { remoteAddress?: string } } })
      .connection;
    return stream.remoteAddress;
  }

  async query<Rows>(text: string, values: unknown[] = []): Promise<Rows> {
    await this.client.query(
      // Times are read whatever the role's DateStyle is, which is a finding of its own.
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

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}
