import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { type Client } from './harness.js';
import { Deployment, eventually, type ServerProcess, withApplicationName } from './processes.js';

/** `IMPORT_ROWS=1000000 npm run test:long -- test/imports.long` takes hours. */
const ROWS = Number(process.env.IMPORT_ROWS ?? 20_000);
/** Every tenth person said no. */
const REFUSED = Math.ceil(ROWS / 10);
const TAGS = ['Member', 'Donor', 'Press'];
const MINUTES = 60_000;
const SECONDS = 60 * 60;

let deployment: Deployment;
let by: Client;
let listId: string;
let started = 0;
const names = new Map<ServerProcess, string>();
beforeEach(async () => {
  deployment = await Deployment.create();
  by = await deployment.organization();
  for (let n = 0; n < 3; n += 1) await start();
  by = by.at(deployment.servers[0]!.origin);
  listId = (await by.post('list.create-list', { name: 'News' })).body.data.listId;
  await by.post('field.create-field', { name: 'Shoe size', type: 'NUMBER' });
});
afterEach(() => deployment.stop());

const FILE = gzipSync(
  [
    'email,firstName,city,Newsletter,tags,Shoe size',
    ...Array.from({ length: ROWS }, (_, n) => {
      const said = n % 10 === 0 ? 'no' : 'yes';
      return `p${n}@example.org,Ada ${n},Lyon,${said},${TAGS[n % 3]},${n}`;
    }),
  ].join('\n'),
);

async function begin(client: Client): Promise<string> {
  const query = new URLSearchParams({ subscribed: 'true', listId }).toString();
  const headers = { 'Content-Type': 'text/csv', 'Content-Encoding': 'gzip' };
  const path = `/v1/import.create-import?${query}`;
  const { body } = await client.request('POST', path, new Uint8Array(FILE), headers);
  return body.data.importId;
}

const find = async (importId: string) => (await by.get('import.get-import', { importId })).body.data;

/** Waits until the import has processed this many rows. */
async function reached(importId: string, rows: number): Promise<void> {
  await eventually(async () => expect((await find(importId)).rows).toBeGreaterThanOrEqual(rows), SECONDS);
}

async function ended(importId: string): Promise<any> {
  let found: any;
  await eventually(async () => {
    found = await find(importId);
    expect(['DONE', 'FAILED']).toContain(found.status);
  }, SECONDS);
  return found;
}

/** Starts a server whose connections PostgreSQL shows by a name of its own. */
async function start(): Promise<ServerProcess> {
  const name = `server ${(started += 1)}`;
  const DATABASE_URL = withApplicationName(deployment.environment.DATABASE_URL!, name);
  const server = await deployment.startServer({ DATABASE_URL });
  names.set(server, name);
  return server;
}

/** Kills the server that imports: the one that cannot record its progress while the import's row is locked. */
async function killImporting(): Promise<void> {
  const lock = deployment.database.source.createQueryRunner();
  try {
    await lock.startTransaction();
    await lock.query('SELECT FROM contact_imports FOR UPDATE');
    let victim: ServerProcess | undefined;
    await eventually(async () => {
      const [blocked] = await deployment.database.source.query<{ name: string }[]>(
        `SELECT application_name AS name FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%contact_imports%'`,
      );
      victim = deployment.servers.find((server) => names.get(server) === blocked?.name);
      expect(victim).toBeDefined();
    });
    await victim!.end('SIGKILL');
    deployment.servers.splice(deployment.servers.indexOf(victim!), 1);
  } finally {
    await lock.rollbackTransaction();
    await lock.release();
  }
}

/**
 * Each row has one contact with its values, one event, one tag and one membership, whichever attempts stored it. No one
 * who said no is subscribed.
 */
async function expectEachRowOnce(): Promise<void> {
  const [stored] = await deployment.database.source.query(
    `SELECT count(*) FILTER (WHERE type = 'ContactCreated')::int AS created,
       count(*) FILTER (WHERE type = 'ContactUpdated')::int AS updated,
       count(*) FILTER (WHERE type = 'ContactAddedToList')::int AS added,
       count(*) FILTER (WHERE type = 'ContactTagged')::int AS tagged,
       count(DISTINCT subject_id) FILTER (WHERE type = 'ContactAddedToList')::int AS members
     FROM events WHERE organization_id = $1`,
    [by.organizationId],
  );
  expect(stored).toEqual({ created: ROWS, updated: 0, added: ROWS, tagged: ROWS, members: ROWS });
  const { data: list } = (await by.get('list.get-list', { listId })).body;
  expect(list.contacts).toBe(ROWS);
  const { data: tags } = (await by.get('tag.list-tags', { sort: 'name' })).body;
  const tagged = TAGS.map((name, n) => [name, Math.ceil((ROWS - n) / TAGS.length)] as const);
  expect(tags.map((tag: { name: string; contacts: number }) => [tag.name, tag.contacts])).toEqual(
    tagged.toSorted(([one], [other]) => one.localeCompare(other)),
  );
  for (const [filter, count] of [
    [{ field: 'subscribed', op: 'is', value: false }, REFUSED],
    [{ field: 'subscribed', op: 'is', value: true }, ROWS - REFUSED],
    [{ field: 'fields.shoeSize', op: 'atLeast', value: 0 }, ROWS],
  ] as const) {
    const preview = await by.get('segment.preview-segment', { filter: JSON.stringify(filter) });
    expect([filter, preview.body.data.count]).toEqual([filter, count]);
  }
}

/** The outcomes name each row of the file once. */
async function expectOutcomes(importId: string, lines: number): Promise<void> {
  const url = `${by.origin}/v1/import.get-import-rows?importId=${importId}`;
  const { body } = await fetch(url, { headers: { Authorization: `Bearer ${by.key}` } });
  const seen = new Set<number>();
  let count = 0;
  for await (const line of createInterface({ input: Readable.fromWeb(body as never) })) {
    seen.add(JSON.parse(line).line);
    count += 1;
  }
  expect([count, seen.size]).toEqual([lines, lines]);
}

it(
  'an import is finished with each row once, if each instance is killed while it imports',
  async () => {
    const importId = await begin(by);
    let before = 0;
    for (const share of [0.2, 0.4, 0.6]) {
      // The next instance begins when the lease of the killed one expires.
      await reached(importId, Math.max(ROWS * share, before + 1));
      await killImporting();
      by = by.at((await start()).origin);
      before = (await find(importId)).rows;
    }
    const done = await ended(importId);
    const { status, failure, rows, created, unchanged, updated, failed } = done;
    expect({ status, failure, rows, created, unchanged, updated, failed }).toEqual({
      status: 'DONE',
      failure: null,
      rows: ROWS,
      created: ROWS,
      unchanged: 0,
      updated: 0,
      failed: 0,
    });
    const [{ attempts }] = await deployment.database.source.query('SELECT attempts FROM contact_imports');
    // More if a busy machine delayed an instance for longer than its lease.
    expect(attempts).toBeGreaterThanOrEqual(4);
    await expectEachRowOnce();
    await expectOutcomes(importId, ROWS);
  },
  60 * MINUTES,
);

it(
  'an import stops within a second when its key is revoked, and the file sent again completes it',
  async () => {
    const create = await by.post('api-key.create-api-key', { name: 'Import', scopes: ['*'] });
    const { key, apiKeyId } = create.body.data;
    const importer = Object.assign(Object.create(Object.getPrototypeOf(by)), by, { key }) as Client;
    const importId = await begin(importer);
    await reached(importId, ROWS * 0.3);
    expect((await by.delete('api-key.revoke-api-key', { apiKeyId })).status).toBe(200);
    const stopped = await ended(importId);
    expect([stopped.status, stopped.created]).toEqual(['FAILED', stopped.rows]);
    const [{ late }] = await deployment.database.source.query(
      `SELECT extract(epoch FROM
         max(recorded_at) FILTER (WHERE type IN ('ContactCreated', 'ContactAddedToList'))
         - max(recorded_at) FILTER (WHERE type = 'ApiKeyRevoked'))::float AS late
       FROM events WHERE organization_id = $1`,
      [by.organizationId],
    );
    expect(late).toBeLessThan(1);
    const done = await ended(await begin(by));
    expect([done.status, done.created, done.unchanged]).toEqual([
      'DONE',
      ROWS - stopped.created,
      stopped.created,
    ]);
    await expectEachRowOnce();
  },
  60 * MINUTES,
);
