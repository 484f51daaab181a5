import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type QueryRunner } from 'typeorm';
import { type Answer, type Client } from './harness.js';
import { Deployment, eventually, inParallel, ServerProcess } from './processes.js';
import { longIt } from './length.js';

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
});
afterAll(() => deployment.stop());

/** A raw connection that sends text and records what it receives. */
class Connection {
  received = '';
  isOver = false;
  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (text: string) => (this.received += text));
    socket.on('error', () => undefined).on('close', () => (this.isOver = true));
  }

  static open(): Connection {
    return new Connection(connect(Number(new URL(server.origin).port), '127.0.0.1'));
  }

  send(...lines: string[]): void {
    this.socket.write(lines.join('\r\n'));
  }

  async receives(text: string): Promise<void> {
    await eventually(() => expect(this.received).toContain(text));
  }
}

/** Locks these tables until `release`. */
async function lock(
  tables = 'contacts_v5.contacts',
): Promise<{ waiting(): Promise<void>; release(): Promise<void> }> {
  const { source } = deployment.database;
  const holder: QueryRunner = source.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await holder.query(`LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  return {
    waiting: () =>
      eventually(async () => {
        // Only the first table is checked, because background work may wait for checkpoints first.
        const rows = await source.query(
          'SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass',
          [tables.split(',')[0]],
        );
        expect(rows).not.toEqual([]);
      }),
    async release() {
      await holder.rollbackTransaction();
      await holder.release();
    },
  };
}

const listContacts = () => client.at(server.origin).get('contact.list-contacts');
const LIVE = ['GET /health/live HTTP/1.1', 'Host: localhost'];
const READY = ['GET /health/ready HTTP/1.1', 'Host: localhost'];
const ask = async (question: 'live' | 'ready', headers = {}) => {
  const response = await fetch(`${server.origin}/health/${question}`, { headers });
  return {
    status: response.status,
    connection: response.headers.get('connection'),
    body: (await response.json()) as any,
  };
};
/** Waits for two responses on other connections, by when the server has read all earlier data and signals. */
const othersAreServed = async () => {
  for (let n = 0; n < 2; n += 1) expect((await ask('live')).status).toBe(200);
};

/** The response of a PostgreSQL that is starting: cannot_connect_now. */
const STARTING_UP = (() => {
  const fields = 'SFATAL\0C57P03\0Mthe database system is starting up\0\0';
  const head = Buffer.from('E\0\0\0\0');
  head.writeUInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
})();

describe('SIGTERM', () => {
  beforeEach(async () => {
    server = await deployment.startServer();
  });

  // The next test also leaves such connections open.
  longIt('exits with 0 despite idle keep-alive connections', async () => {
    const connections = Array.from({ length: 5 }, () => Connection.open());
    for (const connection of connections) {
      connection.send(...LIVE, '', '');
      await connection.receives('"ok"');
    }
    expect((await server.end('SIGTERM')).status).toBe(0);
  });

  it('finishes the request in flight with 200 despite a second signal, rejects new ones with 503, and exits with 0', async () => {
    const [kept, idle] = [Connection.open(), Connection.open()];
    for (const connection of [kept, idle]) {
      connection.send(...LIVE, '', '');
      await connection.receives('"ok"');
    }
    const locked = await lock();
    const running = listContacts();
    await locked.waiting();
    // Started before the signal, which closes idle connections.
    kept.send(READY[0]!, '');
    const alive = Connection.open();
    alive.send(LIVE[0]!, '');
    await othersAreServed();

    server.send('SIGTERM');
    await eventually(() =>
      expect(server.log.at(-1)).toMatchObject({ message: 'stopping', signal: 'SIGTERM' }),
    );
    kept.send(READY[1]!, '', '');
    await kept.receives('503 Service Unavailable');
    await kept.receives('"reason":"SHUTTING_DOWN"');
    alive.send(LIVE[1]!, '', '');
    await alive.receives('200 OK');
    const refused = await listContacts();
    expect([refused.status, refused.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(refused.body.error.requestId).toBe(refused.headers.get('x-request-id'));

    server.send('SIGINT');
    await othersAreServed();
    await locked.release();
    expect((await running).status).toBe(200);
    expect((await server.ended).status).toBe(0);
    expect(idle.isOver).toBe(true);
    expect(server.log.at(-1)).toMatchObject({ message: 'stopped' });
  });

  longIt('exits with 0 although a client stalled in the middle of its body', async () => {
    const stalled = Connection.open();
    const head = ['POST /v1/contact.create-contact HTTP/1.1', 'Host: localhost', 'Content-Length: 1000'];
    const authorization = `Authorization: Bearer ${client.key}`;
    stalled.send(...head, 'Content-Type: application/json', authorization, '', '{"email":');
    await othersAreServed();
    expect((await server.end('SIGTERM')).status).toBe(0);
  });

  longIt('exits although the database does not respond', async () => {
    const locked = await lock('contacts_v5.contacts, checkpoints');
    const running = listContacts().catch(() => undefined);
    await locked.waiting();
    const { status } = await server.end('SIGTERM');
    await locked.release();
    await running;
    // The exit code 1 shows that not everything could be closed.
    expect(status).toBe(1);
    expect(server.log).toContainEqual(
      expect.objectContaining({
        message: 'request cut off',
        reason: expect.stringContaining('shutting down'),
      }),
    );
    expect(server.log.filter(({ message }) => message === 'request failed')).toEqual([]);
  });

  longIt('exits with 0 immediately while the server waits for its database', async () => {
    let attempts = 0;
    const starting = createServer((socket) => {
      attempts += 1;
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(STARTING_UP));
    });
    starting.listen(0, '127.0.0.1');
    await once(starting, 'listening');
    const { port } = starting.address() as AddressInfo;
    const DATABASE_URL = `postgres://nobody@127.0.0.1:${port}/nothing`;
    const waiting = new ServerProcess({ ...deployment.environment, DATABASE_URL });
    await eventually(() => expect(attempts).toBeGreaterThanOrEqual(4));
    // Logged once, not at every attempt.
    expect(waiting.log.map(({ message }) => message)).toEqual(['database not available yet']);
    expect((await waiting.end('SIGTERM')).status).toBe(0);
    starting.close();
  });
});

longIt('a second SIGINT, as sent by Ctrl-C in `npm start`, does not cut off requests', async () => {
  server = await deployment.startServer();
  const locked = await lock();
  const running = listContacts();
  await locked.waiting();
  server.send('SIGINT');
  await eventually(() => expect(server.log.at(-1)).toMatchObject({ message: 'stopping', signal: 'SIGINT' }));
  server.send('SIGINT');
  await othersAreServed();
  await locked.release();
  expect((await running).status).toBe(200);
  expect((await server.ended).status).toBe(0);
});

describe('SHUTDOWN_DELAY', () => {
  const HEALTH_TOKEN = 'a-token-of-the-operator';

  async function stopping(SHUTDOWN_DELAY: string): Promise<void> {
    server = await deployment.startServer({ SHUTDOWN_DELAY, HEALTH_TOKEN });
    expect((await ask('ready')).status).toBe(200);
    server.send('SIGTERM');
    // Signals that a process group receives together count as one. Another SIGTERM could be merged with the first.
    server.send('SIGINT');
    await eventually(() => expect(server.log.at(-1)!.message).toBe('stopping'));
  }

  longIt('is not ready immediately, but serves all requests and then closes their connections', async () => {
    await stopping('60');
    for (const headers of [{}, { Authorization: `Bearer ${HEALTH_TOKEN}` }]) {
      const { status, body } = await ask('ready', headers);
      expect([status, body.error.reason, body.error.message]).toEqual([
        503,
        'SHUTTING_DOWN',
        'This instance is shutting down.',
      ]);
    }
    expect(await ask('live')).toMatchObject({ status: 200, connection: 'close' });
    const listed = await listContacts();
    expect([listed.status, listed.headers.get('connection')]).toEqual([200, 'close']);
    const { organizationId } = client;
    const body = { organizationId, email: 'ada@example.org' };
    const created = await client.at(server.origin).post('contact.create-contact', body);
    expect(created.status).toBe(200);

    // A later signal ends the delay.
    await sleep(1_100);
    server.send('SIGTERM');
    expect((await server.ended).status).toBe(0);
    // No warning is logged.
    expect(server.log.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  longIt('exits with 0 when the delay has passed', async () => {
    await stopping('2');
    expect((await server.ended).status).toBe(0);
    expect(server.log.map(({ message }) => message)).toEqual(expect.arrayContaining(['stopping', 'stopped']));
  });

  longIt('does not apply to a server that is still starting', async () => {
    const locked = await lock('migrations');
    const starting = new ServerProcess({ ...deployment.environment, SHUTDOWN_DELAY: '3600' });
    await locked.waiting();
    starting.send('SIGTERM');
    await locked.release();
    expect((await starting.ended).status).toBe(0);
    expect(starting.log.at(-1)!.message).toBe('stopped while starting');
  });
});

describe('WEB_CONCURRENCY=2', () => {
  const REPLACED = 'a process exited: a new one replaces it, the others keep serving';
  const SEVERAL = { WEB_CONCURRENCY: '2', REDIS_URL: process.env.TEST_REDIS_URL!, METRICS_PORT: '0' };
  const listening = () => server.log.filter(({ message }) => message === 'listening');

  async function startTwo(): Promise<void> {
    server = await deployment.startServer(SEVERAL);
    await eventually(() => expect(listening()).toHaveLength(2));
  }

  function create(n: number): Promise<Answer> {
    const { organizationId } = client;
    const body = { organizationId, email: `of-many-${n}@example.org` };
    return client.at(server.origin).post('contact.create-contact', body, { 'Idempotency-Key': `many-${n}` });
  }

  longIt(
    'kill -9 of one process loses nothing acknowledged: the port keeps serving, and a new process replaces it',
    async () => {
      await startTwo();
      expect(
        listening()
          .map(({ process }) => process)
          .sort(),
      ).toEqual([1, 2]);
      expect(new Set(listening().map(({ port }) => port)).size).toBe(1);
      expect(new Set(listening().map(({ metricsPort }) => metricsPort)).size).toBe(2);
      const [, killed] = listening();
      const acknowledged = new Map<number, string>();
      const attempt = async (n: number): Promise<void> => {
        // The client must reconnect if the process of its connection dies.
        const answer = await create(n).catch(() => undefined);
        if (answer === undefined) return attempt(n);
        expect(answer.status).toBe(200);
        acknowledged.set(n, answer.body.data.contactId);
        if (acknowledged.size === 100) process.kill(killed!.pid, 'SIGKILL');
      };
      await inParallel(300, 16, attempt);
      await eventually(() => expect(listening()).toHaveLength(3));
      expect(server.log).toContainEqual(
        expect.objectContaining({
          message: REPLACED,
          level: 'warn',
          process: killed!.process,
          signal: 'SIGKILL',
        }),
      );
      for (const [n, contactId] of acknowledged) {
        expect((await create(n)).body.data).toEqual({ contactId, created: true });
      }
      const served = server.log.filter(({ path }) => path === '/v1/contact.create-contact');
      expect(new Set(served.map(({ process }) => process))).toEqual(new Set([1, 2]));

      // A connection that is handed to a process that dies before accepting it is closed, too.
      const frozen = listening().at(-1)!;
      process.kill(frozen.pid, 'SIGSTOP');
      const asking = Array.from({ length: 4 }, () => Connection.open());
      for (const connection of asking) {
        connection.send('GET /health/live HTTP/1.1', 'Host: x', 'Connection: close', '', '');
      }
      const over = (): number => asking.filter(({ isOver }) => isOver).length;
      await eventually(() => expect(over()).toBe(3));
      process.kill(frozen.pid, 'SIGKILL');
      await eventually(() => expect(over()).toBe(4));
      await eventually(() => expect(listening()).toHaveLength(4));

      // Requests in flight at SIGTERM are completed.
      const locked = await lock();
      const running = Promise.all([listContacts(), listContacts()]);
      await locked.waiting();
      server.send('SIGTERM');
      await eventually(() =>
        expect(server.log.filter(({ message }) => message === 'stopping')).toHaveLength(2),
      );
      server.send('SIGTERM');
      await locked.release();
      expect((await running).map(({ status }) => status)).toEqual([200, 200]);
      expect((await server.ended).status).toBe(0);
      expect(server.log.filter(({ message }) => message === 'stopped')).toHaveLength(2);
    },
  );

  longIt('kill -9 of the parent stops the processes like SIGTERM', async () => {
    await startTwo();
    server.send('SIGKILL');
    // The output ends with the last process.
    expect((await server.ended).signal).toBe('SIGKILL');
    expect(server.log.filter(({ message }) => message === 'stopped')).toHaveLength(2);
  });

  longIt('a process that cannot start logs the reason once, and exits with 1', async () => {
    const PORT = String(new URL((await deployment.startServer()).origin).port);
    const refused = new ServerProcess({ ...deployment.environment, ...SEVERAL, PORT });
    const { status, stderr } = await refused.ended;
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^The server could not start: port \d+ is already in use.*\n$/),
    ]);
  });

  longIt('exits with 0 on SIGTERM before they serve', async () => {
    const locked = await lock('migrations');
    const starting = new ServerProcess({ ...deployment.environment, ...SEVERAL });
    await locked.waiting();
    starting.send('SIGTERM');
    await locked.release();
    expect((await starting.ended).status).toBe(0);
  });
});
