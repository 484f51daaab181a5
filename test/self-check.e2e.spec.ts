import { v7 as uuidv7 } from 'uuid';
import { Client } from './harness.js';
import { Deployment, eventually, type ServerProcess } from './processes.js';
import { command } from './commands.js';
import { isLong, longIt } from './length.js';
import { findAlteredSlugs } from '../src/organizations/index.js';
import { findAlteredTimers, findCursorsBeyondEnd } from '../src/self-check/index.js';

const HEALTH_TOKEN = 'a-token-of-the-operator';
/** Seconds. The check is slow by design, and other tests use the CPU. */
const TIMEOUT_SECONDS = 300;

let own: Deployment;
let servers: ServerProcess[];
let client: Client;
let other: Client;
beforeAll(async () => {
  own = await Deployment.create();
  [client, other] = [await own.organization(), await own.organization()];
  // Also the interval at which due checks are polled. With one second, both instances would check continuously.
  const environment = { HEALTH_TOKEN, METRICS_PORT: '0', VERIFY_EVERY: '4' };
  servers = await Promise.all((isLong ? [1, 2] : [1]).map(() => own.startServer(environment)));
  client = client.at(servers[0]!.origin);
  other = other.at(servers.at(-1)!.origin);
});
afterAll(() => own.stop());

const sql = (statement: string, parameters: unknown[] = []) =>
  own.database.source.query(statement, parameters);
const healthOf = ({ origin }: ServerProcess) =>
  new Client(origin, '', HEALTH_TOKEN).request('GET', '/health/ready').then(({ body }) => body.data);
const logged = () =>
  servers.flatMap(({ log }) => log.filter(({ message }) => String(message).startsWith('self-check:')));

/** Waits until every subject is checked by a check that begins after this call. */
async function checkAll(dueAt = 'clock_timestamp()'): Promise<void> {
  const [{ now }] = await sql('SELECT clock_timestamp() AS now');
  await eventually(async () => {
    expect(await sql('SELECT FROM self_checks WHERE begun_at < $1', [now])).toEqual([]);
  }, TIMEOUT_SECONDS);
  await sql(`UPDATE self_checks SET checked_at = NULL, due_at = ${dueAt}`);
  await eventually(async () => {
    expect(await sql('SELECT subject FROM self_checks WHERE checked_at IS NULL')).toEqual([]);
  }, TIMEOUT_SECONDS);
}

/** Waits until every instance reports this many findings. */
async function untilFound(findings: number): Promise<void> {
  for (const server of servers) {
    await eventually(async () => {
      const { selfCheck } = await healthOf(server);
      expect(selfCheck).toMatchObject({ findings });
    }, TIMEOUT_SECONDS);
  }
}

it('reports no finding for intact data, whatever happens during the check', async () => {
  const { organizationId } = client;
  const { petitionId } = (await client.post('petition.create-petition', { name: 'River' })).body.data;
  await client.post('petition.publish-petition', { petitionId });
  const contactIds: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const contact = { organizationId, email: `${uuidv7()}@example.org`, firstName: 'Ada' };
    contactIds.push((await client.post('contact.create-contact', contact)).body.data.contactId);
    await client.post('petition.add-signature', { petitionId, contactId: contactIds[n] });
  }
  await client.delete('contact.delete-contact', { contactId: contactIds[0] });
  await other.post('list.create-list', { name: 'Friends' });
  await eventually(async () => {
    const [{ histories }] = await sql(
      `SELECT count(*)::int AS histories FROM self_checks WHERE kind = 'history'`,
    );
    // One for each organization, and one for the log of all. The register follows after a minute.
    expect(histories).toBeGreaterThanOrEqual(3);
  });
  await checkAll();
  await untilFound(0);
  expect(logged()).toEqual([]);
  expect((await healthOf(servers[0]!)).status).toBe('ok');
  // An instance reports the state of its last poll.
  await eventually(async () => {
    const [{ subjects }] = await sql('SELECT count(*)::int AS subjects FROM self_checks');
    expect((await healthOf(servers.at(-1)!)).selfCheck).toEqual({
      ...{ findings: 0, subjects },
      current: expect.any(Number),
    });
  });
});

longIt('reports manual changes once on every instance, and their repair once', async () => {
  const [{ schema }] = await sql(
    `SELECT nspname AS schema FROM pg_namespace WHERE nspname ~ '^contacts_v\\d+$' ORDER BY 1 DESC LIMIT 1`,
  );
  const { organizationId } = client;
  await sql(`UPDATE ${schema}.contacts SET city = 'Nowhere' WHERE organization_id = $1`, [organizationId]);
  const [{ position, data }] = await sql(
    `SELECT position, data FROM events WHERE organization_id = $1 AND type = 'PetitionCreated'`,
    [organizationId],
  );
  const set = (changed: object) =>
    sql(`ALTER TABLE events DISABLE TRIGGER events_are_append_only; GRANT UPDATE ON events TO CURRENT_USER;
         UPDATE events SET data = '${JSON.stringify(changed)}' WHERE position = ${position};
         ALTER TABLE events ENABLE TRIGGER events_are_append_only`);
  // The projection still has the original value.
  await set({ ...data, goal: 7 });

  // Someone who alters other tables can also alter the schedule of the checks.
  await checkAll(`'2100-01-01', begun_at = '2100-01-01'`);
  await untilFound(3);
  // The findings are not logged again.
  await checkAll();
  const lines = logged();
  const about = (subject: string | RegExp) => lines.filter((line) => String(line.subject).match(subject));
  expect(about(/^contacts /)).toEqual([
    expect.objectContaining({
      level: 'error',
      message: 'self-check: stored data does not match',
      kind: 'read model',
      finding: expect.stringMatching(
        /^The projection contacts differs from its events: contacts .* in city, and 3 more rows\.$/,
      ),
    }),
  ]);
  expect(about(organizationId)).toEqual([
    expect.objectContaining({
      level: 'error',
      kind: 'history',
      finding: expect.stringMatching(
        new RegExp(
          `^The history of organization ${organizationId} does not match what was sealed: .*${position}`,
        ),
      ),
    }),
  ]);
  expect(about(/^petitions /)).toHaveLength(1);
  expect(lines).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toContain('Nowhere');

  expect((await healthOf(servers[1]!)).status).toBe('degraded');
  const { metricsPort } = servers[1]!.log.find(({ message }) => message === 'listening')!;
  const scraped = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(scraped).toMatch(/\nadvocacy_self_check_findings 3\n/);
  expect(scraped).toMatch(/\nadvocacy_self_check_overdue \d+\n/);
  const status = await command(['--json', 'history', 'status'], own.environment);
  expect(status.status).toBe(1);
  expect(JSON.parse(status.stdout).selfCheck.findings).toEqual(
    expect.arrayContaining([expect.objectContaining({ kind: 'history', subject: organizationId })]),
  );
  const doctor = await command(['doctor'], own.environment);
  expect(doctor.stdout.replace(/\s+/g, ' ')).toContain('The projection contacts differs from its events');

  await set(data);
  // A rebuild is rejected while the check runs.
  await eventually(async () => {
    const rebuilt = await command(['projections', 'rebuild', 'contacts'], own.environment);
    expect(rebuilt.status).toBe(0);
  });
  await checkAll();
  await untilFound(0);
  expect(logged().filter(({ message }) => message === 'self-check: the finding is resolved').length).toBe(
    lines.length,
  );
  expect((await healthOf(servers[0]!)).status).toBe('ok');
});

longIt(
  'reports a person’s key that was altered, and names the event that it no longer decrypts',
  async () => {
    const { organizationId } = client;
    const email = 'altered@example.org';
    const { contactId } = (await client.post('contact.create-contact', { organizationId, email })).body.data;
    const ofContact = [organizationId, contactId];
    const flip = `UPDATE subject_keys SET wrapped_key = set_byte(wrapped_key, 20, 255 - get_byte(wrapped_key, 20))
    WHERE organization_id = $1 AND subject_id = $2`;
    const [{ position }] = await sql(
      'SELECT position FROM events WHERE organization_id = $1 AND stream_id = $2',
      ofContact,
    );
    await sql(flip, ofContact);
    try {
      await checkAll();
      await untilFound(1);
      const [{ finding }] = await sql('SELECT finding FROM self_checks WHERE finding IS NOT NULL');
      expect(finding).toMatch(
        new RegExp(
          `^The projection contacts cannot be compared with all of its events\\. The personal data at position ${position} of ` +
            `organization ${organizationId} cannot be decrypted: [^.]+\\.$`,
        ),
      );
      // Only this event is skipped. All others, also those of other organizations, are in the new tables.
      await eventually(async () => {
        const rebuilt = await command(['--json', 'projections', 'rebuild', 'contacts'], own.environment);
        expect([rebuilt.status, JSON.parse(rebuilt.stdout)]).toEqual([
          1,
          { rebuilt: 'contacts', skipped: 1 },
        ]);
        expect(rebuilt.stderr).toContain(
          `Skipped: The personal data at position ${position} of organization`,
        );
      });
      const { body } = await client.get('contact.list-contacts', {});
      expect(body.data.length).toBeGreaterThan(0);
      expect(body.data.map(({ id }: { id: string }) => id)).not.toContain(contactId);
    } finally {
      await sql(flip, ofContact);
    }
    await eventually(async () => {
      const rebuilt = await command(['projections', 'rebuild', 'contacts'], own.environment);
      expect(rebuilt.status).toBe(0);
    });
    await checkAll();
    await untilFound(0);
  },
);

longIt('reports the cursor of a webhook beyond the history', async () => {
  const webhook = { url: 'https://example.org/hook', eventTypes: ['ContactCreated'] };
  const { webhookId } = (await client.post('webhook.create-webhook', webhook)).body.data;
  const move = (position: string) =>
    sql(`UPDATE webhook_cursors SET position = ${position} WHERE webhook_id = $1`, [webhookId]);
  // A subscription creates the cursor.
  await eventually(async () => expect((await move('last_position() + 1000'))[1]).toBe(1));
  await checkAll();
  await untilFound(1);
  const [{ finding }] = await sql('SELECT finding FROM self_checks WHERE finding IS NOT NULL');
  expect(finding).toBe(
    `The cursor of webhook ${webhookId} of organization ${client.organizationId} is beyond the history.`,
  );
  await move('last_position()');
  await checkAll();
  await untilFound(0);
});

/** What the comparison finds after these statements, which are rolled back. */
async function foundAfter(
  statements: string[],
  find: (sql: Pick<typeof own.database.source.manager, 'query'>) => Promise<string | undefined>,
): Promise<string | undefined> {
  const runner = own.database.source.createQueryRunner();
  await runner.startTransaction();
  try {
    for (const statement of statements) await runner.query(statement);
    return await find(runner.manager);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

it.each([
  ['subscriptions', /^The cursor of the subscription \S+ is/],
  ['checkpoints', /^The cursor of the projection \S+ \d+ is/],
  ['webhook_news', /^The cursor of all webhooks is/],
  ['sealing', /^The cursor of sealing is/],
])('finds a cursor in %s beyond the history', async (table, finding) => {
  const forward = [`UPDATE ${table} SET position = last_position() + 1000`];
  expect(await foundAfter([], findCursorsBeyondEnd)).toBeUndefined();
  expect(await foundAfter(forward, findCursorsBeyondEnd)).toMatch(finding);
});

it('finds a slug that leads to another organization', async () => {
  const slug = `s${uuidv7()}`;
  expect((await client.post('organization.update-organization', { slug })).status).toBe(200);
  await eventually(async () => {
    const moved = [`UPDATE organization_slugs SET organization_id = '${other.organizationId}'`];
    expect(await foundAfter(moved, findAlteredSlugs)).toBe(
      `The slug ${slug} of organization ${client.organizationId} does not lead to it.`,
    );
  });
  expect(await foundAfter([], findAlteredSlugs)).toBeUndefined();
});

it('finds timers that were moved or deleted', async () => {
  const closesAt = '2100-01-01T00:00:00.000Z';
  const { petitionId } = (await client.post('petition.create-petition', { name: 'Dam', closesAt })).body.data;
  await client.post('petition.publish-petition', { petitionId });
  const { postId } = (await client.post('post.create-post', { name: 'Dam', publishAt: closesAt })).body.data;
  const { broadcastId } = (
    await client.post('broadcast.create-broadcast', { name: 'May', subject: 'Dam', content: 'Hello' })
  ).body.data;
  const id = [petitionId, postId].map((one) => `'${one}'`).join();
  await eventually(async () => {
    expect(await sql(`SELECT FROM timers WHERE id IN (${id})`)).toHaveLength(2);
  });
  // Timers of new records may not be set yet.
  const schemas = await sql(
    `SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^(petitions|posts|broadcasts)_v'`,
  );
  const [ofPetitions, ofPosts, ofBroadcasts] = ['petitions', 'posts', 'broadcasts'].map((name) => {
    const { name: schema } = schemas.find((one: { name: string }) => one.name.startsWith(name));
    return `${schema}.${name}`;
  });
  const older = [ofPetitions, ofPosts].map(
    (table) => `UPDATE ${table} SET updated_at = clock_timestamp() - interval '2 hours'`,
  );
  // Scheduling needs a sender and recipients.
  const scheduled = `UPDATE ${ofBroadcasts} SET status = 'SCHEDULED', updated_at = clock_timestamp() - interval '2 hours',
    state = state || '{"sendAt": "${closesAt}"}' WHERE id = '${broadcastId}'`;
  const whose = `of organization ${client.organizationId} does not have the time in the history.`;
  const find = (...statements: string[]) => foundAfter([...older, ...statements], findAlteredTimers);
  expect(await find()).toBeUndefined();
  const set = (assignment: string, one: string) => `UPDATE timers SET ${assignment} WHERE id = '${one}'`;
  const closes = `The timer that closes petition ${petitionId} ${whose}`;
  expect(await find(set(`due_at = due_at + interval '1 s'`, petitionId))).toBe(closes);
  expect(await find(set('next_at = clock_timestamp()', petitionId))).toBe(closes);
  expect(await find(set('next_at = NULL', petitionId))).toBe(closes);
  expect(await find(`DELETE FROM timers WHERE id = '${postId}'`)).toBe(
    `The timer that publishes post ${postId} ${whose}`,
  );
  expect(await find(scheduled)).toBe(`The timer that starts broadcast ${broadcastId} ${whose}`);
});

longIt('checks every subject itself, even if someone keeps the table from ever being due', async () => {
  const hold = `UPDATE self_checks SET begun_at = clock_timestamp(), due_at = clock_timestamp() + interval '3 s'`;
  await sql(hold);
  await sql('UPDATE self_checks SET checked_at = NULL');
  await eventually(async () => {
    await sql(hold);
    expect(await sql('SELECT subject FROM self_checks WHERE checked_at IS NULL')).toEqual([]);
  }, TIMEOUT_SECONDS);
  await sql('UPDATE self_checks SET begun_at = NULL, due_at = clock_timestamp()');
});

longIt(
  'reports an organization whose seals were deleted, although all remaining data is intact',
  async () => {
    const { organizationId } = other;
    for (const table of ['seals', 'seal_tiles', 'signed_notes']) {
      await sql(`DELETE FROM ${table} WHERE organization_id = $1`, [organizationId]);
    }
    await checkAll();
    await untilFound(1);
    const status = await command(['--json', 'history', 'status'], own.environment);
    const finding = `The log of all organizations does not match what was signed. Organization ${organizationId}: It has no seals, but the log has a`;
    expect(JSON.parse(status.stdout).selfCheck.findings).toEqual([
      expect.objectContaining({ kind: 'history', subject: 'all', finding: expect.stringContaining(finding) }),
    ]);
  },
);
