import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { command } from './commands.js';
import { type Client } from './harness.js';
import { Deployment, eventually, Program, type Result } from './processes.js';
import { longIt } from './length.js';

let deployment: Deployment;
let client: Client;
let directory: string;
beforeAll(async () => {
  deployment = await Deployment.create();
  directory = await mkdtemp(join(tmpdir(), 'contacts-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true });
  await deployment.stop();
});
beforeEach(async () => {
  client = await deployment.organization();
});

const CLI = resolve(__dirname, '../dist/bundle/cli.js');

const run = (...args: string[]) => command(['contacts', ...args], deployment.environment);
const importFile = (file: string, ...options: string[]) =>
  run('import', file, '--subscribed', 'yes', '--organization', client.organizationId, ...options);
const exportTo = (...options: string[]) => run('export', '--organization', client.organizationId, ...options);

async function write(name: string, text: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, text);
  return file;
}

/** The JSON object on stdout of a command that succeeded and wrote only progress to stderr. */
function answerOf({ status, stdout, stderr }: Result): any {
  const errors = stderr.replace(/^[\d,]+ (lines|contacts), [\d,]+\/s( \(\d+ %\))?\n/gm, '');
  expect([status, errors]).toEqual([0, '']);
  return JSON.parse(stdout);
}

async function created(organizationId: string): Promise<number> {
  const [row] = await deployment.database.source.query(
    `SELECT count(*) FROM events WHERE organization_id = $1 AND type = 'ContactCreated'`,
    [organizationId],
  );
  return Number(row.count);
}

describe('contacts import', () => {
  it('prints a summary, and exits with 0 even if some lines failed', async () => {
    const file = await write('a.csv', 'email,firstName\nada@example.org,Ada\nrubbish,\n');
    const answer = { created: 1, updated: 0, unchanged: 0, failedCount: 1 };
    const failed = [{ line: 3, message: expect.stringContaining('email must be') }];
    expect(answerOf(await importFile(file))).toEqual({ ...answer, failed });
    expect(answerOf(await importFile(file, '--json'))).toEqual({
      ...answer,
      created: 0,
      unchanged: 1,
      failed,
    });

    const changed = await write('b.jsonl', '{"email":"ada@example.org","firstName":"Augusta"}');
    expect(answerOf(await importFile(changed))).toMatchObject({ updated: 0, failedCount: 1 });
    expect(answerOf(await importFile(changed, '--on-conflict', 'update'))).toMatchObject({ updated: 1 });
  });

  longIt('with --petition, adds signatures, and contacts that exist keep their details', async () => {
    const { organizationId } = client;
    const server = await deployment.startServer();
    const by = client.at(server.origin);
    const { petitionId } = (await by.post('petition.create-petition', { name: 'Bees' })).body.data;
    await by.post('contact.create-contact', { organizationId, email: 'ada@example.org', city: 'London' });
    const lines = ['email,city,signedAt,comment', 'ada@example.org,Bern,2021-03-04,Yes', 'b@example.org,,,'];
    const file = await write('signed.csv', lines.join('\n'));
    const draft = await importFile(file, '--petition', petitionId);
    expect([draft.status, draft.stderr]).toEqual([1, expect.stringContaining('Publish it first')]);
    await by.post('petition.publish-petition', { petitionId });
    const answer = { created: 1, updated: 1, unchanged: 0, signed: 2, failed: [], failedCount: 0 };
    expect(answerOf(await importFile(file, '--petition', petitionId))).toEqual(answer);
    const again = { ...answer, created: 0, updated: 0, unchanged: 2, signed: 0 };
    expect(answerOf(await importFile(file, '--petition', petitionId))).toEqual(again);
    const { data } = (await by.get('contact.list-contacts', { petitionId, city: 'London' })).body;
    expect(data).toHaveLength(1);
    await server.end('SIGTERM');
  });

  longIt('reads standard input, with the format as an option', async () => {
    const args = [
      CLI,
      'contacts',
      'import',
      '-',
      '--format',
      'csv',
      '--subscribed',
      'yes',
      '--organization',
      client.organizationId,
    ];
    const child = spawn(process.execPath, args, {
      cwd: directory,
      env: { PATH: process.env.PATH, ...deployment.environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end('email\nada@example.org\n');
    let stdout = '';
    for await (const text of child.stdout.setEncoding('utf8')) stdout += text;
    expect(JSON.parse(stdout)).toMatchObject({ created: 1, failedCount: 0 });
  });

  longIt('finishes the current lines on Ctrl-C, and the same command resumes the import', async () => {
    // More than is read ahead of the lines that are being written.
    const padding = ' '.repeat(300);
    const people = Array.from({ length: 2_000 }, (_, n) => `{"email":"person-${n}@example.org"}${padding}\n`);
    const file = await write('large.ndjson', people.join(''));
    const args = [
      CLI,
      '--json',
      'contacts',
      'import',
      file,
      '--subscribed',
      'yes',
      '--organization',
      client.organizationId,
    ];
    const { source } = deployment.database;
    const holder = source.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await holder.query('LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE');
    const program = new Program(process.execPath, args, deployment.environment);
    await eventually(async () =>
      expect(
        await source.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'events'::regclass`),
      ).not.toEqual([]),
    );
    program.send('SIGINT');
    await holder.rollbackTransaction();
    await holder.release();
    const { status, stdout, stderr } = await program.ended;
    const first = JSON.parse(stdout);
    // Progress lines come first if the import took long enough.
    expect([status, stderr]).toEqual([
      130,
      expect.stringMatching(/^Stopped after [\d,]+ lines\. To resume/m),
    ]);
    expect(first.created).toBeGreaterThan(0);
    expect(first.created).toBeLessThan(2_000);
    expect(await created(client.organizationId)).toBe(first.created);

    expect(answerOf(await importFile(file))).toEqual({
      created: 2_000 - first.created,
      updated: 0,
      unchanged: first.created,
      failed: [],
      failedCount: 0,
    });
  });

  it('uses columns as mapped', async () => {
    const file = await write('mapped.csv', 'Kontakt,Keine Post\nmapped@example.org,x\n');
    const answer = await importFile(file, '--map', '{"Kontakt":"email","Keine Post":"optOut"}');
    expect(answerOf(answer)).toMatchObject({ created: 1, failedCount: 0 });
    expect(JSON.parse((await exportTo()).stdout)).toMatchObject({ subscribed: false });
  });

  it('exits with 1 and one sentence for each mistake', async () => {
    const good = await write('good.csv', 'email\n');
    const bad = await write('bad.csv', 'nickname\n');
    const { organizationId } = client;
    const mistakes: [string[], RegExp][] = [
      [['import', '--organization', 'x'], /missing required argument 'file'/],
      [['import', good], /required option '--organization <id>' not specified/],
      [['import', good, '--organization', 'x'], /^No organization has this id\.$/m],
      [
        ['import', good, '--organization', organizationId, '--format', 'xml'],
        /Allowed choices are ndjson, csv/,
      ],
      [['import', 'people.dat', '--organization', organizationId], /^Add --format ndjson or --format csv/],
      [
        ['import', good, '--organization', organizationId, '--on-conflict', 'keep'],
        /^--on-conflict keep requires --petition\. /,
      ],
      [['import', 'none.csv', '--organization', organizationId], /^Cannot read the file: ENOENT/],
      [
        ['import', directory, '--format', 'csv', '--organization', organizationId],
        /^Cannot read the file: it is/,
      ],
      [
        ['import', bad, '--organization', organizationId],
        /^nickname is not a column that can be imported; .*To import the file without these columns, add --unknown ignore/,
      ],
      [
        ['import', good, '--organization', organizationId],
        /^subscribed is missing: no column states it\. Add --subscribed yes if .*, --subscribed no if not/,
      ],
    ];
    for (const [args, sentence] of mistakes) {
      const { status, stdout, stderr } = await run(...args);
      expect([status, stdout, stderr]).toEqual([1, '', expect.stringMatching(sentence)]);
    }
  });
});

describe('contacts export', () => {
  let filled: Client;
  beforeAll(async () => {
    client = filled = await deployment.organization();
    const people = Array.from(
      { length: 1_100 },
      (_, n) => `{"email":"person-${n}@example.org","city":"A\\nB"}`,
    );
    await importFile(await write('people.ndjson', people.join('\n')));
  });
  beforeEach(() => void (client = filled));

  it('writes to standard output, or to a file that import accepts', async () => {
    const { status, stdout, stderr } = await exportTo();
    expect([status, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(1_100);

    const file = join(directory, 'out.csv');
    expect(answerOf(await exportTo('--out', file))).toEqual({ contacts: 1_100 });
    expect((await readFile(file, 'utf8')).split('\r\n')).toHaveLength(1_102);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(answerOf(await importFile(file))).toMatchObject({ created: 0, unchanged: 1_100, failedCount: 0 });
    expect((await readdir(directory)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  longIt('ends when its output is no longer read', async () => {
    const args = [CLI, 'contacts', 'export', '--organization', client.organizationId];
    const script = `"${process.execPath}" ${args.map((arg) => `"${arg}"`).join(' ')} | head -n 1`;
    const { status, stdout, stderr } = await new Program('sh', ['-c', script], deployment.environment).ended;
    expect([status, stdout.split('\n'), stderr]).toEqual([0, [expect.stringContaining('person-'), ''], '']);
  });

  longIt('exits with 1 and one sentence for each mistake', async () => {
    const results = [
      await exportTo('--out', join(directory, 'people.dat')),
      await exportTo('--out', join(directory, 'none', 'people.csv')),
      await run('export', '--organization', 'x'),
    ];
    expect(results.map(({ status, stderr }) => [status, stderr])).toEqual([
      [1, expect.stringMatching(/^Add --format ndjson/)],
      [1, expect.stringMatching(/^Cannot write the file: ENOENT/)],
      [1, 'No organization has this id.\n'],
    ]);
  });
});
