import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { type Client } from './harness.js';
import { someOf } from './length.js';
import { type Deployment, deploymentOfEach, eventually, type ServerProcess } from './processes.js';

let deployment: Deployment;
let client: Client;
deploymentOfEach((own, organization) => ([deployment, client] = [own, organization]));

/** Contacts of a page that takes a moment to be sent, worked on and sent back. */
const BACKLOG = 700;
const LONG_TEXT = 'x'.repeat(9_000);
const COMMANDS = 20;

/** Where PostgreSQL waits for the holder of a lease, as pg_stat_activity says it. */
const POINTS = [
  { point: 'between two statements', state: 'idle in transaction', wait: 'ClientRead' },
  { point: 'in the middle of the page that it is sent', state: 'active', wait: 'ClientWrite' },
  { point: 'in the middle of the changes that it sends', state: 'active', wait: 'ClientRead' },
];

type Holder = { pid: number; state: string; wait: string };

/** The holders of a lease that PostgreSQL waits for. */
async function holders(): Promise<Holder[]> {
  return deployment.database.source.query(
    `SELECT a.pid, a.state, a.wait_event AS wait FROM pg_stat_activity a
     WHERE a.datname = current_database() AND a.application_name = 'frozen' AND a.wait_event_type = 'Client'
       AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'checkpoints'::regclass
                     AND l.mode = 'RowShareLock')`,
  );
}

/** Events for the read models to catch up with. */
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

/** Stops the instance where PostgreSQL waits for it in this way; new work for each attempt. */
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
  throw new Error('The instance was never caught there.');
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
  it('does not keep the others: 200, readable, nothing lost; and goes on when it wakes up', async () => {
    const url = `${deployment.database.url}?application_name=frozen`;
    const frozen = await deployment.startServer({ DATABASE_URL: url });
    const other = await deployment.startServer();
    // Nobody else may do the work.
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

    // What it held is undone, and cannot be committed any more.
    expect((await holders()).map(({ pid }) => pid)).not.toContain(held.pid);
    await expectReadable(other, stored.at(-1)!);
    frozen.send('SIGCONT');
    created.push(await create(frozen, 'after'));
    await expectReadable(frozen, created.at(-1)!);
    await expectReadable(other, created.at(-1)!);
    await expectReadable(frozen, created[0]!);

    const rows = await deployment.database.source.query(
      `SELECT id FROM contacts_v2.contacts UNION ALL SELECT id FROM contacts_v2.contacts_erased`,
    );
    expect(rows.map(({ id }: { id: string }) => id).sort()).toEqual([...stored, ...created].sort());
    for (const server of [frozen, other]) {
      expect(server.log.filter(({ message }) => message.startsWith('projection '))).toEqual([]);
      // Whoever wakes up on a busy machine may find that its patience with the database is over, and say so.
      expect(server.log.filter(({ level, trouble }) => level === 'error' && !trouble)).toEqual([]);
      expect(server.stdout).not.toContain('already released');
    }
    await eventually(async () => {
      const { body } = await client.at(frozen.origin).request('GET', '/health/ready');
      expect(body.data.status).toBe('ok');
    });
  });
});
