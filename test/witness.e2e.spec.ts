import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { v7 as uuidv7 } from 'uuid';
import { Signers } from '#libs/sealing';
import { ALGORITHMS, cosignedBy, parseVerifierKey, readNote } from '../src/history/verify/index.js';
import { cli, CLI, createDirectory, eventually, Program } from './processes.js';

const signers = new Signers([Buffer.alloc(32, 1)]);
let directory: Awaited<ReturnType<typeof createDirectory>>;
let key: string;
let verifierKey: string;
beforeAll(async () => {
  directory = await createDirectory();
  key = join(directory.path, 'witness.key');
  const made = await cli(['witness', '--make-key', 'w.example.org/1', '--key', key], {});
  expect(made).toMatchObject({ status: 0, stderr: '' });
  ({ verifierKey } = JSON.parse(made.stdout));
});
afterAll(() => directory.remove());

/** A witness of this state, as its command says that it listens. */
async function listen(state = 'state'): Promise<{ program: Program; url: string }> {
  const options = ['--listen', '0', '--state', join(directory.path, state), '--key', key];
  const program = new Program(
    process.execPath,
    [CLI, 'witness', ...options, '--log', signers.verifierKey],
    {},
  );
  await eventually(() => expect(program.stdout).toContain('\n'));
  const { listening, verifierKey: own } = JSON.parse(program.stdout);
  expect(own).toBe(verifierKey);
  return { program, url: `${listening}/add-checkpoint` };
}

const organizationId = uuidv7();
const rootOf = (fork: string) => createHash('sha256').update(fork).digest();
const noteOf = (fork: string) =>
  signers.signCheckpoint({ organizationId, size: 1, root: rootOf(fork), position: 1, sealedAt: new Date() });
const post = (url: string, body: string) => fetch(url, { method: 'POST', body });
const add = (url: string, old: number, note: string) => post(url, `old ${old}\n\n${note}`);

it('its key is its owner’s alone, and is never overwritten', async () => {
  expect((await stat(key)).mode & 0o077).toBe(0);
  const before = await readFile(key, 'utf8');
  const again = await cli(['witness', '--make-key', 'w.example.org/2', '--key', key], {});
  expect(again).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('is there already') });
  expect(await readFile(key, 'utf8')).toBe(before);
  const lacking = await cli(['witness', '--listen', '0', '--key', key], {});
  expect(lacking).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('needs --listen, --state and --log'),
  });
});

it('cosigns, tells what it refuses, and remembers what it cosigned when it is killed', async () => {
  const first = await listen();
  const note = noteOf('one');
  const answers = await Promise.all(['one', 'two', 'three'].map((fork) => add(first.url, 0, noteOf(fork))));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  await eventually(() => expect(first.program.stderr.split('\n')).toHaveLength(3));
  expect(JSON.parse(first.program.stderr.split('\n')[0]!)).toMatchObject({
    ...{ message: 'checkpoint refused', status: 409, origin: `advocacy-api/${organizationId}` },
  });
  first.program.send('SIGKILL');
  await first.program.ended;

  const second = await listen();
  const winner = ['one', 'two', 'three'][answers.findIndex(({ status }) => status === 200)]!;
  const standing = winner === 'one' ? note : noteOf(winner);
  expect((await add(second.url, 1, noteOf(`${winner}, forked`))).status).toBe(409);
  const again = await add(second.url, 1, standing);
  expect([again.status, again.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  const cosigned = cosignedBy(
    readNote(standing + (await again.text())),
    parseVerifierKey(verifierKey, ALGORITHMS.cosignature),
  );
  expect(Math.abs(Date.now() - cosigned!.time.getTime())).toBeLessThan(600_000);
  second.program.send('SIGTERM');
  expect((await second.program.ended).status).toBe(0);
});

it('answers rubbish in a sentence, and goes on', async () => {
  const { program, url } = await listen('other state');
  expect((await fetch(url)).status).toBe(405);
  expect((await post(url.replace('add-checkpoint', ''), '')).status).toBe(404);
  expect((await post(url, 'x'.repeat(65 * 1024))).status).toBe(413);
  const none = await post(url, 'rubbish');
  expect([none.status, await none.text()]).toEqual([400, 'There is no empty line before the checkpoint.\n']);
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end('POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 1000\r\n\r\nold 0');
  await text(socket).catch(() => '');
  const gone = connect(Number(port), hostname, () => gone.resetAndDestroy());
  expect((await add(url, 0, noteOf('one'))).status).toBe(200);
  program.send('SIGTERM');
  expect((await program.ended).status).toBe(0);
});
