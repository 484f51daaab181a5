import { RECORDS } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { patiently, signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { eventually } from './processes.js';
import { appendSignatures } from './signers.js';

/** What people see of petitions, posts, pictures and their organization, and what its forms say. */

let api: Api;
let client: Client;
let owner: Visitor;
let viewer: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  // What is taken out many at a time goes on by itself.
  api.instances[0]!.reactions.start();
  client = await api.organization();
  owner = await signedIn(api, client, 'OWNER');
  viewer = await signedIn(api, client, 'VIEWER');
});
afterAll(() => api.stop());

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;
const get = (path: string, visitor = owner) => patiently(() => visitor.get(at(path)));
const post = (path: string, form: Record<string, string> = {}, visitor = owner) =>
  patiently(() => visitor.post(at(path), form));
const newId = async (kind: string) => RECORDS[kind]!(api, client, {});

/** One that can be signed, and the signatures of these people. */
async function signedPetition(...emails: string[]): Promise<{ petitionId: string; signatureIds: string[] }> {
  const petitionId = await newId('petition');
  await call(client, 'petition.publish-petition', { petitionId });
  const signatureIds: string[] = [];
  for (const email of emails) {
    const contact = { email, firstName: 'Grace' };
    const { signatureId } = await call(client, 'petition.add-signature', { petitionId, contact });
    signatureIds.push(signatureId as string);
  }
  return { petitionId, signatureIds };
}

/** A part of a page, in words. */
const said = (html: string) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const pastIn = (page: string) => {
  const [, past] = /<ul class="past">([^]*?)<\/ul>/.exec(page)!;
  return past!.split('<li>').slice(1).map(said);
};

describe('what has happened', () => {
  it('to a petition tells which signatures were taken out and brought back, by whom', async () => {
    const { petitionId, signatureIds } = await signedPetition('one@example.org', 'two@example.org');
    const { location } = await post(`petitions/${petitionId}/signatures/${signatureIds[0]!}/invalidate`);
    expect((await patiently(() => owner.post(location!.split('?')[0]!))).status).toBe(303);
    const past = pastIn((await get(`petitions/${petitionId}`, viewer)).text);
    expect(past.slice(0, 2)).toEqual([
      expect.stringMatching(/^Signatures were brought back owner@example\.org, /),
      expect.stringMatching(/^Signatures were taken out owner@example\.org, /),
    ]);
  });

  it('to a petition tells each time once, however many signatures it was', async () => {
    const petitionId = await newId('petition');
    await call(client, 'petition.publish-petition', { petitionId });
    const { store } = api.instances[0]!.runtime;
    await appendSignatures(store, client.organizationId, petitionId, 450, { suspicion: ['HONEYPOT'] });
    const condition = { createdAfter: '2020-01-01T00:00:00Z' };
    const invalidated = await call(client, 'petition.invalidate-signatures', { petitionId, ...condition });
    const { invalidationId } = invalidated;
    await eventually(async () => {
      const { body } = await client.get('petition.get-invalidation', { invalidationId });
      expect(body.data).toMatchObject({ status: 'INVALIDATED', invalidated: 450 });
    });
    const past = pastIn((await get(`petitions/${petitionId}`)).text);
    expect(past.filter((line) => line.startsWith('Signatures were taken out'))).toHaveLength(1);
  });

  it('to the organization tells of its language, its sender, and who may check its history', async () => {
    await post('organization/who', { name: 'Clean Rivers', language: 'de', publicLog: 'true' });
    await post('organization/mails', { 'mailFrom.address': 'office@example.org' });
    const past = pastIn((await get('organization')).text);
    expect(past.slice(0, 3)).toEqual([
      expect.stringMatching(/^The sender of mails was changed: .* owner@example\.org, /),
      expect.stringMatching(/^The sender of mails was changed: .*anguage owner@example\.org, /),
      expect.stringMatching(/^Everybody may check the history owner@example\.org, /),
    ]);
  });
});
