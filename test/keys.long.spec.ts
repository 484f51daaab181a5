import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client } from './harness.js';
import {
  cli,
  CLI,
  Deployment,
  ENCRYPTION_KEY,
  type Environment,
  eventually,
  Program,
  ServerProcess,
} from './processes.js';

const OLD = ENCRYPTION_KEY.toString('base64');
const NEW = Buffer.alloc(32, 9).toString('base64');
const BOTH = { ENCRYPTION_KEY: NEW, ENCRYPTION_KEY_PREVIOUS: OLD };

let deployment: Deployment;
let anybody: Client;
beforeAll(async () => {
  deployment = await Deployment.create();
  anybody = await deployment.organization();
});
afterAll(() => deployment.stop());

const rewrap = (keys: Environment) =>
  cli(['--json', 'keys', 'rewrap'], { ...deployment.environment, ...keys });

async function refusal(keys: Environment): Promise<string> {
  const { status, stderr } = await new ServerProcess({ ...deployment.environment, ...keys }).ended;
  expect(status).toBe(1);
  return stderr;
}

/** Clients that continuously create contacts, repeat the request on another server, and read them. */
class Load {
  readonly made = new Map<string, string>();
  private isOver = false;
  private readonly clients: Promise<unknown>;

  constructor(private servers: readonly ServerProcess[]) {
    this.clients = Promise.all([0, 1].map((n) => this.run(n)));
  }

  /** Starts the new server before it stops the old one. */
  async replace(old: ServerProcess, keys: Environment): Promise<ServerProcess> {
    const server = await deployment.startServer(keys);
    this.servers = [...this.servers, server];
    await this.without(old);
    return server;
  }

  async without(old: ServerProcess): Promise<void> {
    this.servers = this.servers.filter((one) => one !== old);
    // The server finishes in-flight requests before it ends.
    expect(await old.end('SIGTERM')).toMatchObject({ status: 0 });
  }

  /** Creates a contact, and retries if a server ends. */
  async make(email: string, idempotencyKey?: string): Promise<string> {
    const headers: Record<string, string> =
      idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const { organizationId } = anybody;
    const fields = { organizationId, email, bio: `Bio of ${email}` };
    const { status, body } = await this.ask((client) =>
      client.post('contact.create-contact', fields, headers),
    );
    expect([status, body.error]).toEqual([200, undefined]);
    return body.data.contactId;
  }

  async read(email: string, contactId: string): Promise<void> {
    const { organizationId } = anybody;
    const { body } = await this.ask((client) =>
      client.get('contact.get-contact', { organizationId, contactId }),
    );
    expect(body.data).toMatchObject({ email, bio: `Bio of ${email}` });
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.clients;
  }

  private async run(client: number): Promise<void> {
    for (let n = 0; !this.isOver; n += 1) {
      const email = `person-${client}-${n}@example.org`;
      // The key or the address identifies the repeat.
      const key = n % 2 === 0 ? randomUUID() : undefined;
      const id = await this.make(email, key);
      expect(await this.make(email, key)).toBe(id);
      this.made.set(email, id);
      const earlier = `person-${client}-${Math.floor(n / 2)}@example.org`;
      await this.read(earlier, this.made.get(earlier)!);
      // Leaves CPU time for the servers that start.
      await sleep(100);
    }
  }

  private async ask<Answer>(request: (client: Client) => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const server = this.servers[Math.floor(Math.random() * this.servers.length)]!;
      try {
        return await request(anybody.at(server.origin));
      } catch (error) {
        // The server closed the connection before it responded.
        if (!(error instanceof TypeError) || tries === 5) throw error;
      }
    }
  }
}

it('the master key is replaced under load as docs/guides/keys.md describes, and every contact stays readable and unique', async () => {
  const { source } = deployment.database;
  const [a, b] = [await deployment.startServer(), await deployment.startServer()];
  const key = (await cli(['--json', 'history', 'key'], deployment.environment)).stdout;
  // More than two pages of keys.
  const many = Array.from({ length: 1_200 }, (_, n) => JSON.stringify({ email: `early-${n}@example.org` }));
  const imported = await anybody
    .at(a.origin)
    .request('POST', '/v1/contact.import-contacts?subscribed=true', many.join('\n'), {
      'Content-Type': 'application/x-ndjson',
    });
  expect(imported.body.data).toMatchObject({ created: 1_200 });
  const suppression = { email: 'objects@example.org' };
  const hookOf = async (client: Client) =>
    (await client.get('organization.get-organization')).body.data.mailHook;
  const suppressed = await anybody.at(a.origin).post('suppression.create-suppression', suppression);
  const hook = await hookOf(anybody.at(a.origin));
  const load = new Load([a, b]);

  const c = await load.replace(a, BOTH);
  const early = await rewrap(BOTH);
  expect([early.status, early.stderr]).toEqual([
    1,
    expect.stringMatching(/^Nothing was changed\. 1 server or command runs without the new ENCRYPTION_KEY/),
  ]);
  const d = await load.replace(b, BOTH);

  // Killed in the middle, where a lock on one key stops it.
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await runner.query(
    `SELECT FROM subject_keys WHERE (organization_id, subject_id) = (
       SELECT organization_id, subject_id FROM subject_keys ORDER BY 1, 2 OFFSET 700 LIMIT 1
     ) FOR UPDATE`,
  );
  const begun = new Program(process.execPath, [CLI, 'keys', 'rewrap'], {
    ...deployment.environment,
    ...BOTH,
  });
  await eventually(async () => {
    const rewrapped = await source.query('SELECT FROM subject_keys WHERE length(wrapped_key) > 60 LIMIT 500');
    expect(rewrapped).toHaveLength(500);
  });
  await begun.end('SIGKILL');
  await runner.rollbackTransaction();
  await runner.release();
  expect(await refusal({ ENCRYPTION_KEY: NEW })).toMatch(/ENCRYPTION_KEY_PREVIOUS is not the previous key/);

  const { status, stdout, stderr } = await rewrap(BOTH);
  expect([status, stderr]).toEqual([0, '']);
  const { rewrapped, unreadable } = JSON.parse(stdout);
  // The number depends on how many contacts the load has created.
  expect([rewrapped > 0, unreadable]).toEqual([true, 0]);
  const e = await load.replace(c, { ENCRYPTION_KEY: NEW });
  await load.without(d);
  expect(await refusal({ ENCRYPTION_KEY: OLD })).toMatch(
    /ENCRYPTION_KEY is not the key that this database uses now/,
  );
  await load.stop();

  expect(load.made.size).toBeGreaterThan(0);
  // Every contact exists once, is readable, and is found under its address.
  const after = anybody.at(e.origin);
  const exported = await after.request('GET', '/v1/contact.export-contacts');
  const contacts = String(exported.body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const emails = [
    ...Array.from({ length: 1_200 }, (_, n) => `early-${n}@example.org`),
    ...load.made.keys(),
  ].sort();
  expect(contacts.map(({ email }) => email).sort()).toEqual(emails);
  for (const [email, id] of [...load.made].slice(0, 100)) await load.read(email, id);
  const same = await after.request('POST', '/v1/contact.import-contacts?subscribed=true', many.join('\n'), {
    'Content-Type': 'application/x-ndjson',
  });
  expect(same.body.data).toMatchObject({ created: 0, unchanged: 1_200 });
  // Suppressions and the providers' webhook address persist, too.
  expect((await after.post('suppression.create-suppression', suppression)).body).toEqual(suppressed.body);
  const { body } = await after.get('suppression.list-suppressions', suppression);
  expect(body.data).toMatchObject([suppression]);
  expect(await hookOf(after)).toBe(hook);
  const now = await cli(['--json', 'history', 'key'], { ...deployment.environment, ENCRYPTION_KEY: NEW });
  expect(now.stdout).toBe(key);
});
