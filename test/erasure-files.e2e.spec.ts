import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contactsProjection } from '../src/contacts/index.js';
import { Client } from './harness.js';
import { cli, createDirectory, eventually, ServerProcess } from './processes.js';
import { command } from './commands.js';

/** The details that lists can be searched and sorted by. All other personal data is encrypted. */
const SEARCHED = ['email', 'firstName', 'lastName', 'zip', 'city', 'country'];
const SEALED = ['bio', 'phone', 'mobile', 'address'];

/** The common prefix of all markers, for a fast first check. */
const MARK = 'qmark';
const COMMENT = `${MARK}-comment-of-the-person`;

function person(name: string): Record<string, string> {
  const details = [...SEARCHED, ...SEALED].map((detail) => [
    detail,
    `${MARK}-${name}-${detail.toLowerCase()}`,
  ]);
  return { ...Object.fromEntries(details), email: `${MARK}-${name}-email@files.example` };
}

/** The folders of PostgreSQL's data directory (`base`, `pg_wal`) whose files currently contain each marker. */
async function search(directory: string, markers: readonly string[]): Promise<Map<string, string[]>> {
  const data = join(directory, 'postgres', 'data');
  const found = new Map(markers.map((marker) => [marker, new Set<string>()]));
  let files = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Some files disappear during the search.
    const bytes = await readFile(path).catch(() => undefined);
    if (!bytes) continue;
    files += 1;
    if (!bytes.includes(MARK)) continue;
    const folder = path.slice(data.length + 1).split('/')[0]!;
    for (const marker of markers) if (bytes.includes(marker)) found.get(marker)!.add(folder);
  }
  expect(files).toBeGreaterThan(500);
  return new Map([...found].map(([marker, folders]) => [marker, [...folders].sort()]));
}

/** The same folders for every marker. */
function all(markers: readonly string[], ...folders: string[]): Map<string, string[]> {
  return new Map(markers.map((marker) => [marker, folders]));
}

it('after an erasure and a purge, no file of the database contains data of the person', async () => {
  const directory = await createDirectory();
  const environment = { DATA_DIR: directory.path };
  const server = await ServerProcess.start(environment);
  try {
    await eventually(() => expect(server.stdout).toContain('API key'));
    const [, organizationId] = /organization {2,}(\S+)/.exec(server.stdout)!;
    const [, key] = /API key {2,}(\S+)/.exec(server.stdout)!;
    const client = new Client(server.origin, organizationId!, key);
    const post = async (operation: string, body: object, headers = {}) => {
      const answer = await client.post(operation, body, headers);
      expect([operation, answer.status]).toEqual([operation, 200]);
      // The demo's key has a rate limit.
      await sleep(110);
      return answer.body.data;
    };

    const [first, last, other] = [person('early'), person('lately'), person('other')];
    const marked = { 'Idempotency-Key': `made/${first.email}` };
    const { contactId } = await post('contact.create-contact', { organizationId, ...first }, marked);
    await post('contact.update-contact', { contactId, ...last });
    await post('contact.create-contact', { organizationId, ...other });
    const { petitionId } = await post('petition.create-petition', { name: 'Files' });
    await post('petition.publish-petition', { petitionId });
    await post('petition.add-signature', { petitionId, contactId, comment: COMMENT });
    const { listId } = await post('list.create-list', { name: 'Files' });
    await post('list.add-contacts', { listId, contactIds: [contactId] });
    const queries: Record<string, string>[] = [
      { q: last.lastName! },
      { email: last.email! },
      { city: last.city! },
    ];
    for (const query of queries) {
      expect((await client.get('contact.list-contacts', query)).body.data).toHaveLength(1);
      await sleep(110);
    }
    const signatures = await client.get('petition.list-signatures', { petitionId });
    expect(signatures.body.data).toMatchObject([{ comment: COMMENT }]);
    await sleep(110);

    const own = [first, last].flatMap((details) => SEARCHED.map((name) => details[name]!));
    const others = SEARCHED.map((name) => other[name]!);
    const sealed = [first, last, other].flatMap((details) => SEALED.map((name) => details[name]!));
    sealed.push(COMMENT);
    const markers = [...own, ...others, ...sealed];
    const plain = [...own, ...others];
    for (const [marker, folders] of await search(directory.path, plain)) {
      expect([marker, folders]).toEqual([marker, expect.arrayContaining(['pg_wal'])]);
    }

    // No one is erased yet, so nothing is rebuilt. Memory and log are flushed to the tables' files.
    const purge = async (run = command) => {
      const { status, stdout, stderr } = await run(['--json', 'projections', 'purge'], environment);
      expect([status, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    expect(await purge(cli)).toEqual({ rebuilt: [], underWay: [], earlierVersions: [], logEnded: true });
    expect(await search(directory.path, markers)).toEqual(new Map([...all(plain, 'base'), ...all(sealed)]));

    const deleted = await client.delete('contact.delete-contact', { contactId });
    expect(deleted.status).toBe(200);
    // Deleted rows remain in the files.
    const after = await search(directory.path, own);
    for (const marker of own)
      expect([marker, after.get(marker)]).toEqual([marker, expect.arrayContaining(['base'])]);

    expect(await purge()).toMatchObject({ rebuilt: ['contacts'], logEnded: true });
    expect(await search(directory.path, markers)).toEqual(
      new Map([...all(own), ...all(others, 'base'), ...all(sealed)]),
    );

    const status = await command(['--json', 'projections', 'status'], environment);
    expect(JSON.parse(status.stdout)).toContainEqual(
      expect.objectContaining({
        name: 'contacts',
        version: contactsProjection.version,
        lag: 0,
        failure: null,
        instances: expect.any(Number),
      }),
    );
    const drop = (version: string) =>
      command(['projections', 'drop', 'contacts', '--version', version], environment);
    expect(await drop('1')).toMatchObject({
      status: 1,
      stderr: 'Version 1 of contacts does not exist. Run projections status to list all versions.\n',
    });
    expect(await drop(String(contactsProjection.version))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('projections rebuild'),
    });
  } finally {
    await server.end('SIGTERM');
    await directory.remove();
  }
});
