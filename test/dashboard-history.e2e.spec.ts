import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { DASHBOARD } from '#locales';
import { PAGE_SIZE } from '../src/dashboard/index.js';
import { eventually } from '#libs/testing';
import { Browser, findChromium } from './browser.js';
import { Api, type Client } from './harness.js';
import { isLong, longIt } from './length.js';
import { invitationTo, signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { verifyTwice } from './verifiers.js';

/** Without Chromium, these tests are skipped. */
const inBrowser = findChromium() === undefined ? describe.skip : describe;

let api: Api;
let client: Client;
let foreign: Client;
let auditor: Visitor;
let owner: Visitor;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  client = await api.organization();
  foreign = await api.organization();
  auditor = await signedIn(api, client, 'AUDITOR', 'auditor@example.org');
  owner = await signedIn(api, client, 'OWNER', 'owner@example.org');
});
afterAll(() => api.stop());

const at = (path: string, { organizationId } = client) => `/dashboard/${organizationId}/${path}`;

/** The text of a page's main part. */
function textOf(html: string): string {
  const [, main = html] = /<main[^>]*>([\s\S]*)<\/main>/.exec(html) ?? [];
  return main
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
    .trim();
}

const open = (path: string, visitor = auditor, of = client) => visitor.get(at(path, of));

async function read(path: string, visitor = auditor): Promise<string> {
  const { status, text } = await open(path, visitor);
  expect([path, status]).toEqual([path, 200]);
  return text;
}

type Line = { position: number; event: string; what: string; who: string };

/** The events that a page of the history lists. */
function linesOf(html: string): Line[] {
  const [, table = ''] = /<tbody[^>]*>([\s\S]*)<\/tbody>/.exec(html) ?? [];
  return table
    .split('</tr>')
    .filter((row) => row.includes('<td'))
    .map((row) => {
      const [what = '', who = '', , number = ''] = row.split(/<\/t[dh]>/).map(textOf);
      const [, event = ''] = /history\/events\/([0-9a-f-]+)"/.exec(row) ?? [];
      return { position: Number(number.replace(/\D/g, '')), event, what, who };
    });
}

/** The target of a link, relative to the organization. */
function linkIn(html: string, text: string): string | undefined {
  const [, href] = new RegExp(`<a href="([^"]+)">${text}</a>`).exec(html) ?? [];
  return href?.replaceAll('&amp;', '&').replace(at(''), '');
}

type Stored = { id: string; position: number; type: string; recordId: string; requestId: string };
async function events(query: Record<string, string> = {}, of = client): Promise<Stored[]> {
  return (await of.get('history.list-events', { limit: '1000', ...query })).body.data as Stored[];
}

async function contact(fields: object = {}): Promise<string> {
  const { organizationId } = client;
  const made = await call(client, 'contact.create-contact', { organizationId, ...fields });
  return made.contactId as string;
}

describe('history', () => {
  it('shows the newest first, and each event once on the way to the first one', async () => {
    // Several pages.
    const count = isLong ? 120 : 30;
    for (let n = 0; n < count; n += 1) await call(client, 'tag.create-tag', { name: `Tag ${n}` });
    const before = await events();
    const seen: Line[] = [];
    let path: string | undefined = 'history';
    for (let pages = 0; path !== undefined; pages += 1) {
      expect(pages).toBeLessThan(10);
      const html = await read(path);
      seen.push(...linesOf(html));
      path = linkIn(html, 'Older');
    }
    const positions = seen.map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted((one, other) => other - one));
    const last = before.at(-1)!.position;
    expect(positions.filter((position) => position <= last).toReversed()).toEqual(
      before.map(({ position }) => position),
    );
    expect(seen[0]!.position).toBeGreaterThanOrEqual(last);
    expect(seen.at(-1)!.what).toBe('The organization was created');
  });

  it('pages from the first events to the newest', async () => {
    const all = await events();
    let html = await read('history?after=0');
    expect(linkIn(html, 'Older')).toBeUndefined();
    const seen = linesOf(html).toReversed();
    for (let path = linkIn(html, 'Newer'); path !== undefined; path = linkIn(html, 'Newer')) {
      html = await read(path);
      seen.push(...linesOf(html).toReversed());
      if (seen.length > all.length) break;
    }
    expect(seen.slice(0, all.length).map(({ position }) => position)).toEqual(
      all.map(({ position }) => position),
    );
  });

  it('states that readers are recorded, and records them', async () => {
    const html = await read('history');
    expect(textOf(html)).toContain('Viewing this page is also recorded.');
    const [reading] = (await events({ type: 'HistoryRead' })).slice(-1) as unknown as {
      actor: object;
      data: object;
    }[];
    expect(reading).toMatchObject({
      actor: { type: 'user' },
      data: { operation: 'history.list-events' },
    });
    expect(linesOf(await read('history'))[0]).toMatchObject({
      what: 'The history was read',
      who: 'auditor@example.org',
    });
  });

  it('filters by event, kind of record, record, actor and day', async () => {
    const contactId = await contact({ email: 'filtered@example.org' });
    await call(client, 'contact.update-contact', { contactId, city: 'Bremen' });
    const of = async (query: string) => linesOf(await read(`history?${query}`));

    const made = await of('type=ContactCreated');
    expect(new Set(made.map(({ what }) => what))).toEqual(new Set(['The contact was added']));
    const kinds = await of('recordType=tag');
    expect(new Set(kinds.map(({ what }) => what))).toEqual(new Set(['The tag was created']));
    expect(kinds).toHaveLength(PAGE_SIZE);
    expect((await of(`recordId=${contactId}`)).map(({ what }) => what)).toEqual([
      'The contact was updated',
      'The contact was added',
    ]);

    await owner.post(at('tags/new'), { name: 'By a person' });
    const html = await read('history');
    const [, userId] = /<option value="([0-9a-f-]+)">owner@example.org<\/option>/.exec(html) ?? [];
    const theirs = await of(`actorId=${userId}&recordType=tag`);
    expect(theirs).toMatchObject([{ what: 'The tag was created', who: 'owner@example.org' }]);
    const [{ id: keyId }] = (await client.get('api-key.list-api-keys', { limit: '1' })).body.data as [
      { id: string },
    ];
    expect((await of(`actorId=${keyId}`))[0]!.who).toMatch(/^API key “.+”$/);

    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    expect((await of(`from=${day(-1)}&to=${day(1)}&type=ContactCreated`)).length).toBe(made.length);
    expect(await of(`from=${day(2)}`)).toEqual([]);
    expect(await of(`to=${day(-2)}`)).toEqual([]);
    expect(textOf(await read(`history?to=${day(-2)}`))).toContain('Nothing found');
  });

  it('a day includes its first moment, but not the first of the next day', async () => {
    const [{ at: moment }] = await api.database.source.query<[{ at: Date }]>(
      `SELECT recorded_at AS at FROM events WHERE organization_id = $1 ORDER BY position LIMIT 1`,
      [client.organizationId],
    );
    const day = moment.toISOString().slice(0, 10);
    const first = (await read(`history?after=0&from=${day}&to=${day}`)).includes(
      'The organization was created',
    );
    expect(first).toBe(true);
    const { status } = await open('history?from=20-1-1');
    expect(status).toBe(400);
  });

  it.each([
    'type=Unheard',
    'recordId=1',
    'actorId=%00',
    'after=-1',
    'before=x',
    'requestId=%00',
    'to=0000-01-01',
  ])('rejects an invalid query: %s', async (query) => {
    expect((await open(`history?${query}`)).status).toBe(400);
  });

  it('is shown in German', async () => {
    const { text } = await open('history?after=0', auditor.at(api.origin, 'de'));
    expect(textOf(text)).toContain('Die Organisation wurde angelegt');
    expect(textOf(text)).toContain('Auch der Aufruf dieser Seite wird protokolliert.');
  });
});

describe('one event', () => {
  it('is described in words, with its record and actor, and as JSON', async () => {
    const petitionId = (await call(client, 'petition.create-petition', { name: 'Clean water', goal: 4321 }))
      .petitionId as string;
    const [event] = await events({ recordId: petitionId });
    const html = await read(`history/events/${event!.id}`, owner);
    const text = textOf(html);
    expect(html).toContain('<h1>The petition was created</h1>');
    for (const part of [`Goal 4,321`, 'Title Clean water', 'Record Petition', event!.id]) {
      expect(text).toContain(part);
    }
    expect(linkIn(html, 'Petition')).toBe(`petitions/${petitionId}`);
    expect(text).toContain('"goal": 4321');
    const request = linesOf(await read(linkIn(html, event!.requestId)!));
    expect(request.map(({ position }) => position)).toEqual([event!.position]);
    // Pages that the role may not see are not linked.
    expect(linkIn(await read(`history/events/${event!.id}`), 'Petition')).toBeUndefined();
  });

  it('shows no data of an erased contact, and that it was deleted', async () => {
    const contactId = await contact({ email: 'soon-erased@example.org', firstName: 'Grace' });
    const [event] = await events({ recordId: contactId });
    const path = `history/events/${event!.id}`;
    expect(textOf(await read(path))).toContain('First name Grace');
    await client.delete('contact.delete-contact', { contactId });
    const html = await read(path);
    expect(html).not.toMatch(/Grace|soon-erased/);
    expect(textOf(html)).toContain('permanently deleted');
    const proof = await open(`${path}/proof`);
    expect(proof.text).not.toMatch(/Grace|soon-erased/);
  });

  it('shows nothing of an API key that helps to guess its secret', async () => {
    const { apiKeyId } = await call(client, 'api-key.create-api-key', {
      name: 'Website',
      scopes: ['tag:read'],
    });
    const [event] = await events({ recordId: apiKeyId as string });
    const html = await read(`history/events/${event!.id}`);
    expect(html).not.toContain('secretHash');
    expect(textOf(html)).not.toContain('Personal data');
  });

  it('returns 404 for another organization or an unknown event', async () => {
    const [event] = await events({}, foreign);
    for (const path of ['', '/proof', '/tlog-proof']) {
      expect((await open(`history/events/${event!.id}${path}`)).status).toBe(404);
      expect((await open(`history/events/${event!.id}${path}`, auditor, foreign)).status).toBe(404);
    }
  });

  it('has a proof that verifies against the signed root with nothing but the specification', async () => {
    await contact({ email: 'proved@example.org' });
    const all = await events();
    const { id } = all[Math.floor(all.length / 2)]!;
    const answer = await open(`history/events/${id}/proof`);
    expect(answer.headers.get('content-disposition')).toMatch(/attachment; filename="?event-\d+-proof\.json/);
    const { event, index, path, checkpoint } = JSON.parse(answer.text) as Proof;
    expect(event.eventId).toBe(id);
    expect(digestOf(event)).toBe(event.digest);
    const root = rootOf(leafOf(event), index, Number(checkpoint.split('\n')[1]), path.map(bytesOf));
    expect(root.toString('base64')).toBe(checkpoint.split('\n')[2]);
    const { text: key } = await open('history/checkpoint/key');
    expect(isSignedWith(checkpoint, key.trim())).toBe(true);
    expect(isSignedWith(checkpoint.replace(/^position \d+/m, 'position 1'), key.trim())).toBe(false);

    // The same proof in C2SP format, with its own checkpoint.
    const { text } = await open(`history/events/${id}/tlog-proof`);
    const [, number, hashes, note] = /^c2sp\.org\/tlog-proof@v1\nindex (\d+)\n((?:\S+\n)*)\n([\s\S]+)$/.exec(
      text,
    )!;
    const size = Number(note!.split('\n')[1]);
    const same = rootOf(leafOf(event), Number(number), size, hashes!.trimEnd().split('\n').map(bytesOf));
    expect([Number(number), same.toString('base64')]).toEqual([index, note!.split('\n')[2]]);
  });
});

describe('checkpoints', () => {
  it('the newest is shown and downloaded with its key and all related files', async () => {
    const html = await read('history/checkpoints');
    const { text: note, headers } = await open('history/checkpoint');
    expect(headers.get('content-disposition')).toContain(`checkpoint-${note.split('\n')[1]}.txt`);
    expect(note.split('\n')[0]).toBe(`advocacy-api/${client.organizationId}`);
    const { text: key } = await open('history/checkpoint/key');
    expect(isSignedWith(note, key.trim())).toBe(true);
    expect(html).toContain(key.trim());
    expect((await open('history/checkpoint/parts')).text).toMatch(/^(\d+ \d+ \d+ \S{44}\n)+$/);
    expect((await open('history/checkpoint/tlog-proof')).text).toMatch(/^c2sp\.org\/tlog-proof@v1\n/);
    // No witness is configured.
    expect(textOf(html)).toContain('No external witness');
    expect((await open('history/checkpoint/witnessed')).status).toBe(404);
  });

  it('an older one has a proof that the newest continues it', async () => {
    const before = (await client.get('history.get-checkpoint')).body.data as { size: number };
    await contact({ email: 'later@example.org' });
    const page = await read(`history/checkpoints?size=${before.size - 1}`);
    const link = linkIn(page, 'Download the proof')!;
    const proof = JSON.parse((await open(link)).text) as {
      older: number;
      size: number;
      path: string[];
    };
    expect(proof).toMatchObject({ older: before.size - 1 });
    const { data } = (await client.get('history.get-checkpoint', { size: String(proof.older) })).body;
    if (data.size === proof.size) expect(data.consistency).toEqual(proof.path);
    expect(proof.path.length).toBeGreaterThan(0);
  });

  it.each(['0', 'x', '99999999', '1.5'])('returns 422 for a size that never existed: %s', async (size) => {
    const { status, text } = await open(`history/checkpoints?size=${size}`);
    expect(status).toBe(422);
    expect(textOf(text)).toMatch(/Enter a whole number from 1 to \d+/);
    expect(text).toContain(`value="${size}"`);
  });

  it('shows whether the public can verify the history', async () => {
    expect(textOf(await read('history/checkpoints'))).toContain('Only people who can read the history');
    await call(client, 'organization.update-organization', { publicLog: true });
    const html = await read('history/checkpoints');
    expect(html).toContain(`href="/log/${client.organizationId}/checkpoint"`);
    await call(client, 'organization.update-organization', { publicLog: false });
  });

  it('a history that does not match its signature is reported as such, not as a temporary error', async () => {
    const other = await api.organization();
    const visitor = await signedIn(api, other, 'AUDITOR', 'other-auditor@example.org');
    expect((await open('history/checkpoints', visitor, other)).status).toBe(200);
    await api.database.source.query(
      `UPDATE signed_notes SET note = replace(note, E'\\nposition ', E'\\nposition 9'), refused = 'changed', refused_at = now()
       WHERE organization_id = $1`,
      [other.organizationId],
    );
    const [event] = await events({}, other);
    for (const path of ['checkpoints', 'checkpoint', 'verify', `events/${event!.id}/proof`]) {
      const { status, text } = await open(`history/${path}`, visitor, other);
      expect([path, status]).toEqual([path, 409]);
      expect(text).toContain('This history doesn’t match what was signed');
    }
    // The events can still be read.
    expect((await open('history', visitor, other)).status).toBe(200);
  });
});

inBrowser('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.start();
  });
  afterAll(() => browser.stop());

  it('an invalid key in a signed rotation is reported as a fault of the history, not of the entered key', async () => {
    const [before, after] = [keyPair(), keyPair()];
    const [from, to] = [before.verifierKey, 'rubbish'];
    const statement = `advocacy-api signing key\n${client.organizationId}\n${from}\n${to}\n`;
    const data = { from, to, signature: before.sign(statement).toString('base64') };
    const exported = `${JSON.stringify({ position: 1, streamType: 'signing-key', type: 'SigningKeyRotated', data })}\n`;
    const root = sha256().toString('base64');
    const text = `advocacy-api/${client.organizationId}\n0\n${root}\nposition 0\nsealed ${new Date().toISOString()}\n`;
    const note = `${text}\n${after.signatureLine(text)}\n`;
    expect(await verifyTwice(exported, note, from)).toMatchObject({ ok: false, firstWrongPosition: null });

    const window = await browser.open({});
    const { page } = window;
    const { verifying } = DASHBOARD.en.history;
    await page.goto(api.origin + (await invitationTo(api, client, 'AUDITOR', 'in-browser@example.org')));
    await page.locator('form .button').click();
    await page.waitForURL(`${api.origin}/dashboard/${client.organizationId}`);
    await page.goto(api.origin + at('history/verify'));
    await page.route('**/history/export', (route) => route.fulfill({ status: 200, body: exported }));
    await page.locator('#key').fill(from);
    await page.locator('#checkpoint').fill(note);
    await window.press(verifying.start);
    const result = page.locator('[data-result]');
    await result.getByText(verifying.wrong).waitFor();
    expect(await result.innerText()).toContain(verifying.reasons.key);
    expect(await page.locator('.field.wrong').count()).toBe(0);
    window.requireQuiet(api.origin);
  });
});

describe('the activity of a record', () => {
  it('names the changed fields without their values', async () => {
    const contactId = await contact({ email: 'past@example.org' });
    await call(client, 'contact.update-contact', { contactId, city: 'Bremen', firstName: 'Ada' });
    const editor = await signedIn(api, client, 'EDITOR', 'past-editor@example.org');
    const reads = (await events({ type: 'HistoryRead' })).length;
    const text = textOf((await editor.get(at(`contacts/${contactId}`))).text);
    const [, past = ''] = /Activity([\s\S]*)/.exec(text) ?? [];
    expect(past).not.toContain('Bremen');
    expect(text).toMatch(/The contact was updated: (First name and City|City and First name)/);
    const german = await editor.at(api.origin, 'de').get(at(`contacts/${contactId}`));
    expect(textOf(german.text)).toMatch(/Der Kontakt wurde geändert: (Vorname und Ort|Ort und Vorname)/);
    // Everyone who may see a record sees its activity. This does not count as reading the history.
    expect((await events({ type: 'HistoryRead' })).length).toBe(reads);
  });

  it('shows the newest of many entries, and links to the oldest, for every role that sees the record', async () => {
    const tagId = (await call(client, 'tag.create-tag', { name: 'Often changed' })).tagId as string;
    for (let n = 0; n < 110; n += 1) {
      await call(client, 'tag.update-tag', { tagId, description: `Text ${n}` });
    }
    const viewer = await signedIn(api, client, 'VIEWER', 'past@example.org');
    const page = await read(`tags/${tagId}`, viewer);
    const text = textOf(page);
    expect(text.match(/The tag was updated: Description/g)).toHaveLength(100);
    expect(text).not.toContain('The tag was created');
    expect(text).toContain('There are older entries.');
    const older = textOf(await read(linkIn(page, 'Show older entries')!.slice(0, -'#past'.length), viewer));
    expect(older.match(/The tag was updated: Description/g)).toHaveLength(10);
    expect(older).toContain('The tag was created');
    expect(older).not.toContain('There are older entries.');
  });

  longIt('stops early if the events are large', async () => {
    const postId = (await call(client, 'post.create-post', { name: 'Long' })).postId as string;
    for (let n = 0; n < 8; n += 1) {
      await call(client, 'post.update-post', { postId, content: `${n} ${'long '.repeat(50_000)}` });
    }
    const text = textOf(await read(`posts/${postId}`, owner));
    expect(text.match(/The post was updated: Text/g)!.length).toBeLessThan(8);
    expect(text).toContain('There are older entries.');
  });
});

describe('system status', () => {
  const SUBSCRIPTION = 'petition-goals';
  const fail = (organizationId: string, position: number) =>
    api.database.source.query(
      `INSERT INTO subscription_retries (subscription, position, organization_id, stream_id, attempts, parked_at, reason)
       VALUES ($1, $2, $3, gen_random_uuid(), 8, now(), 'a secret reason')`,
      [SUBSCRIPTION, position, organizationId],
    );
  beforeAll(() =>
    api.database.source.query(
      `INSERT INTO subscriptions (name, position) VALUES ($1, event_horizon()) ON CONFLICT DO NOTHING`,
      [SUBSCRIPTION],
    ),
  );

  /** The page once the projections have reached the events of the tests before. */
  const whenUpToDate = async () => {
    let text = '';
    await eventually(async () => {
      text = textOf(await read('workings'));
      expect(text).toContain('Everything is up to date.');
    });
    return text;
  };

  it('shows that everything is up to date', async () => {
    await api.database.source.query('UPDATE subscriptions SET position = event_horizon()');
    const text = await whenUpToDate();
    expect(text).toContain('Everything is up to date. You don’t need to do anything.');
    expect(text).toContain('Petitions and signatures Up to date');
    expect(text).toContain('Record when petitions reach their goals Up to date');
    const german = await open('workings', auditor.at(api.origin, 'de'));
    expect(textOf(german.text)).toContain('Alles ist auf dem neuesten Stand.');
  });

  it('updates automatically, with and without scripts, unless paused', async () => {
    const html = await read('workings');
    expect(html).toMatch(
      /<div id="live" hx-ext="morph" hx-get="[^"]+" hx-trigger="every 2s" hx-select="#main"/,
    );
    expect(html).toContain('<noscript><meta http-equiv="refresh"');
    const held = await read('workings?still=1');
    expect(held).not.toMatch(/every 2s|http-equiv="refresh"/);
    expect(held).toContain('Resume updates');
  });

  it('shows what is catching up', async () => {
    await api.database.source.query(
      'UPDATE subscriptions SET position = greatest(0, event_horizon() - 101) WHERE name = $1',
      [SUBSCRIPTION],
    );
    const text = textOf(await read('workings'));
    expect(text).toContain('Some parts are catching up.');
    expect(text).toContain('Record when petitions reach their goals Catching up');
    await api.database.source.query('UPDATE subscriptions SET position = event_horizon()');
  });

  it('lists failed events, but never those of another organization', async () => {
    const [theirs] = (await events({}, foreign)).slice(-1);
    await fail(foreign.organizationId, theirs!.position);
    const before = await whenUpToDate();
    expect(before).not.toContain('No longer retried');

    const [own] = (await events()).slice(-1);
    await fail(client.organizationId, own!.position);
    const html = await read('workings');
    expect(textOf(html)).toContain('Some parts need attention.');
    expect(textOf(html)).toContain('Record when petitions reach their goals Needs attention');
    expect(html).not.toContain('secret reason');
    const link = linkIn(html, own!.position.toLocaleString('en-GB'))!;
    expect(linesOf(await read(link))[0]!.position).toBe(own!.position);
    expect(html).not.toContain(`before=${theirs!.position + 1}"`);
    await api.database.source.query('DELETE FROM subscription_retries');
  });

  it('shows only the organization’s own webhooks', async () => {
    await call(client, 'webhook.create-webhook', { url: 'https://webhooks.invalid/own' });
    await call(foreign, 'webhook.create-webhook', { url: 'https://webhooks.invalid/theirs' });
    const html = await read('workings');
    expect(html).toContain('https://webhooks.invalid/own');
    expect(html).not.toContain('https://webhooks.invalid/theirs');
  });
});

it.each(['VIEWER', 'EDITOR'])('%s: cannot open the history or the system status', async (role) => {
  const visitor = await signedIn(api, client, role, `no-way-${role}@example.org`);
  const [event] = await events();
  const { text } = await visitor.get(`/dashboard/${client.organizationId}`);
  expect(text).not.toMatch(/\/(history|workings)"/);
  for (const path of ['history', `history/events/${event!.id}`, 'history/checkpoint', 'workings']) {
    const answer = await open(path, visitor);
    expect([path, answer.status]).toEqual([path, 403]);
    expect(answer.text).not.toContain(event!.id);
  }
});

type Proof = {
  event: {
    position: number;
    organizationId: string;
    streamType: string;
    streamId: string;
    version: number;
    eventId: string;
    type: string;
    schema: number;
    data: object;
    encryptedPersonal: string | null;
    subjectId: string | null;
    metadata: object;
    recordedAt: string;
    digest: string;
  };
  index: number;
  path: string[];
  checkpoint: string;
};

// The following functions are written from docs/spec/history-format.md only.

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const bytesOf = (text: string) => Buffer.from(text, 'base64');

function int64(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
}

function canonical(json: unknown): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`;
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join()}}`;
}

function digestOf(event: Proof['event']): string {
  const { data, eventId, metadata, organizationId, schema, streamId, streamType, subjectId, type, version } =
    event;
  const stored = { data, eventId, metadata, organizationId, personal: event.encryptedPersonal };
  const whole = { ...stored, schema, streamId, streamType, subjectId, type, version };
  return sha256(sha256(Buffer.from(canonical(whole))), int64(Date.parse(event.recordedAt))).toString('hex');
}

function leafOf({ position, digest }: Proof['event']): Buffer {
  return sha256(Buffer.of(0), int64(position), Buffer.from(digest, 'hex'));
}

/** RFC 9162, section 2.1.3.2. */
function rootOf(leaf: Buffer, index: number, size: number, path: readonly Buffer[]): Buffer {
  let [node, last, root] = [index, size - 1, leaf];
  for (const hash of path) {
    if (last === 0) throw new Error('The path is too long.');
    if (node % 2 === 1 || node === last) {
      root = sha256(Buffer.of(1), hash, root);
      while (node % 2 === 0 && node !== 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
    } else {
      root = sha256(Buffer.of(1), root, hash);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Error('The path is too short.');
  return root;
}

function isSignedWith(note: string, verifierKey: string): boolean {
  const [, name, , encoded] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey)!;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytesOf(encoded!).subarray(1).toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  return note
    .split('\n')
    .filter((line) => line.startsWith(`— ${name} `))
    .some((line) => verify(null, Buffer.from(text), key, bytesOf(line.split(' ')[2]!).subarray(4)));
}

/** A key pair under the generic name, for signatures of an untrusted signer. */
function keyPair() {
  const name = 'advocacy-api';
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = bytesOf(publicKey.export({ format: 'jwk' }).x!);
  const key = Buffer.concat([Buffer.of(1), raw]);
  const id = sha256(Buffer.from(`${name}\n`), key).subarray(0, 4);
  const signed = (text: string) => sign(null, Buffer.from(text), privateKey);
  return {
    verifierKey: `${name}+${id.toString('hex')}+${key.toString('base64')}`,
    sign: signed,
    signatureLine: (text: string) => `— ${name} ${Buffer.concat([id, signed(text)]).toString('base64')}`,
  };
}
