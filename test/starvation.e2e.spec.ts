import { Logger } from '@nestjs/common';
import { type QueryRunner } from 'typeorm';
import { type Answer, Api, type Client } from './harness.js';
import { longIt } from './length.js';

/** The pool size of the tested instance. */
const POOL = 5;

let api: Api;
let greedy: Client;
let innocent: Client;
beforeAll(async () => {
  api = await Api.start({ environment: { DATABASE_POOL_SIZE: String(POOL) } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  [greedy, innocent] = [(await api.organization()).withoutRetries(), await api.organization()];
});

/** Locks a table meanwhile, so that its readers wait. */
async function holding<T>(table: string, work: () => Promise<T>): Promise<T> {
  const { source } = await api.database.another();
  const [row] = await source.query('SELECT version FROM checkpoints WHERE projection = $1', [table]);
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await runner.query(`LOCK TABLE ${table}_v${row.version}.${table} IN ACCESS EXCLUSIVE MODE`);
  try {
    return await work();
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

const outcome = ({ status, body }: Answer) => [status, body.error?.reason ?? null];

longIt(
  'slow queries of one organization use only its share of connections, and requests of others get responses',
  async () => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    const { organizationId } = innocent;
    const { data } = (await innocent.post('petition.create-petition', { name: 'Save the river' })).body;
    await innocent.post('petition.publish-petition', data);
    const answers = await holding('posts', async () => {
      let isOver = false;
      const ask = () =>
        Promise.all(Array.from({ length: 150 }, () => greedy.get('post.list-posts', { q: 'river' })));
      // Again and again, because a busy machine may need longer for the others than these wait.
      const slow = (async () => {
        const all = await ask();
        while (!isOver) all.push(...(await ask()));
        return all;
      })();
      try {
        for (let round = 0; round < 5; round += 1) {
          const email = `person-${round}@example.org`;
          const others = await Promise.all([
            innocent.post('petition.add-signature', { ...data, contact: { email } }),
            innocent.get('contact.list-contacts', { email }),
            innocent.get('contact.list-contacts', { q: 'person' }),
            innocent.get('petition.get-petition', data),
            innocent.get('history.list-events', { type: 'PetitionSigned' }),
            innocent.post('contact.create-contact', { organizationId, email: `other-${round}@example.org` }),
            greedy.get('list.get-list', { listId: 'none' }),
          ]);
          expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 404]);
        }
      } finally {
        isOver = true;
      }
      return slow;
    });
    const reasons = answers.map((answer) => outcome(answer).join(' '));
    expect(new Set(reasons)).toEqual(new Set(['503 TIMED_OUT', '503 OVERLOADED']));
    for (const { headers } of answers) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    // No errors with stacks, because one key could fill the log with them.
    expect(logged).not.toHaveBeenCalled();
    const timedOut = answers.find((answer) => outcome(answer)[1] === 'TIMED_OUT')!;
    expect(timedOut.body.error.message).toMatch(/Narrow the filters/);
    // The connections keep neither the limit nor the failed transaction.
    const after = await Promise.all(Array.from({ length: 2 * POOL }, () => greedy.get('post.list-posts')));
    expect(after.map(({ status }) => status)).toEqual(after.map(() => 200));
    const settings = await Promise.all(
      Array.from({ length: POOL }, () =>
        api.instances[0]!.runtime.source.query(
          `SELECT pg_sleep(0.05), current_setting('statement_timeout') AS it`,
        ),
      ),
    );
    expect(settings.map(([{ it }]) => it)).toEqual(settings.map(() => '0'));
  },
);

it('pages without filters and single lookups do not exceed the organization’s share either', async () => {
  const { answers, pages } = await holding('contacts', async () => {
    const pages = Array.from({ length: 60 }, (_, n) =>
      greedy.get('contact.list-contacts', n % 2 === 0 ? {} : { email: 'mary@example.org' }),
    );
    const answers: Answer[] = [];
    for (let round = 0; round < 5; round += 1) {
      answers.push(
        await innocent.get('post.list-posts'),
        await innocent.get('list.list-lists', { q: 'river' }),
      );
    }
    return { answers, pages };
  });
  expect(answers.map(outcome)).toEqual(answers.map(() => [200, null]));
  // On a busy machine, some wait too long for a connection or for the table.
  for (const page of await Promise.all(pages))
    expect([null, 'OVERLOADED', 'TIMED_OUT']).toContain(outcome(page)[1]);
});

longIt('an export that times out returns 503', async () => {
  await holding('contacts', async () => {
    const answer = greedy.get('contact.export-contacts');
    const waiting = innocent.get('post.list-posts');
    expect((await waiting).status).toBe(200);
    expect(outcome(await answer)).toEqual([503, 'TIMED_OUT']);
  });
});

it('keys and health are checked while every other connection is in use', async () => {
  const { source } = api.instances[0]!.runtime;
  const taken: QueryRunner[] = [];
  for (let n = 0; n < POOL; n += 1) {
    const runner = source.createQueryRunner();
    await runner.connect();
    taken.push(runner);
  }
  const unknown = await innocent.get('contact.list-contacts', { nonsense: '1' });
  expect(unknown.status).toBe(400);
  const wrong = await innocent.get(
    'contact.list-contacts',
    {},
    { Authorization: 'Bearer adv_wrongkey_nothing' },
  );
  expect(wrong.status).toBe(401);
  const health = await fetch(`${api.origin}/health/ready`);
  expect(health.status).toBe(200);
  const first = innocent.get('contact.list-contacts');
  await Promise.all(taken.map((runner) => runner.release()));
  expect((await first).status).toBe(200);
});
