import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { Keyring } from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { startS3Server } from '#libs/testing';
import { openCheckpoint, REGISTER } from '#libs/verify';
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
import { command } from './commands.js';
import { longIt } from './length.js';

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

/** The server that the previous test left running. */
const running = async () => original.servers.at(-1) ?? (await original.startServer());

const argumentsOf = (log: string, { origin }: ServerProcess, ...options: string[]) => [
  ...['history', 'monitor', '--url', origin, '--key', verifierKey, '--organization', log],
  ...['--api-key-file', join(directory, 'api-key'), '--state', join(directory, `seen-${log}`), ...options],
];
const argumentsFor = (server: ServerProcess, ...options: string[]) =>
  argumentsOf(client.organizationId, server, ...options);
const look = (server: ServerProcess) => command(argumentsFor(server, '--once'), {});
const lookAtAll = (server: ServerProcess) => command(argumentsOf('all', server, '--once'), {});
const anchor = ({ environment }: Deployment) =>
  command(['--json', 'history', 'anchor', '--to', join(directory, 'anchors')], environment);
/** The output if the log of all organizations has grown, too. */
const NEW = '{"anchored":2}\n';
const anchored = () => readdir(join(directory, 'anchors', client.organizationId));
const seen = () => readFile(join(directory, `seen-${client.organizationId}`), 'utf8');

/** The size of the checkpoint that the monitor reported last. */
const reportedSize = ({ stdout }: { stdout: string }): number =>
  JSON.parse(stdout.trim().split('\n').at(-1)!).size;

const sizeOf = async (checkpoint: string) => (await openCheckpoint(checkpoint, verifierKey)).size;

/** Writes this many events, and waits until they are sealed. @returns the checkpoint. */
async function write(server: ServerProcess, count: number): Promise<string> {
  const own = client.at(server.origin);
  let eventId = '';
  for (let n = 0; n < count; n += 1) {
    const { listId } = (await own.post('list.create-list', { name: uuidv7() })).body.data;
    const events = await own.get('history.list-events', { recordId: listId });
    eventId = events.body.data[0].id;
  }
  const { checkpoint } = (await own.get('history.get-proof', { eventId })).body.data;
  // By then the log of all organizations contains it.
  expect((await own.get('history.get-checkpoint')).body.data.proof).toContain('\nadvocacy-api/all\n');
  return checkpoint;
}

longIt('detects a restored older backup, changed or unchanged', async () => {
  let server = await original.startServer();
  await write(server, 2);
  expect(await look(server)).toMatchObject({ status: 0, stderr: '' });
  expect(await anchor(original)).toMatchObject({ status: 0, stdout: NEW, stderr: '' });
  await server.end('SIGTERM');
  backup = await original.copy();

  server = await original.startServer();
  await write(server, 4);
  const found = await look(server);
  expect(found).toMatchObject({ status: 0, stderr: '' });
  const { size } = JSON.parse(found.stdout);
  const before = await seen();
  expect(await sizeOf(before)).toBe(size);
  expect(await lookAtAll(server)).toMatchObject({ status: 0, stderr: '' });
  expect(await anchor(original)).toMatchObject({ status: 0, stdout: NEW, stderr: '' });
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
  expect([caught.status, caught.stderr]).toEqual([1, expect.stringContaining('It has signed two histories')]);
  // Both signed notes, which anyone with the key can verify.
  for (const note of [before, forked]) expect(caught.stderr).toContain(note);
  expect(await seen()).toBe(before);
  // The log of all organizations on its own shows it, too, for any organization.
  const ofAll = await lookAtAll(fork);
  expect([ofAll.status, ofAll.stderr]).toEqual([1, expect.stringMatching(/rolled back|signed two/)]);
  const refused = await anchor(backup);
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/does not begin with the \d+ anchored events/),
  });
  for (const note of [before, forked]) expect(refused.stderr).toContain(note);
  expect(await anchored()).toEqual(anchors);
  await fork.end('SIGTERM');
});

longIt('reads the register, whose entries it compares', async () => {
  const server = await running();
  await write(server, 1);
  // Otherwise, the server registers checkpoints once a minute.
  const args = ['history', 'checkpoint', '--organization', REGISTER, '--out', join(directory, 'register')];
  await cli(args, original.environment);
  const found = await command(argumentsOf(REGISTER, server, '--once'), {});
  expect(found).toMatchObject({ status: 0, stderr: '' });
  expect(reportedSize(found)).toBeGreaterThan(0);
});

longIt(
  'continues while the server is unreachable, logs it once, and forgets nothing when it is killed',
  async () => {
    let server = await original.startServer();
    const port = new URL(server.origin).port;
    const watch = () => new Program(process.execPath, [CLI, ...argumentsFor(server, '--every', '1')], {});
    let program = watch();
    await write(server, 1);
    await eventually(() => expect(program.stdout).toContain('\n'));
    await server.end('SIGKILL');
    await eventually(() =>
      expect(program.stderr).toMatch(/"nothing could be compared; the monitor continues".*cannot be reached/),
    );
    server = await original.startServer({ PORT: port });
    const last = await sizeOf(await write(server, 1));
    await eventually(() => expect(program.stderr).toContain('the server responds again'));
    await eventually(() => expect(reportedSize(program)).toBeGreaterThanOrEqual(last));
    expect(program.stderr.trim().split('\n')).toHaveLength(2);
    program.send('SIGKILL');
    await program.ended;
    expect(await sizeOf(await seen())).toBeGreaterThanOrEqual(last);

    program = watch();
    const more = await sizeOf(await write(server, 1));
    await eventually(() => expect(reportedSize(program)).toBeGreaterThanOrEqual(more));
    program.send('SIGTERM');
    expect(await program.ended).toMatchObject({ status: 0, stderr: '' });

    const args = ['history', 'anchor', '--to', join(directory, 'anchors'), '--every', '1'];
    program = new Program(process.execPath, [CLI, ...args], original.environment);
    await eventually(() => expect(program.stdout).toMatch(/^\{"anchored":[12]\}\n/));
    const newest = await sizeOf(await write(server, 1));
    await eventually(async () =>
      expect(parseInt((await anchored()).at(-1)!, 10)).toBeGreaterThanOrEqual(newest),
    );
    program.send('SIGTERM');
    expect(await program.ended).toMatchObject({ status: 0, stderr: '' });
  },
);

longIt(
  'keeps anchors in a bucket with two parallel writers and after a kill, and none of a fork',
  async () => {
    const s3 = await startS3Server();
    const arguments_ = (prefix: string) => [
      '--json',
      'history',
      'anchor',
      '--to',
      `s3://${s3.bucket}/${prefix}`,
    ];
    const environmentOf = ({ environment }: Deployment) => ({ ...environment, ...s3.environment });
    const anchorTo = (prefix: string, deployment: Deployment) =>
      cli(arguments_(prefix), environmentOf(deployment));
    try {
      const names = async () => {
        const listed = await fetch(
          `${s3.environment.AWS_ENDPOINT_URL_S3}/${s3.bucket}?list-type=2&prefix=kept/`,
        );
        return [...(await listed.text()).matchAll(/<Key>kept\/(.*?)<\/Key>/g)].map(([, name]) => name!);
      };
      const both = await Promise.all([anchorTo('kept', original), anchorTo('kept', original)]);
      expect(both).toMatchObject([1, 2].map(() => ({ status: 0, stderr: '' })));
      const counts = both.map(({ stdout }) => JSON.parse(stdout).anchored as number);
      expect(counts[0]! + counts[1]!).toBe((await names()).length);

      // Stored, but the response was lost. The next run finds it complete.
      const size = await sizeOf(await write(original.servers.at(-1)!, 1));
      s3.answersPuts = false;
      const puts = () => s3.asked.filter((one) => one.startsWith('PUT')).length;
      const before = puts();
      const program = new Program(
        process.execPath,
        [CLI, ...arguments_('kept'), '--every', '1'],
        environmentOf(original),
      );
      await eventually(() => expect(puts()).toBeGreaterThan(before));
      program.send('SIGKILL');
      await program.ended;
      s3.answersPuts = true;
      expect(await anchorTo('kept', original)).toMatchObject({ status: 0, stderr: '' });
      const kept = (await names()).filter((name) => name.startsWith(client.organizationId));
      expect(parseInt(kept.at(-1)!.split('/')[1]!, 10)).toBeGreaterThanOrEqual(size);

      const fork = await anchorTo('kept', backup);
      expect([fork.status, fork.stderr]).toEqual([
        1,
        expect.stringMatching(/does not begin with the \d+ anchored events|was rolled back/),
      ]);
      s3.isConditional = false;
      const unfit = await anchorTo('elsewhere', original);
      expect([unfit.status, unfit.stderr]).toEqual([1, expect.stringMatching(/ignores If-None-Match/)]);
    } finally {
      await s3.stop();
    }
  },
);

longIt('an auditor who keeps the log of all organizations detects a deleted one', async () => {
  const server = await running();
  const victim = (await original.organization()).at(server.origin);
  const { organizationId } = victim;
  const file = (name: string) => join(directory, name);
  const run = (...args: string[]) => command(['--json', 'history', ...args], original.environment);
  const ofVictim = await run('checkpoint', '--organization', organizationId, '--out', file('theirs'));
  expect(ofVictim.status).toBe(0);
  await run('export', '--organization', organizationId, '--out', file('theirs.ndjson'));
  const all = await run('checkpoint', '--organization', 'all', '--out', file('all'));
  expect(JSON.parse(all.stdout)).toEqual({ size: expect.any(Number), position: expect.any(Number) });
  const { size } = JSON.parse(all.stdout);
  const { key } = JSON.parse((await run('key', '--organization', 'all', '--out', file('key'))).stdout);
  expect(key).toMatch(/^advocacy-api\/all\+/);

  const verifyAll = () =>
    run('verify', '--organization', 'all', '--checkpoint', file('all'), '--key', file('key'));
  const whole = await verifyAll();
  expect([whole.status, whole.stderr]).toEqual([
    0,
    expect.stringContaining(`the log of ${size} checkpoints of all`),
  ]);
  // From a file, without a server: its checkpoint is in the log.
  const args = ['verify', file('theirs.ndjson'), '--checkpoint', file('theirs'), '--key', verifierKey];
  const own = await command(['--json', 'history', ...args], {});
  expect(own).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/number \d+ of the \d+ checkpoints of all/),
  });
  expect(JSON.parse(own.stdout).checkpoint.inAll).toEqual({
    ...{ index: expect.any(Number), size: expect.any(Number), sealedAt: expect.any(String) },
  });

  const anchorAll = () => run('anchor', '--to', file('anchors-of-all'));
  expect(await anchorAll()).toMatchObject({ status: 0, stderr: '' });

  const { source } = original.database;
  await source.query(
    'ALTER TABLE events DISABLE TRIGGER events_are_append_only; GRANT DELETE ON events TO CURRENT_USER',
  );
  for (const table of ['events', 'seals', 'seal_tiles', 'signed_notes']) {
    await source.query(`DELETE FROM ${table} WHERE organization_id = $1`, [organizationId]);
  }
  await source.query('ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only');
  const missed = await verifyAll();
  expect([missed.status, missed.stderr]).toEqual([
    1,
    expect.stringContaining(`${organizationId}: It is missing`),
  ]);
  expect(JSON.parse(missed.stdout)).toMatchObject({ ok: false, wrongCount: 1, wrong: [{ organizationId }] });
  const alarmed = await anchorAll();
  expect([alarmed.status, alarmed.stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(
        `^Organization ${organizationId}: .* but one of \\d+ events is anchored\\. The history was deleted\\.`,
      ),
    ),
  ]);
  // The anchored checkpoint is the evidence.
  expect(alarmed.stderr).toContain(`advocacy-api/${organizationId}\n`);
});

it('needs no API key if the log is public', async () => {
  const server = await running();
  const args = argumentsFor(server, '--once').toSpliced(argumentsFor(server).indexOf('--api-key-file'), 2);
  const refused = await command(args, {});
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/status 404 .*requires an API key/),
  ]);
  await client.at(server.origin).post('organization.update-organization', { publicLog: true });
  const last = await sizeOf(await write(server, 1));
  const found = await command(args, {});
  expect(found).toMatchObject({ status: 0, stderr: '' });
  expect(reportedSize(found)).toBeGreaterThanOrEqual(last);
});

it('exits with 2 if it cannot watch or its state is damaged', async () => {
  const server = await running();
  const wrong = await command(argumentsFor(server, '--every', 'x'), {});
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(/whole number of seconds/)]);
  await writeFile(join(directory, `seen-${client.organizationId}`), '');
  const damaged = await look(server);
  expect([damaged.status, damaged.stderr]).toEqual([
    2,
    expect.stringMatching(/seen-.* is damaged\. Restore it/),
  ]);
});
