import { IncidentLog, openDatabase } from '#libs/database';
import { createTestDatabase, eventually, startSilentProxy, type TestDatabase } from '#libs/testing';
import { Worker } from './index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function deferred() {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

/** A worker that records what it reports. */
function reporting(incidents?: IncidentLog) {
  const reports: { error: unknown; work: string; isRepeated: boolean }[] = [];
  const worker = new Worker(
    (error, work, isRepeated) => reports.push({ error, work, isRepeated }),
    incidents,
  );
  return { worker, reports };
}

it('stop resolves after the turn in progress, and no other turn starts', async () => {
  const { worker } = reporting();
  const turn = deferred();
  let turns = 0;
  let hasStopped = false;
  const take = async () => {
    turns += 1;
    await turn.promise;
    await database.source.query('SELECT 1');
  };
  worker.start(take, () => worker.pause(1));
  const stopped = worker.stop().then(() => (hasStopped = true));
  await database.source.query('SELECT 1');
  expect(hasStopped).toBe(false);
  turn.resolve();
  await stopped;
  expect(turns).toBe(1);
});

it('stop ends a pause', async () => {
  const { worker } = reporting();
  let turns = 0;
  worker.start(
    () => Promise.resolve((turns += 1)),
    () => worker.pause(3_600_000),
  );
  await eventually(() => expect(turns).toBe(1));
  await worker.stop();
});

it('a turn that fails is reported, and the loop continues; a loop that hangs delays no other', async () => {
  const { worker, reports } = reporting();
  const hangs = deferred();
  const failed: boolean[] = [];
  let turns = 0;
  const take = async () => {
    turns += 1;
    await database.source.query(turns === 3 ? 'SELECT 1' : 'SELECT nothing');
  };
  const wait = async (hasFailed: boolean) => {
    failed.push(hasFailed);
    await worker.pause(1);
  };
  worker.start(
    () => hangs.promise,
    () => worker.pause(1),
  );
  worker.start(take, wait, 'counting');
  await eventually(() => expect(turns).toBeGreaterThan(4));
  hangs.resolve();
  await worker.stop();
  expect(failed.slice(0, 4)).toEqual([true, true, false, true]);
  expect(reports.slice(0, 3)).toMatchObject([
    { work: 'counting', isRepeated: false },
    { work: 'counting', isRepeated: true },
    { work: 'counting', isRepeated: false },
  ]);
});

it('errors of a worker that is stopping are not reported', async () => {
  const { worker, reports } = reporting();
  const turn = deferred();
  worker.start(
    () => turn.promise,
    () => worker.pause(1),
  );
  const stopped = worker.stop();
  turn.reject(new Error('The connection was closed.'));
  await stopped;
  expect(reports).toEqual([]);
});

it('while the database is away, the incident log reports it once, and work continues when it is back', async () => {
  const proxy = await startSilentProxy(database.url);
  const source = await openDatabase({ url: proxy.url, poolSize: 2, migrations: [] });
  const lines: object[] = [];
  const log = (line: object) => lines.push(line);
  const { worker, reports } = reporting(new IncidentLog({ log, warn: log, error: log }));
  const turns: boolean[] = [];
  try {
    const wait = async (hasFailed: boolean) => {
      turns.push(hasFailed);
      await worker.pause(1);
    };
    worker.start(() => source.query('SELECT 1'), wait);
    await eventually(() => expect(turns).toContain(false));
    proxy.refuse();
    proxy.cut();
    await eventually(() => expect(turns.slice(-3)).toEqual([true, true, true]));
    proxy.accept();
    await eventually(() => expect(turns.at(-1)).toBe(false));
    await worker.stop();
    expect(reports).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(lines.length);
  } finally {
    await worker.stop();
    await source.destroy();
    await proxy.close();
  }
});
