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

/** A connection that says what it is told, and keeps what it hears. */
class Connection {
  heard = '';
  isOver = false;
  private constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (text: string) => (this.heard += text));
    socket.on('error', () => undefined).on('close', () => (this.isOver = true));
  }

  static open(): Connection {
    return new Connection(connect(Number(new URL(server.origin).port), '127.0.0.1'));
  }

  say(...lines: string[]): void {
    this.socket.write(lines.join('\r\n'));
  }

  async hears(text: string): Promise<void> {
    await eventually(() => expect(this.heard).toContain(text));
  }
}

/** Keeps everybody out of these tables until `release`. */
async function lock(
  tables = 'contacts_v2.contacts',
): Promise<{ waiting(): Promise<void>; release(): Promise<void> }> {
  const { source } = deployment.database;
  const holder: QueryRunner = source.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await holder.query(`LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  return {
    waiting: () =>
      eventually(async () => {
        // The background waits for checkpoints too, and may do so before any request does.
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
/** Others are answered twice: what was sent to the server before, signals too, it has read. */
const othersAreServed = async () => {
  for (let n = 0; n < 2; n += 1) expect((await ask('live')).status).toBe(200);
};

/** What a PostgreSQL that is starting answers: cannot_connect_now. */
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

  it('status 0 beside idle kept-alive connections', async () => {
    const connections = Array.from({ length: 5 }, () => Connection.open());
    for (const connection of connections) {
      connection.say(...LIVE, '', '');
      await connection.hears('"ok"');
    }
    expect((await server.end('SIGTERM')).status).toBe(0);
  });

  it('200 for the request in flight, 503 for what comes meanwhile, then status 0', async () => {
    const kept = Connection.open();
    kept.say(...LIVE, '', '');
    await kept.hears('"ok"');
    const locked = await lock();
    const running = listContacts();
    await locked.waiting();
    // Begun before the signal: an idle connection would be closed by it.
    kept.say(READY[0]!, '');
    const alive = Connection.open();
    alive.say(LIVE[0]!, '');
    await othersAreServed();

    server.send('SIGTERM');
    await eventually(() =>
      expect(server.log.at(-1)).toMatchObject({ message: 'stopping', signal: 'SIGTERM' }),
    );
    kept.say(READY[1]!, '', '');
    await kept.hears('503 Service Unavailable');
    await kept.hears('"reason":"SHUTTING_DOWN"');
    alive.say(LIVE[1]!, '', '');
    await alive.hears('200 OK');
    const refused = await listContacts();
    expect([refused.status, refused.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(refused.body.error.requestId).toBe(refused.headers.get('x-request-id'));

    await locked.release();
    expect((await running).status).toBe(200);
    expect((await server.ended).status).toBe(0);
    expect(server.log.at(-1)).toMatchObject({ message: 'stopped' });
  });

  longIt('status 0 although a client has stalled in the middle of its body', async () => {
    const stalled = Connection.open();
    const head = ['POST /v1/contact.create-contact HTTP/1.1', 'Host: localhost', 'Content-Length: 1000'];
    const authorization = `Authorization: Bearer ${client.key}`;
    stalled.say(...head, 'Content-Type: application/json', authorization, '', '{"email":');
    await othersAreServed();
    expect((await server.end('SIGTERM')).status).toBe(0);
  });

  longIt('ends by itself although the database does not answer', async () => {
    const locked = await lock('contacts_v2.contacts, checkpoints');
    const running = listContacts().catch(() => undefined);
    await locked.waiting();
    const { status } = await server.end('SIGTERM');
    await locked.release();
    await running;
    // Not everything could be closed.
    expect(status).toBe(1);
    expect(server.log).toContainEqual(
      expect.objectContaining({ message: 'request cut off', reason: expect.stringContaining('stops') }),
    );
    expect(server.log.filter(({ message }) => message === 'request failed')).toEqual([]);
  });

  longIt('status 0 at once while the server waits for its database', async () => {
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
    // Said once, not at every attempt.
    expect(waiting.log.map(({ message }) => message)).toEqual(['database not available yet']);
    expect((await waiting.end('SIGTERM')).status).toBe(0);
    starting.close();
  });
});

it('SIGINT twice, as Ctrl-C in `npm start` sends it, cuts nothing off', async () => {
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
    // A group of processes gets a signal several times: that is one. A second one of its kind could arrive together with it.
    server.send('SIGINT');
    await eventually(() => expect(server.log.at(-1)!.message).toBe('stopping'));
  }

  it('not ready at once, but everything is served on, on connections that are closed after the answer', async () => {
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

    // One that comes later than a group's own ends the wait.
    await sleep(1_100);
    server.send('SIGTERM');
    expect((await server.ended).status).toBe(0);
    // Nothing is wrong.
    expect(server.log.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  longIt('ends by itself when it has passed, status 0', async () => {
    await stopping('2');
    expect((await server.ended).status).toBe(0);
    expect(server.log.map(({ message }) => message)).toEqual(expect.arrayContaining(['stopping', 'stopped']));
  });

  it('a server that is still starting does not wait for it', async () => {
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
    'kill -9 of one process loses nothing that was acknowledged: the port answers on, and another takes its place',
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
        // A connection that goes with its process is a client's own to make again.
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
        expect((await create(n)).body.data).toEqual({ contactId });
      }
      const served = server.log.filter(({ path }) => path === '/v1/contact.create-contact');
      expect(new Set(served.map(({ process }) => process))).toEqual(new Set([1, 2]));

      // A connection that is handed to a process which dies before it takes it ends, too.
      const frozen = listening().at(-1)!;
      process.kill(frozen.pid, 'SIGSTOP');
      const asking = Array.from({ length: 4 }, () => Connection.open());
      for (const connection of asking) {
        connection.say('GET /health/live HTTP/1.1', 'Host: x', 'Connection: close', '', '');
      }
      const over = (): number => asking.filter(({ isOver }) => isOver).length;
      await eventually(() => expect(over()).toBe(3));
      process.kill(frozen.pid, 'SIGKILL');
      await eventually(() => expect(over()).toBe(4));
      await eventually(() => expect(listening()).toHaveLength(4));

      // What runs when all are asked to stop is answered.
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

  longIt('kill -9 of the one that started them ends them as SIGTERM does', async () => {
    await startTwo();
    server.send('SIGKILL');
    // Its output ends with the last of them.
    expect((await server.ended).signal).toBe('SIGKILL');
    expect(server.log.filter(({ message }) => message === 'stopped')).toHaveLength(2);
  });

  longIt('one that cannot start says why once, with status 1', async () => {
    const PORT = String(new URL((await deployment.startServer()).origin).port);
    const refused = new ServerProcess({ ...deployment.environment, ...SEVERAL, PORT });
    const { status, stderr } = await refused.ended;
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^The server could not start: port \d+ is taken.*\n$/),
    ]);
  });

  it('SIGTERM before they serve: status 0', async () => {
    const locked = await lock('migrations');
    const starting = new ServerProcess({ ...deployment.environment, ...SEVERAL });
    await locked.waiting();
    starting.send('SIGTERM');
    await locked.release();
    expect((await starting.ended).status).toBe(0);
  });
});
