import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { SmtpServer } from '#libs/testing';
import { SignInLinks, TeamMails } from '../src/team/index.js';
import { Api, type Client, NOBODY } from './harness.js';
import { invitationTo, linkTo, signedIn, Visitor } from './people-in.js';
import { eventually } from './processes.js';

/** By which people outside reach the server, through a proxy that speaks HTTPS. */
const PUBLIC_HOST = 'act.example.org';

/** How browsers say that a form comes from elsewhere, or do not say that it comes from here. */
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
  for (const { reactions } of api.instances) reactions.start();
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
const somebody = () => `person-${(people += 1)}@example.org`;

describe('coming in', () => {
  it('by the invitation in the mail, and later by a link to sign in, each once', async () => {
    const email = somebody();
    await client.post('team.invite-member', { email, role: 'OWNER' });
    const invitation = await linkFor(email, 'invitations');
    const visitor = new Visitor(api.origin);
    // What scans mails follows links.
    for (let n = 0; n < 2; n += 1)
      expect((await visitor.get(invitation)).text).toContain('You are invited to');
    expect(visitor.cookie).toBe('');
    const accepted = await visitor.post(invitation);
    expect([accepted.status, accepted.location]).toEqual([303, `/dashboard/${client.organizationId}`]);
    expect(accepted.headers.getSetCookie()[0]).toMatch(
      /^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
    );
    expect((await visitor.get(accepted.location!)).status).toBe(200);
    expect((await new Visitor(api.origin).post(invitation)).status).toBe(410);
    // The history has it from whoever came.
    const [{ userId }] = (await client.get('team.list-members')).body.data;
    const joined = (await client.get('history.list-events', { type: 'InvitationAccepted' })).body.data;
    expect(joined).toEqual([expect.objectContaining({ actor: { type: 'user', id: userId } })]);

    const again = new Visitor(api.origin);
    const asked = await again.post('/dashboard/sign-in', { email: email.toUpperCase() });
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('Check your mail')]);
    const link = await linkFor(email);
    for (let n = 0; n < 2; n += 1)
      expect((await again.get(link)).text).toContain('<button class="button">Sign in</button>');
    expect((await again.post(link)).location).toBe('/dashboard');
    expect((await new Visitor(api.origin).post(link)).status).toBe(410);
    expect((await again.get('/dashboard')).location).toBe(`/dashboard/${client.organizationId}`);
  });

  it('of many who use one link at once one gets in', async () => {
    const email = somebody();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const link = await linkFor(email);
    const answers = await Promise.all(
      api.instances.flatMap(({ origin }) => Array.from({ length: 4 }, () => new Visitor(origin).post(link))),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
  });

  it('says the same to whoever is known and unknown', async () => {
    const email = somebody();
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
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('Enter an e-mail address')]);
  });

  it('sends five links an hour at most for one network, twenty for all: nobody takes them from others', async () => {
    const email = somebody();
    const own = await signedIn(api, client, 'EDITOR', email);
    const sending = api.instances.map(({ app }) =>
      jest.spyOn(app.get(SignInLinks, { strict: false }), 'send'),
    );
    /** All that was asked for until now is sent, or never will be. */
    const allSent = () => Promise.all(sending.flatMap(({ mock }) => mock.results.map(({ value }) => value)));
    const ask = (address?: string) =>
      new Visitor(api.origin, 'en', address).post('/dashboard/sign-in', { email });
    for (let n = 0; n < 8; n += 1) await ask('10.1.2.3');
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(5));
    // Their own, from elsewhere.
    await ask('10.7.7.7');
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(6));
    await Promise.all(Array.from({ length: 24 }, () => ask()));
    await eventually(() => expect(signInMailsTo(email)).toHaveLength(20));
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(20);
    // Whoever has signed in by this browser before has links of their own, wherever they are now.
    const visitor = await signedIn(api, client, 'VIEWER', somebody());
    expect((await visitor.post('/dashboard/sign-in', { email })).status).toBe(200);
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(20);
    for (let n = 0; n < 7; n += 1) await own.at(api.origin).post('/dashboard/sign-in', { email });
    await allSent();
    expect(signInMailsTo(email)).toHaveLength(25);
  });

  it('sends the link when a mail server that was away is back', async () => {
    const email = somebody();
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

  it('a link that is too old, changed or invented opens nothing', async () => {
    const email = somebody();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const link = await linkFor(email);
    await api.database.source.query(
      `UPDATE sign_in_links SET expires_at = clock_timestamp() - interval '1 second'`,
    );
    const invitation = await invitationTo(api, client, 'OWNER', somebody());
    const changed = invitation.slice(0, -1) + (invitation.endsWith('A') ? 'B' : 'A');
    for (const path of [link, changed, '/dashboard/sign-in/x', `/dashboard/invitations/${'A'.repeat(64)}`]) {
      const visitor = new Visitor(api.origin);
      for (const answer of [await visitor.get(path), await visitor.post(path)])
        expect([path, answer.status]).toEqual([path, 410]);
      expect(visitor.cookie).toBe('');
    }
  });

  it('is nothing that another site does for them: nobody finds themselves in as somebody else', async () => {
    const email = somebody();
    await signedIn(api, client, 'EDITOR', email);
    await new Visitor(api.origin).post('/dashboard/sign-in', { email });
    const paths = [await linkFor(email), await invitationTo(api, client, 'EDITOR', somebody())];
    for (const path of paths) {
      for (const headers of FOREIGN) {
        const { status, headers: answered } = await new Visitor(api.origin).post(path, {}, headers);
        expect([path, headers, status, answered.getSetCookie()]).toEqual([path, headers, 403, []]);
      }
      const silent = await ask(path, { Host: new URL(api.origin).host }, 'POST');
      expect([path, silent.status, silent.cookies]).toEqual([path, 403, []]);
      // Whose it is still comes in by it.
      expect((await new Visitor(api.origin).post(path)).status).toBe(303);
    }
  });

  it('makes a new session whatever cookie comes, and ends the one that came', async () => {
    const visitor = await signedIn(api, client, 'EDITOR', somebody());
    const before = visitor.cookie;
    const link = await invitationTo(api, await api.organization(), 'EDITOR', somebody());
    await visitor.post(link);
    expect(visitor.cookie).not.toBe(before);
    const stolen = new Visitor(api.origin);
    stolen.cookie = before;
    expect((await stolen.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    const fixed = new Visitor(api.origin);
    fixed.cookie = `session=${'x'.repeat(43)}`;
    await fixed.post(await invitationTo(api, client, 'EDITOR', somebody()));
    expect(fixed.cookie).not.toContain('xxx');
  });

  it('who tries links is told to wait', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        new Visitor(api.origin, 'en', '10.9.9.9').post(`/dashboard/sign-in/${n}`),
      ),
    );
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
  });
});

describe('an address that is compared like another, and lies at another domain', () => {
  const twin = (email: string) => email.replace('example', 'ex\u0600ample');

  it('gets no link to sign in: it goes to the address of the person', async () => {
    const email = somebody();
    await signedIn(api, client, 'OWNER', email);
    expect((await new Visitor(api.origin).post('/dashboard/sign-in', { email: twin(email) })).status).toBe(
      200,
    );
    await linkFor(email);
    expect(mail.accepted.map(({ to }) => to)).not.toContainEqual(expect.stringMatching(/xn--|\u0600/));
  });

  it('is not invited: whoever reads its mail would be taken for the person', async () => {
    const invited = { email: twin(somebody()), role: 'VIEWER' };
    const { status, body } = await client.post('team.invite-member', invited);
    expect([status, body.error.issues?.[0]?.path]).toEqual([400, 'email']);
  });
});

describe('being signed in', () => {
  it('ends by signing out: the cookie is good nowhere any more', async () => {
    const visitor = await signedIn(api, client, 'EDITOR', somebody());
    const stolen = visitor.at(api.instances[1]!.origin);
    expect((await stolen.get('/dashboard/account')).status).toBe(200);
    const out = await visitor.post('/dashboard/sign-out');
    expect(out.location).toBe('/dashboard/sign-in?out');
    expect(visitor.cookie).not.toContain('session=');
    expect((await visitor.get(out.location!)).text).toContain('You are signed out.');
    // What it wants done is refused from that moment on, what it only wants to see within a second.
    expect(
      (await stolen.post(`/dashboard/${client.organizationId}/lists/new`, { name: 'Late' })).status,
    ).toBe(403);
    await eventually(
      async () => expect((await stolen.get('/dashboard/account')).location).toBe('/dashboard/sign-in?again'),
      ENDED_SECONDS,
    );
  });

  it('is begun anew where a role was changed: whoever it is learns why, and comes back to where they were', async () => {
    await signedIn(api, client, 'OWNER', somebody());
    const email = somebody();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const { data } = (await client.get('team.list-members', { limit: '100' })).body;
    const { id: memberId } = data.find((one: { email: string }) => one.email === email);
    await client.post('team.update-member', { memberId, role: 'VIEWER' });
    const page = `/dashboard/${client.organizationId}/contacts?q=Ada`;
    const refused = await visitor.get(page);
    expect(refused.location).toBe('/dashboard/sign-in?again');
    expect((await visitor.get(refused.location!)).text).toContain('your role was changed');
    expect((await visitor.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    await visitor.post('/dashboard/sign-in', { email });
    expect((await visitor.post(await linkFor(email))).location).toBe(page);
    expect((await visitor.get(page)).status).toBe(200);
    expect(visitor.cookie).not.toContain('wanted');
  });

  it('lists also where a role was changed: there they sign in again', async () => {
    const other = await api.organization();
    const email = somebody();
    await signedIn(api, client, 'OWNER', somebody());
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

  it('leads back to pages of organizations alone, whatever a browser remembers', async () => {
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
      const email = somebody();
      await signedIn(api, client, 'EDITOR', email);
      const visitor = new Visitor(api.origin);
      visitor.cookie = `wanted=${encodeURIComponent(wanted).replace('%25zz', '%zz')}`;
      await visitor.post('/dashboard/sign-in', { email });
      expect([wanted, (await visitor.post(await linkFor(email))).location]).toEqual([wanted, '/dashboard']);
    }
  });

  it('a form that comes after its end is not done, and can be sent again', async () => {
    const email = somebody();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const path = `/dashboard/${client.organizationId}/tags/new`;
    await visitor.at(api.origin).post('/dashboard/sign-out');
    const { status, text } = await visitor.post(path, { name: 'Kept' });
    expect([status, text]).toEqual([403, expect.stringContaining('what you typed is still here')]);
    expect((await client.get('tag.list-tags')).body.data).toEqual([]);
    await visitor.post('/dashboard/sign-in', { email });
    await visitor.post(await linkFor(email));
    expect((await visitor.post(path, { name: 'Kept' })).status).toBe(303);
  });

  it('is listed by browser, and each other one can be ended; nobody ends a stranger’s', async () => {
    const email = somebody();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    await visitor.post('/dashboard/sign-in', { email });
    const other = new Visitor(api.origin);
    await other.post(await linkFor(email));
    const { text } = await visitor.get('/dashboard/account');
    expect(text).toMatch(/Firefox \(Linux\): this one/);
    const [, path] = /action="(\/dashboard\/account\/sessions\/[^"]+)"/.exec(text)!;
    const stranger = await signedIn(api, client, 'OWNER', somebody());
    await stranger.post(path!);
    expect((await other.get('/dashboard')).status).toBe(303);
    const ended = await visitor.post(path!);
    expect(ended.location).toBe('/dashboard/account?ended');
    expect((await other.get('/dashboard')).location).toBe('/dashboard/sign-in?again');
    expect((await visitor.get('/dashboard/account')).text).not.toContain('/end"');
  });

  it('does nothing that another site asks for', async () => {
    const visitor = await signedIn(api, client, 'OWNER', somebody());
    const path = `/dashboard/${client.organizationId}/team/invite`;
    const form = { email: 'evil@example.org', role: 'OWNER' };
    for (const each of [...FOREIGN, { Origin: visitor.origin, 'Sec-Fetch-Site': 'same-site' }]) {
      const { status, text } = await visitor.post(path, form, each);
      expect([each, status]).toEqual([each, 403]);
      expect(text).toContain('This was not sent from here');
    }
    expect((await client.get('team.list-invitations')).body.data).toEqual([]);
    const page = await visitor.get(path);
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/);
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  it('needs HTTPS, but on the machine itself', async () => {
    const { status, text } = await ask('/dashboard/sign-in', { Host: PUBLIC_HOST });
    expect([status, text]).toEqual([403, expect.stringContaining('People sign in by HTTPS alone')]);
  });

  it('is a cookie that by HTTPS this server alone can set and read, and no program of a page', async () => {
    const headers = {
      Host: PUBLIC_HOST,
      'X-Forwarded-Proto': 'https',
      Origin: `https://${PUBLIC_HOST}`,
      'Sec-Fetch-Site': 'same-origin',
    };
    const path = await invitationTo(api, client, 'EDITOR', somebody());
    const { cookies } = await ask(path, headers, 'POST');
    expect(cookies.map(attributesOf)).toEqual([
      ['__Host-session', 'HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'],
      ['known', 'HttpOnly', 'Max-Age=31536000', 'Path=/dashboard/sign-in', 'SameSite=Lax', 'Secure'],
    ]);
    const [, token = ''] = /=([\w-]{43});/.exec(cookies[0]!) ?? [];
    const account = async (cookie: string, own: Record<string, string> = headers) =>
      (await ask('/dashboard/account', { ...own, Cookie: cookie })).status;
    expect(await account(`__Host-session=${token}`)).toBe(200);
    // What a page without HTTPS has put there signs nobody in; nor is what belongs to HTTPS read without it.
    expect(await account(`session=${token}`)).toBe(303);
    expect(await account(`__Host-session=${token}`, { Host: new URL(api.origin).host })).toBe(303);
    const out = await ask('/dashboard/sign-out', { ...headers, Cookie: `__Host-session=${token}` }, 'POST');
    expect(out.cookies.map(attributesOf)).toEqual([
      ['__Host-session', 'HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure'],
    ]);
    expect(await account(`__Host-session=${token}`)).toBe(303);
  });
});

/**
 * A page that only shows knows who asks for half a second (`KEPT_MS` of `sessions.ts`), and a second is what is promised; the other one is
 * for a machine that has much else to do.
 */
const ENDED_SECONDS = 2;

describe('who is in no longer sees nothing more, at any instance', () => {
  const AGAIN = [303, '/dashboard/sign-in?again'];
  type Ended = {
    /** All up to the last request, which ends it: of that the time counts. */
    prepare: (visitor: Visitor, email: string) => Promise<() => Promise<{ status: number }>>;
    /** What each page answers from then on, and where it leads. */
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
    'ended on the page of their account': {
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
    'of another role by now': {
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
    await signedIn(api, client, 'OWNER', somebody());
    const email = somebody();
    const visitor = await signedIn(api, client, 'EDITOR', email);
    const page = `/dashboard/${client.organizationId}/contacts`;
    // The one that was not asked to end it comes first: who goes on with a cookie that is worth nothing is soon told to wait.
    const theirs = api.instances.toReversed().map(({ origin }) => visitor.at(origin));
    const end = await prepare(visitor, email);
    // From now on each instance knows them.
    for (const each of theirs) expect((await each.get(page)).status).toBe(200);
    expect([200, 303]).toContain((await end()).status);
    // What would change something is refused at once.
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

/** The name of a cookie, and all that the browser is told of it. */
function attributesOf(cookie: string): string[] {
  const [pair = '', ...attributes] = cookie.split('; ');
  return [pair.split('=')[0]!, ...attributes.toSorted()];
}

/** `fetch` does not let anybody say another Host, or nothing of where a form comes from. */
async function ask(path: string, headers: Record<string, string>, method = 'GET') {
  const { port } = new URL(api.origin);
  const asked = request({ port, host: '127.0.0.1', path, method, headers });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode!, text, cookies: response.headers['set-cookie'] ?? [] };
}

it('what a role may not do is not shown', async () => {
  const viewer = await signedIn(api, client, 'VIEWER', somebody());
  const admin = await signedIn(api, client, 'ADMIN', somebody());
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
])('speaks the language that the browser prefers: %s is %s', async (accepted, language) => {
  const headers: Record<string, string> = accepted === undefined ? {} : { 'Accept-Language': accepted };
  const response = await fetch(`${api.origin}/dashboard/sign-in`, { headers });
  expect(await response.text()).toContain(`<html lang="${language}"`);
});

it('says what happened, keeps what was typed, and speaks German', async () => {
  const owner = await signedIn(api, client, 'OWNER', somebody());
  const path = `/dashboard/${client.organizationId}/team`;
  const wrong = await owner.post(`${path}/invite`, { email: 'not <an> address' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('value="not &lt;an&gt; address"');
  expect(wrong.text).toContain(
    '<a href="#email">E-mail address: Enter an e-mail address like name@example.org</a>',
  );
  expect(wrong.text).toContain('<a href="#role">What may they do? Choose one</a>');
  const invited = await owner.post(`${path}/invite`, { email: 'eve@example.org', role: 'EDITOR' });
  expect((await owner.get(invited.location!)).text).toContain('The invitation is on its way.');
  const german = owner.at(api.origin, 'de-AT,de;q=0.9');
  const { text } = await german.get(path);
  expect(text).toContain('<html lang="de">');
  for (const word of ['Jemanden einladen', 'Einladungen', 'Inhaber·in']) expect(text).toContain(word);
});
