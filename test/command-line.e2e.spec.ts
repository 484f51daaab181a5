import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './commands.js';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Client, NOBODY } from './harness.js';
import { Visitor } from './people-in.js';
import {
  CLI,
  cli,
  createDirectory,
  Deployment,
  eventually,
  npmRunCli,
  Program,
  type Result,
  ServerProcess,
} from './processes.js';
import { Receiver } from './receiver.js';
import { isLong, longIt, someOf } from './length.js';

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
  server = await deployment.startServer();
});
afterAll(() => deployment.stop());

const run = (...args: string[]) => command(args, deployment.environment);
const runAlone = (...args: string[]) => cli(args, deployment.environment);
const KEY = /^adv_[A-Za-z0-9]{8}_[A-Za-z0-9]{32,}$/;

/** The JSON object on stdout of a command that succeeded and printed nothing else. */
function answerOf({ status, stdout, stderr }: Result): any {
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** The error message of a command that failed. */
function mistakeOf({ status, stdout, stderr }: Result): string {
  expect([status, stdout]).toEqual([1, '']);
  const [sentence, ...rest] = stderr.trimEnd().split('\n');
  expect(rest.filter((line) => line !== '(run with --help for usage)')).toEqual([]);
  return sentence!;
}

/** `mistakes`: the expected error message for each set of options, separated by `|`. */
async function expectMistakes(words: string[], mistakes: { [options: string]: RegExp }): Promise<void> {
  for (const [options, sentence] of Object.entries(mistakes)) {
    const args = options === '' ? [] : options.split('|');
    expect(mistakeOf(await run(...words, ...args))).toMatch(sentence);
  }
}

async function statusWith(key: string, { origin } = server): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  return (await fetch(`${origin}/v1/contact.list-contacts`, { headers })).status;
}

longIt('loads no database code for help or for usage errors', async () => {
  const tell = 'process.on("exit", () => console.log("LOADED " + Object.keys(require.cache).join("\\n")))';
  const hook = `data:text/javascript,import{createRequire}from"node:module";const require=createRequire("/");${encodeURIComponent(tell)}`;
  // The bundle has everything in one file, so this runs the individual modules. They load the same code.
  const sources = join(__dirname, '../dist/src/cli.js');
  for (const args of [['--help'], ['history', 'verify', '--help'], ['api-key', 'rotate', '--bogus']]) {
    const { stdout } = await new Program(process.execPath, ['--import', hook, sources, ...args], {}).ended;
    const [, loaded] = stdout.split('LOADED ');
    // CommonJS packages, such as commander, are included.
    expect(loaded).toContain('commander');
    expect(loaded).not.toMatch(/typeorm\/index|class-validator|ioredis/);
  }
});

describe('organization create', () => {
  it('prints the organization and its first key, which works immediately', async () => {
    const { organizationId, apiKeyId, key, ...rest } = answerOf(
      await run('organization', 'create', '--name', 'Rivers'),
    );
    expect([key, apiKeyId]).toEqual([expect.stringMatching(KEY), expect.any(String)]);
    // The name until 0.3.0, for old scripts.
    expect(rest).toEqual({ apiKey: key });
    const created = await fetch(`${server.origin}/v1/contact.create-contact`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ organizationId, email: 'ada@example.org' }),
    });
    expect(created.status).toBe(200);
  });

  it.each(
    someOf([
      ['at the end', command, ['organization', 'create', '--name', 'Clean Rivers', '--json']],
      // npm may report on stderr that it builds.
      ['in front, through npm', npmRunCli, ['--json', 'organization', 'create', '--name', 'Clean Rivers']],
    ]),
  )('prints one line with --json %s', async (_, by, args) => {
    const { status, stdout } = await by(args, deployment.environment);
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ organizationId: expect.any(String), key: expect.stringMatching(KEY) }),
    ]);
    expect(stdout).toMatch(/^\{[^\n]*\}\n$/);
  });

  longIt('exits with 1 and one sentence for each mistake', async () => {
    // The process of the command exits with that status, too.
    expect(mistakeOf(await runAlone('organization', 'create'))).toMatch(/^error: required option/);
    await expectMistakes(['organization', 'create'], {
      '': /^error: required option '--name <name>' not specified$/,
      '--name= ': /Enter 1 to 200 characters/,
      [`--name=${'x'.repeat(201)}`]: /Enter 1 to 200 characters/,
      '--name=X|--bogus': /^error: unknown option '--bogus'$/,
      '--name=X|extra': /too many arguments/,
    });
  });
});

describe('api-key create', () => {
  const inOrganization = () => ['api-key', 'create', '--organization', client.organizationId];

  longIt('prints the key, which works immediately', async () => {
    const answer = answerOf(await runAlone(...inOrganization(), '--json'));
    expect(answer).toEqual({ apiKeyId: expect.any(String), key: expect.stringMatching(KEY) });
    expect(await statusWith(answer.key)).toBe(200);
  });

  it('accepts a name, scopes and a rate limit', async () => {
    const options = ['--name', 'Website', '--scopes', 'contact:read, list:read', '--rate-limit', '2'];
    const { apiKeyId, key } = answerOf(await run(...inOrganization(), ...options));
    const { organizationId } = client;
    const [event] = await deployment.store.readStream(organizationId, apiKeyId);
    expect(event!.data).toMatchObject({
      name: 'Website',
      scopes: ['contact:read', 'list:read'],
      rateLimit: 2,
    });

    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const request = {
      method: 'POST',
      headers,
      body: JSON.stringify({ organizationId, email: 'a@example.org' }),
    };
    const refused = await fetch(`${server.origin}/v1/contact.create-contact`, request);
    expect([refused.status, refused.headers.get('ratelimit-limit')]).toEqual([403, '2']);
  });

  longIt('exits with 1 and one sentence for each mistake', async () => {
    await expectMistakes(['api-key', 'create'], {
      '': /^error: required option '--organization <id>' not specified$/,
      '--organization=x|--scopes=contact:read,contact:fly':
        /Unknown scopes: contact:fly\. Available scopes: \*, contact:read, /,
      '--organization=x|--scopes=': /Unknown/,
      '--organization=x|--rate-limit=0': /Enter 1 to 1000, or unlimited/,
      '--organization=x|--rate-limit=1001': /Enter 1 to 1000, or unlimited/,
      '--organization=x': /^No organization has this id\.$/,
      '--organization=0197a3c0-0000-7000-8000-000000000000': /^No organization has this id\.$/,
    });
  });
});

describe('api-key rotate', () => {
  const rotate = (...options: string[]) => run('api-key', 'rotate', ...options);

  it('prints a new key, which works immediately, and keeps or replaces the old one', async () => {
    const { organizationId } = client;
    const old = answerOf(await run('api-key', 'create', '--organization', organizationId));
    const overlapping = ['--api-key', old.apiKeyId, '--overlap-seconds', '3600'];
    const second = answerOf(await rotate(...overlapping));
    expect(second).toEqual({
      apiKeyId: expect.any(String),
      key: expect.stringMatching(KEY),
      replaces: old.apiKeyId,
      oldKeyEnds: expect.any(String),
    });
    expect(Date.parse(second.oldKeyEnds)).toBeGreaterThan(Date.now() + 3_000_000);
    expect(answerOf(await rotate(...overlapping))).toEqual({ ...second, key: null });

    const options = ['--organization', organizationId, '--api-key', second.key.slice(0, 12)];
    const third = answerOf(await rotate(...options));
    await eventually(async () => expect(await statusWith(second.key)).toBe(401));
    const keys = [old.key, second.key, third.key];
    expect(await Promise.all(keys.map((key) => statusWith(key)))).toEqual([200, 401, 200]);
  });

  it('keeps an unlimited key unlimited', async () => {
    const { organizationId } = client;
    const unlimited = ['--organization', organizationId, '--rate-limit', 'unlimited'];
    const old = answerOf(await run('api-key', 'create', ...unlimited));
    const { apiKeyId } = answerOf(await rotate('--api-key', old.apiKeyId));
    const [event] = await deployment.store.readStream(organizationId, apiKeyId);
    expect(event!.data).toMatchObject({ name: 'Command line', rateLimit: 'unlimited' });
  });

  longIt('exits with 1 and one sentence for each mistake', async () => {
    await expectMistakes(['api-key', 'rotate'], {
      '': /^error: required option '--api-key <key>' not specified$/,
      '--api-key=nonsense': /^No such API key exists\.$/,
      '--api-key=x|--overlap-seconds=86401': /Enter 0 to 86400 seconds/,
      '--api-key=x|--overlap-seconds=1h': /Enter 0 to 86400 seconds/,
    });
    const { organizationId } = client;
    const { apiKeyId } = answerOf(await run('api-key', 'create', '--organization', organizationId));
    answerOf(await run('api-key', 'revoke', '--api-key', apiKeyId));
    expect(mistakeOf(await rotate('--api-key', apiKeyId))).toMatch(/was revoked.*Create a new one\.$/);
  });
});

describe('api-key revoke', () => {
  it('every server soon rejects a key that is named by its id or prefix', async () => {
    const { organizationId } = client;
    const create = () => run('api-key', 'create', '--organization', organizationId);
    const [one, two] = (await Promise.all([create(), create()])).map(answerOf);
    const servers = isLong ? [server, await deployment.startServer()] : [server];
    const ask = () =>
      Promise.all(servers.flatMap((each) => [one, two].map(({ key }) => statusWith(key, each))));
    for (const status of await ask()) expect(status).toBe(200);

    const revoke = ['api-key', 'revoke', '--api-key'];
    const revoked = [
      answerOf(await run(...revoke, one.apiKeyId)),
      answerOf(await run(...revoke, two.key.slice(0, 12))),
    ];
    // The keys are in constant use, so the servers cache them. One request at a time: rejected ones use up the
    // address's rate limit.
    for (const each of servers)
      for (const { key } of [one, two])
        await eventually(async () => expect(await statusWith(key, each)).toBe(401));
    expect(revoked).toEqual([
      { apiKeyId: one.apiKeyId, endedWithIt: [] },
      { apiKeyId: two.apiKeyId, endedWithIt: [] },
    ]);

    const options = ['--organization', organizationId, '--api-key', one.apiKeyId];
    expect(answerOf(await run('api-key', 'revoke', ...options))).toEqual(revoked[0]);
  });

  it('lists the keys that were revoked with it', async () => {
    const { organizationId } = client;
    const maker = answerOf(await run('api-key', 'create', '--organization', organizationId));
    const make = async (key: string, name: string) => {
      const { body } = await new Client(server.origin, organizationId, key).post('api-key.create-api-key', {
        name,
      });
      return body.data;
    };
    const child = await make(maker.key, 'Child');
    const grandchild = await make(child.key, 'Grandchild');
    const itself = new Client(server.origin, organizationId, maker.key);
    const rotation = { apiKeyId: maker.apiKeyId, overlapSeconds: 60 };
    const { body } = await itself.post('api-key.rotate-api-key', rotation);
    expect(answerOf(await run('api-key', 'revoke', '--api-key', maker.apiKeyId))).toEqual({
      apiKeyId: maker.apiKeyId,
      endedWithIt: [
        { id: child.apiKeyId, name: 'Child' },
        { id: grandchild.apiKeyId, name: 'Grandchild' },
        { id: body.data.apiKeyId, name: 'Command line' },
      ],
    });
  });

  longIt('exits with 1 for a key that does not exist, here or in this organization', async () => {
    const made = answerOf(await run('organization', 'create', '--name', 'Other'));
    const revoke = (...args: string[]) => run('api-key', 'revoke', '--api-key', ...args);
    const { organizationId } = client;
    const answers = await Promise.all([
      revoke('nonsense'),
      revoke('adv_00000000'),
      revoke(made.key, '--organization', organizationId),
      revoke(made.apiKeyId, '--organization', 'nonsense'),
    ]);
    expect(answers.map(mistakeOf)).toEqual([
      'No such API key exists.',
      'No such API key exists.',
      'No such API key exists in this organization.',
      'No organization has this id.',
    ]);
    expect(await statusWith(made.key)).toBe(200);
  });
});

describe('user', () => {
  const inOrganization = () => ['--organization', client.organizationId];
  const names = async () =>
    (answerOf(await run('user', 'list', ...inOrganization())) as { email: string; role: string }[]).map(
      ({ email, role }) => [email, role],
    );

  it('invite prints a link that works once, without a mail server, and list shows the members', async () => {
    const invite = ['user', 'invite', ...inOrganization(), '--email', 'ada@example.org'];
    const invited = answerOf(await run(...invite));
    expect(invited).toEqual({
      invitationId: expect.any(String),
      url: expect.stringMatching(/\/dashboard\/invitations\/[\w-]+$/),
      expiresInDays: 7,
    });
    expect(await names()).toEqual([]);
    const ada = new Visitor(server.origin);
    const link = new URL(invited.url as string).pathname;
    expect((await ada.post(link)).status).toBe(303);
    expect((await new Visitor(server.origin).post(link)).status).toBe(410);
    expect(await names()).toEqual([['ada@example.org', 'OWNER']]);

    // A member gets a sign-in link instead of a second invitation.
    const again = answerOf(await run(...invite));
    expect(again).toEqual({
      memberId: expect.any(String),
      url: expect.stringMatching(/\/dashboard\/sign-in\/[\w-]+$/),
      expiresInMinutes: 15,
    });
    const elsewhere = new Visitor(server.origin);
    expect((await elsewhere.post(new URL(again.url as string).pathname)).status).toBe(303);
    expect((await elsewhere.get('/dashboard')).location).toBe(`/dashboard/${client.organizationId}`);
  });

  longIt('remove ends the session soon, but rejects the last owner', async () => {
    const eve = new Visitor(server.origin);
    const invite = ['user', 'invite', ...inOrganization(), '--email', 'eve@example.org', '--role', 'EDITOR'];
    await eve.post(new URL(answerOf(await run(...invite)).url as string).pathname);
    const home = `/dashboard/${client.organizationId}`;
    expect((await eve.get(home)).status).toBe(200);
    const remove = (email: string) => run('user', 'remove', ...inOrganization(), '--email', email);
    expect(answerOf(await remove('EVE@example.org'))).toEqual({ memberId: expect.any(String) });
    await eventually(async () => expect((await eve.get(home)).status).toBe(404));
    expect(mistakeOf(await remove('ada@example.org'))).toMatch(/must keep at least one owner/);
    expect(mistakeOf(await remove('eve@example.org'))).toMatch(/No member of this organization/);
  });

  longIt('exits with 1 and one sentence for each mistake', () =>
    expectMistakes(['user', 'invite'], {
      '': /--organization/,
      [`--organization|${client.organizationId}`]: /--email/,
      [`--organization|${client.organizationId}|--email|ada`]: /must be an email address/,
      [`--organization|${client.organizationId}|--email|a@b.org|--role|BOSS`]: /--role must be one of/,
      '--organization|nobody|--email|a@b.org': /organization/i,
    }),
  );
});

describe('listen', () => {
  let receiver: Receiver;
  afterAll(() => receiver.stop());

  it('sends events of these types after a position, signed, until it is interrupted', async () => {
    let isAway = false;
    receiver = await Receiver.start((_, response) => void response.writeHead(isAway ? 503 : 200).end());
    const online = client.at(server.origin);
    await online.post('list.create-list', { name: 'Before' });
    const options = { 'forward-to': receiver.at('hook'), organization: client.organizationId };
    const words = Object.entries({ ...options, types: 'ListCreated,ListDeleted', 'from-position': '0' });
    const args = [CLI, 'listen', ...words.flatMap(([name, value]) => [`--${name}`, value])];
    const program = new Program(process.execPath, args, deployment.environment);
    await eventually(() => expect(receiver.deliveries).toHaveLength(1));
    await online.post('post.create-post', { name: 'Other' });
    const { body } = await online.post('list.create-list', { name: 'Meanwhile' });
    await eventually(() => expect(receiver.deliveries).toHaveLength(2));
    const [, secret = ''] = /^Secret: (whsec_\S+)$/m.exec(program.stderr) ?? [];
    const { text, headers } = receiver.deliveries[1]!;
    expect(new StandardWebhook(secret).verify(text, headers as Record<string, string>)).toMatchObject({
      type: 'ListCreated',
      recordId: body.data.listId,
      organizationId: client.organizationId,
    });
    isAway = true;
    await online.delete('list.delete-list', { listId: body.data.listId });
    await eventually(() => expect(program.stdout.split('\n')).toHaveLength(4));
    program.send('SIGINT');
    const { status, stdout } = await program.ended;
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([status, lines.map(({ type, delivered }) => [type, delivered])]).toEqual([
      0,
      [
        ['ListCreated', true],
        ['ListCreated', true],
        ['ListDeleted', false],
      ],
    ]);
  });

  it('exits with 1 and one sentence for each mistake', async () => {
    // Without another organization, it would be the default.
    await deployment.organization();
    await expectMistakes(['listen'], {
      '': /--forward-to/,
      '--forward-to|localhost:4000': /must be a URL/,
      '--forward-to|http://localhost:1|--types|Nothing': /^Nothing is not an event type/,
      '--forward-to|http://localhost:1|--from-position|-1': /whole number/,
      '--forward-to|http://localhost:1': /--organization/,
      [`--forward-to|http://localhost:1|--organization|${NOBODY}`]: /No organization/,
    });
  });
});

describe('migrate', () => {
  longIt('migrates an empty database, and does nothing the second time', async () => {
    const empty = await Deployment.create();
    const { source } = empty.database;
    // Test databases start with the tables of all projections.
    const schemas = await source.query(
      `SELECT nspname AS name FROM pg_namespace WHERE nspname = 'public' OR nspname ~ '_v[0-9]+$'`,
    );
    for (const { name } of schemas) await source.query(`DROP SCHEMA ${name} CASCADE`);
    await source.query('CREATE SCHEMA public');
    for (const by of [cli, command]) {
      expect(answerOf(await by(['migrate'], empty.environment))).toEqual({ migrated: true });
    }
    expect(await source.query('SELECT FROM events')).toEqual([]);
    await empty.stop();
  });

  it('refuses to run next to instances of an incompatible version, unless forced', async () => {
    const deployment = await Deployment.create();
    const { source } = deployment.database;
    // This migration only replaces a function, so it can run again.
    await source.query(`DELETE FROM migrations WHERE name LIKE 'DoubtsReturned%'`);
    await source.query(`
      INSERT INTO serving (instance, projection, version, seen_at, release, host)
      SELECT gen_random_uuid(), 'contacts', 1, now(), '0.2.1', unnest(ARRAY['api-1', 'api-2'])`);
    // Other commands migrate, too.
    for (const args of [['migrate'], ['projections', 'status']]) {
      const { status, stderr } = await command(args, deployment.environment);
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(/not migrated to .*2 instances of 0\.2\.1 \(api-1, api-2\).*migrate --force/),
      ]);
    }
    for (const args of [['migrate', '--force'], ['migrate']]) {
      expect(answerOf(await command(args, deployment.environment))).toEqual({ migrated: true });
    }
    await deployment.stop();
  });
});

it('--help describes each command, without a database', async () => {
  const words: [string[], string[]][] = [
    [[], ['organization', 'api-key', 'contacts', 'migrate', '--json']],
    [['organization', 'create'], ['--name']],
    [
      ['api-key', 'create'],
      ['--organization', '--name', '--scopes', '--rate-limit', '"apiKeyId", "key"'],
    ],
    [
      ['api-key', 'rotate'],
      ['--api-key', '--organization', '--overlap-seconds', '"apiKeyId", "key"'],
    ],
    [
      ['api-key', 'revoke'],
      ['--api-key', '--organization'],
    ],
    [
      ['contacts', 'import'],
      [
        '<file>',
        '--organization',
        '--list',
        '--petition',
        '--on-conflict',
        '--subscribed',
        '--unknown',
        '--format',
        '"failedCount"',
        'Ctrl-C',
      ],
    ],
    [
      ['contacts', 'export'],
      ['--organization', '--out', '--format', '"contacts"'],
    ],
    [['migrate'], ['up to date']],
    [['doctor'], ['Read-only', '--json', 'status 1']],
  ];
  await Promise.all(
    words.map(async ([named, expected]) => {
      const { status, stdout } = await command([...named, '--help'], { DATABASE_URL: 'rubbish' });
      expect(status).toBe(0);
      for (const word of expected) expect(stdout).toContain(word);
    }),
  );
});

it('reports invalid configuration and database errors in one sentence, immediately', async () => {
  const { environment } = deployment;
  const PORT = 'abc';
  expect(mistakeOf(await command(['migrate'], { ...environment, PORT }))).toMatch(/^PORT must be /);
  const DATABASE_URL = 'postgres://nobody:hunter2@localhost:1/nothing';
  expect(mistakeOf(await command(['migrate'], { ...environment, DATABASE_URL }))).toMatch(
    /^The database in DATABASE_URL cannot be used: PostgreSQL accepts no connections .* Start PostgreSQL\. .*\(connect ECONNREFUSED \S+\)\.$/,
  );
  const ENCRYPTION_KEY = Buffer.alloc(32, 8).toString('base64');
  expect(mistakeOf(await command(['migrate'], { ...environment, ENCRYPTION_KEY }))).toMatch(
    /^ENCRYPTION_KEY is not /,
  );
});

it('creates no database for a command that only reads or changes one', async () => {
  const directory = await createDirectory();
  const environment = { DATA_DIR: directory.path };
  expect(
    mistakeOf(await command(['user', 'list', '--organization', client.organizationId], environment)),
  ).toBe(
    `DATABASE_URL is not set, and DATA_DIR (${directory.path}) contains no database. Set one of them as the server ` +
      'does. "npm start" or "organization create" creates a database.',
  );
  expect(await readdir(directory.path)).toEqual([]);
  await directory.remove();
});

longIt('works embedded, with and without a running server', async () => {
  const directory = await createDirectory();
  const environment = { DATA_DIR: directory.path };
  const before = answerOf(await cli(['organization', 'create', '--name', 'Before'], environment));

  const embedded = await ServerProcess.start(environment);
  await eventually(() => expect(embedded.stdout).toContain('Serving '));
  expect(await statusWith(before.key, embedded)).toBe(200);
  const options = ['--organization', before.organizationId];
  const meanwhile = answerOf(await cli(['api-key', 'create', ...options], environment));
  expect(await statusWith(meanwhile.key, embedded)).toBe(200);
  // No one else configures this PostgreSQL, so doctor reports no problem.
  const { findings } = JSON.parse((await cli(['doctor', '--json'], environment)).stdout);
  expect(findings.filter(({ check }: { check: string }) => check === 'settings')).toEqual([
    expect.objectContaining({ level: 'ok' }),
  ]);

  expect((await embedded.end('SIGTERM')).status).toBe(0);
  await directory.remove();
});
