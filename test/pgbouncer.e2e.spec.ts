import { Client as Administrator } from 'pg';
import { JsonLogger } from '#libs/operations';
import {
  findProgram,
  type PgBouncer,
  type PostgresServer,
  startPgBouncer,
  startPostgres,
} from '#libs/testing';
import { readConfig } from '../src/config/index.js';
import { verifyDatabase } from '../src/audit/index.js';
import { openRuntime } from '../src/server/index.js';
import { Client, differencesIn } from './harness.js';
import { command } from './commands.js';
import { type Environment, eventually, ServerProcess } from './processes.js';
import { isLong, longIt } from './length.js';

const program = findProgram('pgbouncer');

/** Fewer connections to PostgreSQL than a single instance requests. */
(program === undefined ? describe.skip : describe)('behind a PgBouncer with a single connection', () => {
  let postgres: PostgresServer;
  let bouncer: PgBouncer;
  let environment: Environment;
  let organizationId: string;
  const servers: ServerProcess[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    const administrator = new Administrator(postgres.url);
    await administrator.connect();
    await administrator.query('CREATE DATABASE advocacy OWNER advocacy');
    await administrator.end();
    const url = postgres.applicationUrl.replace(/postgres$/, 'advocacy');
    bouncer = await startPgBouncer(program!, url, 1);
    environment = { DATABASE_URL: bouncer.url, ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.end('SIGKILL')));
    await bouncer.remove();
    await postgres.remove();
  });

  it('instances that start together on an empty database become ready', async () => {
    for (let n = 0; n < (isLong ? 3 : 1); n += 1)
      servers.push(new ServerProcess({ ...environment, SHUTDOWN_DELAY: '0' }));
    for (const server of servers) {
      // Twice the usual time, because they wait for each other.
      await server.listening().catch(() => server.listening());
      await eventually(async () => expect((await fetch(`${server.origin}/health/ready`)).status).toBe(200));
    }
  });

  it('each instance responds, and returns what the others wrote', async () => {
    const made = await command(['--json', 'organization', 'create', '--name', 'Behind a pool'], environment);
    expect(made.stderr).toBe('');
    const { key, ...created } = JSON.parse(made.stdout) as { organizationId: string; key: string };
    ({ organizationId } = created);
    const clients = servers.map(({ origin }) => new Client(origin, organizationId, key));
    await eventually(async () => {
      const answers = await Promise.all(
        clients.map((client) => client.get('contact.list-contacts', { organizationId })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    });
    const create = (n: number) =>
      clients[n % clients.length]!.post('contact.create-contact', {
        organizationId,
        email: `${n}@example.org`,
      });
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => create(n)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const client of clients) {
      const { body } = await client.get('contact.list-contacts', { organizationId });
      expect(body.data).toHaveLength(6);
    }
  });

  longIt(
    'projections are verified and rebuilt, and the history sealed and verified, while they serve',
    async () => {
      const runtime = await openRuntime(readConfig(environment), new JsonLogger('silent'));
      try {
        const { projections, sealer, checkpoints, signers, source } = runtime;
        const versions = await projections.versions();
        expect(versions.filter(({ instances }) => instances === servers.length + 1)).toHaveLength(
          versions.length,
        );
        for (const { name } of versions)
          expect([name, await differencesIn(projections, name)]).toEqual([name, []]);
        await projections.maintenance.rebuild('contacts');
        await sealer.seal();
        const { note } = await checkpoints.last(organizationId);
        const verdict = await verifyDatabase(source, organizationId, note, signers.verifierKey);
        expect(verdict).toMatchObject({ ok: true, reason: null, provedEvents: expect.any(Number) });
      } finally {
        await runtime.close();
      }
    },
  );

  it('all stop on SIGTERM', async () => {
    const ends = await Promise.all(servers.map((server) => server.end('SIGTERM')));
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set([0]));
  });
});
