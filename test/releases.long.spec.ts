import { Keyring } from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { Client } from './harness.js';
import { Deployment, ENCRYPTION_KEY, eventually, type ServerProcess } from './processes.js';
import { before as versionBefore, ReleaseBuild } from './releases.js';
import { dumpOf, type StoredDatabase, storedDatabases } from './stored-databases.js';
import { verifyTwice } from './verifiers.js';

const { version } = versionBefore;

const stored = (wanted: string): StoredDatabase => {
  const found = storedDatabases().find((one) => one.version === wanted);
  if (!found) throw new Error(`No database of ${wanted} is stored: see docs/internals/releasing.md.`);
  return found;
};

/** The build of the previous version, or undefined with a message if it is unavailable. */
async function buildBefore(): Promise<ReleaseBuild | undefined> {
  const build = await ReleaseBuild.of(versionBefore);
  if (typeof build !== 'string') return build;
  console.log(`Skipped: ${build}`);
  return undefined;
}

async function done(
  client: Client,
  method: 'post' | 'delete',
  operation: string,
  body: object,
  key?: string,
) {
  const fields = { organizationId: client.organizationId, ...body };
  const answer = await client[method](operation, fields, key === undefined ? {} : { 'Idempotency-Key': key });
  expect([operation, answer.status, answer.body]).toEqual([operation, 200, expect.anything()]);
  return answer.body.data;
}

async function read(client: Client, operation: string, query: { [name: string]: string }) {
  return client.get(operation, { organizationId: client.organizationId, ...query });
}

async function counts(client: Client, { petitionId, listId }: StoredDatabase) {
  const petition = await read(client, 'petition.get-petition', { petitionId });
  const list = await read(client, 'list.get-list', { listId });
  return { signatures: petition.body.data.signatures, contacts: list.body.data.contacts };
}

/** Expects that both versions seal one history: each checkpoint of this version verifies all earlier events. */
async function expectProved(before: Client, now: Client): Promise<void> {
  const key = new Signers([new Keyring(ENCRYPTION_KEY).signingSeed]).verifierKey;
  const checkpoints: string[] = [];
  for (const client of [before, now, before, now]) {
    await done(client, 'post', 'list.create-list', { name: `Sealed ${checkpoints.length}` });
    const [newest] = (await now.get('event.list-events', { type: 'ListCreated', limit: '1' })).body.data;
    // This request seals new events.
    expect((await client.get('event.get-proof', { eventId: newest.id })).status).toBe(200);
    const { checkpoint } = (await now.get('event.get-checkpoint')).body.data;
    checkpoints.push(checkpoint);
  }
  const exported = (await now.get('event.export-events')).body;
  for (const checkpoint of checkpoints) {
    expect(await verifyTwice(exported, checkpoint, key)).toMatchObject({ ok: true });
  }
}

const clientOf = (
  { organizationId, key }: StoredDatabase,
  { origin }: { origin: string },
  isDocumented = true,
) => new Client(origin, organizationId, key, true, isDocumented);

it(`${version} keeps working next to this version`, async () => {
  const build = await buildBefore();
  if (!build) return;
  const database = stored(version);
  const { petitionId, listId } = database;
  const deployment = await Deployment.create(undefined, dumpOf(database));
  let old: ServerProcess | undefined;
  try {
    old = await build.start(deployment.environment);
    const before = clientOf(database, old, false);
    const initial = await counts(before, database);
    const now = clientOf(database, await deployment.startServer());
    const expected = { ...initial };
    for (let n = 0; n < 6; n += 1) {
      const [one, other] = n % 2 === 0 ? [before, now] : [now, before];
      const person = { email: `beside-${n}@example.org`, firstName: 'Beside' };
      const { contactId } = await done(one, 'post', 'contact.create-contact', person, `beside-${n}`);
      const repeated = await done(other, 'post', 'contact.create-contact', person, `beside-${n}`);
      // The release before returns only the id.
      expect(repeated.contactId).toBe(contactId);
      const twin = await other.post('contact.create-contact', {
        organizationId: other.organizationId,
        ...person,
      });
      expect([200, 409]).toContain(twin.status);
      await done(other, 'post', 'petition.add-signature', { petitionId, contactId, comment: 'Both' });
      await done(one, 'post', 'petition.add-signature', { petitionId, contactId });
      expected.signatures += 1;
      await done(one, 'post', 'list.add-contacts', { listId, contactIds: [contactId] });
      expected.contacts += 1;
      const { postId } = await done(one, 'post', 'post.create-post', { name: `Post ${n}` });
      await done(other, 'post', 'post.publish-post', { postId });
      if (n < 4) continue;
      await done(other, 'delete', 'contact.delete-contact', { contactId });
      expected.contacts -= 1;
      for (const client of [one, other]) {
        await eventually(async () => {
          expect((await read(client, 'contact.get-contact', { contactId })).status).toBe(404);
        });
      }
    }
    for (const client of [before, now]) {
      await eventually(async () => expect(await counts(client, database)).toEqual(expected));
    }
    await expectProved(before, now);

    // The older version does not know about public logs, and can still change the organization.
    await done(now, 'post', 'organization.update-organization', { publicLog: true });
    await done(before, 'post', 'organization.update-organization', { name: `Beside ${version}` });
    await eventually(async () => {
      const { body } = await read(now, 'organization.get-organization', {});
      expect(body.data).toMatchObject({ name: `Beside ${version}`, publicLog: true });
    });
    expect((await fetch(`${now.origin}/log/${now.organizationId}/checkpoint`)).status).toBe(200);

    await old.end('SIGKILL');
    const { contactId } = await done(now, 'post', 'contact.create-contact', {
      email: 'after@example.org',
      firstName: 'After',
    });
    await done(now, 'post', 'petition.add-signature', { petitionId, contactId });
    expect(await counts(now, database)).toEqual({ ...expected, signatures: expected.signatures + 1 });
  } finally {
    await old?.end('SIGKILL');
    await deployment.stop();
  }
});

it(`${version} counts correctly next to this version on a database of the first version`, async () => {
  const build = await buildBefore();
  if (!build) return;
  const database = stored('0.1.0');
  const deployment = await Deployment.create(undefined, dumpOf(database));
  let old: ServerProcess | undefined;
  try {
    const now = clientOf(database, await deployment.startServer());
    old = await build.start(deployment.environment);
    const before = clientOf(database, old, false);
    const { petitionId } = database;
    const { signatures } = await counts(now, database);
    const { contactId } = await done(before, 'post', 'contact.create-contact', {
      email: 'again@example.org',
      firstName: 'Again',
    });
    await done(before, 'post', 'petition.add-signature', { petitionId, contactId });
    for (const client of [before, now]) {
      await eventually(async () => expect((await counts(client, database)).signatures).toBe(signatures + 1));
    }
  } finally {
    await old?.end('SIGKILL');
    await deployment.stop();
  }
});
