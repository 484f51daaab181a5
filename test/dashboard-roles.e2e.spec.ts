import { setTimeout as sleep } from 'node:timers/promises';
import { PAGES } from '../src/dashboard/index.js';
import { type Role, ROLES } from '../src/team/index.js';
import { type PageEntry, RECORDS, TABLE } from './dashboard-pages.js';
import { Api, type Client, NOBODY } from './harness.js';
import { signedIn, Visitor } from './people-in.js';

let api: Api;
let client: Client;
let foreign: Client;
let stranger: Visitor;
const visitors = new Map<Role, Visitor>();
const users = new Map<Role, string>();
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  client = await api.organization();
  foreign = await api.organization();
  stranger = await signedIn(api, foreign, 'OWNER', 'stranger@example.org');
  for (const role of ROLES) visitors.set(role, await signedIn(api, client, role));
  const { data } = (await client.get('team.list-members', { limit: '100' })).body;
  for (const { role, userId } of data as { role: Role; userId: string }[]) users.set(role, userId);
});
afterAll(() => api.stop());

it('every page is in the table, and every form', () => {
  expect(Object.keys(TABLE).toSorted()).toEqual(PAGES.map(({ path }) => path).toSorted());
  const forms = Object.keys(TABLE).filter((path) => TABLE[path]!.act);
  expect(forms.toSorted()).toEqual(
    PAGES.filter(({ act }) => act)
      .map(({ path }) => path)
      .toSorted(),
  );
});

/** The path with the ids of records that were made for it. */
async function withIds(path: string, { records = {} }: PageEntry): Promise<string> {
  let made = path;
  const ids: Record<string, string> = {};
  for (const [part, name] of path.matchAll(/:(\w+)/g)) {
    const id = await (records[name!] ?? RECORDS[name!]!)(api, client, ids);
    ids[name!] = id;
    made = made.replace(part, id);
  }
  return made;
}

type Event = Awaited<ReturnType<Api['eventsAfter']>>[number];

/** Where the past of a record is told, by the kind of its stream. */
const PAGE_OF: Record<string, (event: Event, below: string) => string> = {
  contact: ({ streamId }) => `contacts/${streamId}`,
  'list-membership': ({ subjectId }) => `contacts/${subjectId}`,
  tagging: ({ subjectId }) => `contacts/${subjectId}`,
  signature: ({ subjectId }) => `contacts/${subjectId}`,
  list: ({ streamId }) => `lists/${streamId}`,
  tag: ({ streamId }) => `tags/${streamId}`,
  'signature-invalidation': ({ streamId }, below) =>
    `${below.split('/').slice(0, 2).join('/')}/invalidations/${streamId}`,
  petition: ({ streamId }) => `petitions/${streamId}`,
  post: ({ streamId }) => `posts/${streamId}`,
  image: ({ streamId }) => `images/${streamId}`,
  broadcast: ({ streamId }) => `broadcasts/${streamId}`,
  organization: () => 'organization',
  sender: () => 'organization',
  'api-key': ({ streamId }) => `keys/${streamId}`,
  webhook: ({ streamId }) => `webhooks/${streamId}`,
  member: ({ streamId }) => `team/${streamId}`,
};

const at = (organizationId: string, path: string) =>
  `/dashboard/${organizationId}${path === '' ? '' : `/${path}`}`;

describe.each(Object.entries(TABLE))('%s', (path, entry) => {
  const hasIds = path.includes(':');

  it('is shown by role, and to nobody else', async () => {
    const below = await withIds(path, entry);
    for (const role of ROLES) {
      const { status, text } = await patiently(() =>
        visitors.get(role)!.get(at(client.organizationId, below)),
      );
      expect([role, status]).toEqual([role, entry.see.includes(role) ? (entry.shown ?? 200) : 403]);
      // What a page says is there. As words: in signatures and in what is encrypted such letters come about by chance.
      if (text.startsWith('<!doctype')) expect(mainOf(text)).not.toMatch(/(^|\s)(undefined|\[object |NaN)/);
    }
    await requireForeign('get', below);
  });

  it('ends with what has happened to its record, and only the page of a record does', async () => {
    const below = await withIds(path, entry);
    const { text } = await patiently(() => visitors.get('OWNER')!.get(at(client.organizationId, below)));
    expect(/<ul class="past">\s*<li>/.test(text)).toBe(entry.hasPast === true);
  });

  if (!entry.act) return;

  it.each(ROLES)('does what its form says, for %s as the table says', async (role) => {
    const below = await withIds(path, entry);
    await requireForeign('post', below);
    const before = await api.lastPosition();
    const visitor = visitors.get(role)!;
    const { status, text, location } = await sendForm(visitor, at(client.organizationId, below), entry);
    const done = entry.acted ?? 303;
    expect([role, status, status === done ? '' : mainOf(text)]).toEqual(
      entry.act!.includes(role) ? [role, done, ''] : [role, 403, mainOf(text)],
    );
    if (location !== null)
      expect([location, (await patiently(() => visitor.get(location))).status]).toEqual([location, 200]);
    // What was prepared for it was done by a key, and before.
    const events = await api.eventsAfter(client.organizationId, before);
    const own = events.filter(({ actor }) => actor === `user ${users.get(role)!}`);
    expect([role, own.length > 0]).toEqual([role, entry.act!.includes(role) && entry.isTrial !== true]);
    const newest = own.at(-1);
    if (newest) await requirePast(visitor, below, newest, `${role.toLowerCase()}@example.org`);
  });

  /** The page of its record says who did it. */
  async function requirePast(visitor: Visitor, below: string, event: Event, who: string): Promise<void> {
    const shown = entry.isGone
      ? `history?recordId=${event.streamId}`
      : PAGE_OF[event.streamType]!(event, below);
    const reader = entry.isGone ? visitors.get('OWNER')! : visitor;
    const { status, text } = await patiently(() => reader.get(at(client.organizationId, shown)));
    expect([event, status, mainOf(text)]).toEqual([event, 200, expect.stringContaining(who)]);
  }

  async function requireForeign(how: 'get' | 'post', below: string): Promise<void> {
    const ask = (visitor: Visitor, whole: string) =>
      how === 'get' ? patiently(() => visitor.get(whole)) : sendForm(visitor, whole, entry);
    expect((await ask(stranger, at(client.organizationId, below))).status).toBe(404);
    expect((await ask(stranger, at(NOBODY, below))).status).toBe(404);
    expect((await ask(new Visitor(api.origin), at(client.organizationId, below))).location).toBe(
      '/dashboard/sign-in',
    );
    // In their own organization, with ids of this one.
    if (hasIds) expect((await ask(stranger, at(foreign.organizationId, below))).status).toBe(404);
  }
});

async function sendForm(visitor: Visitor, whole: string, { form, file }: PageEntry) {
  const fields = (await form?.(client)) ?? {};
  if (!file) return patiently(() => visitor.post(whole, fields));
  const content = await file.content();
  return patiently(() => visitor.upload(whole, { ...file, content }, fields));
}

/** Nobody opens as many pages in a second as this test: it waits as it is told to. */
async function patiently<Answer extends { status: number; headers: Headers }>(ask: () => Promise<Answer>) {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 429) return answer;
    await sleep(Number(answer.headers.get('retry-after')) * 1_000);
  }
}

/** What a page says, without all that is around it. */
function mainOf(text: string): string {
  const [, main = text] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? [];
  return main
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
