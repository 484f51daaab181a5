import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { v7 as uuidv7 } from 'uuid';
import { Keyring } from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { ALGORITHMS, cosignedBy, parseVerifierKey, readNote } from '#libs/verify';
import { headOf, Witness, WitnessKey, WitnessState } from '../src/audit/index.js';
import { Client } from './harness.js';
import {
  CLI,
  createDirectory,
  Deployment,
  ENCRYPTION_KEY,
  eventually,
  Program,
  type ServerProcess,
} from './processes.js';
import { command } from './commands.js';
import { longDescribe } from './length.js';

const signers = new Signers([Buffer.alloc(32, 1)]);
let directory: Awaited<ReturnType<typeof createDirectory>>;
let key: string;
let verifierKey: string;
beforeAll(async () => {
  directory = await createDirectory();
  key = join(directory.path, 'witness.key');
  const made = await command(['witness', '--make-key', 'w.example.org/1', '--key', key], {});
  expect(made).toMatchObject({ status: 0, stderr: '' });
  ({ verifierKey } = JSON.parse(made.stdout));
});
afterAll(() => directory.remove());

/** Starts a witness with this state. Its command prints the address. */
async function listen(
  state = 'state',
  log = signers.verifierKey,
  port = '0',
): Promise<{ program: Program; url: string }> {
  const options = ['--listen', port, '--state', join(directory.path, state), '--key', key];
  const program = new Program(process.execPath, [CLI, 'witness', ...options, '--log', log], {});
  await eventually(() => expect(program.stdout).toContain('\n'));
  const { listening, verifierKey: own } = JSON.parse(program.stdout);
  expect(own).toBe(verifierKey);
  return { program, url: `${listening}/add-checkpoint` };
}

const organizationId = uuidv7();
const rootOf = (fork: string) => createHash('sha256').update(fork).digest();
const noteOf = (fork: string) =>
  signers.signCheckpoint({ organizationId, size: 1, root: rootOf(fork), position: 1, sealedAt: new Date(0) });
const post = (url: string, body: string) => fetch(url, { method: 'POST', body });
const add = (url: string, old: number, note: string) => post(url, `old ${old}\n\n${note}`);

it('has a key that only its owner can read, and never overwrites it', async () => {
  expect((await stat(key)).mode & 0o077).toBe(0);
  const before = await readFile(key, 'utf8');
  const again = await command(['witness', '--make-key', 'w.example.org/2', '--key', key], {});
  expect(again).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('already exists and was not overwritten'),
  });
  expect(await readFile(key, 'utf8')).toBe(before);
  const lacking = await command(['witness', '--listen', '0', '--key', key], {});
  expect(lacking).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('requires --listen, --state and --log'),
  });
});

it('cosigns, reports rejections, remembers its cosignatures after a kill, and rejects invalid requests with a message', async () => {
  const first = await listen();
  const note = noteOf('one');
  const answers = await Promise.all(['one', 'two', 'three'].map((fork) => add(first.url, 0, noteOf(fork))));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  await eventually(() => expect(first.program.stderr.split('\n')).toHaveLength(3));
  expect(JSON.parse(first.program.stderr.split('\n')[0]!)).toMatchObject({
    ...{ message: 'checkpoint rejected', status: 409, origin: `advocacy-api/${organizationId}` },
  });
  first.program.send('SIGKILL');
  await first.program.ended;

  const second = await listen();
  const winner = ['one', 'two', 'three'][answers.findIndex(({ status }) => status === 200)]!;
  const checkpoint = winner === 'one' ? note : noteOf(winner);
  expect((await add(second.url, 1, noteOf(`${winner}, forked`))).status).toBe(409);
  const again = await add(second.url, 1, checkpoint);
  expect([again.status, again.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  const cosigned = await cosignedBy(
    readNote(checkpoint + (await again.text())),
    parseVerifierKey(verifierKey, ALGORITHMS.cosignature),
  );
  expect(Math.abs(Date.now() - cosigned!.time.getTime())).toBeLessThan(600_000);

  // It rejects invalid requests with a message, and keeps running.
  const { program, url } = second;
  expect((await fetch(url)).status).toBe(405);
  expect((await post(url.replace('add-checkpoint', ''), '')).status).toBe(404);
  expect((await post(url, 'x'.repeat(65 * 1024))).status).toBe(413);
  const none = await post(url, 'rubbish');
  expect([none.status, await none.text()]).toEqual([
    400,
    'The empty line before the checkpoint is missing.\n',
  ]);
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end('POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 1000\r\n\r\nold 0');
  await text(socket).catch(() => '');
  const gone = connect(Number(port), hostname, () => gone.resetAndDestroy());
  expect((await add(url, 1, checkpoint)).status).toBe(200);
  program.send('SIGTERM');
  expect((await program.ended).status).toBe(0);
});

longDescribe('servers with witnesses', () => {
  const HEALTH_TOKEN = 'a-token-of-the-operator';
  const log = new Signers([new Keyring(ENCRYPTION_KEY).signingSeed]).verifierKey;
  const [keyOfOne, keyOfLiar] = ['w.example.org/2', 'liar.example.org'].map((name) => WitnessKey.make(name));
  let own: Deployment;
  let backup: Deployment;
  let servers: ServerProcess[];
  let client: Client;
  let one: { url: string; asked: string[]; state: string; server: Server };
  let other: { program: Program; url: string };
  let liar: { url: string; server: Server };
  beforeAll(async () => {
    own = await Deployment.create();
    client = await own.organization();
    backup = await own.copy();
    one = await observed();
    other = await listen('asked', log);
    liar = await lying();
  });
  afterAll(async () => {
    for (const { server } of [one, liar]) {
      server.closeAllConnections();
      server.close();
    }
    await other.program.end('SIGKILL');
    await own.stop();
    await backup.stop();
  });

  /** A witness in this process that records its requests. */
  async function observed(): Promise<typeof one> {
    const state = join(directory.path, 'observed');
    const witness = new Witness(keyOfOne!, await WitnessState.open(state), [log]);
    const asked: string[] = [];
    const served = await serve(async (body) => {
      asked.push(body.slice(body.indexOf('\n\n') + 2).split('\n\n', 1)[0]!);
      return witness.add(body);
    });
    return { ...served, asked, state };
  }

  /** A useless witness: it hangs, and then returns three kinds of invalid responses. */
  function lying(): Promise<typeof liar> {
    const ways = [
      () => undefined,
      () => ({ status: 409, body: 'more than you have\n' }),
      () => ({ status: 200, body: 'x'.repeat(1_000_000) }),
    ];
    const always = () => ({ status: 200, body: keyOfLiar!.cosign('another text\n', 1) });
    return serve(() => Promise.resolve((ways.shift() ?? always)()));
  }

  async function serve(
    answer: (body: string) => Promise<{ status: number; body: string } | undefined>,
  ): Promise<typeof liar> {
    const server = createServer((request, response) => {
      void text(request).then(async (body) => {
        const given = await answer(body);
        if (given) response.writeHead(given.status).end(given.body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  const configured = () => ({
    WITNESS_URLS: [
      `${keyOfOne!.verifierKey}@${one.url}`,
      `${verifierKey}@${other.url.replace('/add-checkpoint', '/')}`,
      `${keyOfLiar!.verifierKey}@${liar.url}`,
    ].join(', '),
    ...{ WITNESS_EVERY: '1', HEALTH_TOKEN, METRICS_PORT: '0' },
  });
  const write = () => client.post('list.create-list', { name: uuidv7() });
  const handedOut = async () => (await client.get('history.get-checkpoint')).body.data;
  const cosigners = (note: string | null) =>
    Promise.all(
      [keyOfOne!.verifierKey, verifierKey, keyOfLiar!.verifierKey].map(async (witness) => {
        const key = parseVerifierKey(witness, ALGORITHMS.cosignature);
        return note !== null && (await cosignedBy(readNote(note), key)) !== undefined;
      }),
    );
  const sizeOf = (note: string) => headOf(note)!.size;
  const lines = (...words: string[]) =>
    servers.flatMap((server) =>
      server.log.filter((line) => words.some((word) => line.message.includes(word))),
    );

  it('return cosignatures that auditors can require, ask once for all instances, and ignore a lying witness', async () => {
    servers = await Promise.all([own.startServer(configured()), own.startServer(configured())]);
    client = client.at(servers[0]!.origin);
    await write();
    await eventually(async () => {
      const { checkpoint, witnessed } = await handedOut();
      expect(sizeOf(checkpoint)).toBeGreaterThan(1);
      expect(await cosigners(checkpoint)).toEqual([true, true, false]);
      expect(witnessed).toBe(checkpoint);
    });
    // A new checkpoint has fewer cosignatures until both witnesses have responded.
    await eventually(async () => {
      const { body } = await client.request('GET', `/log/${client.organizationId}/checkpoint`);
      expect(await cosigners(body)).toEqual([true, true, false]);
    });
    expect(new Set(one.asked).size).toBe(one.asked.length);

    // Someone pretends that the witnesses have just been asked, and will be for all time.
    await own.database.source.query(`UPDATE cosigned_notes SET asked_at = 'infinity'`);
    await write();
    await eventually(async () => {
      const { checkpoint, witnessed } = await handedOut();
      expect(await cosigners(checkpoint)).toEqual([true, true, false]);
      expect(witnessed).toBe(checkpoint);
    });

    await client.at(servers[1]!.origin).post('list.create-list', { name: uuidv7() });
    const file = (name: string) => join(directory.path, name);
    const environment = { ...own.environment, ...configured() };
    const made = await command(
      ['history', 'checkpoint', '--organization', client.organizationId, '--out', file('checkpoint')],
      environment,
    );
    expect([made.status, made.stderr]).toEqual([
      0,
      expect.stringMatching(/^Witness liar\.example\.org\+\w{8} did not cosign the checkpoint: .*\.\n$/),
    ]);
    const exported = ['history', 'export', '--organization', client.organizationId, '--out', file('export')];
    expect((await command(exported, environment)).status).toBe(0);
    await writeFile(file('witnessed'), (await handedOut()).witnessed);
    const verify = (checkpoint: string, ...witnesses: string[]) =>
      command(
        [
          ...['history', 'verify', file('export'), '--checkpoint', file(checkpoint), '--key', log],
          ...['--quorum', '2', ...witnesses.flatMap((witness) => ['--witness', witness])],
        ],
        {},
      );
    for (const checkpoint of ['checkpoint', 'witnessed']) {
      const verified = await verify(checkpoint, keyOfOne!.verifierKey, verifierKey);
      expect([verified.status, verified.stderr]).toEqual([
        0,
        expect.stringMatching(/cosigned by .* cosigned by /),
      ]);
    }
    expect((await verify('checkpoint', keyOfOne!.verifierKey, keyOfLiar!.verifierKey)).status).toBe(1);
  });

  it('continue while one is killed, keep earlier checkpoints with both cosignatures, and ask it again later', async () => {
    const { witnessed: before } = await handedOut();
    other.program.send('SIGKILL');
    await other.program.ended;
    await write();
    await eventually(async () => {
      const { checkpoint, witnessed } = await handedOut();
      expect(sizeOf(checkpoint)).toBeGreaterThan(sizeOf(before));
      expect(await cosigners(checkpoint)).toEqual([true, false, false]);
      expect(await cosigners(witnessed)).toEqual([true, true, false]);
    });
    expect((await handedOut()).witnessed).toContain(readNote(before).text);
    const isAbout = (line: { [field: string]: any }) => line.witness.startsWith('w.example.org/1+');
    await eventually(() =>
      expect(lines('a witness returned no valid response').filter(isAbout)).toHaveLength(1),
    );

    other = await listen('asked', log, new URL(other.url).port);
    await eventually(async () => {
      const { checkpoint, witnessed } = await handedOut();
      expect(await cosigners(checkpoint)).toEqual([true, true, false]);
      expect(witnessed).toBe(checkpoint);
    });
    await eventually(() => expect(lines('the witness responds again').filter(isAbout)).toHaveLength(1));
    await eventually(() => expect(lines('a witness returned no valid response')).toHaveLength(2));
    expect(lines('a witness returned no valid response').filter(isAbout)).toHaveLength(1);
  });

  it('raise an alarm if their database was restored from an older copy and changed, until it is resolved', async () => {
    let longest = 0;
    await eventually(async () => {
      const { checkpoint } = await handedOut();
      expect(await cosigners(checkpoint)).toEqual([true, true, false]);
      longest = sizeOf(checkpoint);
      // The log of all organizations grows after each history, and is cosigned after that.
      const missing = await own.database.source.query(
        `SELECT organization_id FROM signed_notes n WHERE note IS NOT NULL AND NOT EXISTS (
           SELECT FROM cosigned_notes c WHERE c.organization_id = n.organization_id AND cardinality(c.keys) >= 2
             AND split_part(c.note, E'\\n\\n', 1) = split_part(n.note, E'\\n\\n', 1))`,
      );
      expect(missing).toEqual([]);
    });
    await Promise.all(servers.map((server) => server.end('SIGTERM')));
    servers = [await backup.startServer(configured())];
    const [fork] = servers;
    client = client.at(fork!.origin);
    await write();
    const ofClient = ({ organizationId }: { [field: string]: any }) =>
      organizationId === client.organizationId;
    const alarms = () => lines('a witness contradicts the history').filter(ofClient);
    await eventually(() => expect(alarms()).toHaveLength(2));
    expect(alarms()[0]).toMatchObject({
      ...{ level: 'error', organizationId: client.organizationId },
      reason: expect.stringContaining(`a checkpoint of ${longest} events`),
    });
    const health = async () =>
      (await new Client(fork!.origin, '', HEALTH_TOKEN).request('GET', '/health/ready')).body.data;
    // One for its history, and one for the log of all organizations.
    await eventually(async () =>
      expect(await health()).toMatchObject({ status: 'degraded', witnesses: { contradicted: 2 } }),
    );
    const { metricsPort } = fork!.log.find(({ message }) => message === 'listening')!;
    const scraped = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(scraped).toMatch(/\nadvocacy_contradicted_organizations 2\n/);
    expect(scraped).toMatch(/\nadvocacy_witnesses_failing \d\n/);
    const environment = { ...backup.environment, ...configured() };
    const status = await command(['--json', 'history', 'status'], environment);
    const { contradicted } = JSON.parse(status.stdout);
    expect([status.status, contradicted.filter(ofClient).length, contradicted.length]).toEqual([1, 2, 4]);
    const doctor = await command(['doctor'], environment);
    expect(doctor.stdout.replace(/\s+/g, ' ')).toContain('contradicts the history of organization');

    // A longer history than the witnesses have seen, and still a different one.
    for (let n = 0; n < longest; n += 1) await write();
    const asked = one.asked.length;
    await eventually(async () => {
      const { checkpoint, witnessed } = await handedOut();
      expect([sizeOf(checkpoint) > longest, witnessed]).toEqual([true, null]);
      expect(one.asked.slice(asked)).toContain(readNote(checkpoint).text.slice(0, -1));
    });
    expect(alarms()).toHaveLength(2);

    // The operators of the witnesses decide to accept this history.
    for (const state of [one.state, join(directory.path, 'asked')]) {
      // Deleting the folder would fail whenever the running witness stores something in it.
      await rename(state, `${state}-before`);
      await WitnessState.open(state);
    }
    await write();
    await eventually(async () => expect(await health()).toMatchObject({ witnesses: { contradicted: 0 } }));
    await eventually(() => expect(lines('cosigns the history again').filter(ofClient)).toHaveLength(2));
    expect(await cosigners((await handedOut()).witnessed)).toEqual([true, true, false]);
  });
});
