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
 * Databases as earlier commits made them, one for each schema that there was: `databases/<number>-<commit>.sql.gz`, by
 * pg_dump, with a little of everything that the commit could record. Every later version must be able to go on with each.
 */
export type StoredDatabase = {
  name: string;
  commit: string;
  /** The key of the organization, which may do everything; made for these tests, with `ENCRYPTION_KEY`. */
  organizationId: string;
  key: string;
  /** What its own API answered last, by operation. */
  answers: { [operation: string]: any };
  /** A contact whose creation had the idempotency key "stored". */
  repeatable: { email: string; contactId: string };
  /** Another, who signed and is a member where the commit had petitions and lists. */
  contactId: string;
  erasedContactId: string;
  petitionId?: string;
  listId?: string;
};

const DIRECTORY = join(__dirname, 'databases');
const run = promisify(execFile);

/** In the order of their making. */
export function storedDatabases(): StoredDatabase[] {
  const files = readdirSync(DIRECTORY).filter((file) => file.endsWith('.sql.gz'));
  return files.sort().map((file) => {
    const [line] = read(file).split('\n', 1);
    return {
      name: file.replace('.sql.gz', ''),
      ...(JSON.parse(line!.slice(3)) as Omit<StoredDatabase, 'name'>),
    };
  });
}

/** The statements that make it. */
export function dumpOf({ name }: Pick<StoredDatabase, 'name'>): string {
  return read(`${name}.sql.gz`);
}

function read(file: string): string {
  return gunzipSync(readFileSync(join(DIRECTORY, file))).toString();
}

/** What is compared between versions: what there is, with the numbers that are counted. */
const LISTS = [
  'contact.list-contacts',
  'petition.list-petitions',
  'petition.list-signatures',
  'list.list-lists',
  'post.list-posts',
  'organization.get-organization',
];

/** The answers to `LISTS`, of the operations that a version has. */
async function answersOf(
  client: Client,
  petitionId: string | undefined,
  has: (operation: string) => boolean = () => true,
): Promise<StoredDatabase['answers']> {
  const answers: StoredDatabase['answers'] = {};
  for (const operation of LISTS.filter(has)) {
    const which: { [name: string]: string } =
      operation === 'petition.list-signatures' ? { petitionId: petitionId! } : {};
    const { status, body } = await client.get(operation, { organizationId: client.organizationId, ...which });
    if (status !== 200) throw new Error(`${operation}: ${status} ${JSON.stringify(body)}`);
    answers[operation] = body.data;
  }
  return answers;
}

/** What its own version answered is answered still; lists have left `content` out since 0.3.0. */
export async function expectAnswers({ answers, petitionId }: StoredDatabase, client: Client): Promise<void> {
  const found = await answersOf(client, petitionId, (operation) => operation in answers);
  for (const [operation, before] of Object.entries(answers)) {
    const now = found[operation];
    if (!Array.isArray(before)) {
      expect(now).toMatchObject(before);
      continue;
    }
    expect(now.map(({ id }: { id: string }) => id).sort()).toEqual(before.map(({ id }) => id).sort());
    for (const { content: _, ...record } of before) {
      expect(now.find(({ id }: { id: string }) => id === record.id)).toMatchObject(record);
    }
  }
}

/**
 * Makes the file of a commit, by running it: `MAKE_DATABASE=0.4.0=<commit> npm test -- databases`. Wants a PostgreSQL that
 * the installed pg_dump knows (DATABASE_URL).
 */
export async function makeDatabase(release: Release): Promise<void> {
  const number = storedDatabases().length + 1;
  const build = await ReleaseBuild.of(release);
  if (typeof build === 'string') throw new Error(build);
  const database = await createTestDatabase(undefined, '');
  const environment = { DATABASE_URL: database.url, ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64') };
  const server = await build.start(environment);
  try {
    const told = async (...args: string[]) => {
      const { stdout, stderr } = await build.run(['--json', ...args], environment);
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const { organizationId } = await told('organization', 'create', '--name', 'Stored');
    const unlimited = ['--name', 'Stored', '--rate-limit', 'unlimited'];
    const made = await told('api-key', 'create', '--organization', organizationId, ...unlimited);
    const key: string = made.key ?? made.apiKey;
    const facts = await fill(new Client(server.origin, organizationId, key));
    await sealed(database.source);
    await server.end('SIGTERM');

    const options = ['--no-owner', '--no-comments', '--inserts', '--rows-per-insert=50'];
    const { stdout } = await run('pg_dump', [...options, database.url], { maxBuffer: 64 * 1024 * 1024 });
    const role = decodeURIComponent(new URL(database.url).username);
    const statements = stdout
      .split('\n')
      // What only psql understands, or only the version of PostgreSQL that wrote it.
      .filter((line) => !/^(--|\\|SET (transaction_timeout|default_))/.test(line))
      .join('\n')
      .replaceAll(new RegExp(`^(REVOKE|GRANT)(.*) (FROM|TO) "?${role}"?;$`, 'gm'), '$1$2 $3 CURRENT_USER;');
    const about = { commit: release.commit, organizationId, key, ...facts };
    const name = `${String(number).padStart(2, '0')}-${release.version}`;
    const text = `-- ${JSON.stringify(about)}\n${statements}`;
    await writeFile(join(DIRECTORY, `${name}.sql.gz`), gzipSync(text, { level: 9 }));
  } finally {
    await server.end('SIGKILL');
    await database.drop();
  }
}

/** Waits until the history is sealed. The first commit that has the tables did not seal by itself. */
async function sealed(source: { query<Result>(sql: string): Promise<Result> }): Promise<void> {
  const [row] = await source.query<{ seals: boolean }[]>(`SELECT to_regclass('seals') IS NOT NULL AS seals`);
  if (!row!.seals) return;
  await eventually(async () => {
    const [found] = await source.query<{ sealed: boolean }[]>(
      'SELECT (SELECT position FROM sealing) >= (SELECT max(position) FROM events) AS sealed',
    );
    expect(found!.sealed).toBe(true);
  }).catch(() => undefined);
}

/** A little of everything, as far as the version has it. */
async function fill(client: Client): Promise<Partial<StoredDatabase>> {
  const document: any = await (await fetch(`${client.origin}/openapi.json`)).json();
  const has = (operation: string) => `/v1/${operation}` in document.paths;
  const ask = async (method: 'post' | 'delete', operation: string, body: object, headers = {}) => {
    if (!has(operation)) return undefined;
    // The first commits want it said.
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

  const petition = await post('petition.create-petition', {
    name: 'Save the river',
    goal: 10,
    content: { a: [1, 'b'] },
  });
  const petitionId: string | undefined = petition?.petitionId;
  const listed = await post('list.create-list', { name: 'Volunteers', description: 'Who helps' });
  const listId: string | undefined = listed?.listId;
  if (petitionId !== undefined) {
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
  }
  if (listId !== undefined) {
    await post('list.add-contacts', { listId, contactIds: [ada, grace, chico, erased] });
    await remove('list.remove-contacts', { listId, contactIds: [chico] });
    await post('list.update-list', { listId, description: 'Who really helps' });
  }
  await remove('contact.delete-contact', { contactId: erased });

  const written = await post('post.create-post', { name: 'We did it', content: ['Thanks'] });
  await post('post.publish-post', { postId: written?.postId });
  const old = await post('post.create-post', { name: 'Old news' });
  await post('post.publish-post', { postId: old?.postId });
  await post('post.archive-post', { postId: old?.postId });

  const made = await post('api-key.create-api-key', { name: 'Website', scopes: ['contact:read'] });
  await post('api-key.rotate-api-key', { apiKeyId: made?.apiKeyId });
  const ended = await post('api-key.create-api-key', { name: 'Ended', scopes: ['contact:read'] });
  await remove('api-key.revoke-api-key', { apiKeyId: ended?.apiKeyId });
  await post('organization.update-organization', { name: 'Stored and renamed' });
  if (has('history.list-events')) await client.get('history.list-events', { recordId: ada });

  return {
    answers: await answersOf(client, petitionId, has),
    repeatable: { email: 'ada@example.org', contactId: ada },
    contactId: wangari,
    erasedContactId: erased,
    ...(petitionId === undefined ? {} : { petitionId }),
    ...(listId === undefined ? {} : { listId }),
  };
}
