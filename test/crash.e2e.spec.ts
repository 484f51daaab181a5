import { type Answer, type Client } from './harness.js';
import { isLong, longIt } from './length.js';
import { Deployment, eventually, inParallel, type ServerProcess, withApplicationName } from './processes.js';

let deployment: Deployment;
let client: Client;
beforeAll(async () => {
  deployment = await Deployment.create();
});
beforeEach(async () => {
  client = await deployment.organization();
});
afterAll(() => deployment.stop());

let survivor: ServerProcess | undefined;
const start = () =>
  deployment.startServer({ DATABASE_URL: withApplicationName(deployment.database.url, 'server') });
/** A server that no test kills, ready to accept the organization's key. */
async function serverThatStays(): Promise<ServerProcess> {
  survivor ??= await start();
  const by = client.at(survivor.origin);
  await eventually(async () => expect((await by.get('list.list-lists')).status).toBe(200));
  return survivor;
}

const MANY = isLong ? 1_000 : 60;
const CUT = isLong ? 600 : 120;
const AT_A_TIME = isLong ? 64 : 32;

/** Every second request has an Idempotency-Key, so that both ways to detect repeats are tested. */
function create(server: ServerProcess, n: number): Promise<Answer> {
  const body = { organizationId: client.organizationId, email: `person-${n}@example.org`, city: 'Lyon' };
  const headers: Record<string, string> = n % 2 === 0 ? {} : { 'Idempotency-Key': `create-${n}` };
  return client.at(server.origin).post('contact.create-contact', body, headers);
}

async function listIds(server: ServerProcess): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = { limit: '100', ...(cursor === null ? {} : { cursor }) };
    const { status, body } = await client.at(server.origin).get('contact.list-contacts', query);
    expect(status).toBe(200);
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.pagination.cursor;
  } while (cursor !== null);
  return ids;
}

/** Expects each of these contacts exactly once in the projection and in the log. */
async function expectExactly(ids: readonly string[], server: ServerProcess): Promise<void> {
  expect((await listIds(server)).sort()).toEqual([...ids].sort());
  const events = await deployment.database.source.query(
    `SELECT stream_id AS id FROM events WHERE type = 'ContactCreated' AND organization_id = $1`,
    [client.organizationId],
  );
  expect(events.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort());
}

describe(`kill -9 in the middle of ${MANY} creates`, () => {
  it('loses nothing that was acknowledged, and repeating every request creates each contact exactly once', async () => {
    const killed = await start();
    const acknowledged = new Map<number, string>();
    await inParallel(MANY, AT_A_TIME, async (n) => {
      const answer = await create(killed, n).catch(() => undefined);
      if (answer?.status === 200) acknowledged.set(n, answer.body.data.contactId);
      if (acknowledged.size === 0.4 * MANY) killed.send('SIGKILL');
    });
    expect((await killed.ended).signal).toBe('SIGKILL');
    expect(acknowledged.size).toBeLessThan(MANY);

    const server = await serverThatStays();
    const ids: string[] = [];
    await inParallel(MANY, AT_A_TIME, async (n) => {
      // A busy machine may return 503, after which a client repeats its request.
      await eventually(async () => {
        const { status, body } = await create(server, n);
        expect([status, body.error]).toEqual([200, undefined]);
        ids[n] = body.data.contactId;
      });
    });
    for (const [n, id] of acknowledged) expect(ids[n]).toBe(id);
    await expectExactly(ids, server);
  });

  longIt('does not affect clients that continue on the other instance', async () => {
    const [killed, other] = [await start(), await serverThatStays()];
    const ids: string[] = [];
    let throughKilled = 0;
    let lost = 0;
    await inParallel(MANY, AT_A_TIME, async (n) => {
      // Like a load balancer: if the killed instance does not respond, the other one gets the request.
      let answer = n % 4 < 2 ? await create(killed, n).catch(() => undefined) : await create(other, n);
      if (!answer) {
        lost += 1;
        answer = await create(other, n);
      } else if (n % 4 < 2 && ++throughKilled === MANY / 5) {
        killed.send('SIGKILL');
      }
      expect(answer.status).toBe(200);
      ids[n] = answer.body.data.contactId;
      const query = { contactId: ids[n]!, organizationId: client.organizationId };
      expect((await client.at(other.origin).get('contact.get-contact', query)).status).toBe(200);
    });
    expect(lost).toBeGreaterThan(0);
    await expectExactly(ids, other);
  });
});

describe('PostgreSQL connections are cut under load', () => {
  longIt(
    'requests return 503 or 200, lose nothing, create one contact each after retries, and the server recovers',
    async () => {
      const server = await serverThatStays();
      const ids: string[] = [];
      const statuses = new Map<number, number>();
      let acknowledged = 0;
      const untilAvailable = async (request: () => Promise<Answer>): Promise<Answer> => {
        for (;;) {
          const answer = await request();
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          if (answer.status !== 503) return answer;
          expect(answer.body.error.code).toBe('SERVICE_UNAVAILABLE');
        }
      };
      await inParallel(CUT, AT_A_TIME, async (n) => {
        const { body } = await untilAvailable(() => create(server, n));
        ids[n] = body.data.contactId;
        acknowledged += 1;
        // On a busy machine, connecting may take longer than the pool waits. Cutting connections twice is harmless.
        if (acknowledged % (CUT / 6) === 0) await eventually(cutConnections);
        const query = { contactId: ids[n]!, organizationId: client.organizationId };
        await untilAvailable(() => client.at(server.origin).get('contact.get-contact', query));
      });
      expect([...statuses.keys()].sort()).toEqual([200, 503]);
      await expectExactly(ids, server);

      await eventually(async () => {
        const { status, body } = await client.at(server.origin).request('GET', '/health/ready');
        expect([status, body.data.status]).toEqual([200, 'ok']);
      });
      expect(server.log.filter(({ message }) => message.startsWith('projection failed'))).toEqual([]);
    },
  );

  async function cutConnections(): Promise<void> {
    await deployment.database.source.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'server'`,
    );
  }
});
