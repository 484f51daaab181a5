import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { type DataSource } from 'typeorm';
import { migrate, openDatabase } from '#libs/database';
import { EventStore, Keyring } from '#libs/event-store';
import { migrations } from '#migrations';

export type TestDatabase = {
  url: string;
  source: DataSource;
  store: EventStore;
  /** Another instance on the same database, with its own pool and event store. */
  another(): Promise<{ source: DataSource; store: EventStore }>;
  /** A copy, like a backup restored elsewhere. No other client may be connected to this database during the call. */
  copy(): Promise<TestDatabase>;
  drop(): Promise<void>;
};

/** The PostgreSQL server that `npm test` uses. */
export function testServerUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error('TEST_DATABASE_URL is missing: run the tests with `npm test -- <file>`.');
  return url;
}

/**
 * Creates a migrated database, for tests that count positions or break things.
 *
 * @param server the PostgreSQL server, if it is not the shared one.
 * @param dump statements that create the contents, for example from pg_dump. Then the database is not migrated.
 * @param template the database to copy.
 */
export async function createTestDatabase(
  server = testServerUrl(),
  dump?: string,
  template = dump === undefined ? templateOn(server) : undefined,
): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdministrator(server, async (client) => {
    if (template === undefined) return client.query(`CREATE DATABASE ${name}`);
    const { rows } = await client.query<{ hasStrategies: boolean }>(
      `SELECT current_setting('server_version_num')::int >= 150000 AS "hasStrategies"`,
    );
    // Copying files takes PostgreSQL a third of the time of writing them to its log, the default since version 15.
    const strategy = rows[0]!.hasStrategies ? 'STRATEGY file_copy' : '';
    return client.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`);
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  const master = randomBytes(32);
  const sources: DataSource[] = [];
  const another = async () => {
    // Hundreds of statements may wait for ten connections while other programs use all of the CPU.
    const source = await openDatabase({ url: url.href, poolSize: 10, connectTimeoutMs: 120_000, migrations });
    sources.push(source);
    return { source, store: new EventStore(source, new Keyring(master)) };
  };
  if (dump !== undefined) await asAdministrator(url.href, (client) => client.query(dump));
  const first = await another();
  if (dump === undefined) await migrate(first.source);
  return {
    url: url.href,
    ...first,
    another,
    async copy() {
      await Promise.all(sources.map((source) => source.destroy()));
      const copy = await createTestDatabase(server, undefined, name);
      await Promise.all(sources.map((source) => source.initialize()));
      return copy;
    },
    async drop() {
      await Promise.all(sources.map((source) => source.destroy()));
      await asAdministrator(server, (client) => client.query(`DROP DATABASE ${name}`));
    },
  };
}

/** The migrated template database of `npm test`, which exists only on its own server. */
function templateOn(server: string): string | undefined {
  const { TEST_TEMPLATE_URL } = process.env;
  if (TEST_TEMPLATE_URL === undefined) return undefined;
  const { host, pathname } = new URL(TEST_TEMPLATE_URL);
  return host === new URL(server).host ? pathname.slice(1) : undefined;
}

/** A template that also has the tables of all projections, for tests that start the product. */
export function startedTemplateOn(server = testServerUrl()): string | undefined {
  const template = templateOn(server);
  return template && `${template}_started`;
}

async function asAdministrator(server: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
