import { setTimeout as sleep } from 'node:timers/promises';
import { fieldsOf, operationOf } from '#libs/rpc';
import { operations } from '../src/modules.js';
import { Api, type Client } from './harness.js';

let api: Api;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());

/** Numbers that are always the same for a seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const KINDS: [service: string, create: string | undefined, fields: object][] = [
  ['contact', 'create-contact', { email: 'ada@example.org' }],
  ['list', 'create-list', { name: 'a' }],
  ['tag', 'create-tag', { name: 'a' }],
  ['webhook', 'create-webhook', { url: 'https://example.org/' }],
  ['petition', 'create-petition', { name: 'a' }],
  ['post', 'create-post', { name: 'a' }],
  ['broadcast', 'create-broadcast', { name: 'a' }],
  ['organization', undefined, {}],
];

it('every kind of record that has a past is tried', () => {
  const withPast = operations.filter((input) => fieldsOf(input).has('asOf'));
  const services = withPast.map((input) => operationOf(input)!.name.split('.')[0]);
  expect(KINDS.map(([service]) => service).toSorted()).toEqual(services.toSorted());
});

it.each(KINDS)('404 before there was a %s, saying of when', async (service, create, fields) => {
  const client = await api.organization();
  const { organizationId } = client;
  const made = create && (await client.post(`${service}.${create}`, { organizationId, ...fields })).body.data;
  // Without what is shown once.
  const ids = Object.entries((made ?? {}) as Record<string, string>).filter(([name]) => name.endsWith('Id'));
  const query = { organizationId, ...Object.fromEntries(ids) };
  const asOf = '2020-01-01T00:00:00Z';
  const { status, body } = await client.get(`${service}.get-${service}`, { ...query, asOf });
  expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
  expect(body.error.message).toContain('leave it out for what is now');
  expect((await client.get(`${service}.get-${service}`, query)).status).toBe(200);
});

const ROUNDS = 40;
type Question = { operation: string; query: Record<string, string> };

it.each([1, 2, 3])(
  'asOf answers what get-* answered at that moment, in a random history (seed %i)',
  async (seed) => {
    const random = randomOf(seed);
    const client: Client = await api.organization();
    const { organizationId } = client;
    const ids = {
      contact: [] as string[],
      petition: [] as string[],
      list: [] as string[],
      tag: [] as string[],
      webhook: [] as string[],
      post: [] as string[],
    };
    const any = (of: keyof typeof ids) => ids[of][random(ids[of].length)] ?? 'none';
    const there = () => client.at(api.instances[random(2)]!.origin);
    let names = 0;
    const name = () => `Name ${(names += 1)}`;
    let isPublic = false;

    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const email = `${name().replace(' ', '-')}@example.org`;
        const { body } = await there().post('contact.create-contact', { organizationId, email });
        ids.contact.push(body.data.contactId);
      },
      () => there().post('contact.update-contact', { contactId: any('contact'), city: name() }),
      async () => {
        const { body } = await there().post('petition.create-petition', { name: name() });
        ids.petition.push(body.data.petitionId);
        await there().post('petition.publish-petition', { petitionId: body.data.petitionId });
      },
      () =>
        there().post('petition.update-petition', { petitionId: any('petition'), goal: 1 + random(1_000) }),
      () => there().post('petition.close-petition', { petitionId: any('petition') }),
      () => there().post('petition.publish-petition', { petitionId: any('petition') }),
      ...Array.from(
        { length: 4 },
        () => () =>
          there().post('petition.add-signature', { petitionId: any('petition'), contactId: any('contact') }),
      ),
      () =>
        there().delete('petition.remove-signature', {
          petitionId: any('petition'),
          contactId: any('contact'),
        }),
      async () => {
        const { body } = await there().post('list.create-list', { name: name() });
        ids.list.push(body.data.listId);
      },
      () =>
        there().post('list.add-contacts', {
          listId: any('list'),
          contactIds: [any('contact'), any('contact')],
        }),
      () => there().delete('list.remove-contacts', { listId: any('list'), contactIds: [any('contact')] }),
      async () => {
        const { body } = await there().post('tag.create-tag', { name: name() });
        ids.tag.push(body.data.tagId);
      },
      async () => {
        const url = `https://example.org/${name()}`;
        const { body } = await there().post('webhook.create-webhook', { url });
        ids.webhook.push(body.data.webhookId);
      },
      () => there().post('webhook.pause-webhook', { webhookId: any('webhook') }),
      () => there().post('webhook.resume-webhook', { webhookId: any('webhook') }),
      () => there().post('tag.add-contacts', { tagId: any('tag'), contactIds: [any('contact')] }),
      () => there().delete('tag.remove-contacts', { tagId: any('tag'), contactIds: [any('contact')] }),
      async () => {
        const { body } = await there().post('post.create-post', { name: name(), content: { n: random(9) } });
        ids.post.push(body.data.postId);
      },
      () => there().post('post.publish-post', { postId: any('post') }),
      () => there().post('post.archive-post', { postId: any('post') }),
      () =>
        there().post('organization.update-organization', {
          name: name(),
          publicLog: (isPublic = !isPublic),
          postalAddress: name(),
        }),
      () => there().delete('petition.delete-petition', { petitionId: any('petition') }),
    ];
    const questions = (): Question[] => [
      { operation: 'organization.get-organization', query: {} },
      ...ids.contact.map((contactId) => ({
        operation: 'contact.get-contact',
        query: { contactId, organizationId },
      })),
      ...ids.petition.map((petitionId) => ({ operation: 'petition.get-petition', query: { petitionId } })),
      ...ids.list.map((listId) => ({ operation: 'list.get-list', query: { listId } })),
      ...ids.tag.map((tagId) => ({ operation: 'tag.get-tag', query: { tagId } })),
      ...ids.webhook.map((webhookId) => ({ operation: 'webhook.get-webhook', query: { webhookId } })),
      ...ids.post.map((postId) => ({ operation: 'post.get-post', query: { postId } })),
    ];
    const ask = async ({ operation, query }: Question, asOf?: string) => {
      const { status, body } = await there().get(operation, { ...query, ...(asOf ? { asOf } : {}) });
      return { status, data: body.data, asOf: body.asOf };
    };

    const past: { moment: string; question: Question; answer: { status: number; data: unknown } }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await steps[random(steps.length)]!();
      // So that the next event is of a later millisecond.
      await sleep(2);
      const moment = new Date().toISOString();
      await sleep(2);
      const asked = questions();
      const answers = await Promise.all(asked.map((question) => ask(question)));
      for (const [n, question] of asked.entries()) past.push({ moment, question, answer: answers[n]! });
    }
    expect(past.length).toBeGreaterThan(ROUNDS * 4);

    for (const { moment, question, answer } of past) {
      const { status, data, asOf } = await ask(question, moment);
      expect([question.operation, status, data]).toEqual([question.operation, answer.status, answer.data]);
      if (status === 200) expect(asOf).toEqual({ moment, position: expect.any(Number) });
    }
  },
);
