import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { ALL_ORGANIZATIONS, Signers } from '#libs/sealing';
import { HistoryReads } from '../src/history/index.js';
import { eventually } from '#libs/testing';
import { type Answer, Api, Client, ISO, NOBODY } from './harness.js';
import { isLong, longIt } from './length.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

/** A keyed hash in place of a text that could be personal data. */
const HIDDEN = /^h_[0-9a-f]{32}$/;
/** The folder of Debian's Go packages. */
const GO_PATH = '/usr/share/gocode';

async function person(name: string): Promise<string> {
  const { organizationId } = client;
  const body = { organizationId, email: `${name}@example.org`, firstName: name };
  return (await client.post('contact.create-contact', body, { 'X-Request-Id': `create-${name}` })).body.data
    .contactId;
}
type Found = { position: number; type: string; data: any; [field: string]: any };
async function events(query: Record<string, string> = {}): Promise<Found[]> {
  const { status, body } = await client.get('history.list-events', { limit: '1000', ...query });
  expect([status, body.object]).toEqual([200, 'events']);
  return body.data;
}
const types = (found: Found[]) => found.map(({ type }) => type);

/** Ends the hour, and returns the events that record its reads. */
async function hourOver(): Promise<Found[]> {
  await api.recordReads(client.organizationId);
  return events({ type: 'HistoryReadsCollected' });
}

describe('the former name event', () => {
  it('in a path returns the same response, marked as deprecated', async () => {
    await person('Ada');
    const [former, current] = [
      await client.get('event.list-events', { type: 'ContactCreated' }),
      await client.get('history.list-events', { type: 'ContactCreated' }),
    ];
    expect(former.body).toEqual(current.body);
    const marks = ({ headers }: Answer) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
    expect(marks(former)).toEqual([
      '@1796083200',
      'Fri, 31 Dec 2027 23:59:59 GMT',
      '</v1/history.list-events>; rel="successor-version"',
    ]);
    expect(marks(current)).toEqual([null, null, null]);
  });

  it('returns 404 with an operation that never existed', async () => {
    expect((await client.get('event.list-everything')).status).toBe(404);
  });

  it('in a scope means history:read, and is stored so that the previous version knows it', async () => {
    const { organizationId } = client;
    const made = await client.post('api-key.create-api-key', {
      organizationId,
      name: 'Auditor',
      scopes: ['event:read', 'history:read', 'api-key:write'],
    });
    expect(made.status).toBe(200);
    const { apiKeyId, key } = made.body.data;
    const keys = (await client.get('api-key.list-api-keys')).body.data as { id: string; scopes: string[] }[];
    expect(keys.find(({ id }) => id === apiKeyId)!.scopes).toEqual(['api-key:write', 'history:read']);
    const auditor = new Client(client.origin, organizationId, key);
    expect((await auditor.get('history.list-events')).status).toBe(200);
    const stored = (await events({ recordId: apiKeyId })).map(({ data }) => data.scopes);
    expect(stored).toEqual([['api-key:write', 'event:read']]);
    for (const scope of ['event:read', 'history:read']) {
      const body = { organizationId, name: scope, scopes: [scope] };
      expect((await auditor.post('api-key.create-api-key', body)).status).toBe(200);
    }
  });
});

describe('list-events', () => {
  it('returns 200 with every field, oldest first', async () => {
    const contactId = await person('Ada');
    const all = await events();
    expect(types(all).slice(0, 4)).toEqual([
      'OrganizationCreated',
      'ApiKeyCreated',
      'ApiKeyCreated',
      'ContactCreated',
    ]);
    const positions = all.map(({ position }) => position);
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(all[3]).toEqual({
      id: expect.any(String),
      position: expect.any(Number),
      type: 'ContactCreated',
      recordType: 'contact',
      recordId: contactId,
      version: 1,
      occurredAt: expect.stringMatching(ISO),
      requestId: expect.stringMatching(HIDDEN),
      actor: { type: 'api-key', id: expect.any(String) },
      data: { subscribed: true, personal: { email: 'Ada@example.org', firstName: 'Ada' } },
    });
  });

  it('ends pages of large events early, without skipping or repeating any', async () => {
    for (let n = 0; n < 9; n += 1) {
      const content = 'x'.repeat(n % 3 === 0 ? 10 : 250_000);
      expect((await client.post('post.create-post', { name: `Post ${n}`, content })).status).toBe(200);
    }
    const names: string[] = [];
    const sizes: number[] = [];
    let after = '0';
    for (let more = true; more;) {
      const { body } = await client.get('history.list-events', { limit: '1000', type: 'PostCreated', after });
      expect(JSON.stringify(body).length).toBeLessThan(1.4 * 1024 * 1024);
      names.push(...body.data.map(({ data }: Found) => data.name));
      sizes.push(body.data.length);
      more = body.pagination.hasMore;
      after = body.pagination.cursor;
    }
    expect(names).toEqual(Array.from({ length: 9 }, (_, n) => `Post ${n}`));
    expect(sizes).toHaveLength(2);
    const exported: string = (await client.get('history.export-events')).body;
    const lines = exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ type }) => type === 'PostCreated').map(({ data }) => data.name)).toEqual(names);
    lines.forEach(({ previousPosition }, n) => expect(previousPosition).toBe(lines[n - 1]?.position ?? 0));
  });

  it('filters by each field', async () => {
    const contactId = await person('Ada');
    await person('Eve');
    const [ada] = await events({ requestId: 'create-Ada' });
    expect(types(await events({ recordId: contactId }))).toEqual(['ContactCreated']);
    expect(types(await events({ recordType: 'contact' }))).toEqual(['ContactCreated', 'ContactCreated']);
    expect(types(await events({ type: 'OrganizationCreated' }))).toEqual(['OrganizationCreated']);
    expect(types(await events({ actorId: ada!.actor.id, recordType: 'contact' }))).toHaveLength(2);
    expect(await events({ actorId: 'nobody' })).toEqual([]);
    expect(await events({ recordId: 'no id' })).toEqual([]);
    expect(types(await events({ after: String(ada!.position), recordType: 'contact' }))).toHaveLength(1);
    expect(await events({ occurredAfter: '2100-01-01T00:00:00Z' })).toEqual([]);
    expect(await events({ occurredBefore: '2000-01-01T00:00:00Z' })).toEqual([]);
  });

  it('pages to an end although reading is recorded', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await person(name);
    const seen: Found[] = [];
    let after = '0';
    for (let pages = 0; pages < 50; pages += 1) {
      const { body } = await client.get('history.list-events', { limit: '2', after });
      seen.push(...body.data);
      expect(body.pagination.hasMore).toBe(body.pagination.cursor !== null);
      if (!body.pagination.hasMore) break;
      after = body.pagination.cursor;
    }
    expect(new Set(seen.map(({ position }) => position)).size).toBe(seen.length);
    expect(types(seen).filter((type) => type === 'ContactCreated')).toHaveLength(4);
    expect(types(seen)).toContain('HistoryRead');
  });

  it('records the first read of an hour immediately, with its parameters and its reader', async () => {
    const query = { recordId: NOBODY, actorId: NOBODY, occurredAfter: '2026-01-01T00:00:00Z' };
    await events(query);
    const [{ id: eventId, data, actor }] = (await events({ type: 'HistoryRead' })) as [Found];
    expect(actor).toEqual({ type: 'api-key', id: expect.any(String) });
    expect(data).toEqual({
      operation: 'history.list-events',
      asked: {
        limit: 1000,
        after: 0,
        ...query,
        occurredAfter: expect.stringMatching(/^2026-01-01T00:00:00/),
      },
    });
    await client.get('history.get-event', { eventId });
    expect(await hourOver()).toHaveLength(1);
  });

  it('records an hour in one event when two instances claim it at the same time', async () => {
    for (const type of ['ContactCreated', 'PostCreated', 'ListCreated']) await events({ type });
    const { source } = api.database;
    const organization = [client.organizationId];
    const past = `UPDATE history_reads SET hour = hour - interval '2 hours' WHERE organization_id = $1`;
    await source.query(past, organization);
    const other = source.createQueryRunner();
    await other.startTransaction();
    await other.query(
      'SELECT 1 FROM history_reads WHERE organization_id = $1 LIMIT 1 FOR UPDATE',
      organization,
    );
    const recording = api.instances[0]!.app.get(HistoryReads).recordHours();
    await eventually(async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      expect(await source.query(waiting)).not.toEqual([]);
    });
    await other.commitTransaction();
    await other.release();
    await recording;
    const collected = await events({ type: 'HistoryReadsCollected' });
    expect(collected.map(({ data }) => data.reads.length)).toEqual([3]);
  });

  it('records a polling client only once on every instance, and another key separately', async () => {
    await person('Ada');
    const clients = api.instances.map(({ origin }) => client.at(origin));
    let after = '0';
    const poll = async (one: Client) => {
      const { status, body } = await one.get('history.list-events', { after, limit: '2' });
      expect(status).toBe(200);
      after = String(body.data.at(-1)?.position ?? after);
      return types(body.data);
    };
    const seen: string[] = [];
    for (let n = 0; n < 10; n += 1) seen.push(...(await poll(clients[n % 2]!)));
    expect(seen.filter((type) => type === 'HistoryRead')).toHaveLength(1);
    for (let n = 0; n < 10; n += 1) expect(await poll(clients[n % 2]!)).toEqual([]);

    const { body } = await client.post('api-key.create-api-key', {
      name: 'Auditor',
      scopes: ['history:read'],
    });
    const auditor = new Client(api.origin, client.organizationId, body.data.key);
    await Promise.all([auditor, auditor.at(clients[1]!.origin)].map((one) => one.get('history.list-events')));
    expect(await poll(clients[0]!)).toEqual(['ApiKeyCreated', 'HistoryRead']);
  });

  it('records every read of an hour afterwards: the parameters and the ranges of positions', async () => {
    const contactId = await person('Ada');
    const all = await events();
    const [first, last] = [all[0]!.position, all.at(-1)!.position];
    const upTo = (await events({ after: String(last), type: 'ContactCreated' })).length;
    expect(upTo).toBe(0);
    for (let n = 0; n < 2; n += 1) {
      await client.get('history.list-events', { recordId: contactId, limit: '1', after: String(first) });
    }
    await client.get('history.get-event', { eventId: all[1]!.id });
    await client.get('history.get-event', { eventId: all[3]!.id });
    const before = await api.database.source.query(
      'SELECT organization_id FROM history_reads WHERE organization_id = $1',
      [client.organizationId],
    );
    expect(before).toHaveLength(4);

    const [{ actor, data, recordType }] = (await hourOver()) as [Found];
    expect({ recordType, actor }).toEqual({
      recordType: 'history-reads',
      actor: { type: 'system', id: 'history-reads' },
    });
    expect(data).toEqual({ apiKeyId: all[3]!.actor.id, hour: expect.stringMatching(ISO), reads: data.reads });
    const [whole, typed, found, got] = [
      data.reads.find(
        ({ operation, asked }: any) => operation.endsWith('list-events') && !Object.keys(asked).length,
      ),
      data.reads.find(({ asked }: any) => asked.type),
      data.reads.find(({ asked }: any) => asked.recordId),
      data.reads.find(({ operation }: any) => operation === 'history.get-event'),
    ];
    expect(whole).toMatchObject({ times: 1, positions: [[1, expect.any(Number)]] });
    expect(whole.positions[0][1]).toBeGreaterThanOrEqual(last);
    expect(typed).toMatchObject({ times: 1, asked: { type: expect.stringMatching(HIDDEN) } });
    expect(typed.positions[0][0]).toBe(last + 1);
    expect(found).toMatchObject({ times: 2, asked: { recordId: contactId } });
    expect(found.positions).toEqual([[first + 1, expect.any(Number)]]);
    expect(got).toEqual({
      operation: 'history.get-event',
      asked: {},
      times: 2,
      positions: [1, 3].map((n) => [all[n]!.position, all[n]!.position]),
    });
  });

  it('loses no read that happens while an hour is recorded, or in a crash', async () => {
    const { source } = api.database;
    const { organizationId } = client;
    const reads = api.instances[0]!.app.get(HistoryReads);
    const recorded = async () =>
      (await events({ type: 'HistoryReadsCollected' })).map(({ data }) => data.reads[0].times);
    const change = (what: string) =>
      source.query(`UPDATE history_reads SET ${what} WHERE organization_id = $1`, [organizationId]);
    await events();
    await change(`hour = hour - interval '2 hours', taken_at = clock_timestamp()`);
    // Another instance is recording the hour, or has just crashed.
    await reads.recordHours();
    expect(await recorded()).toEqual([]);
    // This instance has recorded it, and a read happened in between.
    await change(`taken_at = taken_at - interval '2 minutes'`);
    await source.query(`CREATE FUNCTION read_meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE history_reads SET times = times + 1 WHERE organization_id = NEW.organization_id AND taken_at IS NOT NULL;
      RETURN NEW; END $$`);
    await source.query(`CREATE TRIGGER read_meanwhile AFTER INSERT ON events FOR EACH ROW
      WHEN (NEW.type = 'HistoryReadsCollected') EXECUTE FUNCTION read_meanwhile()`);
    await reads.recordHours();
    await source.query('DROP FUNCTION read_meanwhile CASCADE');
    expect(await recorded()).toEqual([1]);
    await change(`taken_at = taken_at - interval '2 minutes'`);
    await Promise.all(api.instances.map(({ app }) => app.get(HistoryReads).recordHours()));
    expect(await recorded()).toEqual([1, 2]);
    const left = await source.query(
      `SELECT FROM history_reads WHERE organization_id = $1 AND hour < clock_timestamp() - interval '1 hour'`,
      [organizationId],
    );
    expect(left).toEqual([]);
  });

  it('records a hash of filter texts, which may be personal data', async () => {
    const person = 'Ada.Marker@example.org';
    const filters = ['recordType', 'recordId', 'type', 'actorId', 'requestId'];
    for (const field of filters) await events({ [field]: person });
    await events({ type: person });
    const [{ data }] = (await hourOver()) as [Found];
    const asked = Object.fromEntries(data.reads.map((read: any) => [Object.keys(read.asked)[0], read]));
    for (const field of filters) {
      expect(asked[field]).toMatchObject({
        asked: { [field]: expect.stringMatching(HIDDEN) },
        times: field === 'type' ? 2 : 1,
      });
    }
    const [read] = await events({ type: 'HistoryRead' });
    expect(read!.data.asked).toEqual({ limit: 1000, after: 0, recordType: expect.stringMatching(HIDDEN) });
    for (const [table, column] of [
      ['events', 'data'],
      ['history_reads', 'asked'],
    ]) {
      const stored = await api.database.source.query(
        `SELECT FROM ${table} WHERE ${column}::text ILIKE '%marker%'`,
      );
      expect(stored).toEqual([]);
    }
  });

  it.each([
    '01990a6e-1111-7000-8000-000000000009',
    '3F2504E0-4F89-41D3-9A0C-0305E82C3301',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    '4bf92f3577b34da6a3ce929d0e0e4736',
  ])('shows the request id %s, which cannot be personal data', async (given) => {
    const body = { organizationId: client.organizationId, email: 'ada@example.org' };
    await client.post('contact.create-contact', body, { 'X-Request-Id': given });
    expect(await events({ requestId: given })).toEqual([expect.objectContaining({ requestId: given })]);
  });

  it('finds a request by its client’s id, whether stored hashed or in clear', async () => {
    await person('Marker');
    const given = 'create-Marker';
    const [event] = await events({ requestId: given });
    expect(event).toMatchObject({ type: 'ContactCreated', requestId: expect.stringMatching(HIDDEN) });
    expect(await events({ requestId: event!.requestId })).toEqual([event]);
    expect(await events({ requestId: 'create-marker' })).toEqual([]);
    const stored = await api.database.source.query('SELECT FROM events WHERE metadata::text ILIKE $1', [
      '%marker%',
    ]);
    expect(stored).toEqual([]);

    const { store } = api.instances[0]!.runtime;
    const { organizationId } = client;
    const streamId = uuidv7();
    await store.append({
      organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'in clear, of before' },
      writes: [{ streamType: 'old', streamId, expectedVersion: 0, events: [{ type: 'Old', data: {} }] }],
    });
    expect(types(await events({ requestId: 'in clear, of before' }))).toEqual(['Old']);
  });

  it('shows null for personal data of erased contacts, and keeps the events', async () => {
    const contactId = await person('Ada');
    await client.delete('contact.delete-contact', { contactId });
    const found = await events({ recordId: contactId });
    expect(types(found)).toEqual(['ContactCreated', 'ContactErased']);
    expect(found[0]!.data).toEqual({ subscribed: true, personal: null });
  });

  it.each([
    ['limit', '0'],
    ['limit', '1001'],
    ['after', '-1'],
    ['after', 'x'],
    ['occurredAfter', 'yesterday'],
    ['sort', 'createdAt'],
  ])('returns 400 for %s=%s', async (field, value) => {
    const { status, body } = await client.get('history.list-events', { [field]: value });
    expect([status, body.error.issues[0].path]).toEqual([400, field]);
  });

  it('returns 403 without the scope history:read', async () => {
    const { key } = await api.createKey(client.organizationId, { scopes: ['contact:read'] });
    const { Client: Other } = await import('./harness.js');
    const lesser = new Other(client.origin, client.organizationId, key);
    const { status, body } = await lesser.get('history.list-events');
    expect([status, body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  });
});

describe('export-events', () => {
  const lines = async (query: Record<string, string> = {}): Promise<any[]> => {
    const { status, body, headers } = await client.get('history.export-events', query);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(headers.get('content-disposition')).toBe('attachment; filename="events.ndjson"');
    return body === ''
      ? []
      : body
          .trimEnd()
          .split('\n')
          .map((line: string) => JSON.parse(line));
  };

  it('returns 200 with every event in verifiable form, chained by positions, and is recorded', async () => {
    const contactId = await person('Ada');
    const all = await lines();
    expect(all.map(({ type }) => type)).toEqual([
      'OrganizationCreated',
      'ApiKeyCreated',
      'ApiKeyCreated',
      'ContactCreated',
      'HistoryRead',
    ]);
    expect(all[0].previousPosition).toBe(0);
    all.slice(1).forEach((line, n) => expect(line.previousPosition).toBe(all[n].position));
    expect(all[3]).toEqual({
      position: expect.any(Number),
      previousPosition: all[2].position,
      organizationId: client.organizationId,
      streamType: 'contact',
      streamId: contactId,
      version: 1,
      eventId: expect.any(String),
      type: 'ContactCreated',
      schema: 2,
      data: { subscribed: true },
      personal: { $salt: expect.any(String), email: 'Ada@example.org', firstName: 'Ada' },
      encryptedPersonal: expect.any(String),
      subjectId: contactId,
      metadata: {
        actor: { type: 'api-key', id: expect.any(String) },
        personalDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
        requestId: expect.stringMatching(HIDDEN),
      },
      recordedAt: expect.stringMatching(ISO),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(types(await events({ type: 'HistoryRead' }))).toHaveLength(1);
  });

  it('continues after a position, and ends where the history ended at the start of the export', async () => {
    for (let n = 0; n < 5; n += 1) await person(`p${n}`);
    const all = await lines();
    const rest = await lines({ after: String(all[2].position) });
    expect(rest.slice(0, -1)).toEqual(all.slice(3));
    expect(rest.at(-1).type).toBe('HistoryRead');
    expect(await lines({ after: '999999999999999' })).toEqual([]);
  });

  it('has null for an erased person, and the same digest', async () => {
    const contactId = await person('Ada');
    const before = (await lines()).at(-2);
    await client.delete('contact.delete-contact', { contactId });
    const after = (await lines()).find(({ position }) => position === before.position);
    expect(after).toEqual({ ...before, personal: null });
  });
});

describe('get-event', () => {
  it('returns 200 like list-events, and 404 for an unknown event or one of another organization', async () => {
    await person('Ada');
    const [event] = await events({ type: 'ContactCreated' });
    const { status, body } = await client.get('history.get-event', { eventId: event!.id });
    expect([status, body]).toEqual([200, { data: event, object: 'event' }]);
    const other = await api.organization();
    for (const eventId of [event!.id, NOBODY, 'x']) {
      expect((await other.get('history.get-event', { eventId })).status).toBe(404);
      expect((await other.get('history.get-proof', { eventId })).status).toBe(404);
    }
  });
});

const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** RFC 9162, section 2.1.3.2. */
function rootFrom(leaf: Buffer, index: number, size: number, path: Buffer[]): Buffer {
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const step of path) {
    if (fn % 2 === 1 || fn === sn) {
      hash = sha256(Buffer.of(1), step, hash);
      while (fn % 2 === 0 && fn > 0) [fn, sn] = [fn >> 1, sn >> 1];
    } else hash = sha256(Buffer.of(1), hash, step);
    [fn, sn] = [fn >> 1, sn >> 1];
  }
  return hash;
}

describe('get-proof', () => {
  it('returns 200 with a path from the event to the root of the signed checkpoint, from any instance', async () => {
    for (const name of ['a', 'b', 'c']) await person(name);
    for (const [n, { id, position }] of (await events({ type: 'ContactCreated' })).entries()) {
      const { status, body } = await client
        .at(api.instances[n % 2]!.origin)
        .get('history.get-proof', { eventId: id });
      expect([status, body.object, body.data.event.position]).toEqual([200, 'proof', position]);
      const { event, index, path, checkpoint } = body.data;
      const [origin, size, root] = checkpoint.split('\n');
      expect(origin).toBe(`advocacy-api/${client.organizationId}`);
      const at = Buffer.alloc(8);
      at.writeBigInt64BE(BigInt(event.position));
      const leaf = sha256(Buffer.of(0), at, Buffer.from(event.digest, 'hex'));
      const hashes = path.map((hash: string) => Buffer.from(hash, 'base64'));
      expect(rootFrom(leaf, index, Number(size), hashes).toString('base64')).toBe(root);
    }
  });

  it('is verified by history verify-event and advocacy-verify, unless the event, its place or its path was changed', async () => {
    await person('Ada');
    await person('Bob');
    const [event] = await events({ type: 'ContactCreated' });
    const eventId = event!.id;
    const { body } = await client.get('history.get-proof', { eventId });
    const { organizationId } = client;
    const key = await (await fetch(`${client.origin}/.well-known/advocacy-verifier-key`)).text();
    const directory = await mkdtemp(join(tmpdir(), 'proof-'));
    const file = join(directory, 'proof.json');
    const root = join(__dirname, '..');
    const run = promisify(execFile);
    const both = [
      [join(root, 'dist/src/cli.js'), 'history', 'verify-event', file, '--key', key.trim()],
      [join(root, 'dist/advocacy-verify.mjs'), 'event', file, '--key', key.trim()],
    ];
    const verifying = async (content: string) => {
      await writeFile(file, content);
      return Promise.all(
        both.map((args) =>
          run(process.execPath, args).then(
            ({ stdout }) => [0, stdout] as const,
            ({ code, stdout, stderr }) => [code, `${stdout}${stderr}`] as const,
          ),
        ),
      );
    };
    const proved = `The history of organization ${organizationId} contains the event ${eventId} (ContactCreated) at position `;
    for (const content of [JSON.stringify(body), JSON.stringify(body.data, null, 2)])
      for (const [code, output] of await verifying(content))
        expect([code, output]).toEqual([0, expect.stringContaining(proved)]);

    const { data } = body;
    const changed: [object, string][] = [
      [
        { ...data, event: { ...data.event, type: 'ContactErased' } },
        'has a digest that does not match its content',
      ],
      [{ ...data, index: data.index + 1 }, 'The path does not lead'],
      [{ ...data, path: data.path.slice(1) }, 'The path does not lead'],
      [{ ...data, path: ['x'] }, 'does not contain the response'],
      [{ ...data, checkpoint: data.checkpoint.replace('\n', '\n1') }, 'does not match the checkpoint'],
      [{}, 'does not contain the response'],
    ];
    for (const [content, reason] of changed)
      for (const [code, output] of await verifying(JSON.stringify(content)))
        expect([code, output]).toEqual([1, expect.stringContaining(reason)]);
    // If the file contains an error response, the program says so.
    const { body: error } = await client.get('history.get-proof', { eventId: NOBODY });
    const [, standalone] = await verifying(JSON.stringify(error));
    expect(standalone).toEqual([
      1,
      expect.stringContaining('proof.json contains an error of the server. NOT_FOUND: '),
    ]);
    // Options that would not be checked are rejected.
    await writeFile(file, JSON.stringify(body));
    const unchecked = run(process.execPath, [...both[1]!, '--checkpoint', file]);
    await expect(unchecked).rejects.toMatchObject({
      ...{ code: 1, stdout: '', stderr: expect.stringContaining('Usage: ') },
    });
    const deep = JSON.stringify(body).replace(
      '"data":{"subscribed"',
      `"data":{"x":${'['.repeat(200_000)}${']'.repeat(200_000)},"subscribed"`,
    );
    for (const [code, output] of await verifying(deep))
      expect([code, output]).toEqual([1, expect.stringContaining('proves nothing')]);
    await rm(directory, { recursive: true });
  });
});

describe('get-checkpoint', () => {
  it('returns 200 with the path from an older checkpoint, and 400 for a size that does not exist yet', async () => {
    const older = await client.get('history.get-checkpoint');
    expect([older.status, older.body.object]).toEqual([200, 'checkpoint']);
    await person('Ada');
    const [event] = await events({ type: 'ContactCreated' });
    await client.get('history.get-proof', { eventId: event!.id });
    const newer = await client.get('history.get-checkpoint', { size: String(older.body.data.size) });
    expect(newer.body.data.size).toBeGreaterThan(older.body.data.size);
    expect(newer.body.data.consistency.length).toBeGreaterThan(0);
    const { checkpoint, parts, size } = newer.body.data;
    expect(checkpoint.split('\n\n')[0].split('\n')).toHaveLength(5);
    const leaves = parts
      .trimEnd()
      .split('\n')
      .map((line: string) => Number(line.split(' ')[2]));
    expect(leaves.reduce((sum: number, count: number) => sum + count, 0)).toBe(size);
    const beyond = await client.get('history.get-checkpoint', { size: '1000' });
    expect([beyond.status, beyond.body.error.issues[0].path]).toEqual([400, 'size']);
  });

  it('returns the last signed checkpoint even if the table of seals is changed by hand', async () => {
    const { sealer } = api.instances[0]!.runtime;
    const { source } = api.database;
    const { organizationId } = client;
    const { body } = await client.get('history.get-checkpoint');
    const [, size, root] = body.data.checkpoint.split('\n');
    const changes = ['root = sha256(root)', 'size = size + 7', 'position = position + 1'];
    for (const [n, change] of changes.entries()) {
      await source.query(`UPDATE seals SET ${change} WHERE organization_id = $1`, [organizationId]);
      await person(`beside-${n}`);
      await sealer.seal();
      for (const { origin } of api.instances) {
        const again = await client.at(origin).get('history.get-checkpoint');
        expect(again.body.data.checkpoint.split('\n').slice(1, 3)).toEqual([size, root]);
      }
    }
  });
});

/** A client of the log that only knows C2SP tlog-tiles and RFC 6962. */
describe('/log', () => {
  const answers = new Map<string, Promise<Buffer>>();
  const ask = async (path: string, key: string | null = client.key!): Promise<Response> => {
    const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
    const response = await fetch(`${api.origin}/log/${path}`, { headers });
    if (response.status !== 429) return response;
    // An address without a key may send ten requests per second.
    await sleep(1_000);
    return ask(path, key);
  };
  const fetched = async (path: string) => {
    const response = await ask(path);
    expect([path, response.status]).toEqual([path, 200]);
    return Buffer.from(await response.arrayBuffer());
  };
  const bytes = (path: string): Promise<Buffer> => {
    const own = `${client.organizationId}/${path}`;
    if (!answers.has(own)) answers.set(own, fetched(own));
    return answers.get(own)!;
  };
  const named = (index: number, width: number) =>
    `${String(index).padStart(3, '0')}${width < 256 ? `.p/${width}` : ''}`;
  /** The tiles of a level with this many hashes. */
  const row = (count: number) =>
    Array.from({ length: Math.ceil(count / 256) }, (_, index) =>
      named(index, Math.min(256, count - index * 256)),
    );
  const all = async (kind: string, count: number) =>
    Buffer.concat(await Promise.all(row(count).map((name) => bytes(`tile/${kind}/${name}`))));
  function rootOf(hashes: readonly Buffer[]): Buffer {
    if (hashes.length === 1) return hashes[0]!;
    const middle = 2 ** (Math.ceil(Math.log2(hashes.length)) - 1);
    return sha256(Buffer.of(1), rootOf(hashes.slice(0, middle)), rootOf(hashes.slice(middle)));
  }
  const leafHash = (leaf: Buffer) => sha256(Buffer.of(0), leaf);
  const checkpoint = async () => {
    const response = await ask(`${client.organizationId}/checkpoint`);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const note = await response.text();
    const [origin, size, root] = note.split('\n');
    expect([response.status, origin]).toEqual([200, `advocacy-api/${client.organizationId}`]);
    return { note, size: Number(size), root: root! };
  };
  const grow = async (count: number) => {
    const people = Array.from({ length: count }, () => `${uuidv7()}@example.org\n`).join('');
    const csv = { 'Content-Type': 'text/csv' };
    expect(
      (await client.request('POST', '/v1/contact.import-contacts?subscribed=true', `email\n${people}`, csv))
        .status,
    ).toBe(200);
    await api.instances[0]!.runtime.sealer.seal();
  };

  /** `npm test` covers sizes around tile boundaries, and some in between. */
  const isTried = (size: number) => isLong || [0, 1, 2, 255].includes(size % 256) || size % 50 < 2;

  it('tiles and entries of every size up to 600 match the checkpoints and an export', async () => {
    const seen = [await checkpoint()];
    for (const size of [3, 255, 256, 257, 511, 512, 513, 600]) {
      await grow(size - seen.at(-1)!.size);
      seen.push(await checkpoint());
      expect(seen.at(-1)!.size).toBe(size);
    }
    const exported = (await client.get('history.export-events')).body
      .trimEnd()
      .split('\n')
      .map((line: string) => {
        const { position, digest } = JSON.parse(line);
        const at = Buffer.alloc(8);
        at.writeBigInt64BE(BigInt(position));
        return Buffer.concat([at, Buffer.from(digest, 'hex')]);
      });
    const leaves: Buffer[] = exported.slice(0, 600).map(leafHash);
    // Compared as bytes, because Jest would create objects for 600 × 600 hashes.
    const hashes = Buffer.concat(leaves);
    const entries = Buffer.concat(exported.flatMap((leaf: Buffer) => [Buffer.of(0, 40), leaf]));
    const wrong: string[] = [];
    for (let size = 1; size <= 600; size += 1) {
      if (!isTried(size)) continue;
      if (!(await all('0', size)).equals(hashes.subarray(0, size * 32))) wrong.push(`tiles of ${size}`);
      if (isLong && size % 7 > 1 && size % 256 > 1) continue;
      if (!(await all('entries', size)).equals(entries.subarray(0, size * 42)))
        wrong.push(`entries of ${size}`);
    }
    expect(wrong).toEqual([]);
    expect(await bytes('tile/1/000.p/2')).toEqual(
      Buffer.concat([rootOf(leaves.slice(0, 256)), rootOf(leaves.slice(256, 512))]),
    );
    for (const { size, root } of seen) expect(rootOf(leaves.slice(0, size)).toString('base64')).toBe(root);
    expect((await client.get('history.get-checkpoint')).body.data.checkpoint).toBe((await checkpoint()).note);
  });

  longIt('verifies with the Go packages that verify Go module checksums', async () => {
    await grow(297);
    const { verifierKey } = api.instances[0]!.runtime.sealer.signers;
    const program = [
      ...['run', join(__dirname, 'stock-tools/main.go')],
      ...[client.origin, client.organizationId],
    ];
    const verified = async (key: string) => {
      const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_PATH };
      const running = promisify(execFile)('go', [...program, key], { env });
      running.child.stdin!.end(client.key);
      return JSON.parse((await running).stdout);
    };
    expect(await verified(verifierKey)).toEqual({ leaves: 300, inclusions: 300, consistencies: 300 });
    const { verifierKey: other } = new Signers([Buffer.alloc(32, 9)]);
    await expect(verified(other)).rejects.toThrow(/the note: note has no verifiable signatures/);
  });

  it('all: contains the hash of each checkpoint, and is readable with every key', async () => {
    const { checkpoint: own, size, proof } = (await client.get('history.get-checkpoint')).body.data;
    const [lines, ...rest] = proof.split('\n\n');
    const [header, number, ...path] = lines.split('\n');
    expect([header, number]).toEqual(['c2sp.org/tlog-proof@v1', expect.stringMatching(/^index \d+$/)]);
    const leaf = Buffer.concat([
      Buffer.from(client.organizationId.replaceAll('-', ''), 'hex'),
      Buffer.alloc(8),
    ]);
    leaf.writeBigInt64BE(BigInt(size), 16);
    const hash = leafHash(Buffer.concat([leaf, Buffer.from(own.split('\n')[2], 'base64')]));
    const index = Number(number.split(' ')[1]);
    const note = rest.join('\n\n');
    expect(api.instances[0]!.runtime.signers.open(note)).toBeDefined();

    const { key } = await api.organization();
    const shown = await (await ask('all/checkpoint', key)).text();
    const [origin, count, root] = shown.split('\n');
    expect(origin).toBe('advocacy-api/all');
    const tiles = await Promise.all(
      row(Number(count)).map(async (name) => {
        const response = await ask(`all/tile/0/${name}`, key);
        expect(response.status).toBe(200);
        return Buffer.from(await response.arrayBuffer());
      }),
    );
    const hashes = Array.from({ length: Number(count) }, (_, n) =>
      Buffer.concat(tiles).subarray(32 * n, 32 * n + 32),
    );
    expect(rootOf(hashes).toString('base64')).toBe(root);
    expect(hashes[index]).toEqual(hash);
    const [, then, rootThen] = note.split('\n');
    expect(rootOf(hashes.slice(0, Number(then))).toString('base64')).toBe(rootThen);
    expect(path.length).toBeGreaterThan(0);

    const missing = [
      'all/tile/entries/000.p/1',
      'all/tile/entries/000',
      `${ALL_ORGANIZATIONS}/checkpoint`,
      'All/checkpoint',
    ];
    for (const path of missing) expect((await ask(path, key)).status).toBe(404);
    expect((await ask('all/checkpoint', null)).status).toBe(404);
  });

  it('/.well-known/advocacy-verifier-key has the key that verifies the checkpoint, without an API key', async () => {
    const response = await fetch(`${api.origin}/.well-known/advocacy-verifier-key`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ]);
    const [key, rest] = (await response.text()).split('\n');
    expect([key, rest]).toEqual([api.instances[0]!.runtime.signers.verifierKey, '']);
  });

  it('/.well-known/advocacy-verify.mjs is the program that verifies the history, without an API key', async () => {
    const response = await fetch(`${api.origin}/.well-known/advocacy-verify.mjs`);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const directory = await mkdtemp(join(tmpdir(), 'advocacy-verify-'));
    const { note } = await checkpoint();
    const exported = await fetch(`${api.origin}/v1/history.export-events`, {
      headers: { Authorization: `Bearer ${client.key}` },
    });
    const [program, history, sealed] = ['verify.mjs', 'history.ndjson', 'checkpoint'].map((name) =>
      join(directory, name),
    ) as [string, string, string];
    const source = await response.text();
    // The guide invites auditors to read it.
    expect(source.split('\n').length).toBeLessThanOrEqual(1_651);
    await writeFile(program, source);
    await writeFile(history, await exported.text());
    await writeFile(sealed, note);
    const { verifierKey } = api.instances[0]!.runtime.signers;
    const args = [program, history, '--checkpoint', sealed, '--key', verifierKey];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toMatch(
      /^This file matches the checkpoint of \d+ events\.[^]*Not proved:\n {2}1\. that nothing was rewritten before/,
    );
    expect(stderr).toMatch(
      /^This file contains all events that the checkpoint of \d+ events of organization \S+ covers, /,
    );
    await writeFile(history, (await readFile(history, 'utf8')).replace('"version":1', '"version":2'));
    await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('has a digest that does not match its content'),
    });
    await rm(directory, { recursive: true });
  });

  it('tiles may be cached and checkpoints may not; both have a request id, and HEAD has their length', async () => {
    const path = `${client.organizationId}/tile/0/000.p/1`;
    await checkpoint();
    const tile = await ask(path);
    expect(tile.headers.get('content-type')).toBe('application/octet-stream');
    expect(tile.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    expect((await ask(`${client.organizationId}/checkpoint`)).headers.get('cache-control')).toBe('no-store');
    const headers = { Authorization: `Bearer ${client.key!}`, 'X-Request-Id': 'mine' };
    const head = await fetch(`${api.origin}/log/${path}`, { method: 'HEAD', headers });
    expect(['x-request-id', 'content-length'].map((name) => head.headers.get(name))).toEqual(['mine', '32']);
  });

  it('returns 404 for an invalid tile, or one beyond the checkpoint', async () => {
    const { size } = await checkpoint();
    for (const path of [
      ...['', 'checkpoint/', 'Checkpoint', 'tile', 'tile/', 'tile/0', 'tile/0/000.p/', 'tile/0/000.p/0'],
      ...['tile/0/000', `tile/0/000.p/${size + 1}`, 'tile/0/000.p/256', 'tile/0/000.p/01', 'tile/00/000.p/1'],
      ...['tile/0/0.p/1', 'tile/0/x000/000.p/1', 'tile/0/001.p/1', 'tile/1/000.p/1', 'tile/64/000.p/1'],
      ...['tile/63/000.p/1', 'tile/-1/000.p/1', 'tile/entries/000', `tile/entries/000.p/${size + 1}`],
      ...[
        'tile/0/000.p/1/',
        'tile/0/%30%30%30.p/1',
        `tile/0/${'x999/'.repeat(50)}999.p/1`,
        'tile/0/000.p/1/x',
      ],
    ]) {
      const response = await ask(`${client.organizationId}/${path}`);
      const { error } = (await response.json()) as any;
      expect([path, response.status, error.code]).toEqual([path, 404, 'NOT_FOUND']);
      expect(error.requestId).toBe(response.headers.get('x-request-id'));
    }
  });

  it('returns 409 if stored hashes differ from the sealed ones, until they are repaired', async () => {
    const { size } = await checkpoint();
    const { organizationId } = client;
    const damaged = "hashes = sha256('forged') || substring(hashes FROM 33)";
    await api.database.source.query(
      `UPDATE seal_tiles SET ${damaged} WHERE organization_id = $1 AND level = 0`,
      [organizationId],
    );
    const refused = await ask(`${organizationId}/tile/entries/000.p/${size}`);
    expect([refused.status, ((await refused.json()) as any).error.reason]).toEqual([409, 'NOT_SEALED']);
    await api.instances[0]!.runtime.sealer.mend(organizationId);
    expect((await ask(`${organizationId}/tile/entries/000.p/${size}`)).status).toBe(200);
  });

  it('returns 404 for another organization or without a key, 403 without history:read, and 200 for all if public', async () => {
    await checkpoint();
    const { organizationId } = client;
    const other = await api.organization();
    const { key: weak } = await api.createKey(organizationId, { scopes: ['contact:read'] });
    const paths = ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1'];
    const expectAnswers = async (expected: number[]) => {
      for (const path of paths) {
        const statuses = [other.key!, weak, null].map(
          async (key) => (await ask(`${organizationId}/${path}`, key)).status,
        );
        expect([path, await Promise.all(statuses)]).toEqual([path, expected]);
      }
    };
    const publish = (publicLog: boolean) => client.post('organization.update-organization', { publicLog });
    await expectAnswers([404, 403, 404]);
    await publish(true);
    await expectAnswers([200, 200, 200]);
    await publish(false);
    await expectAnswers([404, 403, 404]);
  });

  it('a public log is identical without a key and cacheable, and its readers are not recorded', async () => {
    const { size } = await checkpoint();
    const { organizationId } = client;
    await client.post('organization.update-organization', { publicLog: true });
    await api.instances[0]!.runtime.sealer.seal();
    const before = await api.eventTypes(organizationId);
    const { note } = await checkpoint();
    for (const path of ['checkpoint', `tile/0/000.p/${size}`, `tile/entries/000.p/${size}`]) {
      const [keyed, open] = [
        await ask(`${organizationId}/${path}`),
        await ask(`${organizationId}/${path}`, null),
      ];
      const kept = 'max-age=31536000, immutable';
      expect([keyed, open].map(({ headers }) => headers.get('cache-control'))).toEqual(
        path === 'checkpoint' ? ['no-store', 'no-store'] : [`private, ${kept}`, `public, ${kept}`],
      );
      expect(Buffer.from(await open.arrayBuffer())).toEqual(Buffer.from(await keyed.arrayBuffer()));
      if (path === 'checkpoint')
        expect(await (await ask(`${organizationId}/${path}`, null)).text()).toBe(note);
    }
    expect(await api.eventTypes(organizationId)).toEqual(before);
    const reads = await api.database.source.query('SELECT FROM history_reads WHERE organization_id = $1', [
      organizationId,
    ]);
    expect(reads).toEqual([]);
    // An invalid key is rejected even if none is needed.
    const refused = await ask(
      `${organizationId}/checkpoint`,
      client.key!.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')),
    );
    expect([refused.status, ((await refused.json()) as any).error.reason]).toEqual([401, 'KEY_INVALID']);
  });

  it('without a key, private, formerly public and unknown logs return the same 404', async () => {
    await checkpoint();
    const { organizationId: secret } = await api.organization();
    const { organizationId } = client;
    for (const publicLog of [true, false]) {
      await client.post('organization.update-organization', { publicLog });
    }
    const answers = [organizationId, secret, uuidv7(), 'x', organizationId.toUpperCase()].map(async (id) => {
      const response = await ask(`${id}/checkpoint`, null);
      const { error } = (await response.json()) as any;
      const headers = [...response.headers].filter(([name]) => !/^(date|x-request-id|ratelimit)/.test(name));
      return { status: response.status, headers, ...error, requestId: undefined };
    });
    const all = await Promise.all(answers);
    expect(all[0]).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(all.map((one) => JSON.stringify(one))).toEqual(all.map(() => JSON.stringify(all[0])));
  });
});
