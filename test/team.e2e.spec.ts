import { SharedApi, Client, ISO } from './harness.js';
import { isLong, someOf } from './length.js';
import { invitationTo, signedIn, Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { eventually } from './processes.js';

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

/** Both outcomes are equally likely, so a single round proves nothing. */
const ROUNDS = isLong ? 8 : 3;

const invite = (email: string, role = 'EDITOR', by = client) =>
  by.post('team.invite-member', { email, role });
const members = async () => (await client.get('team.list-members')).body.data;
const invitations = async () => (await client.get('team.list-invitations')).body.data;
const memberWith = async (email: string): Promise<string> =>
  (await members()).find((one: { email: string }) => one.email === email).id;

describe('invite-member', () => {
  it('returns 200, lists the invitation until it is accepted, and then the member', async () => {
    const { status, body } = await invite('ada@example.org', 'ADMIN');
    expect([status, body.object]).toEqual([200, 'invitation']);
    const { invitationId } = body.data;
    expect(await invitations()).toEqual([
      {
        id: invitationId,
        createdAt: expect.stringMatching(ISO),
        userId: expect.any(String),
        email: 'ada@example.org',
        role: 'ADMIN',
        expiresAt: expect.stringMatching(ISO),
        organizationId: client.organizationId,
      },
    ]);
    expect(await members()).toEqual([]);
    await signedIn(api, client, 'ADMIN', 'ada@example.org');
    expect(await invitations()).toEqual([]);
    expect(await members()).toEqual([
      {
        id: invitationId,
        createdAt: expect.stringMatching(ISO),
        userId: expect.any(String),
        email: 'ada@example.org',
        role: 'ADMIN',
        joinedAt: expect.stringMatching(ISO),
        organizationId: client.organizationId,
      },
    ]);
  });

  it('returns the same for a repeat, updates the role, and returns 409 for a member', async () => {
    const { invitationId } = (await invite('ada@example.org')).body.data;
    const before = await api.eventTypes(client.organizationId);
    expect((await invite('Ada@Example.org')).body.data).toEqual({ invitationId });
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
    expect((await invite('ada@example.org', 'VIEWER')).body.data).toEqual({ invitationId });
    expect(await invitations()).toMatchObject([{ role: 'VIEWER' }]);
    const all = await Promise.all(Array.from({ length: 8 }, () => invite('eve@example.org', 'EDITOR')));
    expect(new Set(all.map(({ body }) => body.data.invitationId)).size).toBe(1);
    await signedIn(api, client, 'VIEWER', 'ada@example.org');
    const { status, body } = await invite('ada@example.org', 'VIEWER');
    expect([status, body.error.reason]).toEqual([409, 'ALREADY_MEMBER']);
  });

  it('returns 403 for a role with more rights than the key', async () => {
    const { organizationId } = client;
    const { key } = await api.createKey(organizationId, { scopes: ['team:write', 'team:read'] });
    const little = new Client(api.origin, organizationId, key);
    for (const role of ['OWNER', 'ADMIN', 'EDITOR', 'VIEWER']) {
      const { status, body } = await invite('ada@example.org', role, little);
      expect([role, status, body.error.reason]).toEqual([role, 403, 'ROLE_EXCEEDS_YOURS']);
    }
    expect(await invitations()).toEqual([]);
  });
});

it('revoke-invitation disables the link and erases the address', async () => {
  const path = await invitationTo(api, client, 'EDITOR', 'ada@example.org');
  const [{ id: invitationId }] = await invitations();
  expect((await client.delete('team.revoke-invitation', { invitationId })).status).toBe(200);
  expect((await client.delete('team.revoke-invitation', { invitationId })).status).toBe(200);
  expect(await invitations()).toEqual([]);
  const visitor = new Visitor(api.origin);
  for (const answer of [await visitor.get(path), await visitor.post(path)]) {
    expect([answer.status, answer.text]).toEqual([410, expect.stringContaining('This link does not work')]);
  }
  const exported = (await client.get('history.export-events')).body as string;
  expect(exported).toContain('MemberInvited');
  expect(exported).not.toContain('ada@example.org');
  // The address can be invited again.
  expect((await invite('ada@example.org')).status).toBe(200);
});

it('revoke-invitation returns 409 after acceptance, and 404 for another organization', async () => {
  await signedIn(api, client, 'EDITOR', 'ada@example.org');
  const invitationId = await memberWith('ada@example.org');
  const { status, body } = await client.delete('team.revoke-invitation', { invitationId });
  expect([status, body.error.reason]).toEqual([409, 'INVITATION_ACCEPTED']);
  const other = await api.organization();
  expect((await other.delete('team.revoke-invitation', { invitationId })).status).toBe(404);
});

describe('update-member', () => {
  it('assigns another role, which applies from the next sign-in', async () => {
    const visitor = await signedIn(api, client, 'EDITOR', 'ada@example.org');
    const path = `/dashboard/${client.organizationId}`;
    expect((await visitor.get(path)).status).toBe(200);
    const memberId = await memberWith('ada@example.org');
    await call(client, 'team.update-member', { memberId, role: 'VIEWER' });
    expect(await members()).toMatchObject([{ role: 'VIEWER' }]);
    for (const { origin } of api.instances)
      await eventually(async () =>
        expect((await visitor.at(origin).get(path)).location).toBe('/dashboard/sign-in?again'),
      );
  });

  it('returns 409 for the last owner, and 404 for unknown and merely invited people', async () => {
    await signedIn(api, client, 'OWNER', 'ada@example.org');
    const memberId = await memberWith('ada@example.org');
    const { status, body } = await client.post('team.update-member', { memberId, role: 'ADMIN' });
    expect([status, body.error.reason]).toEqual([409, 'LAST_OWNER']);
    const { invitationId } = (await invite('eve@example.org', 'OWNER')).body.data;
    for (const id of [invitationId, client.organizationId])
      expect((await client.post('team.update-member', { memberId: id, role: 'ADMIN' })).status).toBe(404);
    await signedIn(api, client, 'OWNER', 'eve2@example.org');
    await call(client, 'team.update-member', { memberId, role: 'ADMIN' });
  });
});

describe('remove-member', () => {
  it('ends the session on every instance within a second, and keeps the member’s records', async () => {
    const visitor = await signedIn(api, client, 'ADMIN', 'ada@example.org');
    await signedIn(api, client, 'OWNER', 'owner@example.org');
    const path = `/dashboard/${client.organizationId}/team`;
    await visitor.post(`${path}/invite`, { email: 'eve@example.org', role: 'VIEWER' });
    const [{ userId }] = (await members()).filter(
      ({ email }: { email: string }) => email === 'ada@example.org',
    );
    const memberId = await memberWith('ada@example.org');
    expect((await client.delete('team.remove-member', { memberId })).status).toBe(200);
    expect((await client.delete('team.remove-member', { memberId })).status).toBe(200);
    for (const { origin } of api.instances)
      await eventually(async () => expect((await visitor.at(origin).get(path)).status).toBe(404));
    const { data } = (await client.get('history.list-events', { type: 'MemberInvited', limit: '100' })).body;
    expect(data).toContainEqual(expect.objectContaining({ actor: { type: 'user', id: userId } }));
    expect((await client.get('history.export-events')).body).not.toContain('ada@example.org');
  });

  it('if two owners remove each other at the same moment, one remains', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const own = await api.organization();
      const [one, other] = await Promise.all(
        ['a', 'b'].map((name) => signedIn(api, own, 'OWNER', `${name}-${round}@example.org`)),
      );
      const { data } = (await own.get('team.list-members')).body;
      const idOf = (name: string) =>
        data.find(({ email }: { email: string }) => email === `${name}-${round}@example.org`).id;
      const path = (id: string) => `/dashboard/${own.organizationId}/team/${id}/remove`;
      const answers = await Promise.all([
        one!.post(path(idOf('b'))),
        other!.at(api.instances[1]!.origin).post(path(idOf('a'))),
      ]);
      expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
      const left = (await own.get('team.list-members')).body.data;
      expect(left).toMatchObject([{ role: 'OWNER' }]);
      const last = await own.delete('team.remove-member', { memberId: left[0].id });
      expect([last.status, last.body.error.reason]).toEqual([409, 'LAST_OWNER']);
    }
  });
});

describe('if two owners stop being owners at the same moment, one remains', () => {
  type Owner = { id: string; visitor: Visitor };
  /** An action on an owner, sent to its own instance. Requests with an API key skip the checks of a member's own rights. */
  type Act = (key: Client, owner: Owner) => Promise<{ status: number }>;
  const remove: Act = (key, { id }) => key.delete('team.remove-member', { memberId: id });
  const demote: Act = (key, { id }) => key.post('team.update-member', { memberId: id, role: 'ADMIN' });
  const demoteThemselves: Act = ({ origin, organizationId }, { id, visitor }) =>
    visitor.at(origin).post(`/dashboard/${organizationId}/team/${id}`, { role: 'ADMIN' });

  const BOTH: [string, Act, Act][] = [
    ['one removed, the other demoted', remove, demote],
    ['both demoting themselves, on the dashboard', demoteThemselves, demoteThemselves],
    ['both removed', remove, remove],
    ['both demoted', demote, demote],
  ];
  it.each(someOf(BOTH, 2))('%s', async (_, first, second) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { organizationId } = await api.organization();
      const keys = await Promise.all(
        api.instances.map(async ({ origin }) => {
          const { key } = await api.createKey(organizationId);
          return new Client(origin, organizationId, key);
        }),
      );
      const [one, other] = keys as [Client, Client];
      const owners = await Promise.all(
        ['a', 'b'].map(async (name) => {
          const email = `${name}-goes-${round}@example.org`;
          const visitor = await signedIn(api, one, 'OWNER', email);
          const { data } = (await one.get('team.list-members')).body;
          return { id: data.find((each: { email: string }) => each.email === email).id, visitor };
        }),
      );
      // Each instance caches its key first, so that neither request is delayed.
      await Promise.all(keys.map((key) => key.get('team.list-members')));
      const answers = await Promise.all([first(one, owners[0]!), second(other, owners[1]!)]);
      const { data } = (await one.get('team.list-members')).body;
      const left = (data as { role: string }[]).filter(({ role }) => role === 'OWNER');
      const refused = answers.filter(({ status }) => status === 409);
      expect([round, left.length, refused.length]).toEqual([round, 1, 1]);
    }
  });
});

it('a person in two organizations is one user, and can leave one without leaving the other', async () => {
  const other = await api.organization();
  const visitor = await signedIn(api, client, 'OWNER', 'everywhere@example.org');
  const link = await invitationTo(api, other, 'VIEWER', 'everywhere@example.org');
  await visitor.post(link);
  const listed = (await visitor.get('/dashboard')).text;
  for (const { organizationId } of [client, other]) expect(listed).toContain(`/dashboard/${organizationId}`);
  const [{ userId, id: memberId }] = (await other.get('team.list-members')).body.data;
  expect(await members()).toMatchObject([{ userId }]);
  expect((await other.delete('team.remove-member', { memberId })).status).toBe(200);
  await eventually(async () =>
    expect((await visitor.get('/dashboard')).location).toBe(`/dashboard/${client.organizationId}`),
  );
});
