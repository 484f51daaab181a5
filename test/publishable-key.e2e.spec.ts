import { type Challenge } from 'altcha-lib/v1/types';
import { HAS_KEY_FOR } from '../src/auth/index.js';
import { operations } from '../src/modules.js';
import { operationOf, scopeOf } from '#libs/rpc';
import { Client, NOBODY } from './harness.js';
import { isLong } from './length.js';
import { call, type PetitionPage, proofOfWork, Public, randomAddress } from './petition-page.js';
import { eventually } from './processes.js';

const ORIGIN = 'https://www.example.org';
const OTHER = 'https://evil.example';
const SIGN = 'petition.request-signature';
const SUBMIT = 'form.submit-form';
const BOTS = isLong ? 10_000 : 40;
const HONEST = isLong ? 200 : 5;

let people: Public;
let page: PetitionPage;
const CONSENT = 'Clean Rivers may write to me';

beforeAll(async () => {
  people = await Public.start({ instances: 2, environment: { CORS_ORIGINS: 'https://tools.example.org' } });
});
afterAll(() => people.stop());
beforeEach(async () => {
  page = await people.petition({
    form: {
      fields: [{ field: 'firstName', required: true }, { field: 'zip' }],
      consent: { text: CONSENT, required: false },
    },
  });
});

type Key = { publishableKeyId: string; visitor: Client };
async function publish(origins = [ORIGIN], whose = page.client): Promise<Key> {
  const { publishableKeyId } = await call(whose, 'publishable-key.create-publishable-key', {
    name: 'Website',
    origins,
  });
  const { data } = (await whose.get('publishable-key.get-publishable-key', { publishableKeyId })).body;
  expect(data).toMatchObject({ origins, key: expect.stringMatching(/^adv_pub_[\w-]+$/) });
  return { publishableKeyId, visitor: new Client(whose.origin, whose.organizationId, data.key as string) };
}
const from = (origin?: string, address = randomAddress()) => ({
  'X-Forwarded-For': address,
  ...(origin === undefined ? {} : { Origin: origin }),
});
const ada = (more: object = {}) => ({
  petitionId: page.petitionId,
  contact: { email: 'ada@example.org', firstName: 'Ada' },
  ...more,
});
async function counts(): Promise<[number, number]> {
  const { data } = (await page.client.get('petition.get-petition', { petitionId: page.petitionId })).body;
  return [data.signatures, data.pendingSignatures];
}
const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');
const preflight = (operation: string, origin?: string, instance = 0) =>
  fetch(`${people.api.instances[instance]!.origin}/v1/${operation}`, {
    method: 'OPTIONS',
    headers: { ...from(origin), 'Access-Control-Request-Method': 'POST' },
  });

it('signs like the page: pending until confirmed by email, then counted, with the consent that the confirming page showed', async () => {
  const { visitor } = await publish();
  const fields = ada({ subscribe: true, source: 'home' });
  const answered = await visitor.post(SIGN, fields, from(ORIGIN));
  expect([answered.status, answered.body]).toEqual([
    200,
    { data: { petitionId: page.petitionId, confirmation: 'EMAIL' }, object: 'signature-request' },
  ]);
  expect([allowed(answered), answered.headers.get('vary'), await counts()]).toEqual([
    ORIGIN,
    'Origin',
    [0, 1],
  ]);
  const link = await people.linkTo('ada@example.org');
  expect((await people.get(link)).text).toContain(CONSENT);
  await people.post(link, {});
  expect(await counts()).toEqual([1, 0]);
  const [{ contactId, source }] = (
    await page.client.get('petition.list-signatures', { petitionId: page.petitionId })
  ).body.data;
  expect(source).toBe('home');
  const [consent] = (await page.client.get('contact.list-consents', { contactId })).body.data;
  expect(consent).toMatchObject({ given: true, text: CONSENT, source: ORIGIN });
  // The response is the same whether they have signed or not.
  expect((await visitor.post(SIGN, fields, from(ORIGIN))).body).toEqual(answered.body);
});

it('submits a form like its page, with custom fields and tags', async () => {
  const { client } = page;
  const { visitor } = await publish();
  const { tagId } = await call(client, 'tag.create-tag', { name: 'web' });
  const { fieldId } = await call(client, 'field.create-field', { name: 'Shoe size', type: 'NUMBER' });
  const { key } = (await client.get('field.get-field', { fieldId })).body.data;
  const { formId } = await call(client, 'form.create-form', {
    ...{ name: 'News', tagIds: [tagId], fields: [{ field: key, required: true }] },
  });
  const email = 'grace@example.org';
  const wrong = await visitor.post(
    SUBMIT,
    { formId, contact: { email, customFields: { [key]: 'big' } } },
    from(ORIGIN),
  );
  expect([
    wrong.status,
    wrong.body.error.issues.map(({ path }: { path: string }) => path).toSorted(),
  ]).toEqual([400, [`contact.customFields.${key}`, 'subscribe']]);
  const contact = { email, customFields: { [key]: 42 } };
  const { status, body } = await visitor.post(SUBMIT, { formId, contact, subscribe: true }, from(ORIGIN));
  expect([status, body.data]).toEqual([200, { formId, confirmation: 'EMAIL' }]);
  await people.post(await people.linkTo(email), {});
  const [found] = (await client.get('contact.list-contacts', { tagId })).body.data;
  expect(found).toMatchObject({ email, subscribed: true, customFields: { [key]: 42 } });
});

it.each([
  ['another website', OTHER],
  ['a subdomain', 'https://a.www.example.org'],
  ['a longer name', `${ORIGIN}.evil.example`],
  ['another port', `${ORIGIN}:8443`],
  ['http', 'http://www.example.org'],
  ['another case', 'https://WWW.example.org'],
  ['null', 'null'],
  ['two origins', `${ORIGIN}, ${OTHER}`],
  ['no Origin header', undefined],
])('is rejected from %s, and no script can read the response', async (_, origin) => {
  const { visitor } = await publish();
  const answered = await visitor.post(SIGN, ada(), from(origin));
  expect([answered.status, answered.body.error.reason, allowed(answered), await counts()]).toEqual([
    401,
    'KEY_ORIGIN',
    null,
    [0, 0],
  ]);
});

it('is rejected by every other operation, from its own website too', async () => {
  const { visitor } = await publish();
  const others = operations
    .map((input) => operationOf(input)!)
    .filter(({ name }) => ![SIGN, SUBMIT].includes(name));
  expect(others.length).toBeGreaterThan(80);
  for (const operation of others) {
    const { method, name } = operation;
    const body = method === 'GET' ? undefined : '{}';
    const { status, body: answer } = await visitor.request(method, `/v1/${name}`, body, from(ORIGIN));
    expect([name, status, answer.error.message]).toEqual([
      name,
      403,
      expect.stringContaining(scopeOf(operation)),
    ]);
  }
});

it('finds nothing of other organizations, no slugs, drafts or deleted forms', async () => {
  const { visitor } = await publish();
  const other = await people.petition();
  const [, theirs] = /petitions\/(.*)$/.exec(other.path)!;
  const [, ours] = /petitions\/(.*)$/.exec(page.path)!;
  const { petitionId: draft } = await call(page.client, 'petition.create-petition', { name: 'Draft' });
  for (const petitionId of [other.petitionId, theirs, ours, draft, NOBODY, '../x', '']) {
    const { status } = await visitor.post(SIGN, ada({ petitionId }), from(ORIGIN));
    expect([petitionId, status]).toEqual([petitionId, petitionId === '' ? 400 : 404]);
  }
  const organizationId = other.client.organizationId;
  const foreign = await visitor.post(SIGN, ada({ organizationId }), from(ORIGIN));
  expect([foreign.status, await counts()]).toEqual([403, [0, 0]]);
  const { formId } = await call(other.client, 'form.create-form', { name: 'News' });
  const fields = { formId, contact: { email: 'ada@example.org' }, subscribe: true };
  expect((await visitor.post(SUBMIT, fields, from(ORIGIN))).status).toBe(404);
});

it('answers preflights for the websites of keys only, without a key and without counting', async () => {
  const key = await publish();
  for (const operation of [SIGN, SUBMIT]) {
    const asked = await preflight(operation, ORIGIN);
    expect([asked.status, allowed(asked), asked.headers.get('access-control-allow-methods')]).toEqual([
      204,
      ORIGIN,
      'POST',
    ]);
    expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization');
  }
  // Thirty times the limit of an address.
  const headers = { ...from(ORIGIN, '10.9.9.9'), 'Access-Control-Request-Method': 'POST' };
  const many = await Promise.all(
    Array.from({ length: 300 }, () =>
      fetch(`${page.client.origin}/v1/${SIGN}`, { method: 'OPTIONS', headers }),
    ),
  );
  expect(new Set(many.map(({ status }) => status))).toEqual(new Set([204]));
  for (const origin of [OTHER, 'null', 'x'.repeat(5_000)])
    expect(allowed(await preflight(SIGN, origin))).toBeNull();
  expect(allowed(await preflight('contact.list-contacts', ORIGIN))).toBeNull();
  for (const name of ['contact.fly', '..%2f..', '%00'])
    expect((await preflight(name, ORIGIN)).status).not.toBe(204);
  expect((await preflight(SIGN)).status).toBe(405);
  await page.client.delete('publishable-key.revoke-publishable-key', {
    publishableKeyId: key.publishableKeyId,
  });
});

it('moves to other websites and ends within a second on every instance, while people sign', async () => {
  const { visitor, publishableKeyId } = await publish();
  let n = 0;
  const reasons = new Set<string | undefined>();
  const sign = async () => {
    n += 1;
    const contact = { email: `p${n}@example.org`, firstName: 'P' };
    const at = visitor.at(people.api.instances[n % 2]!.origin);
    const { body } = await at.post(SIGN, ada({ contact }), from(ORIGIN));
    reasons.add(body.error?.reason);
    return body.error?.reason as string | undefined;
  };
  const untilOnly = (reason: string | undefined) =>
    eventually(async () =>
      expect([await sign(), await sign(), await sign(), await sign()]).toEqual(Array(4).fill(reason)),
    );
  await untilOnly(undefined);
  await call(page.client, 'publishable-key.update-publishable-key', { publishableKeyId, origins: [OTHER] });
  await untilOnly('KEY_ORIGIN');
  await call(page.client, 'publishable-key.update-publishable-key', { publishableKeyId, origins: [ORIGIN] });
  await untilOnly(undefined);
  await page.client.delete('publishable-key.revoke-publishable-key', { publishableKeyId });
  await untilOnly('KEY_INVALID');
  const before = await counts();
  expect([await sign(), await counts(), reasons.size]).toEqual(['KEY_INVALID', before, 3]);
});

it('rejects invented and altered keys without a query', async () => {
  const { visitor } = await publish();
  const altered = visitor.key!.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
  for (const key of ['adv_pub_', 'adv_pub_x', altered, `${visitor.key}A`, `adv_pub_${'A'.repeat(58)}`]) {
    const { status, body } = await new Client(visitor.origin, '', key).post(SIGN, ada(), from(ORIGIN));
    expect([key, status, body.error.reason]).toEqual([key, 401, 'KEY_INVALID']);
  }
});

it(
  `counts ${HONEST} people among ${BOTS} bots, and neither the organization's programs nor its limits suffer`,
  async () => {
    const { visitor } = await publish();
    const network = randomAddress();
    const statuses = new Map<number, number>();
    const bot = async (n: number) => {
      const contact = { email: `bot-${n}@example.com`, firstName: 'Bot' };
      // A tenth from one network, the others from everywhere. A third falls into the trap, and a third repeats a request.
      const address = n % 10 === 0 ? network : randomAddress();
      const more = n % 3 === 0 ? { website: 'https://spam.example' } : {};
      const key: Record<string, string> = n % 3 === 1 ? { 'Idempotency-Key': 'the-same' } : {};
      const { status } = await visitor
        .withoutRetries()
        .post(SIGN, ada({ contact, ...more }), { ...from(ORIGIN, address), ...key });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    };
    const honest = async (n: number) => {
      const contact = { email: `person-${n}@example.org`, firstName: 'Ada' };
      // Pages send the trap and the other inputs that people leave empty.
      const { status } = await visitor.post(SIGN, ada({ contact, website: '' }), from(ORIGIN));
      expect(status).toBe(200);
    };
    const every = BOTS / HONEST;
    for (let n = 0; n < BOTS; n += 20) {
      const some = Array.from({ length: 20 }, (_, k) => n + k);
      await Promise.all(
        some.flatMap((one) => [bot(one), ...(one % every === 0 ? [honest(one / every)] : [])]),
      );
      // The organization's own programs are as free as ever, and their Idempotency-Keys are their own.
      if (n === 0) {
        const made = await page.client.post(
          'tag.create-tag',
          { name: 'Own' },
          { 'Idempotency-Key': 'the-same' },
        );
        expect([made.status, made.headers.get('ratelimit-limit')]).not.toContain(429);
        expect(made.status).toBe(200);
      }
    }
    expect([...statuses.keys()].filter((status) => ![200, 422, 429].includes(status))).toEqual([]);
    expect((await counts())[0]).toBe(0);
    for (let n = 0; n < HONEST; n += 1) await people.post(await people.linkTo(`person-${n}@example.org`), {});
    expect((await counts())[0]).toBe(HONEST);
    // What the trap caught is marked, and none of it counts.
    const { source } = people.api.database;
    const [{ caught }] = await source.query<[{ caught: number }]>(
      `SELECT count(*)::int AS caught FROM events WHERE organization_id = $1 AND type = 'SignatureRequested'
     AND data->'suspicion' ? 'HONEYPOT'`,
      [page.client.organizationId],
    );
    expect(caught).toBeGreaterThan(BOTS / 6);
  },
  600_000 + BOTS * 300,
);

it('secret keys get a warning in browsers, and CORS only for the websites of CORS_ORIGINS', async () => {
  const tool = 'https://tools.example.org';
  const { origin, key } = page.client;
  const get = (from: string) => page.client.get('petition.list-petitions', {}, { Origin: from });
  const elsewhere = await get(ORIGIN);
  expect([elsewhere.status, allowed(elsewhere), elsewhere.headers.get('warning')]).toEqual([
    200,
    null,
    expect.stringContaining('publishable'),
  ]);
  const there = await get(tool);
  expect([there.status, allowed(there), there.headers.get('warning')]).toEqual([200, tool, null]);
  const wrong = await new Client(origin, '', `${key}x`).get('petition.list-petitions', {}, { Origin: tool });
  expect([wrong.status, allowed(wrong)]).toEqual([401, tool]);
  const asked = await preflight('petition.list-petitions', tool);
  expect([allowed(asked), asked.headers.get('access-control-allow-methods')]).toEqual([tool, 'GET']);
  expect((await page.client.get('petition.list-petitions')).headers.get('warning')).toBeNull();
});

it('with a proof of work, any website gets a challenge, and signatures without a proof are suspicious', async () => {
  const strict = await people.api.addInstance({ CAPTCHA: 'altcha' });
  const { visitor } = await publish();
  const response = await fetch(`${strict.origin}/site/challenge`, { headers: { Origin: ORIGIN } });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const altcha = proofOfWork((await response.json()) as Challenge);
  const at = visitor.at(strict.origin);
  const suspicion = async (email: string, more: object) => {
    const contact = { email, firstName: 'Ada' };
    expect((await at.post(SIGN, ada({ contact, ...more }), from(ORIGIN))).status).toBe(200);
    const [event] = await people.api.database.source.query<[{ suspicion: string[] }]>(
      `SELECT data->'suspicion' AS suspicion FROM events WHERE organization_id = $1 AND type = 'SignatureRequested'
       ORDER BY position DESC LIMIT 1`,
      [page.client.organizationId],
    );
    return event.suspicion;
  };
  expect(await suspicion('a@example.org', { altcha })).toEqual([]);
  expect(await suspicion('b@example.org', { altcha })).toEqual(['NO_PROOF_OF_WORK']);
  expect(await suspicion('c@example.org', {})).toEqual(['NO_PROOF_OF_WORK']);
});

it('finds the keys of a website by an index', async () => {
  await publish();
  const { source } = people.api.database;
  const plan = await source.transaction(async (sql) => {
    await sql.query('SET LOCAL enable_seqscan = off');
    return sql.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${HAS_KEY_FOR}`, [ORIGIN]);
  });
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('publishable_keys_by_origin');
});
