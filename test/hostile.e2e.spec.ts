import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client } from './harness.js';
import { longIt, someOf } from './length.js';
import { Deployment, eventually, ServerProcess } from './processes.js';

/** The minimum duration of each attack in milliseconds. `npm run test:hostile` takes a minute. */
const ATTACK_MS = 1_000 * Number(process.env.HOSTILE_SECONDS ?? 2.5);
/**
 * An attack continues until the innocent organization has created and read this many contacts. If it starves, the test times
 * out.
 */
const ROUNDS = 5;
/** A response that takes longer counts as lost. */
const LOST_MS = 20_000;
const IDLE_CONNECTIONS = Math.min(5_000, openFiles() - 1_000);

/** The target of an attack, with a key of the attacker's organization, and connections that close when it ends. */
class Target {
  private readonly sockets = new Set<Socket>();
  private readonly until = performance.now() + ATTACK_MS;

  constructor(
    readonly origin: string,
    readonly attacker: Client,
    private readonly isEnough: () => boolean = () => true,
  ) {}

  get isOver(): boolean {
    return performance.now() > this.until && this.isEnough();
  }

  open(text = ''): Socket {
    const socket = connect(Number(new URL(this.origin).port), '127.0.0.1');
    socket.on('error', () => undefined);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (text !== '') socket.write(text);
    return socket;
  }

  /** Repeats work in parallel until the attack is over. */
  async repeat(atATime: number, attack: () => Promise<unknown>): Promise<void> {
    const attacker = async () => {
      while (!this.isOver) await attack();
    };
    await Promise.all(Array.from({ length: atATime }, attacker));
  }

  /** The head of a request with the attacker's key. */
  head(line: string, headers: Record<string, string> = {}): string {
    const fields = { Host: 'localhost', Authorization: `Bearer ${this.attacker.key}`, ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${line} HTTP/1.1\r\n${lines.join('')}\r\n`;
  }

  leave(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}

const LIST = 'GET /v1/contact.list-contacts?limit=100';
const CREATE = 'POST /v1/contact.create-contact';
const IMPORT = 'POST /v1/contact.import-contacts?subscribed=true';
const JSON_CHUNKED = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
const NDJSON = { 'Content-Type': 'application/x-ndjson', 'Transfer-Encoding': 'chunked' };
const CSV = { 'Content-Type': 'text/csv', 'Transfer-Encoding': 'chunked' };
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Opens connections that send these texts in turn, and resets each after a random time. */
const resetAfter =
  (texts: (target: Target) => string[]) =>
  async (target: Target): Promise<void> => {
    let n = 0;
    await target.repeat(5, async () => {
      const all = texts(target);
      const socket = target.open(all[n % all.length]);
      await sleep(n++ % 7);
      socket.resetAndDestroy();
      await sleep(5);
    });
  };

/** Opens this many connections with this text, and sends these bytes on each at intervals. */
const dribble =
  (connections: number, everyMs: number, start: (target: Target) => string, bytes: string) =>
  async (target: Target): Promise<void> => {
    const sockets = Array.from({ length: connections }, () => target.open(start(target)).resume());
    for (; !target.isOver; await sleep(everyMs))
      for (const socket of sockets) if (socket.writable) socket.write(bytes);
  };

/** The attacks. Their names are the titles of their tests. */
const ATTACKS: Record<string, (target: Target) => Promise<void>> = {
  'CONNECT and upgrades, reset': resetAfter((target) => [
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${'x'.repeat(10_000)}`,
    target.head(LIST) + 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    target.head(LIST, { Connection: 'Upgrade', Upgrade: 'websocket' }),
    target.head(LIST, { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c' }),
  ]),

  'requests reset in the middle': resetAfter((target) => [
    'GET / HTTP/1.1\r\nHo',
    target.head(LIST),
    target.head(LIST).repeat(5),
    target.head('GET /v1/contact.export-contacts'),
    target.head(CREATE, JSON_CHUNKED) + chunk('{"email":'),
    target.head(IMPORT, NDJSON) + chunk('{"email":"a@example.org"}\n').repeat(50),
  ]),

  'requests half closed': (target) =>
    target.repeat(10, async () => {
      const texts = ['', 'GET / HTTP', target.head(LIST), target.head(CREATE, JSON_CHUNKED) + chunk('{')];
      const socket = target.open().resume();
      socket.end(texts[Math.floor(Math.random() * texts.length)]!);
      await closed(socket);
    }),

  'data that is not HTTP': (target) =>
    target.repeat(10, async () => {
      const socket = target.open().resume();
      socket.write(randomBytes(2_000));
      socket.write(target.head(LIST).repeat(3) + 'nonsense\r\n\r\n');
      await sleep(5);
      socket.destroy();
    }),

  'headers that trickle in': dribble(200, 50, () => 'GET / HTTP/1.1\r\nHost: a\r\nX: ', 'x'),

  'bodies of single bytes': dribble(50, 5, (target) => target.head(CREATE, JSON_CHUNKED), chunk(' ')),

  'imports of single bytes': dribble(50, 5, (target) => target.head(IMPORT, NDJSON), chunk('x')),

  'imports that trickle into an open quote': dribble(
    4,
    5,
    (target) => target.head(IMPORT, CSV) + chunk(`email,bio\na@example.org,"${'x\n'.repeat(450_000)}`),
    chunk('x').repeat(30),
  ),

  'imports held open': async (target) => {
    const start = target.head(IMPORT, NDJSON) + chunk('{"email":"');
    const answers: string[] = [];
    for (let n = 0; n < 100; n += 1) {
      target.open(start).on('data', (bytes) => answers.push(bytes.toString('latin1', 9, 12)));
    }
    while (!target.isOver) await sleep(50);
    // All except the few permitted for one key are rejected immediately. The previous attack may still occupy some of these.
    const [refused, others] = [true, false].map((is) =>
      answers.filter((status) => (status === '429') === is),
    );
    expect(refused!.length).toBeGreaterThanOrEqual(96);
    // They were silent for too long.
    expect(others!.every((status) => status === '400')).toBe(true);
  },

  'hundreds of requests on one connection': (target) =>
    target.repeat(1, async () => {
      const socket = target
        .open(target.head(LIST).repeat(400) + target.head(LIST, { Connection: 'close' }))
        .resume();
      await Promise.race([closed(socket), sleep(ATTACK_MS)]);
    }),

  'thousands of pipelined requests without a key': (target) =>
    target.repeat(2, async () => {
      const socket = target.open('GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_500)).resume();
      await Promise.race([closed(socket), sleep(1_000)]);
      socket.destroy();
    }),

  'responses that are never read': async (target) => {
    for (let n = 0; n < 20; n += 1) target.open(target.head(LIST).repeat(20)).pause();
    for (let n = 0; n < 8; n += 1) target.open(target.head('GET /v1/contact.export-contacts')).pause();
    for (let n = 0; n < 20; n += 1)
      target.open('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20)).pause();
    while (!target.isOver) await sleep(50);
  },

  [`${IDLE_CONNECTIONS} idle connections`]: async (target) => {
    for (let n = 0; n < IDLE_CONNECTIONS && !target.isOver; n += 1) {
      target.open(n % 2 === 0 ? '' : 'GET / HTTP/1.1\r\n');
      if (n % 100 === 99) await sleep(10);
    }
    while (!target.isOver) await sleep(50);
  },

  'invalid keys': (target) =>
    target.repeat(10, async () => {
      const key = `adv_${randomBytes(4).toString('hex')}_${randomBytes(24).toString('hex')}`;
      const { status } = await ask(target.origin, 'GET', '/v1/contact.list-contacts', key);
      expect([401, 429]).toContain(status);
    }),

  'more requests than a key may send': (target) =>
    target.repeat(10, async () => {
      const { status } = await ask(
        target.origin,
        'GET',
        '/v1/contact.list-contacts?limit=1',
        target.attacker.key!,
      );
      expect([200, 429, 503]).toContain(status);
    }),

  'searches that find nothing': (target) => {
    const queries = [
      'contact.list-contacts?q=nobody-is-called-this',
      'contact.list-contacts?country=XX&city=Nowhere',
      'history.list-events?requestId=none&limit=1000',
      'history.list-events?type=NothingHappened',
      'petition.list-petitions?q=%25_%25',
    ];
    let n = 0;
    return target.repeat(10, async () => {
      const path = `/v1/${queries[(n += 1) % queries.length]}`;
      const { status } = await ask(target.origin, 'GET', path, target.attacker.key!);
      expect([200, 429, 503]).toContain(status);
    });
  },

  'tiles of its own log, of others and of unknown ones': (target) => {
    const own = `/log/${target.attacker.organizationId}`;
    const names = [
      'checkpoint',
      'tile/0/000.p/1',
      'tile/entries/000.p/1',
      'tile/63/x999/x999/999',
      'tile/%zz',
    ];
    const paths = [
      ...names.map((path) => `${own}/${path}`),
      ...names.map((path) => `/log/all/${path}`),
      '/log/x/checkpoint',
      `/log/${'x/'.repeat(4_000)}`,
    ];
    let n = 0;
    return target.repeat(10, async () => {
      const path = paths[(n += 1) % paths.length]!;
      // Also without a key, because another organization's log may be public.
      const key = n % 3 === 0 ? '' : target.attacker.key!;
      const { status } = await ask(target.origin, 'GET', path, key);
      expect([200, 404, 429, 503]).toContain(status);
    });
  },

  'bodies of a megabyte': (target) => {
    // Created once, so that only the server works. Unseen names are the most expensive for a parser.
    const contents = [
      new Array(500_000).fill(1),
      Object.fromEntries(Array.from({ length: 29_000 }, (_, index) => [`n${'x'.repeat(20)}${index}`, 1])),
    ];
    const bodies = contents.map((content) => JSON.stringify({ name: 'x', content }));
    let n = 0;
    return target.repeat(3, async () => {
      const body = bodies[(n += 1) % bodies.length]!;
      const { status } = await ask(target.origin, 'POST', '/v1/post.create-post', target.attacker.key!, body);
      expect([400, 429, 503]).toContain(status);
      await sleep(50);
    });
  },

  'expensive templates and Markdown': async (target) => {
    const times = (text: string, count: number) => text.repeat(count);
    const contents = [
      `{{ "${times('%', 1_000)}"${times(' | url_encode', 20)} | size }}`,
      `{% assign s = "%" %}${times(`{% assign s = s${times(' | url_encode', 20)} %}`, 300)}`,
      `{% for a in (1..1000) %}{% for b in (1..1000) %}{{ a | times: b }}{% endfor %}{% endfor %}`,
      `{% assign a = "a,a" | split: "," %}{{ a | where: "${times('b.', 100)}b" | size }}`,
      times('a@b.co ', 2_000),
      times('{{ contact.firstName }} ', 1_000),
      times('> ', 10_000),
    ];
    const { attacker: client, origin } = target;
    let n = 0;
    await target.repeat(5, async () => {
      const content = contents[(n += 1) % contents.length];
      const created = await client
        .at(origin)
        .post('broadcast.create-broadcast', { name: `Hostile ${n}`, content });
      expect([200, 429, 503]).toContain(created.status);
      if (created.status !== 200) return sleep(100);
      const { broadcastId } = created.body.data;
      const shown = await client.at(origin).get('broadcast.preview-broadcast', { broadcastId });
      expect([200, 409, 429, 503]).toContain(shown.status);
    });
  },

  'feeds and pages of endless posts': async (target) => {
    const { attacker: client, origin } = target;
    const content = 'A word **and** another. '.repeat(2_000);
    for (let n = 0; n < 10 && !target.isOver; n += 1)
      await client
        .at(origin)
        .post('post.create-post', { name: `Post ${n} ${randomBytes(3).toString('hex')}`, content });
    const site = `/${client.organizationId}`;
    let n = 0;
    await target.repeat(10, async () => {
      const path = [`${site}/feed.xml`, `${site}?page=${n}`, `${site}/nothing-${n}`, site][(n += 1) % 4]!;
      const { status } = await ask(origin, 'GET', path, '');
      expect([200, 301, 302, 303, 307, 308, 404, 429, 503]).toContain(status);
    });
  },
};

const agent = new http.Agent({ keepAlive: true });

/** Resolves when the socket is closed, even by a reset from the server (ECONNRESET). */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** Sends a request. Every second one uses its own connection. */
function ask(origin: string, method: string, path: string, key: string, body?: string, isKept = true) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = {
      ...(key === '' ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const options = { method, headers, agent: isKept ? agent : (false as const), timeout: LOST_MS };
    const request = http.request(origin + path, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${LOST_MS} ms`)));
    request.on('error', reject);
    request.end(body);
  });
}

/** The limit of open files of this process, and of the server that it starts. */
function openFiles(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1_500);
  } catch {
    return 1_500;
  }
}

/** A legitimate client that sends one request after another. */
class Innocent {
  private asked = 0;

  constructor(
    private readonly origin: string,
    private readonly client: Client,
  ) {}

  /** The number of contacts that it created and read. */
  rounds = 0;
  /** The milliseconds of each response. */
  took: number[] = [];

  /** Works until `isOver`. @throws if a response is not 200, or not what was written. */
  async work(isOver: () => boolean): Promise<void> {
    do {
      const { organizationId, key } = this.client;
      const email = `person-${(this.asked += 1)}@example.org`;
      const body = JSON.stringify({ organizationId, email });
      const isKept = this.asked % 2 === 0;
      const contact = await this.data('POST', '/v1/contact.create-contact', key!, body, isKept);
      const path = `/v1/contact.get-contact?organizationId=${organizationId}&contactId=${contact.contactId}`;
      expect((await this.data('GET', path, key!, undefined, isKept)).email).toBe(email);
      this.rounds += 1;
      await sleep(10);
    } while (!isOver());
  }

  private async data(...[method, path, key, body, isKept]: Asked): Promise<any> {
    const begun = performance.now();
    const { status, text } = await ask(this.origin, method, path, key, body, isKept);
    this.took.push(performance.now() - begun);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text).data;
  }
}
type Asked = [method: string, path: string, key: string, body: string | undefined, isKept: boolean];

/** By attack: the 99th percentile of response times in milliseconds, during the attack and immediately before it. */
const latencies = new Map<string, { during: number; before: number }>();
/** A part of the attack's time. Measured immediately before, because the machine's load changes from minute to minute. */
const REST_MS = ATTACK_MS / 6;

async function atRest(): Promise<number> {
  const until = performance.now() + REST_MS;
  innocent.took = [];
  await innocent.work(() => performance.now() > until);
  return slowestOf(innocent.took);
}

function slowestOf(took: readonly number[]): number {
  return took.toSorted((one, other) => one - other)[Math.floor(took.length * 0.99)]!;
}

let deployment: Deployment;
let server: ServerProcess;
let attacker: Client;
let innocent: Innocent;

beforeAll(async () => {
  deployment = await Deployment.create();
  const working = await deployment.organization();
  // The default rate limit.
  attacker = await deployment.organization(10);
  server = await deployment.startServer();
  innocent = new Innocent(server.origin, working);
  const contacts = Array.from({ length: 500 }, (_, n) => `{"email":"contact-${n}@example.org"}\n`).join('');
  const imported = await attacker
    .at(server.origin)
    .request('POST', '/v1/contact.import-contacts?subscribed=true', contacts, {
      'Content-Type': 'application/x-ndjson',
    });
  expect(imported.body.data.created).toBe(500);
});
afterAll(async () => {
  // For runs of a minute each. No test depends on the speed of the machine.
  for (const [name, { during, before }] of latencies)
    process.stderr.write(
      `${during.toFixed(0).padStart(6)} ms ${(during / before).toFixed(1).padStart(5)} × rest  ${name}\n`,
    );
  agent.destroy();
  await deployment.stop();
});

describe('an innocent organization gets every response, each correct, during', () => {
  it.each(someOf(Object.keys(ATTACKS)))(
    '%s',
    async (name) => {
      const before = process.env.HOSTILE_SECONDS === undefined ? undefined : await atRest();
      const enough = innocent.rounds + ROUNDS;
      innocent.took = [];
      const target = new Target(server.origin, attacker, () => innocent.rounds >= enough);
      const attack = ATTACKS[name]!(target);
      let isOver = false;
      try {
        const ended = attack.finally(() => (isOver = true));
        await Promise.all([innocent.work(() => isOver), ended]);
        expect(innocent.rounds).toBeGreaterThanOrEqual(enough);
        if (before !== undefined) latencies.set(name, { during: slowestOf(innocent.took), before });
      } finally {
        target.leave();
        await attack.catch(() => undefined);
      }
      const { status } = await ask(server.origin, 'GET', '/health/live', 'none');
      expect(status).toBe(200);
    },
    REST_MS + ATTACK_MS + 120_000,
  );

  it('ends on SIGTERM without uncaught errors', async () => {
    const target = new Target(server.origin, attacker);
    void ATTACKS['imports that trickle into an open quote']!(target);
    for (let n = 0; n < 100; n += 1) {
      target.open([target.head(IMPORT, NDJSON), target.head(LIST).repeat(50), 'GET /', ''][n % 4]).pause();
    }
    await sleep(200);
    const { status } = await server.end('SIGTERM');
    target.leave();
    expect([status, server.stderr]).toEqual([0, '']);
    expect(server.log.filter(({ level }) => level === 'fatal')).toEqual([]);
  });
});

longIt(
  'a server with few file descriptors accepts as many connections as it can, and keeps working',
  async () => {
    const working = await deployment.organization();
    const few = new ServerProcess(deployment.environment, undefined, 600);
    deployment.servers.push(few);
    await few.listening();
    const target = new Target(few.origin, attacker);
    for (let n = 0; n < 1_000; n += 1) target.open('GET / HTTP');
    const list = () => ask(few.origin, 'GET', '/v1/contact.list-contacts', working.key!);
    await eventually(async () => expect((await list()).status).toBe(200));
    const worker = new Innocent(few.origin, working);
    await worker.work(() => target.isOver && worker.rounds >= ROUNDS);
    target.leave();
    expect((await few.end('SIGTERM')).status).toBe(0);
  },
);
