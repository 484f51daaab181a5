import { petitions } from '../src/petitions/index.js';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { Keyring } from '#libs/event-store';
import { REGISTER, Signers } from '#libs/sealing';
import { command } from './commands.js';
import { Client } from './harness.js';
import { longDescribe, longIt } from './length.js';
import { Visitor } from './people-in.js';
import { photo, picture } from './pictures.js';
import { cli, Deployment, ENCRYPTION_KEY, eventually, type ServerProcess } from './processes.js';
import { verifyTwice } from './verifiers.js';

let deployment: Deployment;
let client: Client;
let directory: string;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
  const { origin } = await deployment.startServer();
  client = client.at(origin);
  directory = await mkdtemp(join(tmpdir(), 'history-'));
});
afterAll(async () => {
  await deployment.stop();
  await rm(directory, { recursive: true, force: true });
});

async function run(...args: string[]): Promise<any> {
  const { status, stdout, stderr } = await command(['--json', ...args], deployment.environment);
  expect([status, stderr, status === 0 ? '' : stdout]).toEqual([0, expect.any(String), '']);
  return JSON.parse(stdout);
}
const exported = (out: string) =>
  run('history', 'export', '--organization', client.organizationId, '--out', out);

async function replayed(file: string, ...options: string[]): Promise<{ [object: string]: any[] }> {
  const { status, stdout } = await command(['history', 'replay', file, ...options], {});
  expect(status).toBe(0);
  const records: { [object: string]: any[] } = {};
  for (const line of stdout.trimEnd().split('\n')) {
    const { object, data } = JSON.parse(line);
    (records[object] ??= []).push(data);
  }
  // No operation returns the other fields of these links.
  for (const [kind, object] of [
    ['list', 'list-membership'],
    ['tag', 'tagging'],
  ])
    records[object!] = (records[object!] ?? [])
      .map((link) => linkOf(kind!, link[`${kind}Id`], link.contactId))
      .toSorted(byContact);
  return records;
}

/** A history does not contain the server's address. */
function withoutServer(image: { url: string; variants: { url: string }[] }): object {
  const path = (url: string) => new URL(url).pathname;
  const variants = image.variants.map((variant) => ({ ...variant, url: path(variant.url) }));
  return { ...image, url: path(image.url), variants };
}

/** The signatures of every petition, in the order of their status. */
async function signatures(more = {}): Promise<object[]> {
  const petitions = (await client.get('petition.list-petitions', { sort: 'createdAt', limit: '100' })).body
    .data;
  const found: object[] = [];
  for (const status of ['CONFIRMED', 'PENDING'])
    for (const { id: petitionId } of petitions) {
      const query = { petitionId, status, sort: 'createdAt', limit: '100', ...more };
      found.push(...(await client.get('petition.list-signatures', query)).body.data);
    }
  return found;
}

/** The contacts of each list and tag, as a replay prints them. */
async function members(more = {}): Promise<{ [object: string]: any[] }> {
  const found: { [object: string]: any[] } = {};
  for (const [kind, object] of [
    ['list', 'list-membership'],
    ['tag', 'tagging'],
  ]) {
    const { data } = (await client.get(`${kind}.list-${kind}s`)).body;
    found[object!] = [];
    for (const { id } of data as { id: string }[]) {
      const contacts = await client.get('contact.list-contacts', {
        [`${kind}Id`]: id,
        limit: '100',
        ...more,
      });
      found[object!]!.push(...contacts.body.data.map((one: { id: string }) => linkOf(kind!, id, one.id)));
    }
    found[object!] = found[object!]!.toSorted(byContact);
  }
  return found;
}
const linkOf = (kind: string, id: string, contactId: string) => ({ [`${kind}Id`]: id, contactId });
const byContact = (one: { contactId: string }, other: { contactId: string }) =>
  one.contactId.localeCompare(other.contactId);

/** The API's current responses, in the same order. */
async function answered(): Promise<{ [object: string]: any[] }> {
  const all = async (operation: string, more = {}) =>
    (await client.get(operation, { sort: 'createdAt', limit: '100', ...more })).body.data;
  return {
    // The hook is derived from a secret that the history does not contain.
    organization: [
      { ...(await client.get('organization.get-organization')).body.data, mailHook: null, url: null },
    ],
    'api-key': (await all('api-key.list-api-keys')).map((key: object) => ({ ...key, lastUsedAt: null })),
    contact: await all('contact.list-contacts'),
    list: await all('list.list-lists'),
    tag: await all('tag.list-tags'),
    field: await all('field.list-fields'),
    // Without values that only exist now.
    webhook: (await all('webhook.list-webhooks')).map((webhook: object) => ({
      ...webhook,
      status: 'ACTIVE',
      position: null,
      lag: null,
      lastDelivery: null,
    })),
    suppression: await all('suppression.list-suppressions'),
    member: await all('team.list-members'),
    invitation: await all('team.list-invitations'),
    image: (await all('image.list-images')).map(withoutServer),
    // The record of the image has its details.
    petition: (await all('petition.list-petitions', { include: 'content' })).map((petition: object) => ({
      ...petition,
      image: null,
      url: null,
      // Likewise.
      offlineSignatures: null,
    })),
    signature: await signatures(),
    'offline-count': await all('petition.list-offline-signatures'),
    ...(await members()),
    post: (await all('post.list-posts', { include: 'content' })).map((post: object) => ({
      ...post,
      url: null,
    })),
    // The title of the built-in form is in the organization's language.
    form: (await all('form.list-forms')).map((form: object) => ({ ...form, url: null, title: null })),
    broadcast: await all('broadcast.list-broadcasts', { include: 'content' }),
  };
}

it('GET /log/<register>/checkpoint returns 404 until the first checkpoint is registered', async () => {
  const { status, body } = await client.request('GET', `/log/${REGISTER}/checkpoint`);
  expect([status, body]).toMatchObject([
    404,
    { error: { message: expect.stringMatching(/no checkpoint yet/) } },
  ]);
});

it('an exported history, continued where it stopped, replays to what the API returns, now and in the past', async () => {
  const { organizationId } = client;
  const file = join(directory, 'history.ndjson');
  const contactIds: string[] = [];
  const { fieldId } = (await client.post('field.create-field', { name: 'Gone soon' })).body.data;
  await client.post('field.create-field', { name: 'Shoe size', type: 'NUMBER' });
  for (const name of ['ada', 'grace', 'wangari']) {
    const extras = {
      region: 'Essex',
      externalIds: [`a:${name}`],
      customFields: { shoeSize: 4.5, goneSoon: 'x' },
    };
    const body = { organizationId, email: `${name}@example.org`, firstName: name, ...extras };
    contactIds.push((await client.post('contact.create-contact', body)).body.data.contactId);
  }
  const { listId } = (await client.post('list.create-list', { name: 'Volunteers' })).body.data;
  await client.post('list.add-contacts', { listId, contactIds });
  const { tagId } = (await client.post('tag.create-tag', { name: 'Donor' })).body.data;
  await client.post('tag.add-contacts', { tagId, contactIds });
  await client.post('webhook.create-webhook', { url: 'https://webhooks.invalid/' });
  const png = { 'Content-Type': 'image/png' };
  const { imageId } = (await client.request('POST', '/v1/image.upload-image', await picture(), png)).body
    .data;
  const { petitionId } = (await client.post('petition.create-petition', { name: 'River', imageId })).body
    .data;
  await client.post('petition.publish-petition', { petitionId });
  const onPaper = { petitionId, count: 48, collectedOn: '2026-11-20' };
  await client.post('petition.record-offline-signatures', onPaper);
  for (const contactId of contactIds) {
    await client.post('petition.add-signature', { petitionId, contactId, comment: 'Why not' });
  }
  await client.post('post.create-post', { name: 'News', content: { blocks: [1, null] } });
  for (const email of ['grace@example.org', 'nobody@example.org', 'lifted@example.org'])
    await client.post('suppression.create-suppression', { email });
  await client.delete('suppression.delete-suppression', { email: 'lifted@example.org' });
  await client.post('broadcast.create-broadcast', { name: 'May', audience: { listIds: [listId] } });
  const invite = (email: string) =>
    run('user', 'invite', '--organization', organizationId, '--email', email, '--role', 'EDITOR');
  await invite('waits@example.org');
  const { invitationId } = await invite('gone@example.org');
  await client.delete('team.revoke-invitation', { invitationId });
  const { url } = await invite('eve@example.org');
  expect((await new Visitor(client.origin).post(new URL(url as string).pathname)).status).toBe(303);
  await client.post('organization.update-organization', {
    publicLog: true,
    mailFrom: { name: 'Rivers', address: 'news@rivers.example' },
    postalAddress: 'Rivers\n1 Bank Street',
  });
  const then = await answered();
  const first = await exported(file);
  expect(first.events).toBeGreaterThan(12);
  expect(await replayed(file)).toEqual(then);
  const { position, recordedAt: asOf } = JSON.parse(
    (await readFile(file, 'utf8')).trimEnd().split('\n').at(-1)!,
  );

  await client.delete('petition.remove-signature', { petitionId, contactId: contactIds[0] });
  await client.delete('field.delete-field', { fieldId });
  const cleared = { contactId: contactIds[0], externalIds: [], customFields: { shoeSize: null } };
  expect((await client.post('contact.update-contact', cleared)).body.data.customFields).toEqual({});
  await client.delete('contact.delete-contact', { contactId: contactIds[1] });
  await client.post('organization.update-organization', {
    name: 'Clean Rivers',
    publicLog: false,
    mailFrom: null,
  });
  await client.delete('list.remove-contacts', { listId, contactIds: [contactIds[0]] });
  await client.delete('suppression.delete-suppression', { email: 'nobody@example.org' });
  await client.post('suppression.create-suppression', { email: 'nobody@example.org' });
  await client.post('suppression.create-suppression', { email: 'later@example.org' });
  await client.post('api-key.create-api-key', { name: 'Later', scopes: ['list:read'] });
  const other = { organizationId, email: 'mary@example.org', lastName: 'Maathai' };
  const { contactId: mergedId } = (await client.post('contact.create-contact', other)).body.data;
  const merge = { contactId: mergedId, otherIds: [contactIds[2]] };
  expect((await client.post('contact.merge-contacts', merge)).status).toBe(200);
  const whole = await exported(join(directory, 'whole.ndjson'));
  // As if the first export had been interrupted in the middle of a line.
  const { length } = await readFile(file);
  await truncate(file, length - 40);
  const rest = await exported(file);
  expect(rest.events).toBe(whole.events - first.events + 2);
  expect(await replayed(file)).toEqual(await answered());

  const untilThen = await replayed(file, '--until', String(position));
  expect([untilThen.petition, untilThen.list, untilThen.tag]).toEqual([then.petition, then.list, then.tag]);
  expect(untilThen.contact).toHaveLength(3);
  const named = (signatures: any[]) => signatures.map(({ contactId }) => contactId);
  expect(named(untilThen.signature!)).toEqual(contactIds);
  expect(named((await replayed(file)).signature!)).toEqual([null, mergedId]);
  // A file written after an erasure or a merge no longer contains what the person wrote then.
  const later = await replayed(join(directory, 'whole.ndjson'), '--until', String(position));
  expect(later.signature!.map(({ comment }) => comment)).toEqual(['Why not', null, null]);
  expect(untilThen['list-membership']).toEqual(then['list-membership']);

  // The same lists from the API. Only what erased people wrote is gone.
  const sorted = { sort: 'createdAt', limit: '100', asOf };
  const past = async (operation: string) => (await client.get(operation, sorted)).body.data;
  expect(await signatures({ asOf })).toEqual(
    then.signature!.map((one) => (one.contactId === contactIds[1] ? { ...one, comment: null } : one)),
  );
  expect(await members({ asOf })).toEqual({
    'list-membership': then['list-membership'],
    tagging: then.tagging,
  });
  // The address of a contact is erased with the contact, any other when its suppression ends.
  expect(then.suppression!.map(({ email }) => email)).toEqual(['grace@example.org', 'nobody@example.org']);
  expect(await past('suppression.list-suppressions')).toEqual(
    then.suppression!.map((one) => ({ ...one, email: null })),
  );
  expect(await past('api-key.list-api-keys')).toEqual(then['api-key']);
  // Page by page, newest first.
  const pages: any[] = [];
  for (let cursor: string | undefined; cursor !== null;) {
    const query = { petitionId, asOf, limit: '1', ...(cursor ? { cursor } : {}) };
    const { body } = await client.get('petition.list-signatures', query);
    expect(body.asOf.moment).toBe(asOf);
    pages.push(...body.data);
    ({ cursor } = body.pagination);
  }
  expect(pages).toEqual((await signatures({ asOf })).toReversed());
  const future = new Date(Date.now() + 3_600_000).toISOString();
  expect(await signatures({ asOf: future })).toEqual(await signatures());
  for (const [operation, query, path] of [
    ['petition.list-signatures', {}, 'petitionId'],
    ['petition.list-signatures', { petitionId, contactId: mergedId }, 'contactId'],
    ['petition.list-signatures', { petitionId, q: 'ada' }, 'q'],
    ['petition.list-signatures', { petitionId, status: 'INVALIDATED' }, 'status'],
    ['contact.list-contacts', {}, 'asOf'],
    ['contact.list-contacts', { listId, tagId }, 'asOf'],
    ['contact.list-contacts', { petitionId }, 'asOf'],
    ['contact.list-contacts', { listId, sort: 'email' }, 'sort'],
    ['suppression.list-suppressions', { reason: 'MANUAL' }, 'reason'],
    ['api-key.list-api-keys', { q: 'x' }, 'q'],
    ['api-key.list-api-keys', { sort: 'name' }, 'sort'],
  ] as const) {
    const { status, body } = await client.get(operation, { ...query, asOf });
    expect([operation, status, body.error?.issues?.[0]?.path]).toEqual([operation, 400, path]);
  }
  const before = { listId, asOf: '2001-01-01T00:00:00Z' };
  expect((await client.get('contact.list-contacts', before)).status).toBe(404);

  const lines = (await command(['history', 'replay', file], {})).stdout;
  const { stdout } = await command(['history', 'replay', file, '--sha256'], {});
  expect(stdout.trim()).toBe(createHash('sha256').update(lines).digest('hex'));
});

longIt('rejects a file with other content', async () => {
  const file = join(directory, 'other.ndjson');
  await appendFile(file, '{"not":"an event"}\n');
  const { organizationId } = client;
  const args = ['history', 'export', '--organization', organizationId, '--out', file];
  const { status, stderr } = await command(args, deployment.environment);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/not an export of the history/)]);
  for (const text of [
    'precious',
    'first line\nsecond precious',
    '{"position":1}\nprecious',
    'x'.repeat(5_000_000),
  ]) {
    await writeFile(file, text);
    expect((await command(args, deployment.environment)).status).toBe(1);
    expect((await readFile(file, 'utf8')) === text).toBe(true);
  }
  await writeFile(file, '{"not":"an event"}\n');
  const replay = await command(['history', 'replay', file], {});
  expect([replay.status, replay.stderr]).toEqual([1, expect.stringMatching(/^Line 1 is not an event/)]);
});

it('replay reports unreadable events, and personal data that the server never stored', async () => {
  const golden = await readFile(join(__dirname, 'golden/history.ndjson'), 'utf8');
  const file = join(directory, 'replayed.ndjson');
  const replay = async (text: string, ...options: string[]) => {
    await writeFile(file, text);
    const args = ['history', 'replay', file, '--sha256', ...options];
    const { status, stdout, stderr } = await command(args, {});
    return { status, records: stdout.length, stderr };
  };
  const lines = golden.trimEnd().split('\n');
  const at = lines.findIndex((line) => line.includes('"type":"PostCreated"'));
  const newer = lines.with(at, lines[at]!.replace('"schema":1', '"schema":99')).join('\n');
  expect(await replay(newer)).toEqual({
    status: 1,
    records: 0,
    stderr: expect.stringMatching(
      `^Line ${at + 1} contains PostCreated in schema 99, written by a newer release. This release, \\d+\\.\\d+\\.\\d+, ` +
        'reads schemas up to \\d+. Replay the file with the newer release.\n$',
    ),
  });
  const readable = (some: string[]) => some.filter((line) => !line.includes('"personal":null')).length;
  // Later lines need not be readable.
  expect(await replay(newer, '--until', String(at))).toEqual({
    status: 0,
    records: 65,
    stderr: `Replay does not verify the file, which has readable personal data in ${readable(lines.slice(0, at))} events. Use history verify.\n`,
  });
  const forged = lines.with(at, lines[at]!.replace('"personal":null', '"personal":{"name":"Eve"}'));
  expect((await replay(forged.join('\n'))).stderr).toBe(
    `Replay does not verify the file, which has readable personal data in ${readable(forged)} events. Use history verify. ` +
      'For 1 event, the server never stored personal data.\n',
  );
});

longIt(
  'consistency: one checkpoint continues the other, according to an export and to the server',
  async () => {
    const ownKeys = new Signers([new Keyring(ENCRYPTION_KEY).signingSeed]);
    const file = (name: string) => join(directory, name);
    const checkpoint = async (name: string) => {
      await run('history', 'checkpoint', '--organization', client.organizationId, '--out', file(name));
      return ownKeys.open(await readFile(file(name), 'utf8'))!;
    };
    const older = await checkpoint('older');
    for (let n = 0; n < 3; n += 1) await client.post('list.create-list', { name: uuidv7() });
    const newer = await checkpoint('newer');
    await exported(file('consistent.ndjson'));
    await writeFile(file('api-key'), `${client.key}\n`);
    const root = Buffer.alloc(32, 1);
    await writeFile(file('other older'), ownKeys.signCheckpoint({ ...older, root }));
    await writeFile(file('other newer'), ownKeys.signCheckpoint({ ...newer, root }));

    const byExport = ['--export', file('consistent.ndjson')];
    const byServer = ['--url', client.origin, '--api-key-file', file('api-key')];
    const compare = async (one: string, other: string, ...options: string[]) => {
      const args = [
        'history',
        'consistency',
        file(one),
        file(other),
        '--key',
        ownKeys.verifierKey,
        ...options,
      ];
      const { status, stdout, stderr } = await command(['--json', ...args], {});
      return status === 2 && stdout === '' ? [2, stderr] : [status, JSON.parse(stdout).outcome, stderr];
    };
    const sizes = [older.size, newer.size].map((size) => size.toLocaleString('en'));
    for (const proof of [byExport, byServer]) {
      expect(await compare('other older', 'newer', ...proof)).toEqual([1, 'forked', '']);
    }
    expect(await compare('older', 'newer', ...byServer)).toEqual([0, 'grew', '']);
    expect(await compare('older', 'other newer', ...byServer)).toEqual([2, 'unproved', '']);
    const words = await command(
      ['history', 'consistency', file('older'), file('newer'), '--key', ownKeys.verifierKey, ...byExport],
      {},
    );
    expect(words.status).toBe(0);
    expect(words.stdout).toMatch(
      new RegExp(
        `^The newer history begins with .* ${sizes[1]} events, dated \\S+ by the server,.* ${sizes[0]} events, dated .*\\.\n$`,
      ),
    );
    expect(await compare('newer', 'older')).toEqual([1, 'shrank', '']);
    const nothing = 'Nothing was compared: ';
    expect(await compare('older', 'newer', ...byServer.slice(0, 2))).toEqual([
      ...[2, expect.stringMatching(new RegExp(`^${nothing}http.* returned status 404 `))],
    ]);
    expect(await compare('older', 'newer', '--no-such')).toEqual([
      2,
      expect.stringMatching(/^error: unknown option/),
    ]);
  },
);

longIt('projections: status, rebuild and verify while the server runs', async () => {
  const status = await run('projections', 'status');
  const names = status.map(({ name }: { name: string }) => name);
  expect(names).toEqual(names.toSorted());
  expect(names).toEqual(expect.arrayContaining(['api-keys', 'contacts', 'petitions', 'webhooks']));
  const before = await answered();
  for (const name of names) {
    expect(await run('projections', 'rebuild', name)).toEqual({ rebuilt: name, skipped: 0 });
    expect(await run('projections', 'verify', name)).toEqual({ differences: [], skipped: 0 });
  }
  expect(await answered()).toEqual(before);

  const { source } = deployment.database;
  await source.query(`UPDATE ${petitions.table} SET signatures = signatures + 1`);
  const found = await command(['--json', 'projections', 'verify', 'petitions'], deployment.environment);
  expect(found.status).toBe(1);
  expect(JSON.parse(found.stdout).differences).toEqual([
    { table: 'petitions', key: expect.any(Object), problem: 'different', columns: ['signatures'] },
  ]);
  await run('projections', 'rebuild', 'petitions');
  expect(await answered()).toEqual(before);
  const again = await command(['--json', 'projections', 'verify', 'petitions'], deployment.environment);
  expect([again.status, again.stdout]).toEqual([0, '{"differences":[],"skipped":0}\n']);
  const unknown = await command(['projections', 'rebuild', 'nothing'], deployment.environment);
  expect([unknown.status, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/Available projections: .*api-keys/),
  ]);
});

longDescribe('a history that was forged by hand in the database', () => {
  const HEALTH_TOKEN = 'a-token-of-the-operator';
  const foreign = new Signers([Buffer.alloc(32, 66)]);
  const ownKeys = new Signers([new Keyring(ENCRYPTION_KEY).signingSeed]);
  let own: Deployment;
  let server: ServerProcess;
  const sql = (text: string, values?: unknown[]): Promise<any[]> => own.database.source.query(text, values);
  afterEach(() => own.stop());

  /** Each forgery and the reason that is logged. */
  const FORGERIES: { [name: string]: [forge: (id: string) => Promise<unknown>, reason: RegExp] } = {
    'a root': [
      (id) => sql('UPDATE seals SET root = sha256(root) WHERE organization_id = $1', [id]),
      /^the table seals/,
    ],
    'a size': [
      (id) => sql('UPDATE seals SET size = size + 100 WHERE organization_id = $1', [id]),
      /^the events do not match/,
    ],
    'seals rolled back': [
      (id) =>
        sql(
          'DELETE FROM seals WHERE organization_id = $1 AND size > (SELECT min(size) FROM seals WHERE organization_id = $1)',
          [id],
        ),
      /^the table seals/,
    ],
    'no seals': [(id) => sql('DELETE FROM seals WHERE organization_id = $1', [id]), /^the table seals/],
    'another note': [
      async (id) => {
        const [{ note }] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [id]);
        const forged = foreign.signCheckpoint(ownKeys.open(note)!);
        await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [id, forged]);
      },
      /^no key in SIGNING_KEY or SIGNING_KEY_PREVIOUS signed the last note/,
    ],
  };
  /** The events still match the seals, so the server rebuilds the tile automatically. */
  const forgeTile = (id: string) =>
    sql(
      `UPDATE seal_tiles SET hashes = sha256('forged') || substring(hashes FROM 33) WHERE organization_id = $1 AND level = 0`,
      [id],
    );

  it('is not signed and is reported, while others continue, and resumes after it is repaired', async () => {
    own = await Deployment.create();
    const forged = Object.keys(FORGERIES);
    const names = [...forged, 'a tile', 'nothing'];
    const clients = new Map<string, Client>();
    for (const name of names) clients.set(name, await own.organization());
    server = await own.startServer({ HEALTH_TOKEN, METRICS_PORT: '0' });
    for (const [name, client] of clients) clients.set(name, client.at(server.origin));
    const of = (name: string) => clients.get(name)!;
    const idOf = (name: string) => of(name).organizationId;
    const grow = async () => {
      for (const client of clients.values()) await client.post('list.create-list', { name: uuidv7() });
    };
    const checkpointOf = async (name: string) => (await of(name).get('history.get-checkpoint')).body;
    const operator = new Client(server.origin, '', HEALTH_TOKEN);
    const health = async () => (await operator.request('GET', '/health/ready')).body.data;
    const linesAbout = (name: string) =>
      server.log.filter(
        ({ message, organizationId }) => message !== 'request' && organizationId === idOf(name),
      );
    const sealed = async (refused: number) => {
      const [{ last }] = await sql('SELECT last_position()::int AS last');
      await eventually(async () => {
        const { sealing } = await health();
        expect([sealing.position >= last, sealing.refused]).toEqual([true, refused]);
      });
    };

    // Two seals. The first checkpoint was handed out, so it must persist.
    await sealed(0);
    for (const name of names) await checkpointOf(name);
    await grow();
    await sealed(0);
    const before = new Map<string, any>();
    for (const name of names) before.set(name, (await checkpointOf(name)).data);
    expect(before.get('nothing').size).toBeGreaterThan(2);
    const copy = await sql('SELECT * FROM seals WHERE organization_id = ANY ($1)', [forged.map(idOf)]);
    const notesOf = (some: string[]) =>
      sql('SELECT organization_id, note FROM signed_notes WHERE organization_id = ANY ($1) ORDER BY 1', [
        some.map(idOf),
      ]);
    const [{ note }] = await notesOf(['another note']);

    for (const name of forged) await FORGERIES[name]![0](idOf(name));
    await forgeTile(idOf('a tile'));
    const forgedNotes = await notesOf(forged);
    await grow();
    await sealed(forged.length);
    // This also holds after more events.
    await grow();
    await sealed(forged.length);

    expect(await notesOf(forged)).toEqual(forgedNotes);
    for (const name of forged) {
      const { data, error } = await checkpointOf(name);
      if (name === 'another note') expect(error.reason).toBe('NOT_SEALED');
      else expect([name, data.checkpoint]).toEqual([name, before.get(name).checkpoint]);
      expect(linesAbout(name)).toEqual([
        expect.objectContaining({
          level: 'error',
          message: 'history not sealed: it does not match what was sealed before',
          reason: expect.stringMatching(FORGERIES[name]![1]),
        }),
      ]);
    }
    expect(linesAbout('a tile').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^tiles of a history are damaged/),
      expect.stringMatching(/sealing resumes$/),
    ]);
    for (const name of ['a tile', 'nothing']) {
      expect((await checkpointOf(name)).data.size).toBe(before.get(name).size + 2);
    }
    expect((await health()).status).toBe('degraded');
    const { metricsPort } = server.log.find(({ message }) => message === 'listening')!;
    const scraped = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(scraped).toContain(`\nadvocacy_refused_organizations ${forged.length}\n`);
    const status = await command(['--json', 'history', 'status'], own.environment);
    expect(status.status).toBe(1);
    const refused: { organizationId: string; reason: string }[] = JSON.parse(status.stdout).refused;
    expect(new Set(refused.map(({ organizationId }) => organizationId))).toEqual(new Set(forged.map(idOf)));
    const doctor = await command(['doctor'], own.environment);
    for (const name of forged) {
      expect(refused.find(({ organizationId }) => organizationId === idOf(name))!.reason).toMatch(
        FORGERIES[name]![1],
      );
      expect(doctor.stdout).toMatch(new RegExp(`${idOf(name)}\\s+differs\\s+from\\s+what\\s+was\\s+sealed`));
    }
    const out = join(directory, 'again');
    const args = ['history', 'checkpoint', '--organization', idOf('a root'), '--out', out];
    const again = await command(args, own.environment);
    expect([again.status, again.stderr]).toEqual([
      1,
      expect.stringMatching(/^Sealing has stopped for this organization/),
    ]);
    expect(await readFile(out, 'utf8')).toBe(before.get('a root').checkpoint);
    // None of this prevents an instance from starting.
    const second = await own.startServer();

    await sql('DELETE FROM seals WHERE organization_id = ANY ($1)', [forged.map(idOf)]);
    for (const { organization_id, size, position, root, sealed_at } of copy) {
      await sql('INSERT INTO seals VALUES ($1, $2, $3, $4, $5)', [
        organization_id,
        size,
        position,
        root,
        sealed_at,
      ]);
    }
    await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [idOf('another note'), note]);
    // Without this, the check would take up to two minutes.
    await sql('UPDATE signed_notes SET look_at = clock_timestamp() WHERE refused IS NOT NULL');
    await sealed(0);
    expect((await health()).status).toBe('ok');
    for (const name of names) {
      let checkpoint!: string;
      await eventually(async () => {
        const { data } = await checkpointOf(name);
        expect([name, data.size]).toEqual([name, before.get(name).size + 2]);
        ({ checkpoint } = data);
      });
      const history = (await of(name).at(second.origin).get('history.export-events')).body;
      for (const each of [before.get(name).checkpoint, checkpoint]) {
        expect(await verifyTwice(history, each, ownKeys.verifierKey)).toMatchObject({ ok: true });
      }
    }
  });
});

longIt('key rotate: the old key leads to the new one, in the file and in the database', async () => {
  const { organizationId } = client;
  const { key } = await run('history', 'key', '--out', join(directory, 'before'));
  const [file, note, older] = ['export', 'note', 'older note'].map((name) => join(directory, name)) as [
    ...[string, string, string],
  ];
  await run('history', 'checkpoint', '--organization', organizationId, '--out', older);
  const SIGNING_KEY = Buffer.alloc(32, 3).toString('base64');
  const next = { ...deployment.environment, SIGNING_KEY, SIGNING_KEY_PREVIOUS: 'derived' };
  const incomplete = await command(['history', 'key', 'rotate'], deployment.environment);
  expect([incomplete.status, incomplete.stderr]).toEqual([
    1,
    expect.stringMatching(/^SIGNING_KEY_PREVIOUS is not set/),
  ]);
  const { organizations } = JSON.parse((await command(['--json', 'history', 'key', 'rotate'], next)).stdout);
  const again = JSON.parse((await command(['--json', 'history', 'key', 'rotate'], next)).stdout);
  expect(again).toMatchObject({ from: key, organizations, told: 0 });
  const to = new Signers([Buffer.alloc(32, 3)]);
  expect(again.to).toBe(to.verifierKey);

  await exported(file);
  await command(['history', 'checkpoint', '--organization', organizationId, '--out', note], next);
  // The signature after the previous key was removed.
  const tree = to.open(await readFile(note, 'utf8'))!;
  await writeFile(note, to.signCheckpoint(tree));
  const proof = ['--checkpoint', note, '--key', key];
  const proved = {
    ok: true,
    checkpoint: { key: to.verifierKey.split('+', 2).join('+'), givenKey: key.split('+', 2).join('+') },
  };
  expect(await run('history', 'verify', file, ...proof)).toMatchObject(proved);
  expect(await run('history', 'verify', '--organization', organizationId, ...proof)).toMatchObject(proved);
  // The response of the API, as curl stores it.
  const answer = join(directory, 'answer.json');
  await writeFile(answer, JSON.stringify((await client.get('history.get-checkpoint')).body));
  expect(await run('history', 'verify', file, '--checkpoint', answer, '--key', key)).toMatchObject({
    ok: true,
  });
  expect(await verifyTwice(await readFile(file), await readFile(note, 'utf8'), key)).toMatchObject(proved);
  await writeFile(join(directory, 'api-key'), client.key!);
  for (const proof of [
    ['--export', file],
    ['--url', client.origin, '--api-key-file', join(directory, 'api-key')],
  ]) {
    const args = ['--json', 'history', 'consistency', older, note, '--key', key, ...proof];
    const { stdout, stderr } = await command(args, {});
    expect([stdout && JSON.parse(stdout).outcome, stderr]).toEqual(['grew', '']);
  }

  // An attacker with write access to the database inserts their own key. No verifier follows it, and all report
  // its position.
  const { verifierKey } = new Signers([Buffer.alloc(32, 4)]);
  const data = { from: to.verifierKey, to: verifierKey, signature: Buffer.alloc(64).toString('base64') };
  const forged = { streamType: 'signing-key', streamId: uuidv7(), expectedVersion: 0 };
  const writes = [{ ...forged, events: [{ type: 'SigningKeyRotated', data }] }];
  const metadata = { actor: { type: 'system' as const, id: 'command-line' }, requestId: 'r' };
  await deployment.store.append({ organizationId, metadata, writes });
  const refused = await command(
    ['history', 'verify', '--organization', organizationId, ...proof],
    deployment.environment,
  );
  expect([refused.status, refused.stdout]).toEqual([
    1,
    expect.stringMatching(/The event at position \d+ .* has not signed this\. Someone inserted/),
  ]);
  // A verifier with the signing key needs no rotation.
  expect(
    await run(
      ...['history', 'verify', '--organization', organizationId, '--checkpoint', note],
      ...['--key', to.verifierKey],
    ),
  ).toMatchObject({ ok: true });
});

longIt('verify --images: the files of images have the bytes in the history', async () => {
  const { organizationId } = client;
  const upload = async () => {
    const path = '/v1/image.upload-image';
    const { status, body } = await client.request(
      'POST',
      path,
      (await photo(400, 300)) as Uint8Array<ArrayBuffer>,
      {
        'Content-Type': 'image/jpeg',
      },
    );
    expect([status, body.error]).toEqual([200, undefined]);
    return (await client.get('image.get-image', { imageId: body.data.imageId })).body.data;
  };
  const [kept, deleted] = [await upload(), await upload()];
  await client.delete('image.delete-image', { imageId: deleted.id });
  const [file, checkpoint] = [join(directory, 'images.ndjson'), join(directory, 'images-checkpoint')];
  await run('history', 'export', '--organization', organizationId, '--out', file);
  await run('history', 'checkpoint', '--organization', organizationId, '--out', checkpoint);
  const { key } = await run('history', 'key', '--out', join(directory, 'images-key'));
  const verify = async (which: string[], ...options: string[]) => {
    const args = ['history', 'verify', ...which, '--checkpoint', checkpoint, '--key', key, ...options];
    return command(args, deployment.environment);
  };
  const unread = await verify([file]);
  expect([unread.status, unread.stdout]).toEqual([
    0,
    expect.stringMatching(
      /\nImage files were not read\. To compare them with the history, add --images\.\n$/,
    ),
  ]);
  const published = `${client.origin}/images`;
  const all = /\nOf [1-9] image files that the history records, all have the recorded bytes\.\n$/;
  for (const which of [[file], ['--organization', organizationId]]) {
    const { status, stdout, stderr } = await verify(which, '--images', published);
    expect([status, stdout]).toEqual([0, expect.stringMatching(all)]);
    expect(stderr).toMatch(
      / of \d+ checkpoints .*, all have the recorded bytes\.\n$|, all have the recorded bytes\.\n$/,
    );
  }
  // A folder, as the operator has it.
  const folder = join(directory, 'images');
  // Other tests also upload images.
  const images = (await client.get('image.list-images')).body.data;
  const namesOf = ({ variants }: { variants: { url: string }[] }) =>
    variants.map(({ url }) => new URL(url).pathname.replace('/images/', ''));
  const files = namesOf(kept);
  for (const name of images.flatMap(namesOf)) {
    await mkdir(join(folder, name.split('/')[0]), { recursive: true });
    const response = await fetch(`${published}/${name}`);
    await writeFile(join(folder, name), Buffer.from(await response.arrayBuffer()));
  }
  expect(await verify([file], '--images', folder)).toMatchObject({ status: 0 });
  await appendFile(join(folder, files[0]!), 'x');
  await rm(join(folder, files[1]!));
  const wrong = await verify([file], '--images', folder, '--json');
  expect([wrong.status, JSON.parse(wrong.stdout)]).toMatchObject([
    1,
    {
      ok: false,
      reason: null,
      images: {
        images: images.length,
        withoutDigests: 0,
        wrongCount: 2,
        wrong: [
          { imageId: kept.id, file: files[0], isMissing: false },
          { imageId: kept.id, file: files[1], isMissing: true },
        ],
      },
    },
  ]);
  expect((await verify([file], '--images', folder)).stdout).toContain(
    `image files that the history records, 2 are missing or have other bytes.\nImage ${kept.id}: ${files[0]} has other bytes.\n`,
  );
  // Nothing was compared.
  expect(await verify([file], '--images', join(directory, 'nowhere'))).toMatchObject({
    status: 1,
    stdout: '',
  });
  for (const option of ['--images', '--register', '--proof', '--parts'])
    expect(await verify(['--organization', 'all'], option, folder)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(`error: ${option} is for one organization: leave it out`),
    });
});

// This test is last, because it leaves an unreadable event.
it('verify: the file and the database match the checkpoint until a byte is changed', async () => {
  const { organizationId } = client;
  const [file, checkpoint, key] = ['all.ndjson', 'checkpoint', 'key'].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  const sealed = await run('history', 'checkpoint', '--organization', organizationId, '--out', checkpoint);
  const { key: text } = await run('history', 'key', '--out', key);
  expect(await readFile(key, 'utf8')).toBe(`${text}\n`);
  // Without --out, for containers.
  const printed = await cli(['history', 'export', '--organization', organizationId], deployment.environment);
  expect([printed.status, printed.stdout]).toEqual([0, expect.stringMatching(/^\{"position":.*\}\n$/s)]);
  await writeFile(file, printed.stdout);
  const own = ['history', 'key', '--organization', organizationId, '--out', join(directory, 'own-key')];
  const { key: ownKey } = await run(...own);
  expect(ownKey.startsWith(`advocacy-api/${organizationId}+`)).toBe(true);
  expect(await run('history', 'status')).toEqual({
    sealed: expect.any(Number),
    last: expect.any(Number),
    refused: [],
    selfCheck: { findings: [], subjects: 0, current: 0 },
    contradicted: [],
  });
  const proof = ['--checkpoint', checkpoint, '--key', key];
  const proved = { ok: true, provedEvents: sealed.size, firstWrongPosition: null, reason: null };
  expect(await run('history', 'verify', file, ...proof)).toMatchObject(proved);
  expect(await run('history', 'verify', '--organization', organizationId, ...proof)).toMatchObject(proved);
  expect(
    await run(
      'history',
      'verify',
      file,
      '--checkpoint',
      checkpoint,
      '--key',
      ownKey,
      '--parts',
      `${checkpoint}.parts`,
    ),
  ).toMatchObject({ ...proved, warnings: [] });
  const words = await command(['history', 'verify', file, '--checkpoint', checkpoint, '--key', text], {});
  expect([words.status, words.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^This file matches the checkpoint of \d+ events\..*\n {2}4\. .*neither the register nor/s,
    ),
  ]);
  expect(words.stderr).toMatch(
    new RegExp(
      `^This file contains all events that the checkpoint of ${sealed.size} events of organization ${organizationId} ` +
        'covers, complete, unchanged and in order\\. The checkpoint does not cover \\d newer events?\\. ' +
        `The checkpoint, dated \\S+Z by the server, signed with the key \\S+\\+[0-9a-f]{8}, reaches position ${sealed.position}\\. ` +
        'It is number \\d+ of the \\d+ checkpoints of all organizations up to \\S+Z\\. ' +
        'Image files were not read\\. To compare them with the history, add --images\\.\\n$',
    ),
  );

  // Any key can read the register.
  const register = join(directory, 'register.ndjson');
  const ofRegister = ['--organization', REGISTER, '--out'];
  await run('history', 'checkpoint', ...ofRegister, `${register}.checkpoint`);
  await run('history', 'export', ...ofRegister, register);
  const unique = await command(['history', 'verify', file, ...proof, '--register', register], {});
  expect([unique.status, unique.stderr]).toEqual([
    0,
    expect.stringMatching(
      /The register dated \S+Z contains no other history of its first \d+ events\. Image files were not read\./,
    ),
  ]);
  // An outsider needs neither the server nor the database.
  const verifier = join(__dirname, '../dist/advocacy-verify.mjs');
  const given = [verifier, file, '--checkpoint', checkpoint, '--key', ownKey, '--register', register];
  const outside = await promisify(execFile)(process.execPath, [...given, '--json']);
  const { upTo } = JSON.parse(outside.stdout).checkpoint.register;
  expect(upTo).toBeGreaterThanOrEqual(sealed.size);
  expect((await client.request('GET', `/log/${REGISTER}/checkpoint`)).body).toMatch(
    `advocacy-api/${REGISTER}\n`,
  );
  const downloaded = await client.get('history.export-events', { register: 'true' });
  expect(downloaded.body).toBe(await readFile(register, 'utf8'));

  // The other way round, too: the export includes its own record, so it lacks no event of the checkpoint.
  const [later, after] = [join(directory, 'later.ndjson'), join(directory, 'after')];
  await exported(later);
  await run('history', 'checkpoint', '--organization', organizationId, '--out', after);
  expect(await run('history', 'verify', later, '--checkpoint', after, '--key', key)).toMatchObject({
    ok: true,
  });

  const { source } = deployment.database;
  const [victim] = await source.query(
    `SELECT position FROM events WHERE organization_id = $1 AND type = 'ContactCreated' ORDER BY position LIMIT 1`,
    [organizationId],
  );
  await source.query('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
  await source.query('GRANT UPDATE ON events TO CURRENT_USER');
  await source.query(
    `UPDATE events SET personal = set_byte(personal, 40, 255 - get_byte(personal, 40)) WHERE position = $1`,
    [victim.position],
  );
  const tampered = join(directory, 'tampered.ndjson');
  await exported(tampered);
  for (const which of [[tampered], ['--organization', organizationId]]) {
    const args = ['--json', 'history', 'verify', ...which, ...proof];
    const { status, stdout, stderr } = await command(args, deployment.environment);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ ok: false, firstWrongPosition: Number(victim.position) },
      checkpoint: { organizationId, size: sealed.size, position: sealed.position },
    });
    expect(stderr).toMatch(
      /^(This file|The database) does not match the checkpoint of .* of organization \S+: .*digest/,
    );
  }
  const neither = await command(['history', 'verify', ...proof], {});
  expect([neither.status, neither.stderr]).toEqual([1, expect.stringMatching(/use either the file/)]);
});
