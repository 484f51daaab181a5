import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStore, signIds } from '#libs/event-store';
import { subscriptions, upcasters } from '../src/modules.js';
import { formToken } from '../src/site/index.js';
import { command } from './commands.js';
import { type Client } from './harness.js';
import { picture } from './pictures.js';
import {
  createDirectory,
  type Deployment,
  deploymentOfEach,
  eventually,
  inParallel,
  type ServerProcess,
} from './processes.js';
import { appendSignatures } from './signers.js';
import { isLong, longIt } from './length.js';

const HEALTH_TOKEN = 'a-token-of-the-operator';

let deployment: Deployment;
let directory: { path: string; remove(): Promise<void> };
beforeEach(async () => {
  directory = await createDirectory();
});
afterEach(() => directory.remove());
let client: Client;
deploymentOfEach((own, organization) => ([deployment, client] = [own, organization]));

const sql = <Row>(text: string, values: unknown[] = []) =>
  deployment.database.source.query<Row[]>(text, values);
const start = (environment = {}) => deployment.startServer({ HEALTH_TOKEN, ...environment });
const startSome = (count: number, DATA_DIR: string) =>
  Promise.all(Array.from({ length: count }, () => start({ DATA_DIR })));
const run = async (...args: string[]) => {
  const { status, stdout, stderr } = await command(
    ['--json', 'subscriptions', ...args],
    deployment.environment,
  );
  return { status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) };
};

async function petition(server: ServerProcess, goal: number): Promise<string> {
  const { body } = await client
    .at(server.origin)
    .post('petition.create-petition', { name: `${goal}`, goal }, { 'Idempotency-Key': `${goal}` });
  const { petitionId } = body.data;
  await client.at(server.origin).post('petition.publish-petition', { petitionId });
  return petitionId;
}

const sign = (server: ServerProcess, petitionId: string, n: number) =>
  client.at(server.origin).post('petition.add-signature', {
    petitionId,
    contact: { email: `person-${n}@example.org` },
  });

const reached = () =>
  sql<{ position: string; data: { petitionId: string; goal: number; signatures: number }; metadata: object }>(
    `SELECT position, data, metadata FROM events WHERE type = 'PetitionGoalReached' ORDER BY position`,
  );

const AN_HOUR_MS = 3_600_000;
const isTimed = (id: string) =>
  eventually(async () => expect(await sql('SELECT FROM timers WHERE id = $1', [id])).toHaveLength(1));
/** Makes all timers due now, without changing the time that they were set for. */
const passAnHour = () => sql('UPDATE timers SET next_at = clock_timestamp()');

const DATA_DIR = join(tmpdir(), 'advocacy-tests');

/** The emails written to files so far, without the line breaks that quoted-printable adds. */
async function messages(): Promise<string[]> {
  const files = await readdir(join(directory.path, 'mail'), { recursive: true }).catch(() => []);
  const written = files.filter((name) => name.endsWith('.eml'));
  const texts = written.map((name) => readFile(join(directory.path, 'mail', name), 'utf8'));
  return (await Promise.all(texts)).map((text) => text.replace(/=\r?\n/g, ''));
}

/** A kind of records whose pages people confirm by email. */
type Confirmable = {
  kind: 'petition' | 'form';
  create(server: ServerProcess): Promise<string>;
  /** Counted and pending. */
  counts(data: any): [number, number];
  expired: string;
  end(server: ServerProcess, id: string): Promise<void>;
};

const petitions: Confirmable = {
  kind: 'petition',
  create: (server) => petition(server, 10),
  counts: ({ signatures, pendingSignatures }) => [signatures, pendingSignatures],
  expired: 'SignatureExpired',
  async end(server, petitionId) {
    const there = client.at(server.origin);
    await there.post('petition.close-petition', { petitionId });
    expect((await there.delete('petition.delete-petition', { petitionId })).status).toBe(200);
  },
};

const forms: Confirmable = {
  kind: 'form',
  async create(server) {
    return (await client.at(server.origin).post('form.create-form', { name: 'News' })).body.data.formId;
  },
  counts: ({ submissions, pendingSubmissions }) => [submissions, pendingSubmissions],
  expired: 'SignUpExpired',
  async end(server, formId) {
    expect((await client.at(server.origin).delete('form.delete-form', { formId })).status).toBe(200);
  },
};

/** Sends the form of a record's page, as if it had been opened a minute ago. */
async function sendForm({ kind }: Confirmable, id: string, { origin }: ServerProcess, email: string) {
  const { body } = await client.at(origin).get(`${kind}.get-${kind}`, { [`${kind}Id`]: id });
  const token = formToken(deployment.store.keyring, id, new Date(Date.now() - 60_000));
  const fields = { token, email, firstName: 'Ada', subscribe: 'yes' };
  const { status } = await fetch(`${origin}${new URL(body.data.url as string).pathname}/sign`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    redirect: 'manual',
  });
  expect(status).toBe(200);
}

/** People confirm, although the server that began to send their emails is killed. */
async function peopleConfirm(confirmable: Confirmable): Promise<void> {
  const DATA_DIR = directory.path;
  const [killed, ...others] = await startSome(isLong ? 3 : 2, DATA_DIR);
  const id = await confirmable.create(killed!);
  const last = others.at(-1)!;
  const people = Array.from({ length: 12 }, (_, n) => `person-${n}@example.org`);
  for (const [n, email] of people.entries()) {
    await sendForm(confirmable, id, others[n % others.length]!, email);
    if (n === 6) killed!.send('SIGKILL');
  }
  const links = new Map<string, string>();
  await eventually(async () => {
    const folder = join(DATA_DIR, 'mail', client.organizationId);
    // A killed instance may leave an incomplete file.
    const files = await readdir(folder);
    for (const file of files.filter((name) => name.endsWith('.eml'))) {
      const mail = (await readFile(join(folder, file), 'utf8')).replace(/=\r?\n/g, '');
      const [, to] = /^To: (.*)$/m.exec(mail)!;
      const [, path] = /http:\/\/[^/]+(\/\S*\/confirm\/[\w-]+)/.exec(mail)!;
      links.set(to!.trim(), path!);
    }
    expect([...links.keys()].toSorted()).toEqual(people.toSorted());
  });
  for (const path of [...links.values(), ...links.values()])
    await fetch(last.origin + path, { method: 'POST', body: new URLSearchParams(), redirect: 'manual' });
  const { kind } = confirmable;
  const { body } = await client.at(last.origin).get(`${kind}.get-${kind}`, { [`${kind}Id`]: id });
  expect(confirmable.counts(body.data)).toEqual([12, 0]);
}

type Timed = {
  kind: 'petition' | 'post';
  /** Creates a record that changes at this time. */
  make: (there: Client, name: string, at: string) => Promise<string>;
  status: string;
  event: string;
};

/** Each record changes once at its time, among three servers, and if all were killed before that time. */
async function changesOnTime({ kind, make, status, event }: Timed): Promise<void> {
  let servers = await Promise.all([start(), start(), start()]);
  const there = () => client.at(servers[0].origin);
  const changing = async (name: string) => {
    const id = await make(there(), name, new Date(Date.now() + AN_HOUR_MS).toISOString());
    await isTimed(id);
    return id;
  };
  const hasChanged = (id: string) =>
    eventually(async () => {
      const { body } = await there().get(`${kind}.get-${kind}`, { [`${kind}Id`]: id });
      expect(body.data.status).toBe(status);
    });
  const first = await changing('First');
  await passAnHour();
  await hasChanged(first);
  const second = await changing('Second');
  await Promise.all(servers.map((server) => server.end('SIGKILL')));
  await passAnHour();
  servers = await Promise.all([start(), start(), start()]);
  await hasChanged(second);
  const changed = await sql<{ stream_id: string }>(
    'SELECT stream_id FROM events WHERE type = $1 ORDER BY position',
    [event],
  );
  expect(changed.map(({ stream_id }) => stream_id)).toEqual([first, second]);
}

/** Pending requests end with their record, although the server that begins to end them is killed. */
async function requestsEnd(confirmable: Confirmable): Promise<void> {
  const servers = await Promise.all([start({ DATA_DIR }), start({ DATA_DIR })]);
  const id = await confirmable.create(servers[0]);
  for (let n = 0; n < 5; n += 1) await sendForm(confirmable, id, servers[1], `person-${n}@example.org`);
  await confirmable.end(servers[1], id);
  servers[0].send('SIGKILL');
  const ended = () =>
    sql<{ reason: string; count: number }>(
      `SELECT data->>'reason' AS reason, count(*)::int FROM events WHERE type = $1 GROUP BY 1`,
      [confirmable.expired],
    );
  const reason = `${confirmable.kind.toUpperCase()}_DELETED`;
  await eventually(async () => expect(await ended()).toEqual([{ reason, count: 5 }]));
}

/** The effect of every subscription, seen from outside. The suite fails if one is missing. */
const EFFECTS: { [name: string]: () => Promise<void> } = {
  'broadcast-reports': async () => {
    const servers = await Promise.all([start({ DATA_DIR }), start({ DATA_DIR })]);
    const at = client.at(servers[0].origin);
    await at.post('organization.update-organization', {
      mailFrom: { name: 'Rivers', address: 'news@rivers.example' },
      postalAddress: '1 Quay',
    });
    const { mailHook } = (await at.get('organization.get-organization')).body.data;
    const { organizationId } = client;
    const ids: string[] = [];
    for (const name of ['ada', 'bob']) {
      const { body } = await at.post('contact.create-contact', {
        organizationId,
        email: `${name}@example.org`,
      });
      ids.push(body.data.contactId);
    }
    const input = { name: 'News', content: 'Hello', audience: { contactIds: ids } };
    const { broadcastId } = (await at.post('broadcast.create-broadcast', input)).body.data;
    await at.post('broadcast.send-broadcast', { broadcastId });
    const recipients = async () =>
      (await at.get('broadcast.get-broadcast', { broadcastId })).body.data.recipients as object;
    await eventually(async () => expect(await recipients()).toMatchObject({ sent: 2 }));
    const report = (type: string, email: string, contactId: string | undefined) =>
      fetch(`${servers[0].origin}${new URL(mailHook, servers[0].origin).pathname}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          type,
          email,
          permanent: true,
          messageId: `<broadcast.${broadcastId}.${contactId}@rivers.example>`,
        }),
      });
    for (let times = 0; times < 2; times += 1) {
      expect((await report('bounce', 'ada@example.org', ids[0])).status).toBe(200);
      expect((await report('complaint', 'bob@example.org', ids[1])).status).toBe(200);
    }
    await eventually(async () =>
      expect(await recipients()).toMatchObject({ sent: 2, bounced: 1, complained: 1 }),
    );
  },
  'broadcast-schedules': async () => {
    let servers = await startSome(3, DATA_DIR);
    const post = async (operation: string, input: object) => {
      const { status, body } = await client.at(servers[0]!.origin).post(operation, input);
      expect([operation, status]).toEqual([operation, 200]);
      return body.data;
    };
    await post('organization.update-organization', {
      mailFrom: { name: 'Rivers', address: 'news@rivers.example' },
      postalAddress: '1 Quay',
    });
    const { organizationId } = client;
    const { contactId } = await post('contact.create-contact', { organizationId, email: 'ada@example.org' });
    const schedule = async (name: string) => {
      const audience = { contactIds: [contactId] };
      const { broadcastId } = await post('broadcast.create-broadcast', { name, content: 'Hello', audience });
      const sendAt = new Date(Date.now() + AN_HOUR_MS).toISOString();
      await post('broadcast.send-broadcast', { broadcastId, sendAt });
      await isTimed(broadcastId);
      return broadcastId as string;
    };
    const startsOf = (broadcastId: string) =>
      sql(`SELECT FROM events WHERE type = 'BroadcastStarted' AND stream_id = $1`, [broadcastId]);
    const isSent = (broadcastId: string) =>
      eventually(async () => {
        const { body } = await client.at(servers[0]!.origin).get('broadcast.get-broadcast', { broadcastId });
        expect(body.data).toMatchObject({ status: 'SENT', recipients: { sent: 1 } });
      });
    const first = await schedule('First');
    await passAnHour();
    await isSent(first);
    // Also if no instance was running at that time.
    const second = await schedule('Second');
    await Promise.all(servers.map((server) => server.end('SIGKILL')));
    await passAnHour();
    servers = await startSome(2, DATA_DIR);
    await isSent(second);
    expect([await startsOf(first), await startsOf(second)]).toEqual([[{}], [{}]]);
  },
  'draft-removal': async () => {
    const servers = [await start(), await start()];
    const posts: string[] = [];
    for (const name of ['kept', 'first', 'second']) {
      const { body } = await client.at(servers[1]!.origin).post('post.create-post', { name });
      posts.push(body.data.postId);
    }
    await sql(
      `INSERT INTO drafts SELECT $1, gen_random_uuid(), 'posts/' || id || '/edit', id, '', '', clock_timestamp()
       FROM unnest($2::uuid[]) AS id`,
      [client.organizationId, posts],
    );
    for (const postId of posts.slice(1)) {
      expect((await client.at(servers[1]!.origin).delete('post.delete-post', { postId })).status).toBe(200);
      servers[0]!.send('SIGKILL');
    }
    await eventually(async () => {
      expect(await sql('SELECT record_id FROM drafts')).toEqual([{ record_id: posts[0] }]);
    });
  },
  'form-deletions': () => requestsEnd(forms),
  'sign-up-requests': () => peopleConfirm(forms),
  'image-removals': async () => {
    const DATA_DIR = directory.path;
    const servers = await Promise.all([start({ DATA_DIR }), start({ DATA_DIR }), start({ DATA_DIR })]);
    const there = client.at(servers[1].origin);
    const upload = async () => {
      const type = { 'Content-Type': 'image/png' };
      return (await there.request('POST', '/v1/image.upload-image', await picture(), type)).body.data.imageId;
    };
    const files = async () => (await readdir(join(DATA_DIR, 'images'))).length;
    const all = [await upload(), await upload(), await upload(), await upload()];
    expect(await files()).toBe(4);
    for (const [n, imageId] of all.slice(1).entries()) {
      expect((await there.delete('image.delete-image', { imageId })).status).toBe(200);
      if (n === 0) servers[0].send('SIGKILL');
      if (n === 1) servers[2].send('SIGKILL');
    }
    await eventually(async () => expect(await files()).toBe(1));
    expect(await sql('SELECT image_id FROM image_uses')).toEqual([{ image_id: all[0] }]);
  },
  'petition-goals': async () => {
    const servers = await Promise.all([start(), start(), start()]);
    const [goal, far] = [await petition(servers[0], 60), await petition(servers[1], 10_000)];
    let signed = 0;
    await inParallel(120, 16, async (n) => {
      // One process is killed while it handles signatures. Clients retry on another.
      if (n === 50) servers[0].send('SIGKILL');
      for (const server of [servers[n % 3]!, servers[1]]) {
        const answer = await sign(server, goal, n).catch(() => undefined);
        if (answer?.status !== 200) continue;
        signed += 1;
        break;
      }
      await sign(servers[2], far, n);
    });
    expect(signed).toBe(120);
    await eventually(async () => expect(await reached()).toHaveLength(1));
    const [event] = await reached();
    expect(event!.data).toMatchObject({ petitionId: goal, goal: 60 });
    expect(event!.data.signatures).toBeGreaterThanOrEqual(60);
    expect(event!.metadata).toMatchObject({ actor: { type: 'system', id: 'petition-goals' } });
    const [before] = await sql<{ count: number }>(
      `SELECT count(*)::int FROM events
       WHERE type = 'PetitionSigned' AND data->>'petitionId' = $1 AND position < $2`,
      [goal, event!.position],
    );
    expect(before!.count).toBeGreaterThanOrEqual(60);

    await client.at(servers[1].origin).post('petition.update-petition', { petitionId: far, goal: 100 });
    await eventually(async () => expect(await reached()).toHaveLength(2));
    expect((await reached())[1]!.data).toEqual({ petitionId: far, goal: 100, signatures: 120 });
    // Still once for later signers.
    await sign(servers[1], goal, 1_000);
    await sign(servers[2], far, 1_000);
    await eventually(async () => {
      expect((await run('status')).result).toContainEqual(
        expect.objectContaining({ name: 'petition-goals', lag: 0 }),
      );
    });
    expect(await reached()).toHaveLength(2);
  },
  'signature-invalidations': async () => {
    const servers = await Promise.all([start(), start(), start()]);
    const petitionId = await petition(servers[0], 10);
    await appendSignatures(deployment.store, client.organizationId, petitionId, 500);
    const there = client.at(servers[1].origin);
    const isOut = async (status: string, count: number) =>
      eventually(async () => {
        const { body } = await there.get('petition.get-invalidation', { invalidationId });
        expect(body.data).toMatchObject({ status });
        expect((await there.get('petition.get-petition', { petitionId })).body.data.signatures).toBe(count);
      });
    const all = { petitionId, createdAfter: '2020-01-01T00:00:00Z' };
    const { invalidationId, signatures } = (await there.post('petition.invalidate-signatures', all)).body
      .data;
    expect(signatures).toBe(500);
    servers[0].send('SIGKILL');
    await isOut('INVALIDATED', 0);
    await there.post('petition.restore-signatures', { invalidationId });
    servers[2].send('SIGKILL');
    await isOut('RESTORED', 500);
    const pages = await sql<{ type: string; count: number }>(
      `SELECT type, jsonb_array_length(data->'signatureIds') AS count FROM events
       WHERE stream_id = $1 ORDER BY position`,
      [invalidationId],
    );
    const thrice = (type: string) => [200, 200, 100].map((count) => ({ type, count }));
    expect(pages).toEqual([...thrice('SignaturesInvalidated'), ...thrice('SignaturesRestored')]);
  },
  'petition-deletions': () => requestsEnd(petitions),
  'petition-ends': () =>
    changesOnTime({
      kind: 'petition',
      async make(there, name, closesAt) {
        const { body } = await there.post('petition.create-petition', { name, closesAt });
        await there.post('petition.publish-petition', { petitionId: body.data.petitionId });
        return body.data.petitionId;
      },
      status: 'CLOSED',
      event: 'PetitionClosed',
    }),
  'post-publications': () =>
    changesOnTime({
      kind: 'post',
      make: async (there, name, publishAt) =>
        (await there.post('post.create-post', { name, publishAt })).body.data.postId,
      status: 'PUBLISHED',
      event: 'PostPublished',
    }),
  'planned-invalidations': async () => {
    const servers = await Promise.all([start(), start(), start()]);
    const petitionId = await petition(servers[0], 10);
    const { organizationId } = client;
    const suspicion = { suspicion: ['HONEYPOT', 'MANY_AT_ONCE'] };
    const { source } = deployment.database;
    const store = new EventStore(source, deployment.store.keyring, upcasters);
    await appendSignatures(store, organizationId, petitionId, 500, suspicion);
    await appendSignatures(deployment.store, organizationId, petitionId, 7);
    const there = client.at(servers[1].origin);
    const signatures = async () =>
      (await there.get('petition.get-petition', { petitionId })).body.data.signatures as number;
    const condition = { petitionId, suspicion: 'MANY_AT_ONCE' };
    const { invalidationId } = (await there.post('petition.invalidate-signatures', condition)).body.data;
    servers[0].send('SIGKILL');
    const look = async () =>
      (await there.get('petition.get-invalidation', { invalidationId })).body.data as object;
    await eventually(async () => {
      expect(await look()).toMatchObject({ status: 'INVALIDATED', matched: 500, invalidated: 500 });
      expect(await signatures()).toBe(7);
    });
    // An instance of the previous version, which does not know this condition, must not continue automatically.
    const pages = await sql<{ last: boolean; condition: unknown }>(
      `SELECT (data->>'isLast')::boolean AS last, data->'condition' AS condition FROM events
       WHERE stream_id = $1 ORDER BY position`,
      [invalidationId],
    );
    expect(pages.map(({ last }) => last)).toEqual([true, true, true]);
    expect(pages[0]!.condition).toBeNull();
    await there.post('petition.restore-signatures', { invalidationId });
    await eventually(async () => expect(await signatures()).toBe(507));
    const ends = await sql(`SELECT FROM events WHERE type = 'InvalidationPlanEnded'`);
    expect(ends).toHaveLength(1);
  },
  'signature-requests': () => peopleConfirm(petitions),
  'thank-you-mails': async () => {
    const environment = {
      ...{ DATA_DIR: directory.path, MAIL_FROM: 'Rivers <news@example.org>' },
      PUBLIC_URL: 'https://act.example.org',
    };
    const [killed, other] = await Promise.all([start(environment), start(environment)]);
    const there = client.at(other.origin);
    const thankYouMail = { subject: 'Thank you', content: 'It counts.' };
    const { petitionId } = (await there.post('petition.create-petition', { name: 'River', thankYouMail }))
      .body.data;
    const { pathname } = new URL(
      (await there.post('petition.publish-petition', { petitionId })).body.data.url,
    );
    const { keyring } = deployment.store;
    const token = formToken(keyring, petitionId, new Date(Date.now() - 60_000));
    const people = Array.from({ length: 200 }, (_, n) => `person-${n}@example.org`);
    const post = async ({ origin }: ServerProcess, path: string, fields = {}) =>
      (await fetch(origin + path, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' }))
        .status;
    await inParallel(people.length, 8, async (n) => {
      const form = { token, email: people[n]!, firstName: 'Ada' };
      expect(await post(other, `${pathname}/sign`, form)).toBe(200);
    });
    const requests = await sql<{ id: string }>(
      `SELECT stream_id AS id FROM events WHERE type = 'SignatureRequested' AND organization_id = $1`,
      [client.organizationId],
    );
    const paths = requests.map(
      ({ id }) => `${pathname}/confirm/${signIds(keyring, 'confirm signature', [client.organizationId, id])}`,
    );
    expect(paths).toHaveLength(people.length);
    await inParallel(paths.length, 16, async (n) => {
      if (n === 100) killed.send('SIGKILL');
      const to = n % 2 === 0 ? killed : other;
      // A client repeats a request that was not answered.
      const status = await post(to, paths[n]!).catch(() => post(other, paths[n]!));
      expect(status).toBe(303);
    });
    const counts = async () =>
      (await there.get('petition.get-stats', { petitionId })).body.data.thankYouMails ?? {};
    await eventually(async () => {
      const { sent, inDoubt } = await counts();
      expect(sent + inDoubt).toBeGreaterThan(people.length - 20);
    });
    // What the killed instance had claimed is in doubt a minute later.
    await eventually(async () => {
      await sql(
        `UPDATE thank_you_mails SET claimed_at = claimed_at - interval '10 seconds' WHERE status = 'CLAIMED'`,
      );
      await sql(
        'UPDATE subscription_retries SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()',
      );
      const { sent, inDoubt, waiting, failed, skipped } = await counts();
      expect({ all: sent + inDoubt, waiting, failed, skipped }).toEqual({
        ...{ all: people.length, waiting: 0, failed: 0, skipped: 0 },
      });
    });
    const { sent, inDoubt } = await counts();
    const thanked = (await messages())
      .filter((mail) => mail.includes('Subject: Thank you'))
      .map((mail) => /^To: (.*)$/m.exec(mail)![1]!.trim());
    // No one twice, and each missing one is counted.
    expect(new Set(thanked).size).toBe(thanked.length);
    expect(thanked.length).toBeGreaterThanOrEqual(sent);
    expect(thanked.length).toBeLessThanOrEqual(sent + inDoubt);
  },
  'webhook-cursors': async () => {
    const server = await start();
    const there = client.at(server.origin);
    const { webhookId } = (
      await there.post('webhook.create-webhook', {
        url: 'https://webhooks.invalid/',
        eventTypes: ['ListCreated'],
      })
    ).body.data;
    const cursor = () =>
      sql<{ position: string; told: string }>(
        'SELECT position, told FROM webhook_cursors WHERE webhook_id = $1',
        [webhookId],
      );
    await eventually(async () => expect(await cursor()).toHaveLength(1));
    // Handling it again changes nothing.
    await there.post('webhook.replay-webhook', { webhookId, fromPosition: 0 });
    const known = (await cursor())[0]!.told;
    await eventually(async () => expect(Number((await cursor())[0]!.told)).toBeGreaterThan(Number(known)));
    const [before] = await cursor();
    await sql('UPDATE subscriptions SET position = 0');
    await eventually(async () => {
      const { result } = await run('status');
      expect(result.map(({ lag }: { lag: number }) => lag)).toEqual(result.map(() => 0));
    });
    expect((await cursor())[0]!.told).toBe(before!.told);
    await there.delete('webhook.delete-webhook', { webhookId });
    await eventually(async () => expect(await cursor()).toEqual([]));
  },
  'invitation-mail': async () => {
    const server = await start({ DATA_DIR: directory.path });
    const there = client.at(server.origin);
    const { status } = await there.post('team.invite-member', { email: 'eve@example.org', role: 'EDITOR' });
    expect(status).toBe(200);
    await eventually(async () => expect(await messages()).toHaveLength(1));
    expect((await messages())[0]).toMatch(/To: eve@example\.org[^]*\/dashboard\/invitations\//);
  },
  notifications: async () => {
    const server = await start({ DATA_DIR: directory.path });
    const there = client.at(server.origin);
    // It begins with the events after its first start.
    const begun = () => sql(`SELECT FROM subscriptions WHERE name = 'notifications'`);
    await eventually(async () => expect(await begun()).toHaveLength(1));
    const member = { email: 'eve@example.org', role: 'EDITOR' };
    const { invitationId } = (await there.post('team.invite-member', member)).body.data;
    await deployment.store.append({
      organizationId: client.organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: [
        {
          ...{ streamType: 'member', streamId: invitationId, expectedVersion: 1 },
          events: [{ type: 'InvitationAccepted', data: {} }],
        },
      ],
    });
    await eventually(async () => expect((await there.get('team.list-members')).body.data).toHaveLength(1));
    await sign(server, await petition(server, 1), 1);
    const subjects = async () =>
      (await messages()).flatMap((text) => /^Subject: (First signature|Goal reached)/m.exec(text)?.[1] ?? []);
    await eventually(async () =>
      expect((await subjects()).toSorted()).toEqual(['First signature', 'Goal reached']),
    );
  },
  'weekly-summaries': async () => {
    await start();
    const set = () =>
      sql(`SELECT FROM timers WHERE timer = 'weekly-summary' AND id = $1`, [client.organizationId]);
    await eventually(async () => expect(await set()).toHaveLength(1));
  },
  'webhook-disabled-mail': async () => {
    const server = await start({ DATA_DIR: directory.path, MAIL_FROM: 'Advocacy <advocacy@example.org>' });
    const there = client.at(server.origin);
    await there.post('organization.update-organization', { email: 'office@example.org' });
    const url = 'https://webhooks.invalid/hook';
    const { webhookId } = (await there.post('webhook.create-webhook', { url, eventTypes: ['ListCreated'] }))
      .body.data;
    const { store } = deployment;
    const metadata = { actor: { type: 'system', id: 'webhooks' }, requestId: 'test' } as const;
    const data = { failingSince: '2026-11-20T09:30:00.000Z' };
    const events = [{ type: 'WebhookDisabled', data }];
    const write = { streamType: 'webhook', streamId: webhookId, expectedVersion: 1, events };
    await store.append({ organizationId: client.organizationId, metadata, writes: [write] });
    await eventually(async () => expect(await messages()).toHaveLength(1));
    const [message] = await messages();
    for (const part of ['office@example.org', url, webhookId, 'November 2026'])
      expect(message).toContain(part);
  },
};

it('covers every subscription', () => {
  // The names are compared after a server has registered them.
  expect(Object.keys(EFFECTS)).toHaveLength(subscriptions.length);
});

/** `npm test` covers one that sends mail, because duplicate emails are the worst failure. `test:long` covers all. */
const names = Object.keys(EFFECTS).filter((name) => isLong || name === 'signature-requests');

it.each(names)('%s takes effect once even if processes crash', async (name) => {
  await EFFECTS[name]!();
  const { result } = await run('status');
  expect(result).toContainEqual(expect.objectContaining({ name, retrying: 0, parked: 0, parkedEvents: [] }));
  expect(result.map((one: { name: string }) => one.name)).toEqual(Object.keys(EFFECTS).toSorted());
});

longIt('dead letters are reported to operators, who can retry or skip them', async () => {
  const server = await start({ METRICS_PORT: '0' });
  const petitionId = await petition(server, 1);
  await sign(server, petitionId, 1);
  await eventually(async () => expect(await reached()).toHaveLength(1));
  const [signed] = await sql<{ position: string; stream_id: string }>(
    `SELECT position, stream_id FROM events WHERE type = 'PetitionSigned'`,
  );
  const park = () =>
    sql(
      `INSERT INTO subscription_retries
         (subscription, position, organization_id, stream_id, attempts, parked_at, reason)
       VALUES ('petition-goals', $1, $2, $3, 8, clock_timestamp(), 'for a test')`,
      [signed!.position, client.organizationId, signed!.stream_id],
    );
  await park();
  const ready = async () => {
    const response = await fetch(`${server.origin}/health/ready`, {
      headers: { Authorization: `Bearer ${HEALTH_TOKEN}` },
    });
    return ((await response.json()) as { data: { status: string; subscriptions: object[] } }).data;
  };
  await eventually(async () =>
    expect(await ready()).toMatchObject({
      status: 'degraded',
      subscriptions: expect.arrayContaining([
        expect.objectContaining({ name: 'petition-goals', lag: 0, retrying: 0, parked: 1 }),
      ]),
    }),
  );
  const { metricsPort } = server.log.find(({ message }) => message === 'listening')!;
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(metrics).toContain('advocacy_subscription_parked{subscription="petition-goals"} 1\n');
  expect(metrics).toContain('advocacy_subscription_lag_positions{subscription="petition-goals"} 0\n');

  const position = Number(signed!.position);
  const { result } = await run('status');
  const goals = result.find(({ name }: { name: string }) => name === 'petition-goals');
  expect(goals.parkedEvents).toMatchObject([
    { position, organizationId: client.organizationId, reason: 'for a test' },
  ]);
  expect((await run('retry', 'petition-goals')).result).toEqual({ retrying: 1 });
  await eventually(async () => expect(await sql('SELECT FROM subscription_retries')).toEqual([]));
  await eventually(async () => expect(await ready()).toMatchObject({ status: 'ok' }));
  await park();
  expect((await run('skip', 'petition-goals', '--position', `${position}`)).result).toEqual({
    skipped: true,
  });
  expect((await run('skip', 'petition-goals', '--position', `${position}`)).result).toEqual({
    skipped: false,
  });
  expect(await run('retry', 'nothing')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/Available subscriptions: .*petition-goals/),
  });
  expect((await run('skip', 'petition-goals', '--position', 'x')).status).toBe(1);
  expect(await reached()).toHaveLength(1);
});
