import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { SmtpServer } from '#libs/testing';
import { SignInLinks, TeamMails } from '../src/team/index.js';
import { Api, type Client, NOBODY } from './harness.js';
import { invitationTo, linkTo, signedIn, Visitor } from './people-in.js';
import { eventually } from './processes.js';

/** The public address of the server, behind an HTTPS proxy. */
const PUBLIC_HOST = 'act.example.org';

/** Headers of forms from other sites, or without an origin. */
const FOREIGN: Record<string, string>[] = [
  { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
  { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' },
  { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
  { Origin: '', 'Sec-Fetch-Site': '' },
];

let api: Api;
let mail: SmtpServer;
let client: Client;
beforeAll(async () => {
  mail = await SmtpServer.start({ keepContent: true });
  api = await Api.start({
    instances: 2,
    environment: { MAIL_URL: mail.url, TRUST_PROXY: '1', PUBLIC_URL: `https://${PUBLIC_HOST}` },
  });
  for (const { workers } of api.instances) workers.start();
});
afterAll(async () => {
  await api.stop();
  await mail.stop();
});
beforeEach(async () => {
  client = await api.organization();
});

const mailsTo = (address: string) => mail.accepted.filter(({ to }) => to === address);
const linkFor = async (address: string, way: 'sign-in' | 'invitations' = 'sign-in') => {
  const links = () =>
    mailsTo(address)
      .map(linkTo)
      .filter((path) => path.includes(way));
  await eventually(() => expect(links()).not.toEqual([]));
  return links()[0]!;
};
const signInMailsTo = (address: string) =>
  mailsTo(address).filter(({ content = '' }) => content.includes('Your sign-in link'));
let people = 0;
const newAddress = () => `person-${(people += 1)}@example.org`;

describe('signing in', () => {
  it('works once with the invitation, and later with a sign-in link', async () => {
    const email = newAddress();
    await client.post('team.invite-member', { email, role: 'OWNER' });
    const invitation = await linkFor(email, 'invitations');
    const visitor = new Visitor(api.origin);
    // Mail scanners follow links.
    for (let n = 0; n < 2; n += 1)
      expect((await visitor.get(invitation)).text).toContain('You’re invited to join');
    expect(visitor.cookie).toBe('');
    const accepted = await visitor.post(invitation);
    expect([accepted.status, accepted.location]).toEqual([303, `/dashboard/${client.organizationId}`]);
    expect(accepted.headers.getSetCookie()[0]).toMatch(
      /^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
    );
    expect((await visitor.get(accepted.location!)).status).toBe(200);
    expect((await new Visitor(api.origin).post(invitation)).status).toBe(410);
    // The history names the person as the actor.
    const [{ userId }] = (await client.get('team.list-members')).body.data;
    const joined = (await client.get('history.list-events', { type: 'InvitationAccepted' })).body.data;
    expect(joined).toEqual([expect.objectContaining({ actor: { type: 'user', id: userId } })]);

    const again = new Visitor(api.origin);
    const response = await again.post('/dashboard/sign-in', { email: email.toUpperCase() });
    expect([response.status, response.text]).toEqual([200, expect.stringContaining('Check your email')]);
    const link = await linkFor(email);
    for (let n = 0; n < 2; n += 1)
      expect((await again.get(link)).text).toContain('<button class="button">Sign in</button>');
    expect((await again.post(link)).location).toBe('/dashboard');
    expect((await new Visitor(api.origin).post(link)).status).toBe(410);
    expect((await again.get('/dashboard')).location).toBe(`/dashboard/${client.organizationId}`);
  });

  it('signs in only one of many parallel requests with the same link', async () => {
    const email = newAddress();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const link = await linkFor(email);
    const answers = await Promise.all(
      api.instances.flatMap(({ origin }) => Array.from({ length: 4 }, () => new Visitor(origin).post(link))),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
  });

  it('returns the same page for known and unknown addresses', async () => {
    const email = newAddress();
    await signedIn(api, client, 'EDITOR', email);
    const ask = async (address: string) => {
      const { status, text, headers } = await new Visitor(api.origin).post('/dashboard/sign-in', {
        email: address,
      });
      return [status, text, headers.get('content-length')];
    };
    const known = await ask(email);
    expect(await ask('unknown@example.org')).toEqual(known);
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(1));
    expect(mailsTo('unknown@example.org')).toEqual([]);
    const wrong = await new Visitor(api.origin).post('/dashboard/sign-in', { email: 'nothing' });
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('Enter an email address')]);
  });

  it('sends at most five links an hour per network and twenty in total, so no one uses up the links of others', async () => {
    const email = newAddress();
    const own = await signedIn(api, client, 'EDITOR', email);
    const sending = api.instances.map(({ app }) =>
      jest.spyOn(app.get(SignInLinks, { strict: false }), 'send'),
    );
    /** Waits until every requested link was sent or dropped. */
    const allSent = () => Promise.all(sending.flatMap(({ mock }) => mock.results.map(({ value }) => value)));
    const ask = (address?: string) =>
      new Visitor(api.origin, 'en', address).post('/dashboard/sign-in', { email });
    for (let n = 0; n < 8; n += 1) await ask('10.1.2.3');
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(5));
    // The person, from another network.
    await ask('10.7.7.7');
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(6));
    await Promise.all(Array.from({ length: 24 }, () => ask()));
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(20));
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(20);
    // A browser that has signed in before has a separate limit, in any network.
    const visitor = await signedIn(api, client, 'VIEWER', newAddress());
    expect((await visitor.post('/dashboard/sign-in', { email })).status).toBe(200);
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(20);
    for (let n = 0; n < 7; n += 1) await own.at(api.origin).post('/dashboard/sign-in', { email });
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(25));
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(25);
  });

  it('sends the link after the mail server is reachable again', async () => {
    const email = newAddress();
    await signedIn(api, client, 'EDITOR', email);
    const attempts = api.instances.map(({ app }) =>
      jest.spyOn(app.get(TeamMails, { strict: false }), 'letIn'),
    );
    await mail.stop();
    try {
      expect((await new Visitor(api.origin).post('/dashboard/sign-in', { email })).status).toBe(200);
      await eventually(() => expect(attempts.flatMap(({ mock }) => mock.results)).not.toEqual([]));
      const [first] = attempts.flatMap(({ mock }) => mock.results);
      expect((await first!.value).outcome).toBe('unreachable');
    } finally {
      await mail.start();
    }
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(1));
  });

  it('rejects links that are expired, changed or made up', async () => {
    const email = newAddress();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const link = await linkFor(email);
    await api.database.source.query(
      `UPDATE sign_in_links SET expires_at = clock_timestamp() - interval '1 second'`,
    );
    const invitation = await invitationTo(api, client, 'OWNER', newAddress());
    const changed = invitation.slice(0, -1) + (invitation.endsWith('A') ? 'B' : 'A');
    for (const path of [link, changed, '/dashboard/sign-in/x', `/dashboard/invitations/${'A'.repeat(64)}`]) {
      const visitor = new Visitor(api.origin);
      for (const answer of [await visitor.get(path), await visitor.post(path)])
        expect([path, answer.status]).toEqual([path, 410]);
      expect(visitor.cookie).toBe('');
    }
  });

  it('rejects forms of other sites, so no one is signed in as another person', async () => {
    const email = newAddress();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const paths = [await linkFor(email), await invitationTo(api, client, 'EDITOR', newAddress())];
    for (const path of paths) {
      for (const headers of FOREIGN) {
        const { status, headers: answered } = await new Visitor(api.origin).post(path, {}, headers);
        expect([path, headers, status, answered.getSetCookie()]).toEqual([path, headers, 403, []]);
      }
      const silent = await ask(path, { Host: new URL(api.origin).host }, 'POST');
      expect([path, silent.status, silent.cookies]).toEqual([path, 403, []]);
      // The link still works for its owner.
      expect((await new Visitor(api.origin).post(path)).status).toBe(303);
    }
  });

  it('always creates a new session, and ends the one in the cookie', async () => {
    const visitor = await signedIn(api, client, 'EDITOR', newAddress());
    const before = visitor.cookie;
    const link = await invitationTo(api, await api.organization(), 'EDITOR', newAddress());
    await visitor.post(link);
    expect(visitor.cookie).not.toBe(before);
    const stolen = new Visitor(api.origin);
    stolen.cookie = before;
    expect((await stolen.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    const fixed = new Visitor(api.origin);
    fixed.cookie = `session=${'x'.repeat(43)}`;
    await fixed.post(await invitationTo(api, client, 'EDITOR', newAddress()));
    expect(fixed.cookie).not.toContain('x'.repeat(43));
  });

  it('limits the rate of guessed links', async () => {
    const guess = (n: number) =>
      new Visitor(api.origin, 'en', '10.9.9.9').impatient().post(`/dashboard/sign-in/${n}`);
    // The limit is per second, in which a busy machine may not send enough.
    await eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => guess(n)));
      expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
    });
  });
});

describe('an address that is considered equal to another, but belongs to another domain', () => {
  const lookalikeOf = (email: string) => email.replace('example', 'ex\u0600ample');

  it('gets no sign-in link: the link goes to the stored address', async () => {
    const email = newAddress();
    await signedIn(api, client, 'OWNER', email);
    expect(
      (await new Visitor(api.origin).post('/dashboard/sign-in', { email: lookalikeOf(email) })).status,
    ).toBe(200);
    await linkFor(email);
    expect(mail.accepted.map(({ to }) => to)).not.toContainEqual(expect.stringMatching(/xn--|\u0600/));
  });

  it('cannot be invited, because its owner would be taken for the person', async () => {
    const invited = { email: lookalikeOf(newAddress()), role: 'VIEWER' };
    const { status, body } = await client.post('team.invite-member', invited);
    expect([status, body.error.issues?.[0]?.path]).toEqual([400, 'email']);
  });
});

describe('a session', () => {
  it('ends when the person signs out: the cookie is no longer valid', async () => {
    const visitor = await signedIn(api, client, 'EDITOR', newAddress());
    const stolen = visitor.at(api.instances[1]!.origin);
    expect((await stolen.get('/dashboard/account')).status).toBe(200);
    const out = await visitor.post('/dashboard/sign-out');
    expect(out.location).toBe('/dashboard/sign-in?out');
    expect(visitor.cookie).not.toContain('session=');
    expect((await visitor.get(out.location!)).text).toContain('You have signed out.');
    // Changes are rejected immediately, reads within a second.
    expect(
      (await stolen.post(`/dashboard/${client.organizationId}/lists/new`, { name: 'Late' })).status,
    ).toBe(403);
    await eventually(
      async () => expect((await stolen.get('/dashboard/account')).location).toBe('/dashboard/sign-in?again'),
      ENDED_SECONDS,
    );
  });

  it('must be renewed after a role change: the page explains it and leads back', async () => {
    await signedIn(api, client, 'OWNER', newAddress());
    const email = newAddress();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const { data } = (await client.get('team.list-members', { limit: '100' })).body;
    const { id: memberId } = data.find((one: { email: string }) => one.email === email);
    await client.post('team.update-member', { memberId, role: 'VIEWER' });
    const page = `/dashboard/${client.organizationId}/contacts?q=Ada`;
    const refused = await visitor.get(page);
    expect(refused.location).toBe('/dashboard/sign-in?again');
    expect((await visitor.get(refused.location!)).text).toContain('your role changed');
    expect((await visitor.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    await visitor.post('/dashboard/sign-in', { email });
    expect((await visitor.post(await linkFor(email))).location).toBe(page);
    expect((await visitor.get(page)).status).toBe(200);
    expect(visitor.cookie).not.toContain('wanted');
  });

  it('lists organizations whose role changed too: they ask for a new sign-in', async () => {
    const other = await api.organization();
    const email = newAddress();
    await signedIn(api, client, 'OWNER', newAddress());
    await signedIn(api, other, 'EDITOR', email);
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const { data } = (await client.get('team.list-members', { limit: '100' })).body;
    const { id: memberId } = data.find((one: { email: string }) => one.email === email);
    await client.post('team.update-member', { memberId, role: 'VIEWER' });
    const { text } = await visitor.get('/dashboard');
    for (const { organizationId } of [client, other])
      expect(text).toContain(`href="/dashboard/${organizationId}"`);
    expect((await visitor.get(`/dashboard/${other.organizationId}`)).status).toBe(200);
    expect((await visitor.get(`/dashboard/${client.organizationId}`)).location).toBe(
      '/dashboard/sign-in?again',
    );
  });

  it('leads back only to pages of organizations, whatever the cookie contains', async () => {
    for (const wanted of [
      'https://evil.example/',
      '//evil.example',
      '/dashboard/../x',
      '/dashboard/account',
      '%zz',
      `/dashboard/${client.organizationId}/contacts/export`,
      `/dashboard/${NOBODY}/contacts`,
      `/dashboard/${client.organizationId}/x?${'y'.repeat(1_000)}`,
    ]) {
      const email = newAddress();
      await signedIn(api, client, 'EDITOR', email);
      const visitor = new Visitor(api.origin);
      visitor.cookie = `wanted=${encodeURIComponent(wanted).replace('%25zz', '%zz')}`;
      await visitor.post('/dashboard/sign-in', { email });
      expect([wanted, (await visitor.post(await linkFor(email))).location]).toEqual([wanted, '/dashboard']);
    }
  });

  it('rejects a form after its end, which can then be sent again', async () => {
    const email = newAddress();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const path = `/dashboard/${client.organizationId}/tags/new`;
    await visitor.at(api.origin).post('/dashboard/sign-out');
    const { status, text } = await visitor.post(path, { name: 'Kept' });
    expect([status, text]).toEqual([403, expect.stringContaining('your input is not lost')]);
    expect((await client.get('tag.list-tags')).body.data).toEqual([]);
    await visitor.post('/dashboard/sign-in', { email });
    await visitor.post(await linkFor(email));
    expect((await visitor.post(path, { name: 'Kept' })).status).toBe(303);
  });

  it('is listed by browser, and can be ended only by its owner', async () => {
    const email = newAddress();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    await visitor.post('/dashboard/sign-in', { email });
    const other = new Visitor(api.origin);
    await other.post(await linkFor(email));
    const { text } = await visitor.get('/dashboard/account');
    expect(text).toMatch(/Firefox \(Linux\): this browser/);
    const [, path] = /action="(\/dashboard\/account\/sessions\/[^"]+)"/.exec(text)!;
    const stranger = await signedIn(api, client, 'OWNER', newAddress());
    await stranger.post(path!);
    expect((await other.get('/dashboard')).status).toBe(303);
    const ended = await visitor.post(path!);
    expect(ended.location).toBe('/dashboard/account?ended');
    expect((await other.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    expect((await visitor.get('/dashboard/account')).text).not.toContain('/end"');
  });

  it('rejects forms of other sites', async () => {
    const visitor = await signedIn(api, client, 'OWNER', newAddress());
    const path = `/dashboard/${client.organizationId}/team/invite`;
    const form = { email: 'evil@example.org', role: 'OWNER' };
    for (const each of [...FOREIGN, { Origin: visitor.origin, 'Sec-Fetch-Site': 'same-site' }]) {
      const { status, text } = await visitor.post(path, form, each);
      expect([each, status]).toEqual([each, 403]);
      expect(text).toContain('This form was not sent from this site');
    }
    expect((await client.get('team.list-invitations')).body.data).toEqual([]);
    const page = await visitor.get(path);
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/);
    expect(page.headers.get('cache-control')).toBe('private, no-store');
  });

  it('requires HTTPS, except on the machine itself', async () => {
    const { status, text } = await ask('/dashboard/sign-in', { Host: PUBLIC_HOST });
    expect([status, text]).toEqual([403, expect.stringContaining('You can only sign in over HTTPS')]);
  });

  it('is a cookie that only this server can set and read over HTTPS, and no script', async () => {
    const headers = {
      Host: PUBLIC_HOST,
      'X-Forwarded-Proto': 'https',
      Origin: `https://${PUBLIC_HOST}`,
      'Sec-Fetch-Site': 'same-origin',
    };
    const path = await invitationTo(api, client, 'EDITOR', newAddress());
    const { cookies } = await ask(path, headers, 'POST');
    expect(cookies.map(attributesOf)).toEqual([
      ['__Host-session', 'HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'],
      ['known', 'HttpOnly', 'Max-Age=31536000', 'Path=/dashboard/sign-in', 'SameSite=Lax', 'Secure'],
    ]);
    const [, token = ''] = /=([\w-]{43});/.exec(cookies[0]!) ?? [];
    const account = async (cookie: string, own: Record<string, string> = headers) =>
      (await ask('/dashboard/account', { ...own, Cookie: cookie })).status;
    expect(await account(`__Host-session=${token}`)).toBe(200);
    // A cookie set without HTTPS is not valid with HTTPS, and the other way round.
    expect(await account(`session=${token}`)).toBe(303);
    expect(await account(`__Host-session=${token}`, { Host: new URL(api.origin).host })).toBe(303);
    const out = await ask('/dashboard/sign-out', { ...headers, Cookie: `__Host-session=${token}` }, 'POST');
    expect(out.cookies.map(attributesOf)).toEqual([
      ['__Host-session', 'HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure'],
    ]);
    expect(await account(`__Host-session=${token}`)).toBe(303);
  });
});

/** Sessions are cached for half a second (`KEPT_MS` of `sessions.ts`). The promise is one second, and another allows for a busy machine. */
const ENDED_SECONDS = 2;

describe('after a session ends, no instance shows anything', () => {
  const AGAIN = [303, '/dashboard/sign-in?again'];
  type Ended = {
    /** Everything before the request that ends the session. */
    prepare: (visitor: Visitor, email: string) => Promise<() => Promise<{ status: number }>>;
    /** What pages return afterwards. */
    answer: unknown[];
  };
  const memberWith = async (email: string): Promise<string> => {
    const { data } = (await client.get('team.list-members', { limit: '100' })).body;
    return data.find((one: { email: string }) => one.email === email).id;
  };
  const WAYS: Record<string, Ended> = {
    'signed out': {
      prepare: (visitor) => Promise.resolve(() => visitor.post('/dashboard/sign-out')),
      answer: AGAIN,
    },
    'ended on the account page': {
      prepare: async (_, email) => {
        const other = new Visitor(api.origin);
        await other.post('/dashboard/sign-in', { email });
        await other.post(await linkFor(email));
        const { text } = await other.get('/dashboard/account');
        const [, path] = /action="(\/dashboard\/account\/sessions\/[^"]+)"/.exec(text)!;
        return () => other.post(path!);
      },
      answer: AGAIN,
    },
    'with a changed role': {
      prepare: async (_, email) => {
        const memberId = await memberWith(email);
        return () => client.post('team.update-member', { memberId, role: 'VIEWER' });
      },
      answer: AGAIN,
    },
    removed: {
      prepare: async (_, email) => {
        const memberId = await memberWith(email);
        return () => client.delete('team.remove-member', { memberId });
      },
      answer: [404, null],
    },
  };

  it.each(Object.entries(WAYS))('%s', async (_, { prepare, answer }) => {
    await signedIn(api, client, 'OWNER', newAddress());
    const email = newAddress();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const page = `/dashboard/${client.organizationId}/contacts`;
    // Starts with the other instance, because requests with an invalid cookie soon reach the rate limit.
    const theirs = api.instances.toReversed().map(({ origin }) => visitor.at(origin));
    const end = await prepare(visitor, email);
    // Now each instance has cached the session.
    for (const each of theirs) expect((await each.get(page)).status).toBe(200);
    expect([200, 303]).toContain((await end()).status);
    // Changes are rejected immediately.
    const { status: late } = await theirs[0]!.post(page.replace('contacts', 'tags/new'), { name: 'Late' });
    expect([403, 404]).toContain(late);
    await eventually(async () => {
      for (const each of theirs) {
        const { status, location } = await each.get(page);
        expect([status, location]).toEqual(answer);
      }
    }, ENDED_SECONDS);
  });
});

/** The name of a cookie and its attributes. */
function attributesOf(cookie: string): string[] {
  const [pair = '', ...attributes] = cookie.split('; ');
  return [pair.split('=')[0]!, ...attributes.toSorted()];
}

/** `fetch` cannot change `Host` or leave out the origin. */
async function ask(path: string, headers: Record<string, string>, method = 'GET') {
  const { port } = new URL(api.origin);
  const sent = request({ port, host: '127.0.0.1', path, method, headers });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode!, text, cookies: response.headers['set-cookie'] ?? [] };
}

it('pages do not show what the role does not allow', async () => {
  const viewer = await signedIn(api, client, 'VIEWER', newAddress());
  const admin = await signedIn(api, client, 'ADMIN', newAddress());
  await signedIn(api, client, 'OWNER', 'the-owner@example.org');
  const path = `/dashboard/${client.organizationId}/team`;
  expect((await viewer.get(path)).text).not.toMatch(/invite"|\/team\/[0-9a-f]{8}/);
  const { text } = await admin.get(path);
  expect(text).toContain('/team/invite"');
  const { data } = (await client.get('team.list-members')).body;
  const { id } = data.find(({ email }: { email: string }) => email === 'the-owner@example.org');
  const owner = await admin.get(`${path}/${id}`);
  expect(owner.text).not.toMatch(/<form method="post">|remove"/);
  const { status } = await admin.post(`${path}/${id}/remove`);
  expect(status).toBe(403);
  expect((await admin.get(`${path}/invite`)).text).not.toContain('value="OWNER"');
});

it.each([
  [undefined, 'en'],
  ['fr,de', 'de'],
  ['de;q=0.1,en;q=0.9', 'en'],
  ['de-AT', 'de'],
  ['de-CH, en', 'de'],
  ['en;q=nonsense,de;q=0.1', 'de'],
  ['en;q=0,de', 'de'],
  ['fr', 'en'],
  ['*', 'en'],
])('uses the preferred language of the browser: %s is %s', async (accepted, language) => {
  const headers: Record<string, string> = accepted === undefined ? {} : { 'Accept-Language': accepted };
  const response = await fetch(`${api.origin}/dashboard/sign-in`, { headers });
  expect(await response.text()).toContain(`<html lang="${language}"`);
});

it('confirms actions, keeps typed input, and is available in German', async () => {
  const owner = await signedIn(api, client, 'OWNER', newAddress());
  const path = `/dashboard/${client.organizationId}/team`;
  const wrong = await owner.post(`${path}/invite`, { email: 'not <an> address' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('value="not &lt;an&gt; address"');
  expect(wrong.text).toContain(
    '<a href="#email">Email address: Enter an email address, like name@example.org</a>',
  );
  expect(wrong.text).toContain('<a href="#role">Role: Select an option</a>');
  const invited = await owner.post(`${path}/invite`, { email: 'eve@example.org', role: 'EDITOR' });
  expect((await owner.get(invited.location!)).text).toContain('The invitation is on its way.');
  const german = owner.at(api.origin, 'de-AT,de;q=0.9');
  const { text } = await german.get(path);
  expect(text).toContain('<html lang="de">');
  for (const word of ['Jemanden einladen', 'Einladungen', 'Inhaber·in']) expect(text).toContain(word);
});
