import { setTimeout as sleep } from 'node:timers/promises';
import { fieldsOf, operationOf } from '#libs/rpc';
import { operations } from '../src/modules.js';
import { Api, type Client } from './harness.js';
import { isLong } from './length.js';
import { picture } from './pictures.js';

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

/** How one is made: answers what it is asked for by. */
type Make = (client: Client) => Promise<Record<string, string>>;
const made =
  (operation: string, fields: object): Make =>
  async (client) =>
    (await client.post(operation, { ...ofOrganization(operation, client), ...fields })).body.data;
/** Contacts are made for an organization that is named. */
const ofOrganization = (operation: string, { organizationId }: Client) =>
  operation.startsWith('contact.') ? { organizationId } : {};

const uploaded: Make = async (client) => {
  const type = { 'Content-Type': 'image/png' };
  return (await client.request('POST', '/v1/image.upload-image', await picture(), type)).body.data;
};

const KINDS: [operation: string, make: Make][] = [
  ['contact.get-contact', made('contact.create-contact', { email: 'ada@example.org' })],
  ['list.get-list', made('list.create-list', { name: 'a' })],
  ['tag.get-tag', made('tag.create-tag', { name: 'a' })],
  ['image.get-image', uploaded],
  ['webhook.get-webhook', made('webhook.create-webhook', { url: 'https://example.org/' })],
  ['petition.get-petition', made('petition.create-petition', { name: 'a' })],
  ['petition.get-stats', made('petition.create-petition', { name: 'a' })],
  [
    'petition.get-invalidation',
    async (client) => {
      const { petitionId } = await made('petition.create-petition', { name: 'a' })(client);
      await client.post('petition.publish-petition', { petitionId });
      const contact = { email: 'ada@example.org' };
      const { signatureId } = await made('petition.add-signature', { petitionId, contact })(client);
      const fields = { petitionId, signatureIds: [signatureId] };
      const { invalidationId } = await made('petition.invalidate-signatures', fields)(client);
      return { invalidationId: invalidationId! };
    },
  ],
  ['post.get-post', made('post.create-post', { name: 'a' })],
  ['broadcast.get-broadcast', made('broadcast.create-broadcast', { name: 'a' })],
  ['organization.get-organization', () => Promise.resolve({})],
];

it('every kind of record that has a past is tried', () => {
  const withPast = operations.filter((input) => fieldsOf(input).has('asOf'));
  const names = withPast.map((input) => operationOf(input)!.name);
  expect(KINDS.map(([name]) => name).toSorted()).toEqual(names.toSorted());
});

it.each(KINDS)('%s: 404 before there was one, saying of when', async (operation, make) => {
  const client = await api.organization();
  // Without what is shown once.
  const ids = Object.entries(await make(client)).filter(([name]) => name.endsWith('Id'));
  const query = { organizationId: client.organizationId, ...Object.fromEntries(ids) };
  const asOf = '2020-01-01T00:00:00Z';
  const { status, body } = await client.get(operation, { ...query, asOf });
  expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
  expect(body.error.message).toContain('leave it out for what is now');
  expect((await client.get(operation, query)).status).toBe(200);
});

const ROUNDS = 50;
type Question = { operation: string; query: Record<string, string> };

it.each(isLong ? [1, 2, 3] : [1])(
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
      invalidation: [] as string[],
      signature: [] as string[],
      post: [] as string[],
      image: [] as string[],
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
      ...Array.from({ length: 4 }, () => async () => {
        const { body } = await there().post('petition.add-signature', {
          petitionId: any('petition'),
          contactId: any('contact'),
        });
        if (body.data) ids.signature.push(`${body.data.petitionId} ${body.data.signatureId}`);
      }),
      async () => {
        const [petitionId, ...signatureIds] = any('signature').split(' ');
        const { body } = await there().post('petition.invalidate-signatures', { petitionId, signatureIds });
        if (body.data?.invalidationId) ids.invalidation.push(body.data.invalidationId);
      },
      () => there().post('petition.restore-signatures', { invalidationId: any('invalidation') }),
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
      async () => ids.image.push((await uploaded(there())).imageId!),
      () => {
        const [imageId, postId, petitionId] = [any('image'), any('post'), any('petition')];
        return [
          () => there().post('image.update-image', { imageId, alt: name() }),
          () => there().post('post.update-post', { postId, imageId }),
          () => there().post('petition.update-petition', { petitionId, imageId }),
          () => there().delete('image.delete-image', { imageId, detach: true }),
        ][random(4)]!();
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
      ...ids.petition.map((petitionId) => ({ operation: 'petition.get-stats', query: { petitionId } })),
      ...ids.invalidation.map((invalidationId) => ({
        operation: 'petition.get-invalidation',
        query: { invalidationId },
      })),
      ...ids.list.map((listId) => ({ operation: 'list.get-list', query: { listId } })),
      ...ids.tag.map((tagId) => ({ operation: 'tag.get-tag', query: { tagId } })),
      ...ids.webhook.map((webhookId) => ({ operation: 'webhook.get-webhook', query: { webhookId } })),
      ...ids.post.map((postId) => ({ operation: 'post.get-post', query: { postId } })),
      ...ids.image.map((imageId) => ({ operation: 'image.get-image', query: { imageId } })),
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
    expect(past.length).toBeGreaterThan(ROUNDS * 2);

    for (const { moment, question, answer } of past) {
      const { status, data, asOf } = await ask(question, moment);
      expect([question.operation, status, data]).toEqual([question.operation, answer.status, answer.data]);
      if (status === 200) expect(asOf).toEqual({ moment, position: expect.any(Number) });
    }
  },
);
