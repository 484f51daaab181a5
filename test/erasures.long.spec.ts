import { randomBytes } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { testServerUrl } from '#libs/testing';
import { CLI, Program } from './processes.js';
import { command } from './commands.js';

const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');

it('contacts erased after a backup are erased again after it is restored', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'erasures-'));
  const file = (name: string) => join(directory, name);
  const live = `live_${randomBytes(6).toString('hex')}`;
  const restored = `${live}_restored`;
  const administrator = new Client({ connectionString: testServerUrl() });
  await administrator.connect();
  await administrator.query(`CREATE DATABASE ${live}`);
  const urlOf = (database: string) => {
    const url = new URL(testServerUrl());
    url.pathname = `/${database}`;
    return url.href;
  };
  const on = async (database: string, ...args: string[]): Promise<any> => {
    const { stdout, stderr } = await command(['--json', ...args], {
      DATABASE_URL: urlOf(database),
      ENCRYPTION_KEY,
    });
    return stdout === '' ? { stderr } : JSON.parse(stdout);
  };
  const emails = async (database: string) => {
    await rm(file('contacts.ndjson'), { force: true });
    await on(
      database,
      'contacts',
      'export',
      '--organization',
      organizationId,
      '--out',
      file('contacts.ndjson'),
    );
    const lines = (await readFile(file('contacts.ndjson'), 'utf8')).trimEnd().split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line).email).sort();
  };
  const contacts = async (...names: string[]) => {
    const lines = names.map((name) => `${JSON.stringify({ email: `${name}@example.org` })}\n`);
    await writeFile(file('new.ndjson'), lines.join(''));
    await on(
      live,
      'contacts',
      'import',
      file('new.ndjson'),
      '--subscribed',
      'yes',
      '--organization',
      organizationId,
    );
    const { rows } = await inLive(`SELECT id, email FROM contacts`);
    return Object.fromEntries(rows.map(({ id, email }) => [email.split('@')[0], id]));
  };
  const inLive = async (sql: string) => {
    const client = new Client({ connectionString: urlOf(live) });
    await client.connect();
    const { rows } = await client.query(
      `SELECT 'contacts_v' || max(version) AS schema FROM checkpoints WHERE projection = 'contacts'`,
    );
    await client.query(`SET search_path = ${rows[0].schema}`);
    try {
      return await client.query(sql);
    } finally {
      await client.end();
    }
  };

  const { organizationId } = await on(live, 'organization', 'create', '--name', 'Rivers');
  const before = await contacts('ada', 'grace');
  // Backup and restore. No client is connected at this moment.
  await administrator.query(`CREATE DATABASE ${restored} TEMPLATE ${live}`);

  const after = await contacts('late');
  const erase = (contactId: string) => `${JSON.stringify({ organizationId, contactId })}\n`;
  await writeFile(file('requests'), erase(before.ada) + erase(after.late));
  expect(await on(live, 'erasures', 'apply', file('requests'))).toEqual({ erased: 2, notThere: 0 });
  expect(await on(live, 'erasures', 'list', '--out', file('erasures'))).toEqual({ erasures: 2 });
  const list = await readFile(file('erasures'), 'utf8');
  expect(list).not.toContain('example.org');
  expect(JSON.parse(list.split('\n')[0]!)).toEqual({
    position: expect.any(Number),
    organizationId,
    contactId: before.ada,
    erasedAt: expect.stringMatching(/Z$/),
  });

  expect(await emails(restored)).toEqual(['ada@example.org', 'grace@example.org']);
  expect(await on(restored, 'erasures', 'apply', file('erasures'))).toEqual({ erased: 1, notThere: 1 });
  expect(await emails(restored)).toEqual(['grace@example.org']);
  await appendFile(file('erasures'), 'rubbish\n');
  // A second run changes nothing. Unreadable lines are reported and do not stop the others.
  expect(await on(restored, 'erasures', 'apply', file('erasures'))).toEqual({ erased: 1, notThere: 1 });

  // Without files, as in containers: from one database to the other.
  const shell = (database: string, args: string) =>
    `DATABASE_URL='${urlOf(database)}' "${process.execPath}" "${CLI}" --json erasures ${args}`;
  const script = `${shell(live, 'list')} | ${shell(restored, 'apply -')}`;
  const piped = await new Program('sh', ['-c', script], { ENCRYPTION_KEY }).ended;
  expect([piped.stderr, JSON.parse(piped.stdout)]).toEqual(['', { erased: 1, notThere: 1 }]);

  for (const name of [live, restored]) await administrator.query(`DROP DATABASE ${name}`);
  await administrator.end();
  await rm(directory, { recursive: true });
});
