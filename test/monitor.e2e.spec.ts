import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { Keyring } from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { openCheckpoint } from '../src/history/verify/index.js';
import { type Client } from './harness.js';
import {
  cli,
  CLI,
  Deployment,
  ENCRYPTION_KEY,
  eventually,
  Program,
  type ServerProcess,
} from './processes.js';

const { verifierKey } = new Signers([new Keyring(ENCRYPTION_KEY).signingSeed]);
let directory: string;
let original: Deployment;
let backup: Deployment;
let client: Client;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'monitor-'));
  original = await Deployment.create();
  client = await original.organization();
  await writeFile(join(directory, 'api-key'), client.key!);
});
afterAll(async () => {
  await original.stop();
  await backup?.stop();
  await rm(directory, { recursive: true, force: true });
});

const argumentsFor = ({ origin }: ServerProcess, ...options: string[]) => [
  ...['history', 'monitor', '--url', origin, '--key', verifierKey, '--organization', client.organizationId],
  ...['--api-key-file', join(directory, 'api-key'), '--state', join(directory, 'seen'), ...options],
];
const look = (server: ServerProcess) => cli(argumentsFor(server, '--once'), {});
const anchor = ({ environment }: Deployment) =>
  cli(['--json', 'history', 'anchor', '--to', join(directory, 'anchors')], environment);
const anchored = () => readdir(join(directory, 'anchors', client.organizationId));
const seen = () => readFile(join(directory, 'seen'), 'utf8');

/** Of the checkpoint that the monitor told last. */
const sizeTold = ({ stdout }: Program): number => JSON.parse(stdout.trim().split('\n').at(-1)!).size;

const sizeOf = async (checkpoint: string) => (await openCheckpoint(checkpoint, verifierKey)).size;

/** Writes so many events, and waits until they are sealed. @returns the checkpoint. */
async function write(server: ServerProcess, count: number): Promise<string> {
  const own = client.at(server.origin);
  let eventId = '';
  for (let n = 0; n < count; n += 1) {
    const { listId } = (await own.post('list.create-list', { name: uuidv7() })).body.data;
    const events = await own.get('event.list-events', { recordId: listId });
    eventId = events.body.data[0].id;
  }
  return (await own.get('event.get-proof', { eventId })).body.data.checkpoint;
}

it('a database that was restored from an older backup, and written on, is caught; so is the backup itself', async () => {
  let server = await original.startServer();
  await write(server, 2);
  expect(await look(server)).toMatchObject({ status: 0, stderr: '' });
  expect(await anchor(original)).toMatchObject({ status: 0, stdout: '{"anchored":1}\n', stderr: '' });
  await server.end('SIGTERM');
  backup = await original.copy();

  server = await original.startServer();
  await write(server, 4);
  const found = await look(server);
  expect(found).toMatchObject({ status: 0, stderr: '' });
  const { size } = JSON.parse(found.stdout);
  const before = await seen();
  expect(await sizeOf(before)).toBe(size);
  expect(await anchor(original)).toMatchObject({ status: 0, stdout: '{"anchored":1}\n', stderr: '' });
  const anchors = await anchored();
  expect(anchors).toHaveLength(2);
  await server.end('SIGTERM');

  const fork = await backup.startServer();
  const older = await write(fork, 1);
  expect(await sizeOf(older)).toBeLessThan(size);
  const rolledBack = await look(fork);
  expect(rolledBack).toMatchObject({ status: 1, stdout: '' });
  expect(rolledBack.stderr).toMatch(/rolled back/);

  const forked = await write(fork, 6);
  expect(await sizeOf(forked)).toBeGreaterThan(size);
  const caught = await look(fork);
  expect([caught.status, caught.stderr]).toEqual([1, expect.stringContaining('it has signed two histories')]);
  // Both notes, as they were signed: whoever has the key can see that it is so.
  for (const note of [before, forked]) expect(caught.stderr).toContain(note);
  expect(await seen()).toBe(before);
  const refused = await anchor(backup);
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/does not begin with the \d+ events/),
  });
  for (const note of [before, forked]) expect(refused.stderr).toContain(note);
  expect(await anchored()).toEqual(anchors);
  await fork.end('SIGTERM');
}, 120_000);

it('goes on while nobody answers, says so once, and forgets nothing when it is killed', async () => {
  let server = await original.startServer();
  const port = new URL(server.origin).port;
  const watch = () => new Program(process.execPath, [CLI, ...argumentsFor(server, '--every', '1')], {});
  let program = watch();
  await write(server, 1);
  await eventually(() => expect(program.stdout).toContain('\n'));
  await server.end('SIGKILL');
  await eventually(() =>
    expect(program.stderr).toMatch(/"nothing could be compared; goes on".*cannot be reached/),
  );
  server = await original.startServer({ PORT: port });
  const last = await sizeOf(await write(server, 1));
  await eventually(() => expect(program.stderr).toContain('the server answers again'));
  await eventually(() => expect(sizeTold(program)).toBeGreaterThanOrEqual(last));
  expect(program.stderr.trim().split('\n')).toHaveLength(2);
  program.send('SIGKILL');
  await program.ended;
  expect(await sizeOf(await seen())).toBeGreaterThanOrEqual(last);

  program = watch();
  const more = await sizeOf(await write(server, 1));
  await eventually(() => expect(sizeTold(program)).toBeGreaterThanOrEqual(more));
  program.send('SIGTERM');
  expect(await program.ended).toMatchObject({ status: 0, stderr: '' });

  const args = ['history', 'anchor', '--to', join(directory, 'anchors'), '--every', '1'];
  program = new Program(process.execPath, [CLI, ...args], original.environment);
  await eventually(() => expect(program.stdout).toMatch(/^\{"anchored":1\}\n/));
  const newest = await sizeOf(await write(server, 1));
  await eventually(async () =>
    expect(parseInt((await anchored()).at(-1)!, 10)).toBeGreaterThanOrEqual(newest),
  );
  program.send('SIGTERM');
  expect(await program.ended).toMatchObject({ status: 0, stderr: '' });
}, 120_000);

it('ends with 2 where it cannot watch, and with what was remembered damaged', async () => {
  const [server] = original.servers.slice(-1);
  const wrong = await cli(argumentsFor(server!, '--every', 'x'), {});
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(/whole number of seconds/)]);
  await writeFile(join(directory, 'seen'), '');
  const damaged = await look(server!);
  expect([damaged.status, damaged.stderr]).toEqual([2, expect.stringMatching(/seen is damaged: put back/)]);
});
