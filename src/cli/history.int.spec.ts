import { Command } from 'commander';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { Sealer, Signer } from '#libs/sealing';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { addHistoryCommands } from './history.js';

const organizationId = uuidv7();
const key = new Signer(Buffer.alloc(32, 5)).verifierKey;
let database: TestDatabase;
let directory: string;
let checkpoint: string;

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'history-'));
  const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
  const events = Array.from({ length: 1_200 }, (_, n) => ({ type: 'Happened', data: { n } }));
  const writes = [{ streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, events }];
  await database.store.append({ organizationId, metadata, writes });
  const sealer = new Sealer(database.source, { warn: console.warn });
  await sealer.seal();
  const signer = new Signer(Buffer.alloc(32, 5));
  checkpoint = await file('checkpoint', signer.signCheckpoint((await sealer.last(organizationId))!));
});
afterAll(async () => {
  await rm(directory, { recursive: true });
  await database.drop();
});

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(directory, name), text);
  return join(directory, name);
}

type Result = { status: number; stdout: string; stderr: string };

/** Runs `history verify` in this process, as the command line does. */
async function verify(args: string[], meanwhile: () => void = () => undefined): Promise<Result> {
  const result: Result = { status: 0, stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    jest.spyOn(process[stream], 'write').mockImplementation((text) => {
      result[stream] += String(text);
      return true;
    }),
  );
  const statusBefore = process.exitCode;
  try {
    const program = new Command('advocacy').exitOverride().option('--json');
    addHistoryCommands(program, (work) => work(database.source));
    for (const { commands } of program.commands) for (const command of commands) command.exitOverride();
    const work = program.parseAsync(['history', 'verify', ...args], { from: 'user' });
    meanwhile();
    await work;
    result.status = Number(process.exitCode ?? 0);
  } catch (error) {
    result.status = (error as { exitCode: number }).exitCode;
  } finally {
    process.exitCode = statusBefore;
    for (const spy of spies) spy.mockRestore();
  }
  return result;
}

it('tells in words that the history is what was sealed', async () => {
  expect(await verify(['--organization', organizationId, '--checkpoint', checkpoint, '--key', key])).toEqual({
    status: 0,
    stdout: 'The history is what was sealed: 1,200 events are proved.\n',
    stderr: '',
  });
});

it('prints the verdict as one line with --json, and takes the key from a file', async () => {
  const keyFile = await file('key', `${key}\n`);
  const options = ['--checkpoint', checkpoint, '--key', keyFile, '--json'];
  const { status, stdout } = await verify(['--organization', organizationId, ...options]);
  expect([status, stdout.trim().split('\n').length]).toEqual([0, 1]);
  expect(JSON.parse(stdout)).toEqual({
    ok: true,
    events: 1_200,
    provedEvents: 1_200,
    firstWrongPosition: null,
    reason: null,
  });
});

it('ends with status 1 at a difference, and names it', async () => {
  const empty = await file('empty', '');
  const answer = await verify([empty, '--checkpoint', checkpoint, '--key', key]);
  expect(answer).toMatchObject({ status: 1, stderr: '' });
  expect(answer.stdout).toMatch(
    /^The history is not what was sealed\.\nFirst wrong position: 1\n1200 of the 1200 events .*\n$/,
  );
  const json = await verify([empty, '--checkpoint', checkpoint, '--key', key, '--json']);
  expect(json.status).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, events: 0, firstWrongPosition: 1 });
});

it('ends with status 1 where the checkpoint or the key proves nothing', async () => {
  const other = new Signer(Buffer.alloc(32, 6)).verifierKey;
  const answer = await verify(['--organization', organizationId, '--checkpoint', checkpoint, '--key', other]);
  expect(answer).toMatchObject({ status: 1, stderr: '' });
  expect(answer.stdout).toMatch(/^The history could not be proved\.\nThe checkpoint has no signature .*\n$/);
});

it('says in one sentence what it lacks', async () => {
  const options = ['--checkpoint', checkpoint, '--key', key];
  for (const [args, sentence] of [
    [options, /^error: name either the file of an export or --organization\n$/],
    [[checkpoint, '--organization', organizationId, ...options], /^error: name either the file/],
    [['nowhere', ...options], /^ENOENT: .*nowhere/],
    [[checkpoint, '--checkpoint', 'nowhere', '--key', key], /^ENOENT: .*nowhere/],
    [[checkpoint, '--key', key], /^error: required option '--checkpoint <file>' not specified/],
  ] as [string[], RegExp][]) {
    const { status, stdout, stderr } = await verify(args);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(sentence);
  }
});

it('ends when it is interrupted, and leaves no handler behind', async () => {
  const handlers = process.listenerCount('SIGINT');
  const interrupt = () => {
    expect(process.listenerCount('SIGINT')).toBe(handlers + 1);
    process.emit('SIGINT', 'SIGINT');
  };
  const options = ['--organization', organizationId, '--checkpoint', checkpoint, '--key', key];
  expect(await verify(options, interrupt)).toEqual({
    status: 130,
    stdout: '',
    stderr: 'Interrupted: nothing was verified.\n',
  });
  expect(process.listenerCount('SIGINT')).toBe(handlers);
});
