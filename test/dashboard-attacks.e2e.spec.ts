import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { TABLE } from './dashboard-pages.js';
import { Api, type Client } from './harness.js';
import { isLong, longIt, someOf } from './length.js';
import { invitationTo, signedIn, Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { eventually } from './processes.js';

/** Attacks on the dashboard by members and strangers. */

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2, environment: { TRUST_PROXY: '1' } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

let people = 0;
const newAddress = () => `person-${(people += 1)}@example.org`;
const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;

/** Begins a request that the caller continues. */
function begin(visitor: Visitor, method: string, path: string, headers: Record<string, string> = {}) {
  const { hostname, port, origin } = new URL(visitor.origin);
  const own = { Cookie: visitor.cookie, Origin: origin, 'Sec-Fetch-Site': 'same-origin' };
  const sent = request({ hostname, port, method, path, headers: { ...own, ...headers } });
  sent.on('error', () => undefined);
  return sent;
}

/** Resolves when the first instance reads the body of the next request, which means that it has authenticated the sender. */
async function reading(): Promise<void> {
  const server = api.instances[0]!.app.getHttpServer();
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  await eventually(() => expect(request.listenerCount('data')).toBeGreaterThan(0));
}

async function answerTo(sent: ClientRequest): Promise<{ status: number; text: string; isWhole: boolean }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
  } catch {
    // The response was cut off. Returns what arrived.
  }
  return { status: response.statusCode!, text, isWhole: response.complete };
}

const BOUNDARY = 'x----x';
const MULTIPART = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };
/** The start of a form, up to the middle of its file. */
const beginningOf = (type: string, content: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: ${type}\r\n\r\n${content}`;

async function requireAlive(): Promise<void> {
  for (const { origin } of api.instances) expect((await fetch(`${origin}/health/ready`)).status).toBe(200);
}

describe('an invalid address', () => {
  it('returns 404 for a colon in place of an id', async () => {
    const owner = await signedIn(api, client, 'OWNER', newAddress());
    const paths = Object.keys(TABLE).filter((each) => each.includes(':'));
    for (const shape of new Set(paths.map((path) => path.replace(/:\w+/g, ':')))) {
      const { status } = await owner.get(at(shape));
      expect([shape, status]).toEqual([shape, 404]);
    }
    await requireAlive();
  });

  it('returns 404 for an invalid session or passkey id', async () => {
    const visitor = await signedIn(api, client, 'VIEWER', newAddress());
    for (const path of ['sessions/x/end', 'passkeys/x'])
      expect((await visitor.post(`/dashboard/account/${path}`)).status).toBe(404);
  });

  it('rejects signing in with an invalid Host', async () => {
    for (const host of ['[', 'a b', '%', '127.0.0.1:x']) {
      const sent = begin(new Visitor(api.origin), 'GET', '/dashboard/sign-in', { Host: host });
      sent.end();
      expect([400, 403]).toContain((await answerTo(sent)).status);
    }
  });
});

describe('an uploaded file', () => {
  it.each([
    ['contacts/import', 'text/csv', 'email\nada@exa'],
    ['images/new', 'image/png', '\x89PNG\r\n\x1a\n'],
  ])('is rejected by %s if it is cut off, and the server keeps running', async (path, type, content) => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const sent = begin(editor, 'POST', at(path), MULTIPART);
    sent.end(beginningOf(type, content));
    const { status, text } = await answerTo(sent);
    expect([status, text]).toEqual([422, expect.stringContaining('<h1')]);
    const isRead = reading();
    const left = begin(editor, 'POST', at(path), MULTIPART);
    left.write(beginningOf(type, content));
    await isRead;
    left.destroy();
    await requireAlive();
  });

  it('is read completely before it is rejected as too large, because browsers only then show the response', async () => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const file = {
      field: 'file',
      name: 'large.csv',
      type: 'text/csv',
      content: `email\n${'x'.repeat(24_000_000)}`,
    };
    const { status, text } = await editor.upload(at('contacts/import'), file);
    expect([status, text]).toEqual([422, expect.stringContaining('larger than 20 MB')]);
  });

  longIt('of line breaks only does not block other requests', async () => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const content = `email\nada@example.org\n${'\r'.repeat(8_000_000)}`;
    const sent = editor.upload(at('contacts/import'), {
      field: 'file',
      name: 'cr.csv',
      type: 'text/csv',
      content,
    });
    let isGoing = true;
    void sent.finally(() => (isGoing = false));
    let answers = 0;
    while (isGoing) {
      await fetch(`${api.origin}/health/live`);
      answers += 1;
    }
    expect((await sent).status).toBe(303);
    // A blocked server would answer two or three.
    expect(answers).toBeGreaterThan(10);
  });

  it('is dropped in favour of newer ones if no one imports it', async () => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const content = 'email\nada@example.org\n';
    const paths: string[] = [];
    for (let n = 0; n < 7; n += 1)
      paths.push(
        (
          await editor.upload(at('contacts/import'), {
            field: 'file',
            name: 'x.csv',
            type: 'text/csv',
            content,
          })
        ).location!,
      );
    const statuses = [];
    for (const path of paths) statuses.push((await editor.get(path)).status);
    expect(statuses).toEqual([404, 404, 200, 200, 200, 200, 200]);
  });

  it('is rejected with a message if it is too wide, while a row without an end does not fail the others', async () => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const send = async (content: string) => {
      const file = { field: 'file', name: 'wide.csv', type: 'text/csv', content };
      const { status, text } = await editor.upload(at('contacts/import'), file);
      return [status, text];
    };
    const wide = `${'a,'.repeat(600_000)}b\nx,y\n`;
    expect(await send(wide)).toEqual([422, expect.stringContaining('The first row can’t be read')]);
    const columns = `${'a,'.repeat(201)}b\nx,y\n`;
    expect(await send(columns)).toEqual([422, expect.stringContaining('more than 200 columns')]);
    const endless = `email\n"${'x\n'.repeat(100_000)}`;
    expect((await send(endless))[0]).toBe(303);
  });
});

/** More than the buffers between server and client hold. */
const [PETITIONS, LENGTH] = [60, 250_000];

describe('a member who left the team', () => {
  const removeOnly = async (role: string) => {
    const { data } = (await client.get('team.list-members', { limit: '100' })).body;
    const { id } = (data as { id: string; role: string }[]).find((each) => each.role === role)!;
    expect((await client.delete('team.remove-member', { memberId: id })).status).toBe(200);
  };

  it('cannot return with an old session after a new invitation', async () => {
    const email = newAddress();
    await signedIn(api, client, 'OWNER', newAddress());
    const before = await signedIn(api, client, 'ADMIN', email);
    await removeOnly('ADMIN');
    const after = await signedIn(api, client, 'EDITOR', email);
    expect((await after.get(at('contacts'))).status).toBe(200);
    expect((await before.get(at('contacts'))).location).toBe('/dashboard/sign-in?again');
  });

  it.each([
    ['contacts/import', 'text/csv', 'email\nada@example.org\n'],
    ['images/new', 'image/png', ''],
  ])('cannot finish an upload that they started: %s', async (path, type, content) => {
    await signedIn(api, client, 'OWNER', newAddress());
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const isRead = reading();
    const sent = begin(editor, 'POST', at(path), MULTIPART);
    sent.write(beginningOf(type, content));
    await isRead;
    await removeOnly('EDITOR');
    sent.end(`\r\n--${BOUNDARY}--\r\n`);
    expect((await answerTo(sent)).status).toBe(404);
  });

  longIt('does not receive the rest of a download that they started', async () => {
    await signedIn(api, client, 'OWNER', newAddress());
    const auditor = await signedIn(api, client, 'AUDITOR', newAddress());
    const content = `<p>${'x'.repeat(LENGTH)}</p>`;
    const petitions = Array.from({ length: PETITIONS }, (_, n) => ({ name: `Petition ${n}`, content }));
    for (let n = 0; n < petitions.length; n += 10)
      await Promise.all(
        petitions.slice(n, n + 10).map((one) => call(client, 'petition.create-petition', one)),
      );
    const sent = begin(auditor, 'GET', at('history/export'));
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    await removeOnly('AUDITOR');
    // Twice the interval after which a download checks the permission again.
    await sleep(1_000);
    let bytes = 0;
    const ended = new Promise<void>((resolve) => response.on('close', resolve).on('error', () => resolve()));
    response.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await ended;
    expect([response.complete, bytes < PETITIONS * LENGTH]).toEqual([false, true]);
  });
});

describe('a demoted member', () => {
  it('cannot undo the demotion with requests in flight', async () => {
    await signedIn(api, client, 'OWNER', newAddress());
    for (let n = 0; n < (isLong ? 6 : 2); n += 1) {
      const email = newAddress();
      const demoted = await signedIn(api, client, 'OWNER', email);
      const { data } = (await client.get('team.list-members', { limit: '100' })).body;
      const { id: memberId } = (data as { id: string; email: string }[]).find((one) => one.email === email)!;
      const own = Array.from({ length: 12 }, (_, i) => {
        const { origin } = api.instances[i % 2]!;
        return demoted.at(origin).post(at(`team/${memberId}`), { role: i % 3 === 0 ? 'ADMIN' : 'OWNER' });
      });
      const demotion = client.post('team.update-member', { memberId, role: 'VIEWER' });
      await Promise.all([...own, demotion]);
      const [last] = await api.database.source.query<{ actor: string; role: string }[]>(
        `SELECT metadata->'actor'->>'type' AS actor, data->>'role' AS role FROM events
         WHERE organization_id = $1 AND stream_id = $2 ORDER BY version DESC LIMIT 1`,
        [client.organizationId, memberId],
      );
      expect(last).toEqual({ actor: 'api-key', role: 'VIEWER' });
    }
  });
});

describe('a removed member', () => {
  it('cannot change anything with requests in flight', async () => {
    await signedIn(api, client, 'OWNER', newAddress());
    for (const n of someOf([2, 0, 1, 3], 2)) {
      const email = newAddress();
      const removed = await signedIn(api, client, 'OWNER', email);
      const { data } = (await client.get('team.list-members', { limit: '100' })).body;
      const { id: memberId } = (data as { id: string; email: string }[]).find((one) => one.email === email)!;
      const own = Array.from({ length: 12 }, (_, i) => {
        const { origin } = api.instances[i % 2]!;
        const made = { name: `Left behind ${n} ${i}`, scopes: '*', rateLimit: '10' };
        return i % 3 === 0
          ? removed.at(origin).post(at('lists/new'), { name: made.name })
          : removed.at(origin).post(at('keys/new'), made);
      });
      // In some rounds no request is answered yet, in others some are.
      await Promise.all(own.slice(0, n));
      expect((await client.delete('team.remove-member', { memberId })).status).toBe(200);
      await Promise.all(own);
      const late = await api.database.source.query<{ type: string }[]>(
        `SELECT type FROM events WHERE organization_id = $1 AND type = ANY ('{ApiKeyCreated,ListCreated}')
           AND position > (SELECT position FROM events WHERE organization_id = $1 AND stream_id = $2 AND type = 'MemberRemoved')`,
        [client.organizationId, memberId],
      );
      expect(late).toEqual([]);
    }
  });
});

it('a request with an invalid absolute URL does not cause a 500', async () => {
  const visitor = await signedIn(api, client, 'OWNER', newAddress());
  for (const path of ['contacts', 'team', 'history']) {
    const sent = begin(visitor, 'GET', `http://:99999999${at(path)}`, {});
    sent.end();
    expect([path, (await answerTo(sent)).status]).not.toEqual([path, 500]);
  }
});

describe('signing in', () => {
  it('admits only one of many parallel uses of an invitation', async () => {
    const path = await invitationTo(api, client, 'EDITOR', newAddress());
    const answers = await Promise.all(
      api.instances.flatMap(({ origin }) => Array.from({ length: 6 }, () => new Visitor(origin).post(path))),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(11);
  });

  it('rate-limits a client that guesses session cookies', async () => {
    // A slow machine lets more of them in, because the limit is per second.
    await eventually(async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) => {
          const visitor = new Visitor(api.origin, 'en', '10.9.9.8');
          visitor.cookie = `session=${String(n).padStart(43, 'x')}`;
          return visitor.impatient().get('/dashboard');
        }),
      );
      expect(answers.map(({ status }) => status)).toContain(429);
    });
  });

  it('is not offered over HTTP', async () => {
    const visitor = await signedIn(api, client, 'OWNER', newAddress());
    for (const path of ['/dashboard', at('contacts')]) {
      const sent = begin(visitor, 'GET', path, { Host: 'act.example.org' });
      sent.end();
      expect([path, (await answerTo(sent)).status]).toEqual([path, 403]);
    }
  });

  it('does not reveal when another organization first invited a person', async () => {
    await signedIn(api, client, 'OWNER', newAddress());
    const { data } = (await client.get('team.list-members')).body;
    expect(data[0].userId).toMatch(/^[\da-f]{8}-[\da-f]{4}-4/);
  });
});

describe('a form', () => {
  it('is rejected from another origin of the same address', async () => {
    const visitor = await signedIn(api, client, 'OWNER', newAddress());
    const Origin = visitor.origin.replace('http:', 'https:');
    const { status } = await visitor.post(at('tags/new'), { name: 'Tag' }, { Origin });
    expect(status).toBe(403);
  });

  it('is processed once per person, even if someone else sent the same mark', async () => {
    const mark = 'a'.repeat(32);
    const first = await signedIn(api, client, 'EDITOR', newAddress());
    const second = await signedIn(api, client, 'EDITOR', newAddress());
    for (const [visitor, name] of [
      [first, 'One'],
      [first, 'One'],
      [second, 'Other'],
    ] as const)
      expect((await visitor.post(at('tags/new'), { name, once: mark })).status).toBe(303);
    await eventually(async () => {
      const { data } = (await client.get('tag.list-tags')).body;
      expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(['One', 'Other']);
    });
  });
});
