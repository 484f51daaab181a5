import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRedis } from '#libs/rate-limit';
import { eventually, findFreePort, SmtpServer, type SmtpServerOptions, startRedis } from '#libs/testing';
import { newId } from '#libs/random';
import {
  Mailer,
  type MailerOptions,
  type MailFiles,
  type MailMessage,
  type MailOutcome,
  probeMailServer,
  writtenAt,
} from './index.js';
import { isLong, longIt, someOf } from '../../test/length.js';

/** More than a connection's buffers hold. */
const LARGE = 'x'.repeat(72).concat('\n').repeat(110_000);

let directory: string;
const ends: (() => Promise<unknown>)[] = [];

/** Shared by all tests, because starting a process takes longer than most of them. */
let server: SmtpServer;
/** Supports only what every server must. */
let minimal: SmtpServer;
const LOGIN = { user: 'us@rivers.example', password: 'p@s/s:#%' };
/** They require a login, and start when the first test needs them. */
const withLogin = new Map<NonNullable<SmtpServerOptions['tls']>, SmtpServer>();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mail-'));
  server = await SmtpServer.start({ keepContent: true });
  minimal = await SmtpServer.start({ hide: ['PIPELINING', 'SMTPUTF8'], size: 10_000 });
});
beforeEach(async () => {
  for (const each of [server, minimal, ...withLogin.values()]) {
    await each.behave({});
    // With the message that the previous test left unfinished.
    await each.settle();
    each.accepted.splice(0);
  }
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(async () => {
  await Promise.all([server, minimal, ...withLogin.values()].map((each) => each.stop()));
  await rm(directory, { recursive: true });
});

async function serverWithLogin(tls: NonNullable<SmtpServerOptions['tls']>): Promise<SmtpServer> {
  const server = withLogin.get(tls) ?? (await SmtpServer.start({ tls, login: LOGIN }));
  withLogin.set(tls, server);
  return server;
}

/** Longer than any server of these tests needs, even on a busy machine. */
const PATIENT = { connecting: 60_000, silence: 60_000, message: 60_000, stopping: 60_000 };
/** For servers that never respond. */
const IMPATIENT = { connecting: 500, silence: 500, message: 5_000, stopping: 500 };

const said: unknown[] = [];
beforeEach(() => void said.splice(0));

function mailerOf(url: string | undefined, options: Partial<MailerOptions> = {}): Mailer {
  const mailer = new Mailer(
    {
      url,
      directory: join(directory, 'none'),
      concurrency: 10,
      timeouts: PATIENT,
      ...options,
    },
    { log: (line: unknown) => void said.push(line), warn: (line: unknown) => void said.push(line) },
  );
  ends.push(() => mailer.close());
  return mailer;
}

let sent = 0;
const message = (changes: Partial<MailMessage> = {}): MailMessage => {
  sent += 1;
  return {
    organizationId: null,
    from: { name: 'Clean Rivers', address: 'office@rivers.example' },
    replyTo: null,
    to: `person-${sent}@example.org`,
    subject: 'Hello',
    text: 'Hello\n.\nA dot alone ends nothing.\n',
    html: '<p>Hello</p>',
    messageId: `${sent}@rivers.example`,
    automatic: false,
    ...changes,
  };
};

/** A server that only greets. */
const greeting = (text: string) => rawServer((socket) => void socket.write(text));

/** A minimal server, for behaviour that no real server has. */
async function rawServer(talk: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an accepted message', () => {
  it('arrives once and unchanged, and returns the reply of the server', async () => {
    const mailer = mailerOf(server.url);
    const outcome = await mailer.send(message({ to: 'Ada@bücher.example' }));
    expect(outcome).toEqual({ outcome: 'sent', detail: '250 OK: message queued' });
    await server.settle();
    expect(server.accepted).toMatchObject([
      // The server shows the domain as people write it.
      { to: 'Ada@bücher.example', from: 'office@rivers.example' },
    ]);
    await server.settle();
    expect(server.accepted[0]!.content).toContain('\r\nTo: Ada@xn--bcher-kva.example\r\n');
    expect(server.accepted[0]!.content).toContain('\r\n.\r\nA dot alone ends nothing.\r\n');
  });

  longIt('uses as many connections as configured, and reuses them', async () => {
    const mailer = mailerOf(server.url, { concurrency: 2 });
    const outcomes = await Promise.all(Array.from({ length: 210 }, () => mailer.send(message())));
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['sent']));
    await server.settle();
    expect([...server.addresses.values()]).toEqual(Array.from({ length: 210 }, () => 1));
  });

  it.each(someOf(['starttls', 'implicit'] as const))('is sent after a login with TLS: %s', async (tls) => {
    const server = await serverWithLogin(tls);
    expect(await mailerOf(server.url).send(message())).toMatchObject({ outcome: 'sent' });
    await server.settle();
    expect(server.accepted).toMatchObject([{ isSecure: true, user: LOGIN.user }]);
    expect(await probeMailServer(server.url, new AbortController().signal)).toBeUndefined();
  });

  it('can have an address that needs SMTPUTF8 if the server supports it', async () => {
    expect(await mailerOf(server.url).send(message({ to: 'adä@example.org' }))).toMatchObject({
      outcome: 'sent',
    });
    await server.settle();
    expect(server.accepted).toMatchObject([{ to: 'adä@example.org', isUtf8: true }]);
  });
});

describe('a rejected message', () => {
  const REJECTIONS = [
    ['rcpt', 550, true],
    ['rcpt', 421, false],
    ['end', 554, true],
    ['end', 452, false],
    ['mail', 550, true],
    ['mail', 451, false],
    ['rcpt', 450, false],
    ['end', 421, false],
  ] as const;
  it.each(someOf(REJECTIONS, 4))('at %s with %i, and the next one is not', async (stage, code, permanent) => {
    for (const each of [server, minimal]) {
      const mailer = mailerOf(each.url, { concurrency: 1 });
      await mailer.send(message());
      await each.behave({ refuses: { [stage]: { codes: [code], text: 'No <person-1@example.org>' } } });
      const rejected = await mailer.send(message());
      expect(rejected).toMatchObject({ outcome: 'refused', permanent, code });
      expect(rejected.detail).toMatch(new RegExp(`^${code} .*No <…>`));
      await each.behave({});
      expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
      await each.settle();
      expect(each.accepted).toHaveLength(2);
    }
  });

  it('is larger than the server accepts, and is not sent', async () => {
    const rejected = await mailerOf(minimal.url).send(message({ text: LARGE.slice(0, 20_000) }));
    expect(rejected).toMatchObject({ outcome: 'refused', permanent: true });
    expect(await mailerOf(minimal.url).send(message())).toMatchObject({ outcome: 'sent' });
  });

  it('has an address that the server does not support', async () => {
    const mailer = mailerOf(minimal.url);
    const rejected = await mailer.send(message({ to: 'adä@example.org' }));
    expect(rejected).toMatchObject({ outcome: 'refused', permanent: true, code: null });
    expect(rejected.detail).toContain('SMTPUTF8');
    expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    await minimal.settle();
    expect(minimal.accepted).toHaveLength(1);
  });

  it('has an address or a header that would result in several', async () => {
    const mailer = mailerOf(server.url);
    for (const wrong of [
      { to: '"x\r\nRCPT TO:<eve@example.org>"@example.org' },
      { headers: { 'List-Unsubscribe': 'x\r\nBcc: eve@example.org' } },
    ]) {
      expect(await mailer.send(message(wrong))).toMatchObject({ outcome: 'refused', permanent: true });
    }
    await server.settle();
    expect(server.accepted).toEqual([]);
  });
});

describe('an unavailable server', () => {
  // Without a name service, there is no response either.
  const NO_ADDRESS =
    /^the (host name of the mail server cannot be resolved|mail server did not respond in time)$/;
  it.each<[string, () => Promise<string>, detail: RegExp, reason: RegExp, patience?: typeof IMPATIENT]>([
    [
      'nothing listens',
      async () => `smtp://127.0.0.1:${await findFreePort()}`,
      /^the mail server accepts no connections$/,
      /ECONNREFUSED 127/,
    ],
    [
      'no such host',
      () => Promise.resolve('smtp://no-such-host.invalid'),
      NO_ADDRESS,
      /no-such-host/,
      IMPATIENT,
    ],
    ['the greeting is a rejection', () => greeting('554 go away\r\n'), /^554 go away$/, /554/],
    ['the greeting is 421', () => greeting('421 later\r\n'), /^421 later$/, /421/],
    [
      'it sends no greeting',
      () => greeting(''),
      /^the mail server did not respond in time$/,
      /received|timeout/i,
      IMPATIENT,
    ],
    [
      'it closes immediately',
      () => rawServer((socket) => void socket.end()),
      /^the connection .* ended$/,
      /closed/,
    ],
    ['it is not a mail server', () => greeting('HTTP/1.1 400\r\n'), /^HTTP/, /HTTP/],
  ])(
    'is unreachable: %s, and only the operator sees its address',
    async (_, urlOf, detail, reason, timeouts = PATIENT) => {
      const url = await urlOf();
      const outcome = await mailerOf(url, { timeouts }).send(message());
      expect(outcome).toEqual({ outcome: 'unreachable', detail: expect.stringMatching(detail) });
      expect(said).toEqual([
        { message: expect.stringMatching(/mail server unavailable/), reason: expect.stringMatching(reason) },
      ]);
      expect(await probeMailServer(url, AbortSignal.timeout(500))).toBeDefined();
    },
  );

  it('is unreachable with a wrong password, which no message repeats', async () => {
    const { port } = await serverWithLogin('starttls');
    const url = `smtp://us:secret@127.0.0.1:${port}?tls.rejectUnauthorized=false`;
    const outcome = await mailerOf(url).send(message());
    expect(outcome).toMatchObject({ outcome: 'unreachable', detail: expect.stringMatching(/^535 /) });
    expect(
      JSON.stringify([outcome, said, await probeMailServer(url, AbortSignal.timeout(60_000))]),
    ).not.toContain('secret');
  });

  it('is unreachable if it requires a login that is not configured, or offers none although one is', async () => {
    const wanting = await serverWithLogin('none');
    const outcome = await mailerOf(`smtp://127.0.0.1:${wanting.port}`).send(message());
    expect(outcome).toMatchObject({ outcome: 'unreachable', detail: expect.stringMatching(/^530 /) });
    const other = await mailerOf(`smtp://us:pass@127.0.0.1:${server.port}?requireTLS=false`).send(message());
    expect(other).toMatchObject({
      outcome: 'unreachable',
      detail: expect.stringMatching(/^the login to the mail server failed$/),
    });
  });

  it('receives no password if it offers no TLS, and nothing if its certificate is self-signed', async () => {
    const plain = await serverWithLogin('none');
    const { username, password } = new URL(plain.url);
    const outcome = await mailerOf(`smtp://${username}:${password}@127.0.0.1:${plain.port}`).send(message());
    expect(outcome).toMatchObject({ outcome: 'unreachable' });
    const secure = await serverWithLogin('implicit');
    const other = await mailerOf(`smtps://127.0.0.1:${secure.port}`).send(message());
    expect(other).toMatchObject({ outcome: 'unreachable', detail: expect.stringMatching(/TLS/) });
    await Promise.all([plain.settle(), secure.settle()]);
    expect([plain.accepted, secure.accepted]).toEqual([[], []]);
  });

  it('is logged once when it becomes unavailable, and once when it is back', async () => {
    const mailer = mailerOf(server.url);
    await mailer.send(message());
    await server.stop();
    for (let n = 0; n < 2; n += 1) {
      expect(await mailer.send(message())).toMatchObject({ outcome: 'unreachable' });
    }
    await server.start();
    for (let n = 0; n < 2; n += 1) {
      expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    }
    expect(said).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/mail server unavailable/) }),
      expect.objectContaining({ message: 'mail server available again' }),
    ]);
    await server.settle();
    expect(server.accepted).toHaveLength(3);
  });
});

describe('a connection that ends too early', () => {
  it.each(someOf(['middle', 'mail', 'rcpt'] as const))('at %s: certainly not accepted', async (cut) => {
    await server.behave({ cut });
    const text = cut === 'middle' ? LARGE : 'Hello';
    const outcome = await mailerOf(server.url).send(message({ text }));
    expect(outcome).toMatchObject({ outcome: 'unreachable' });
    await server.settle();
    expect(server.accepted).toEqual([]);
  });

  it('after the whole message: in doubt and not sent again', async () => {
    const mailer = mailerOf(server.url, { concurrency: 1 });
    await mailer.send(message());
    await server.behave({ cut: 'end' });
    expect(await mailer.send(message())).toMatchObject({ outcome: 'in-doubt' });
    await server.behave({});
    expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    await server.settle();
    expect([...server.addresses.values()]).toEqual([1, 1, 1]);
  });

  it('between two messages: the next one uses a new connection', async () => {
    const mailer = mailerOf(server.url, { concurrency: 2 });
    await Promise.all([mailer.send(message()), mailer.send(message())]);
    await server.stop();
    await server.start();
    expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    // A server that replies 421 and closes.
    await server.behave({ refuses: { mail: { codes: [421] } } });
    expect(await mailer.send(message())).toMatchObject({
      outcome: 'unreachable',
      detail: expect.stringMatching(/^421/),
    });
    await server.behave({});
    expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    await server.settle();
    expect([...server.addresses.values()]).toEqual([1, 1, 1, 1]);
  });
});

describe('a server that falls silent', () => {
  const SILENCES = [
    ['end', 'in-doubt'],
    ['rcpt', 'unreachable'],
    ['greeting', 'unreachable'],
    ['mail', 'unreachable'],
  ] as const;
  it.each(someOf(SILENCES, 2))('at %s: %s', async (holds, outcome) => {
    await server.behave({ holds });
    const mailer = mailerOf(server.url, { timeouts: IMPATIENT });
    // On a busy machine, the server may also be this slow before it reaches the stage.
    await eventually(async () => {
      expect(await mailer.send(message())).toMatchObject({ outcome });
      expect(server.isHolding(holds)).toBe(true);
    });
    await server.settle();
    expect(server.accepted).toEqual([]);
  });

  longIt('frozen before or in the middle of a message: certainly not accepted', async () => {
    const mailer = mailerOf(server.url, { timeouts: IMPATIENT });
    const isSent = () =>
      eventually(async () => expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' }));
    await isSent();
    server.freeze();
    expect(await mailer.send(message())).toMatchObject({ outcome: 'unreachable' });
    server.resume();
    await server.behave({ holds: 'middle' });
    const cutOff = message({ text: LARGE });
    await eventually(async () => {
      const sending = mailer.send(cutOff);
      await Promise.race([sending, server.reaches('middle')]);
      server.freeze();
      const { outcome } = await sending;
      server.resume();
      expect([outcome, server.isHolding('middle')]).toEqual(['unreachable', true]);
    });
    // It still reads what arrived before the connection was closed.
    await server.behave({});
    await isSent();
    await server.settle();
    expect(server.addresses.get(cutOff.to)).toBeUndefined();
  });

  it('one byte at a time', async () => {
    const url = await rawServer((socket) => {
      socket.write('220-');
      const timer = setInterval(() => socket.write('.'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    const mailer = mailerOf(url, { timeouts: IMPATIENT });
    expect(await mailer.send(message())).toMatchObject({ outcome: 'unreachable' });
  });
});

describe('a server that violates the protocol', () => {
  /** A server that replies with these lines to the commands of one message. */
  const talking = (answers: { [command: string]: string }) =>
    rawServer((socket) => {
      socket.write('220 x\r\n');
      socket.on('data', (bytes) => {
        for (const line of bytes.toString('latin1').split('\r\n')) {
          const answer = answers[line.split(/[ :]/)[0]!];
          if (answer !== undefined) socket.write(answer);
        }
      });
    });
  const usual = {
    EHLO: '250 x\r\n',
    MAIL: '250 x\r\n',
    RCPT: '250 x\r\n',
    DATA: '354 x\r\n',
    '.': '250 x\r\n',
  };

  it.each<[string, { [command: string]: string }, MailOutcome['outcome']]>([
    ['as usual', {}, 'sent'],
    ['354 after the end', { '.': '354 go on\r\n' }, 'in-doubt'],
    ['no code after the end', { '.': 'thanks\r\n' }, 'in-doubt'],
    ['half a reply after the end', { '.': '25' }, 'in-doubt'],
    ['550 after the end, twice', { '.': '550 x\r\n550 x\r\n' }, 'refused'],
    ['250 after DATA', { DATA: '250 x\r\n' }, 'sent'],
    ['554 after DATA', { DATA: '554 x\r\n' }, 'refused'],
  ])('%s', async (_, answers, outcome) => {
    const url = await talking({ ...usual, ...answers });
    // Only the missing reply causes a wait.
    const timeouts = outcome === 'in-doubt' ? IMPATIENT : PATIENT;
    const found = await mailerOf(url, { timeouts }).send(message());
    // A message that was never sent cannot be in doubt.
    expect([outcome, ...(outcome === 'in-doubt' ? ['unreachable'] : [])]).toContain(found.outcome);
    expect(found.outcome === 'sent').toBe(outcome === 'sent');
  });

  it('a rejection in the middle of a message, which is then not completed', async () => {
    let got = '';
    let isOver = false;
    const url = await rawServer((socket) => {
      socket.on('close', () => (isOver = true));
      socket.write('220 x\r\n');
      let isReading = false;
      socket.on('data', (bytes) => {
        const text = bytes.toString('latin1');
        got = (got + text).slice(-5);
        if (isReading) return;
        for (const line of text.split('\r\n')) {
          const answer = (
            { EHLO: '250 x\r\n', MAIL: '250 x\r\n', RCPT: '250 x\r\n' } as { [name: string]: string }
          )[line.split(/[ :]/)[0]!];
          if (answer) socket.write(answer);
          if (line === 'DATA') {
            isReading = true;
            socket.write('354 x\r\n552 too much\r\n');
          }
        }
      });
    });
    const rejected = await mailerOf(url).send(message({ text: LARGE }));
    expect(rejected).toMatchObject({ outcome: 'refused', permanent: true, code: 552 });
    // Everything sent has been read when the connection ends.
    await eventually(() => expect(isOver).toBe(true));
    expect(got).not.toBe('\r\n.\r\n');
  });
});

describe('stopping', () => {
  it('ends waiting messages and those that have sent nothing yet', async () => {
    await server.behave({ holds: 'rcpt' });
    const mailer = mailerOf(server.url, { concurrency: 1 });
    const stopping = new AbortController();
    const sending = [mailer.send(message(), stopping.signal), mailer.send(message(), stopping.signal)];
    await server.reaches('rcpt');
    stopping.abort();
    expect(await Promise.all(sending)).toMatchObject([
      { outcome: 'unreachable' },
      { outcome: 'unreachable' },
    ]);
    expect(await mailer.send(message(), stopping.signal)).toMatchObject({ outcome: 'unreachable' });
    await server.behave({});
    expect(await mailer.send(message())).toMatchObject({ outcome: 'sent' });
    await server.settle();
    expect(server.accepted).toHaveLength(1);
  });

  it('waits for the reply to a sent message, however long it takes, unless the mailer is closed', async () => {
    const timeouts = { ...PATIENT, stopping: 100 };
    const mailer = mailerOf(server.url, { timeouts });
    await mailer.send(message());
    await server.behave({ holds: 'end' });
    const stopping = new AbortController();
    const sending = mailer.send(message(), stopping.signal);
    await server.reaches('end');
    stopping.abort();
    // If the mailer stopped waiting after `stopping`, it would have done so by now. Timers of one process fire in order.
    await sleep(2 * timeouts.stopping);
    await server.behave({});
    expect(await sending).toMatchObject({ outcome: 'sent' });
  });

  it('returns in-doubt if no reply arrives in time', async () => {
    const mailer = mailerOf(server.url, { timeouts: { ...PATIENT, stopping: 300 } });
    await mailer.send(message());
    await server.behave({ holds: 'end' });
    const sending = mailer.send(message());
    await server.reaches('end');
    await mailer.close();
    expect(await sending).toMatchObject({ outcome: 'in-doubt' });
    expect(await mailer.send(message())).toMatchObject({ outcome: 'unreachable' });
  });
});

it('sends at most once per address whatever the server does, and never reports a missing message as sent', async () => {
  const mailer = mailerOf(server.url, { concurrency: 8, timeouts: IMPATIENT });
  const outcomes = new Map<string, MailOutcome>();
  let isOver = false;
  const senders = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      const one = message();
      outcomes.set(one.to, await mailer.send(one));
    }
  });
  const count = (...some: MailOutcome['outcome'][]) =>
    [...outcomes.values()].filter(({ outcome }) => some.includes(outcome)).length;
  /** Waits for this many more of these outcomes. */
  const more = async (least: number, ...some: MailOutcome['outcome'][]) => {
    const end = count(...some) + least;
    await eventually(() => expect(count(...some)).toBeGreaterThanOrEqual(end));
  };
  const codes = [421, 450, 550];
  for (let round = 0; round < (isLong ? 4 : 1); round += 1) {
    await server.behave({
      refuses: { mail: { codes, share: 0.1 }, rcpt: { codes, share: 0.1 }, end: { codes, share: 0.1 } },
    });
    await Promise.all([more(10, 'sent'), more(10, 'refused')]);
    server.freeze();
    await more(8, 'unreachable', 'in-doubt');
    server.resume();
    await server.behave({ cut: 'end' });
    await more(1, 'in-doubt');
    await server.stop();
    await more(1, 'unreachable');
    await server.start();
  }
  isOver = true;
  await Promise.all(senders);
  // With the message that the killed server was processing.
  await server.stop();
  const { addresses } = server;
  await server.start();
  expect([...addresses.values()].filter((count) => count > 1)).toEqual([]);
  const wrong = [...outcomes].filter(([to, { outcome }]) => {
    if (outcome === 'in-doubt') return false;
    return addresses.has(to) !== (outcome === 'sent');
  });
  expect(wrong).toEqual([]);
  expect(new Set([...outcomes.values()].map(({ outcome }) => outcome))).toEqual(
    new Set(['sent', 'refused', 'unreachable', 'in-doubt']),
  );
});

describe('a rate', () => {
  it('is shared by all instances with the same Redis', async () => {
    const redis = await startRedis();
    ends.push(() => redis.stop());
    const mailers = [1, 2].map(() => mailerOf(server.url, { rate: 20, redisUrl: redis.url }));
    const connection = await connectRedis(redis.url);
    ends.push(() => Promise.resolve(connection.disconnect()));
    // Redis assigns the moments by its clock.
    const now = async () => {
      const [seconds, microseconds] = await connection.time();
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    };
    const start = await now();
    await Promise.all(mailers.flatMap((mailer) => Array.from({ length: 15 }, () => mailer.send(message()))));
    // Each message has its own moment, so the thirtieth comes after the previous twenty-nine.
    expect((await now()) - start).toBeGreaterThanOrEqual(29 * 50 - 5);
    await server.settle();
    expect(server.accepted).toHaveLength(30);
  });

  it('applies to this process while Redis is unavailable, which is logged once', async () => {
    const redis = await startRedis();
    const mailer = mailerOf(server.url, { rate: 50, redisUrl: redis.url });
    await mailer.send(message());
    await redis.stop();
    const start = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => mailer.send(message())));
    expect(performance.now() - start).toBeGreaterThanOrEqual(19 * 20 - 5);
    expect(said.filter((line) => String(line).includes('Redis is unavailable'))).toHaveLength(1);
    const again = await startRedis(redis.port);
    ends.push(() => again.stop());
    await eventually(async () => {
      await mailer.send(message());
      expect(JSON.stringify(said)).toContain('Redis is available again');
    });
  });

  it('does not delay a caller that stops waiting', async () => {
    const mailer = mailerOf(server.url, { rate: 0.01 });
    await mailer.send(message());
    const stopping = new AbortController();
    const waiting = mailer.send(message(), stopping.signal);
    stopping.abort();
    expect(await waiting).toMatchObject({ outcome: 'unreachable' });
  });
});

describe('files instead of a server', () => {
  it('writes each message to its own file, in order, readable only by the owner', async () => {
    const own = join(directory, 'written', 'mail');
    const mailer = mailerOf(undefined, { directory: own, concurrency: 1 });
    const messages = Array.from({ length: 30 }, () => message());
    const outcomes: MailOutcome[] = [];
    for (const one of messages) outcomes.push(await mailer.send(one));
    const files = (await readdir(own)).sort();
    expect(files).toEqual(outcomes.map(({ detail }) => detail));
    expect(outcomes).toEqual(files.map((file) => ({ outcome: 'sent', detail: file })));
    for (const [n, file] of files.entries()) {
      const text = await readFile(join(own, file), 'utf8');
      expect(text).toContain(`To: ${messages[n]!.to}\r\n`);
      expect((await stat(join(own, file))).mode & 0o077).toBe(0);
    }
    expect(said).toEqual(files.map((file) => ({ message: 'mail written to a file', file })));
    expect(mailer.written).toBeDefined();
    expect(mailerOf('smtp://127.0.0.1:1').written).toBeUndefined();
  });

  describe('of an organization', () => {
    const [own, other] = [randomUUID(), randomUUID()];
    let folder: string;
    let mailer: Mailer;
    let files: MailFiles;
    beforeEach(async () => {
      folder = await mkdtemp(join(directory, 'mail-'));
      mailer = mailerOf(undefined, { directory: folder });
      files = mailer.written!;
    });

    it('are in its own folder, and no other organization finds them', async () => {
      const { detail } = await mailer.send(message({ organizationId: own, to: 'ada@example.org' }));
      expect(await readdir(folder)).toEqual([own]);
      expect(await readdir(join(folder, own))).toEqual([detail.slice(own.length + 1)]);
      expect((await stat(join(folder, own))).mode & 0o077).toBe(0);
      const [id] = await files.newest(own, 10);
      expect(await files.find(own, id!)).toMatchObject({ to: 'ada@example.org' });
      expect(writtenAt(id!).toISOString().replaceAll(':', '-')).toBe(detail.slice(37, 61));
      expect(await files.newest(other, 10)).toEqual([]);
      expect(await files.find(other, id!)).toBeUndefined();
      expect(await files.head(other, id!)).toBeUndefined();
    });

    it('are not shown if they belong to no one, or are from an earlier version', async () => {
      await mailer.send(message({ organizationId: null }));
      await mkdir(join(folder, own));
      const [name] = await readdir(folder);
      await writeFile(
        join(folder, '2026-11-20T09-30-00.000Z-000001-12345678.eml'),
        'Subject: before\r\n\r\n',
      );
      await writeFile(
        join(folder, own, '2026-11-20T09-30-00.000Z-000001-12345678.eml'),
        'Subject: x\r\n\r\n',
      );
      await writeFile(join(folder, own, `.${name!}.half`), 'Subject: half\r\n\r\n');
      expect(await files.newest(own, 10)).toEqual([]);
      expect(await files.find(own, name!.slice(25, 61))).toBeUndefined();
    });

    it('are listed newest first, page by page', async () => {
      await mkdir(join(folder, own));
      const ids = Array.from({ length: 1_200 }, newId);
      for (const id of ids)
        // Much cheaper than a promise for each.
        writeFileSync(
          join(folder, own, `${writtenAt(id).toISOString().replaceAll(':', '-')}-${id}.eml`),
          `Subject: ${id}\r\n\r\n`,
        );
      const newestFirst = ids.toReversed();
      expect(await files.newest(own, 5_000)).toEqual(newestFirst);
      expect(await files.newest(own, 50)).toEqual(newestFirst.slice(0, 50));
      expect(await files.newest(own, 50, newestFirst[49])).toEqual(newestFirst.slice(50, 100));
      expect(await files.newest(own, 50, ids[0])).toEqual([]);
      expect(await files.head(own, ids[7]!)).toEqual({ from: '', to: '', subject: ids[7] });
    });

    it('are read as they were written, whatever they contain', async () => {
      const written = {
        from: { name: 'Flüsse, "Bäche"', address: 'office@rivers.example' },
        to: 'adä@bücher.example',
        subject: 'Grüße 🎉 '.repeat(50).trim(),
        text: `Hello\n.\nhttps://rivers.example/${'x'.repeat(300)}`,
        html: `<p>${'Ü'.repeat(100_000)}</p>`,
      };
      await mailer.send(message({ organizationId: own, ...written }));
      const [id] = await files.newest(own, 1);
      const head = {
        from: 'Flüsse, "Bäche" <office@rivers.example>',
        to: 'adä@bücher.example',
        subject: written.subject,
      };
      expect(await files.head(own, id!)).toEqual(head);
      const { html, ...read } = (await files.find(own, id!))!;
      expect(read).toEqual({ ...head, text: written.text, sentAt: expect.stringMatching(/Z$/) });
      expect(html!.trim()).toBe(written.html);
    });

    it.each(['..', '../x', 'x', '', '%2e%2e', `${'0'.repeat(8)}/../..`, '\0'])(
      'do not accept %j as an id',
      async (id) => {
        await mailer.send(message({ organizationId: own }));
        expect(await files.find(own, id)).toBeUndefined();
        await expect(files.newest(id, 1)).rejects.toThrow();
      },
    );

    it('are read only up to the limit, and not if the name belongs to something else', async () => {
      await mkdir(join(folder, own));
      const [long, rubbish, none] = [newId(), newId(), newId()];
      const pathOf = (id: string) =>
        join(folder, own, `${writtenAt(id).toISOString().replaceAll(':', '-')}-${id}.eml`);
      await writeFile(pathOf(long), `Subject: long\r\n\r\n${'x'.repeat(6_000_000)}`);
      await writeFile(pathOf(rubbish), Buffer.alloc(100_000, 0xff));
      await mkdir(pathOf(none));
      expect((await files.find(own, long))!.text.length).toBeLessThan(5_000_000);
      expect(await files.head(own, rubbish)).toMatchObject({ to: '' });
      expect(await files.head(own, none)).toBeUndefined();
    });
  });

  it('are reported as unreachable if they cannot be written', async () => {
    const blocked = join(directory, 'blocked');
    await writeFile(blocked, '');
    const outcome = await mailerOf(undefined, { directory: join(blocked, 'mail') }).send(message());
    expect(outcome).toMatchObject({
      outcome: 'unreachable',
      detail: expect.stringMatching(/ENOTDIR|EEXIST/),
    });
  });
});
