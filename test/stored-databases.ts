import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createTestDatabase } from '#libs/testing';
import { Client } from './harness.js';
import { ENCRYPTION_KEY, eventually } from './processes.js';
import { type Release, ReleaseBuild } from './releases.js';

/**
 * A database that a published version created: `databases/<version>.sql.gz`, by pg_dump, with a little of everything the
 * version could record. Every later version must be able to continue with each.
 */
export type StoredDatabase = {
  version: string;
  commit: string;
  organizationId: string;
  /** An API key with full access, created for these tests with `ENCRYPTION_KEY`. */
  key: string;
  /** The last responses of its own API, by operation. */
  answers: { [operation: string]: any };
  /** A contact whose creation had the idempotency key "stored". */
  repeatable: { email: string; contactId: string };
  /** Another contact, who signed and is on no list. */
  contactId: string;
  erasedContactId: string;
  petitionId: string;
  listId: string;
};

const DIRECTORY = join(__dirname, 'databases');
const run = promisify(execFile);

/** Oldest first. */
export function storedDatabases(): StoredDatabase[] {
  const versions = readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.sql.gz'))
    .map((file) => file.replace('.sql.gz', ''));
  versions.sort((one, other) => one.localeCompare(other, undefined, { numeric: true }));
  return versions.map((version) => {
    const [line] = dumpOf({ version }).split('\n', 1);
    return { version, ...(JSON.parse(line!.slice(3)) as Omit<StoredDatabase, 'version'>) };
  });
}

/** The statements that create it. */
export function dumpOf({ version }: Pick<StoredDatabase, 'version'>): string {
  return gunzipSync(readFileSync(fileOf(version))).toString();
}

function fileOf(version: string): string {
  return join(DIRECTORY, `${version}.sql.gz`);
}

/** Compared between versions: all records, with their counts. */
const LISTS = [
  'contact.list-contacts',
  'petition.list-petitions',
  'petition.list-signatures',
  'list.list-lists',
  'post.list-posts',
  'organization.get-organization',
];

async function answersOf(client: Client, petitionId: string): Promise<StoredDatabase['answers']> {
  const answers: StoredDatabase['answers'] = {};
  for (const operation of LISTS) {
    const which: { [name: string]: string } = operation === 'petition.list-signatures' ? { petitionId } : {};
    const { status, body } = await client.get(operation, { organizationId: client.organizationId, ...which });
    if (status !== 200) throw new Error(`${operation}: ${status} ${JSON.stringify(body)}`);
    answers[operation] = body.data;
  }
  return answers;
}

/** The responses are those of its own version; lists have left `content` out since 0.3.0. */
export async function expectAnswers({ answers, petitionId }: StoredDatabase, client: Client): Promise<void> {
  const found = await answersOf(client, petitionId);
  for (const [operation, before] of Object.entries(answers)) {
    const now = found[operation];
    if (!Array.isArray(before)) {
      expect(now).toMatchObject(onAnyServer(before));
      continue;
    }
    expect(now.map(({ id }: { id: string }) => id).sort()).toEqual(before.map(({ id }) => id).sort());
    for (const { content: _, ...record } of before) {
      expect(now.find(({ id }: { id: string }) => id === record.id)).toMatchObject(onAnyServer(record));
    }
  }
}

/**
 * Writes the file of a release by running it: `MAKE_DATABASE=0.5.0=<commit> npm test -- databases`. Requires a PostgreSQL
 * that the installed pg_dump knows (DATABASE_URL).
 */
export async function makeDatabase(release: Release): Promise<void> {
  const build = await ReleaseBuild.of(release);
  if (typeof build === 'string') throw new Error(build);
  const database = await createTestDatabase(undefined, '');
  const environment = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64'),
    // The responses contain addresses of pages, which must be those of the tests' servers.
    PUBLIC_URL: 'http://localhost:3000',
  };
  const server = await build.start(environment);
  try {
    const releaseCli = async (...args: string[]) => {
      const { stdout, stderr } = await build.run(['--json', ...args], environment);
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const { organizationId } = await releaseCli('organization', 'create', '--name', 'Stored');
    const unlimited = ['--name', 'Stored', '--rate-limit', 'unlimited'];
    const made = await releaseCli('api-key', 'create', '--organization', organizationId, ...unlimited);
    const { key } = made;
    const facts = await fill(new Client(server.origin, organizationId, key));
    await sealed(database.source);
    await server.end('SIGTERM');

    const options = ['--no-owner', '--no-comments', '--inserts', '--rows-per-insert=50'];
    const { stdout } = await run('pg_dump', [...options, database.url], { maxBuffer: 64 * 1024 * 1024 });
    const role = decodeURIComponent(new URL(database.url).username);
    const statements = stdout
      .split('\n')
      // Omits lines that only psql or the PostgreSQL version of the dump understands.
      .filter((line) => !/^(--|\\|SET (transaction_timeout|default_))/.test(line))
      .join('\n')
      .replaceAll(new RegExp(`^(REVOKE|GRANT)(.*) (FROM|TO) "?${role}"?;$`, 'gm'), '$1$2 $3 CURRENT_USER;');
    const about = { commit: release.commit, organizationId, key, ...facts };
    const text = `-- ${JSON.stringify(about)}\n${statements}`;
    await writeFile(fileOf(release.version), gzipSync(text, { level: 9 }));
  } finally {
    await server.end('SIGKILL');
    await database.drop();
  }
}

/** Waits until the history is sealed. */
async function sealed(source: { query<Result>(sql: string): Promise<Result> }): Promise<void> {
  await eventually(async () => {
    const [found] = await source.query<{ sealed: boolean }[]>(
      'SELECT (SELECT position FROM sealing) >= (SELECT max(position) FROM events) AS sealed',
    );
    expect(found!.sealed).toBe(true);
  });
}

/** Records a little of everything. */
async function fill(
  client: Client,
): Promise<Omit<StoredDatabase, 'version' | 'commit' | 'organizationId' | 'key'>> {
  const ask = async (method: 'post' | 'delete', operation: string, body: object, headers = {}) => {
    const whole = { organizationId: client.organizationId, ...body };
    const answer = await client[method](operation, whole, headers);
    if (answer.status !== 200) throw new Error(`${operation}: ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  };
  const post = (operation: string, body: object, headers?: object) => ask('post', operation, body, headers);
  const remove = (operation: string, body: object) => ask('delete', operation, body);

  const contactIds: string[] = [];
  for (const name of ['Ada', 'Grace', 'Wangari', 'Chico', 'Rachel', 'Erased']) {
    const email = `${name.toLowerCase()}@example.org`;
    const person = {
      email,
      firstName: name,
      lastName: 'Example',
      city: 'Bonn',
      phone: '+49 228 1',
      bio: `I am ${name}`,
    };
    const { contactId } = await post('contact.create-contact', person, {
      'Idempotency-Key': `stored-${name}`,
    });
    contactIds.push(contactId);
  }
  const [ada, grace, wangari, chico, rachel, erased] = contactIds as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  await post('contact.update-contact', { contactId: grace, address: '1 Harbour Street', country: 'DE' });
  await post('contact.update-contact', { contactId: rachel, subscribed: false });

  const { petitionId } = await post('petition.create-petition', {
    name: 'Save the river',
    goal: 10,
    content: { a: [1, 'b'] },
  });
  await post('petition.publish-petition', { petitionId });
  for (const contactId of [ada, grace, wangari, erased]) {
    await post('petition.add-signature', { petitionId, contactId, comment: 'Because it is ours' });
  }
  await post('petition.add-signature', {
    petitionId,
    contact: { email: 'inline@example.org', firstName: 'Inline' },
  });
  await remove('petition.remove-signature', { petitionId, contactId: grace });
  const { petitionId: closed } = await post('petition.create-petition', { name: 'Closed' });
  await post('petition.publish-petition', { petitionId: closed });
  await post('petition.add-signature', { petitionId: closed, contactId: chico });
  await post('petition.close-petition', { petitionId: closed });
  const { petitionId: gone } = await post('petition.create-petition', { name: 'Gone' });
  await remove('petition.delete-petition', { petitionId: gone });

  const { listId } = await post('list.create-list', { name: 'Volunteers', description: 'Who helps' });
  await post('list.add-contacts', { listId, contactIds: [ada, grace, chico, erased] });
  await remove('list.remove-contacts', { listId, contactIds: [chico] });
  await post('list.update-list', { listId, description: 'Who really helps' });
  await remove('contact.delete-contact', { contactId: erased });

  const { postId } = await post('post.create-post', { name: 'We did it', content: ['Thanks'] });
  await post('post.publish-post', { postId });
  const { postId: old } = await post('post.create-post', { name: 'Old news' });
  await post('post.publish-post', { postId: old });
  await post('post.archive-post', { postId: old });

  const { apiKeyId } = await post('api-key.create-api-key', { name: 'Website', scopes: ['contact:read'] });
  await post('api-key.rotate-api-key', { apiKeyId });
  const ended = await post('api-key.create-api-key', { name: 'Ended', scopes: ['contact:read'] });
  await remove('api-key.revoke-api-key', { apiKeyId: ended.apiKeyId });
  await post('organization.update-organization', { name: 'Stored and renamed' });
  await client.get('history.list-events', { recordId: ada });

  return {
    answers: await answersOf(client, petitionId),
    repeatable: { email: 'ada@example.org', contactId: ada },
    contactId: wangari,
    erasedContactId: erased,
    petitionId,
    listId,
  };
}

/** The record as another server returns it, which has another address. */
function onAnyServer(record: { url?: unknown }): object {
  if (typeof record.url !== 'string') return record;
  return { ...record, url: expect.stringContaining(new URL(record.url).pathname) };
}
