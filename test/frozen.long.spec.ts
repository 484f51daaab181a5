import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { type Client } from './harness.js';
import { someOf } from './length.js';
import {
  type Deployment,
  deploymentOfEach,
  eventually,
  type ServerProcess,
  withApplicationName,
} from './processes.js';

let deployment: Deployment;
let client: Client;
deploymentOfEach((own, organization) => ([deployment, client] = [own, organization]));

/** A page of contacts that takes a moment to send, process and write back. */
const BACKLOG = 700;
const LONG_TEXT = 'x'.repeat(9_000);
const COMMANDS = 20;

/** The points at which PostgreSQL waits for the lease owner, as in pg_stat_activity. */
const POINTS = [
  { point: 'between two statements', state: 'idle in transaction', wait: 'ClientRead' },
  { point: 'while it receives a page', state: 'active', wait: 'ClientWrite' },
  { point: 'while it sends changes', state: 'active', wait: 'ClientRead' },
];

type Holder = { pid: number; state: string; wait: string };

/** The lease owners for which PostgreSQL waits. */
async function holders(): Promise<Holder[]> {
  return deployment.database.source.query(
    `SELECT a.pid, a.state, a.wait_event AS wait FROM pg_stat_activity a
     WHERE a.datname = current_database() AND a.application_name = 'frozen' AND a.wait_event_type = 'Client'
       AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'checkpoints'::regclass
                     AND l.mode = 'RowShareLock')`,
  );
}

/** Stores events for the projections to catch up with. */
async function storeContacts(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  const metadata = { actor: { type: 'system' as const, id: null }, requestId: 'test' };
  await Promise.all(
    ids.map((id) => {
      const personal = { email: `${id}@example.org`, bio: LONG_TEXT };
      const events = [{ type: 'ContactCreated', data: { subscribed: true }, personal }];
      const write = { streamType: 'contact', streamId: id, subjectId: id, expectedVersion: 0, events };
      return deployment.store.append({ organizationId: client.organizationId, metadata, writes: [write] });
    }),
  );
  return ids;
}

/** Freezes the instance at a point where PostgreSQL waits for it. Each attempt gets new work. */
async function freezeAt(server: ServerProcess, state: string, wait: string, work: () => Promise<void>) {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    server.send('SIGSTOP');
    await work();
    server.send('SIGCONT');
    for (let looks = 0; looks < 400; looks += 1) {
      if (!(await holders()).some((one) => one.state === state && one.wait === wait)) {
        await sleep(2);
        continue;
      }
      server.send('SIGSTOP');
      await sleep(100);
      const held = (await holders()).find((one) => one.state === state && one.wait === wait);
      if (held) return held;
      server.send('SIGCONT');
    }
  }
  throw new Error('The instance never reached this point.');
}

async function create(server: ServerProcess, name: string): Promise<string> {
  const body = { organizationId: client.organizationId, email: `${name}@example.org` };
  const { status, body: answer } = await client.at(server.origin).post('contact.create-contact', body);
  expect(status).toBe(200);
  return answer.data.contactId;
}

async function expectReadable(server: ServerProcess, contactId: string): Promise<void> {
  const query = { contactId, organizationId: client.organizationId };
  expect((await client.at(server.origin).get('contact.get-contact', query)).status).toBe(200);
}

describe.each(someOf(POINTS))('an instance frozen inside its lease, $point', ({ point, state, wait }) => {
  it('does not block the others: they return 200 and lose nothing, and the instance continues when it wakes up', async () => {
    const url = withApplicationName(deployment.database.url, 'frozen');
    const frozen = await deployment.startServer({ DATABASE_URL: url });
    const other = await deployment.startServer();
    // The other instance must not take the work.
    other.send('SIGSTOP');
    const stored: string[] = [];
    const held = await freezeAt(frozen, state, wait, async () => {
      stored.push(...(await storeContacts(BACKLOG)));
    });
    other.send('SIGCONT');

    const begin = performance.now();
    const created = await Promise.all(
      Array.from({ length: COMMANDS }, async (_, n) => {
        const id = await create(other, `beside-${n}`);
        await expectReadable(other, id);
        return id;
      }),
    );
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    console.log(`Frozen ${point}: ${COMMANDS} commands on another instance took ${seconds} s.`);

    // Its transaction was rolled back and cannot commit any more.
    expect((await holders()).map(({ pid }) => pid)).not.toContain(held.pid);
    await expectReadable(other, stored.at(-1)!);
    frozen.send('SIGCONT');
    created.push(await create(frozen, 'after'));
    await expectReadable(frozen, created.at(-1)!);
    await expectReadable(other, created.at(-1)!);
    await expectReadable(frozen, created[0]!);

    const rows = await deployment.database.source.query(
      `SELECT id FROM contacts_v5.contacts UNION ALL SELECT id FROM contacts_v5.contacts_erased`,
    );
    expect(rows.map(({ id }: { id: string }) => id).sort()).toEqual([...stored, ...created].sort());
    for (const server of [frozen, other]) {
      expect(server.log.filter(({ message }) => message.startsWith('projection '))).toEqual([]);
      // On a busy machine, the instance may report a database timeout when it wakes up.
      expect(server.log.filter(({ level, problem }) => level === 'error' && !problem)).toEqual([]);
      expect(server.stdout).not.toContain('already released');
    }
    await eventually(async () => {
      const { body } = await client.at(frozen.origin).request('GET', '/health/ready');
      expect(body.data.status).toBe('ok');
    });
  });
});
