import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseMonitor } from '#libs/operations';
import { METRICS } from '../src/server/index.js';
import { type Answer, Api, Client, DatabaseGate } from './harness.js';
import { eventually } from './processes.js';
import { longDescribe, someOf } from './length.js';

let api: Api;
let gate: DatabaseGate;
let origin: string;
const HEALTH_TOKEN = 'a-token-of-the-operator';

/** @param before and after: of each test if it stops parts of the instance. */
function hasInstance(before: typeof beforeAll, after: typeof afterAll): void {
  before(async () => {
    api = await Api.start({ instances: 0, environment: { HEALTH_TOKEN } });
    gate = await DatabaseGate.before(api.database.url);
    ({ origin } = await api.addInstance({ DATABASE_URL: gate.url }));
  });
  after(async () => {
    gate.open();
    await api.stop();
    gate.stop();
  });
}

function ask(token: string | undefined = HEALTH_TOKEN): Promise<Answer> {
  return new Client(origin, '', token).request('GET', '/health/ready');
}

async function until(good: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (good(answer)) return answer;
    await sleep(100);
  }
}

async function createContact(email: string): Promise<Answer> {
  const client = await api.organization();
  return client.post('contact.create-contact', { organizationId: client.organizationId, email });
}

describe('live and ready', () => {
  hasInstance(beforeAll, afterAll);

  it('ready returns 200 with the database, Redis and every projection', async () => {
    await createContact('ada@example.org');
    const { status, body } = await until(({ body }) =>
      body.data.projections.every(({ lag }: { lag: number }) => lag === 0),
    );
    expect(status).toBe(200);
    const { position } = body.data.projections[0];
    expect(position).toBeGreaterThan(0);
    const names = body.data.projections.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['api-keys', 'contacts']));
    expect(body).toEqual({
      data: {
        status: 'ok',
        database: 'ok',
        redis: 'not configured',
        replica: 'not configured',
        projections: names.map((name: string) => ({
          name,
          version: expect.any(Number),
          position,
          lag: 0,
          failure: null,
        })),
        sealing: null,
        selfCheck: null,
        witnesses: null,
        subscriptions: null,
      },
      object: 'health',
    });
  });

  it('ready shows projections and positions only with the token', async () => {
    const stranger = new Client(origin, '', undefined);
    const headers: Record<string, string>[] = [
      {},
      { Authorization: HEALTH_TOKEN },
      { Authorization: `Basic ${HEALTH_TOKEN}` },
    ];
    const wrong = ['x', `${HEALTH_TOKEN}x`, HEALTH_TOKEN.slice(1), (await api.organization()).key!];
    for (const given of [...headers, ...wrong.map((token) => ({ Authorization: `Bearer ${token}` }))]) {
      const { status, body } = await stranger.request('GET', '/health/ready', undefined, given);
      const data = { status: 'ok', database: 'ok', redis: 'not configured', replica: 'not configured' };
      expect([status, body]).toEqual([200, { data, object: 'health' }]);
    }
    const withoutToken = await api.addInstance({ HEALTH_TOKEN: '' });
    const { body } = await new Client(withoutToken.origin, '', HEALTH_TOKEN).request('GET', '/health/ready');
    expect(body.data).not.toHaveProperty('projections');
    expect(body.data).not.toHaveProperty('sealing');
  });

  it('ready returns 200 and degraded while a projection fails, commands continue, and it recovers automatically', async () => {
    const { source } = api.database;
    await createContact('ada@example.org');
    await source.query('ALTER TABLE contacts_v5.contacts RENAME TO hidden');
    const created = await createContact('grace@example.org');
    expect(created.status).toBe(200);

    const failing = await until(({ body }) => body.data.status === 'degraded');
    expect(failing.status).toBe(200);
    const contacts = failing.body.data.projections.find(({ name }: { name: string }) => name === 'contacts');
    expect(contacts.lag).toBeGreaterThan(0);
    expect(contacts.failure).toEqual({ position: contacts.position + contacts.lag, at: expect.any(String) });
    // The response is public, so only the log has the reason.
    expect(JSON.stringify(failing.body)).not.toMatch(/relation|exist|hidden/);

    await source.query('ALTER TABLE contacts_v5.hidden RENAME TO contacts');
    const recovered = await until(({ body }) => body.data.status === 'ok');
    for (const { lag, failure } of recovered.body.data.projections) {
      expect([lag, failure]).toEqual([0, null]);
    }
  });

  it('ready shows how far a projection is behind', async () => {
    const { source } = api.database;
    const created = await createContact('ada@example.org');
    expect(created.status).toBe(200);
    const holder = source.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const [{ position }] = await holder.query(
      `SELECT position::int FROM checkpoints WHERE projection = 'contacts' FOR UPDATE`,
    );
    const waiting = createContact('grace@example.org');
    const find = (projections: any[]) => projections.find(({ name }) => name === 'contacts');
    const behind = await until(({ body }) => find(body.data.projections).lag > 0);
    expect(find(behind.body.data.projections).position).toBe(position);
    await holder.rollbackTransaction();
    await holder.release();
    expect((await waiting).status).toBe(200);
    const after = await until(({ body }) => find(body.data.projections).lag === 0);
    expect(find(after.body.data.projections).position).toBeGreaterThan(position);
  });

  it.each(
    someOf<[string, () => void]>([
      ['is unreachable', () => gate.shut()],
      ['does not respond', () => gate.silence()],
    ]),
  )(
    'ready returns 503 while the database %s, and then recovers automatically; live and cached pages of the site return 200',
    async (_, fail) => {
      const client = await api.organization();
      const slug = `friends-${client.organizationId}`;
      expect((await client.post('organization.update-organization', { slug })).status).toBe(200);
      const page = async () => {
        const answer = await fetch(`${origin}/${slug}`);
        return [answer.status, await answer.text()];
      };
      // Without a key.
      const live = async () => {
        const answer = await fetch(`${origin}/health/live`);
        return [answer.status, await answer.json()];
      };
      const alive = [200, { data: { status: 'ok' }, object: 'health' }];
      expect(await live()).toEqual(alive);
      const before = await page();
      expect(before[0]).toBe(200);
      expect((await ask()).status).toBe(200);
      fail();
      const { status, body, headers } = await until((answer) => answer.status !== 200);
      expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(body.error).toEqual({
        code: 'SERVICE_UNAVAILABLE',
        reason: 'DATABASE_UNREACHABLE',
        message: 'The database does not respond.',
        docs: `${origin}/errors/SERVICE_UNAVAILABLE#DATABASE_UNREACHABLE`,
        requestId: headers.get('x-request-id'),
      });
      expect(await live()).toEqual(alive);
      expect(await page()).toEqual(before);
      gate.open();
      await until(({ status, body }) => status === 200 && body.data.status === 'ok');
    },
  );
});

longDescribe('with an instance of its own', () => {
  hasInstance(beforeEach, afterEach);

  it('ready stays 200 and degraded during an incident of a second, and the metric agrees', async () => {
    await until(({ status }) => status === 200);
    const watch = api.instances[0]!.app.get(DatabaseMonitor);
    gate.shut();
    await eventually(() => expect(watch.problem).toBeDefined());
    const isReady = METRICS.find(({ name }) => name === 'advocacy_ready')!;
    const metric = () => isReady.read({ watch } as never, { answered: false })[0]!.value;
    expect([(await ask()).status, metric()]).toEqual([200, 1]);
    await until(({ status }) => status === 503);
    expect(metric()).toBe(0);
    gate.open();
    await until(({ status }) => status === 200);
    expect(metric()).toBe(1);
  });

  it('ready returns 200 and degraded while an organization’s history does not match its seals', async () => {
    const { source } = api.database;
    const { sealer, store } = api.instances[0]!.runtime;
    sealer.start(store.pulse);
    try {
      const { organizationId } = await api.organization();
      await sealer.seal();
      const sealed = await until(({ body }) => body.data.sealing?.lag === 0);
      expect(sealed.body.data).toMatchObject({
        status: 'ok',
        sealing: { position: expect.any(Number), refused: 0 },
      });
      const change = (size: string) =>
        source.query(`UPDATE seals SET size = size ${size} WHERE organization_id = $1`, [organizationId]);
      await change('+ 1');
      await source.query('UPDATE signed_notes SET look_at = clock_timestamp()');
      const refused = await until(({ body }) => body.data.status === 'degraded');
      expect([refused.status, refused.body.data.sealing.refused]).toEqual([200, 1]);
      await change('- 1');
      await source.query('UPDATE signed_notes SET look_at = clock_timestamp()');
      await until(({ body }) => body.data.status === 'ok');
    } finally {
      await sealer.stop();
    }
  });

  it('checks the database at most once per second for any number of requests, even while it fails', async () => {
    const { runtime } = api.instances[0]!;
    let checks = 0;
    const status = runtime.projections.status.bind(runtime.projections);
    await runtime.projections.stop();
    runtime.projections.status = () => {
      checks += 1;
      return status();
    };
    /** Sends parallel requests until the database was checked this many more times. */
    const flood = async (times: number) => {
      const before = checks;
      const started = performance.now();
      const statuses = new Set<number>();
      while (checks - before < times) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
        for (const { status } of answers) statuses.add(status);
        // The pause only saves CPU: a check per request would still exceed the limit many times.
        await sleep(100);
      }
      // A busy machine checks less often.
      const seconds = (performance.now() - started) / 1_000;
      expect(checks - before).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
      return [...statuses];
    };
    const probes = jest.spyOn(runtime.store.appends, 'probe');
    expect(await flood(1)).toEqual([200]);
    gate.shut();
    // Waits until the monitor also probes appends.
    await eventually(() => expect(probes).toHaveBeenCalled());
    await until(({ status }) => status === 503);
    expect(await flood(2)).toEqual([503]);
  });
});
