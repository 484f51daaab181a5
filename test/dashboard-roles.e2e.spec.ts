import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { expectEntries } from '#libs/testing';
import { groupsOfContacts } from '../src/contacts/index.js';
import { nameOfDashboardPath } from '../src/dashboard/index.js';
import { OffLinks } from '../src/notifications/index.js';
import { type Role, ROLES, Sessions, SignInLinks, Team } from '../src/team/index.js';
import {
  type Field,
  fieldsIn,
  isFile,
  newAddress,
  type PageEntry,
  RECORDS,
  TABLE,
} from './dashboard-pages.js';
import { ROUTES } from './dashboard-routes.js';
import { Api, type Client, NOBODY } from './harness.js';
import { isLong } from './length.js';
import { invitationTo, signedIn, Visitor } from './people-in.js';

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

type Route = { path?: string; methods: Record<string, boolean> };

it('covers every other route of the dashboard', () => {
  const { router } = api.instances[0]!.app.getHttpAdapter().getInstance() as {
    router: { stack: { route?: Route }[] };
  };
  const routes = router.stack.flatMap(({ route }) =>
    Object.keys(route?.methods ?? {}).map((method) => `${method.toUpperCase()} ${String(route!.path)}`),
  );
  const own = routes.filter((route) => /^\w+ \/dashboard/.test(route) && !route.includes('/:organization'));
  expect(own.toSorted()).toEqual(Object.keys(ROUTES).toSorted());
});

type Person = { visitor: Visitor; userId: string };
/** The person whose sessions and passkeys others try to end. */
let bystander: Promise<Person> | undefined;

describe.each(Object.entries(ROUTES))('%s', (route, entry) => {
  const [method = '', path = ''] = route.split(' ');

  const newPerson = async (): Promise<Person> => {
    const email = newAddress();
    const visitor = await signedIn(api, client, 'VIEWER', email);
    const { data } = (await client.get('team.list-members', { limit: '1' })).body;
    expect(data[0].email).toBe(email);
    return { visitor, userId: data[0].userId };
  };

  const find = <T>(type: new (...of: never[]) => T) => api.instances[0]!.app.get<T>(type, { strict: false });

  /** Creates a value for each parameter of a path, belonging to this person. */
  const MAKERS: Record<string, (userId: string) => Promise<string>> = {
    name: () => Promise.resolve('htmx.js'),
    session: async (userId) => {
      await find(Sessions).begin(userId, 'Firefox');
      return (await find(Sessions).list(userId))[0]!.id;
    },
    passkey: async (userId) => {
      const id = uuidv7();
      await api.database.source.query(
        `INSERT INTO passkeys (credential_id, id, user_id, public_key, counter, transports, name)
         VALUES ($1, $2, $3, '', 0, '{}', 'Firefox')`,
        [randomBytes(16), id, userId],
      );
      return id;
    },
    notification: () => Promise.resolve('goalReached'),
    token: async (userId) => {
      if (path.includes('/notifications/')) {
        const [membership] = await find(Team).membershipsOf(userId);
        const link = { notification: 'goalReached', ...membership! } as const;
        return find(OffLinks).urlOf(link).split('/').at(-1)!;
      }
      const address = path.includes('/invitations/')
        ? await invitationTo(api, client, 'VIEWER', newAddress())
        : (await find(SignInLinks).make(userId))!;
      return address.split('/').at(-1)!;
    },
  };

  const addressFor = async (userId: string): Promise<string> => {
    let address = path.replace('{/}', '/');
    for (const [part, name] of path.matchAll(/:(\w+)/g))
      address = address.replace(part, await MAKERS[name!]!(userId));
    return address;
  };

  const answerTo = async (visitor: Visitor, address: string, headers: Record<string, string> = {}) => {
    const { status, location } = await (method === 'GET'
      ? visitor.get(address, headers)
      : visitor.post(address, entry.form, headers));
    return location === null ? String(status) : `${status} ${location}`;
  };

  /** The sessions and passkeys of a person, which no one else may delete. */
  const credentialsOf = (userId: string): Promise<unknown[]> =>
    api.database.source.query(
      'SELECT id FROM sessions WHERE user_id = $1 UNION ALL SELECT id FROM passkeys WHERE user_id = $1 ORDER BY id',
      [userId],
    );

  it('responds as the table states to strangers, members, and users who request other people’s records', async () => {
    const inPlace = (answered: string) => answered.replace(':own', client.organizationId);
    const other = await (bystander ??= newPerson());
    // A link with a token works for anyone who has it.
    const isGiven = path.includes(':token');
    const cases: [who: string, visitor: Visitor, of: Person, answered: string][] = [
      ['signed out', new Visitor(api.origin), other, entry.signedOut],
    ];
    if (entry.another !== undefined)
      cases.push(["another person's", (await newPerson()).visitor, other, entry.another]);
    const member = await newPerson();
    cases.push(['signed in', member.visitor, member, entry.signedIn]);
    for (const [who, visitor, { userId }, answered] of cases) {
      const address = await addressFor(userId);
      expect(nameOfDashboardPath(address.split('?')[0]!)).toBe(path.replace('{/}', ''));
      const [before, position] = [await credentialsOf(other.userId), await api.lastPosition()];
      expect([who, await answerTo(visitor, address)]).toEqual([who, inPlace(answered)]);
      if (who !== 'signed in' && !isGiven)
        expect([who, await credentialsOf(other.userId)]).toEqual([who, before]);
      const events = await api.eventsAfter(client.organizationId, position);
      const done = events.map(({ type, actor }) => [type, actor.split(' ')[0]]);
      expect([who, done]).toEqual([who, (entry.events ?? []).map((type) => [type, 'user'])]);
    }
  });

  if (method === 'GET') return;

  it('does nothing for requests from another site, with or without a session', async () => {
    const { visitor: member, userId } = await (bystander ??= newPerson());
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    for (const visitor of [new Visitor(api.origin), member]) {
      const address = await addressFor(userId);
      const [before, position] = [await credentialsOf(userId), await api.lastPosition()];
      const { cookie } = visitor;
      expect(await answerTo(visitor, address, headers)).toBe('403');
      expect([visitor.cookie, await credentialsOf(userId)]).toEqual([cookie, before]);
      expect(await api.eventsAfter(client.organizationId, position)).toEqual([]);
    }
  });
});

/** Ids of records that are only read, by path. */
const shared = new Map<string, string>();

/** The path with ids of records: new ones if they are changed, otherwise shared ones. */
async function withIds(path: string, { records = {} }: PageEntry, isChanged = false): Promise<string> {
  const ids: Record<string, string> = {};
  let [made, before] = [path, ''];
  for (const part of path.split('/')) {
    before += `/${part}`;
    if (!part.startsWith(':')) continue;
    const name = part.slice(1);
    const key = Object.keys(records).length > 0 ? path : before;
    const known = isChanged ? undefined : shared.get(`${key} ${name}`);
    const id = known ?? (await (records[name] ?? RECORDS[name]!)(api, client, ids));
    if (!isChanged) shared.set(`${key} ${name}`, id);
    ids[name] = id;
    made = made.replace(part, id);
  }
  return made;
}

type Event = Awaited<ReturnType<Api['eventsAfter']>>[number];

/** The page with the activity of a record, by stream type. */
const PAGE_OF: Record<string, (event: Event, below: string) => string> = {
  contact: ({ streamId }) => `contacts/${streamId}`,
  signature: ({ subjectId }) => `contacts/${subjectId}`,
  ...Object.fromEntries(
    groupsOfContacts().flatMap(({ kind, link }): [string, (event: Event) => string][] => [
      [kind, ({ streamId }) => `${kind}s/${streamId}`],
      [link.streamType, ({ subjectId }) => `contacts/${subjectId}`],
    ]),
  ),
  'contact-notes': ({ subjectId }) => `contacts/${subjectId}`,
  field: ({ streamId }) => `fields/${streamId}`,
  view: ({ streamId }) => `views/${streamId}`,
  segment: ({ streamId }) => `segments/${streamId}`,
  'signature-invalidation': ({ streamId }, below) =>
    `${below.split('/').slice(0, 2).join('/')}/invalidations/${streamId}`,
  'offline-count': (_, below) => below.split('/').slice(0, 2).join('/'),
  petition: ({ streamId }) => `petitions/${streamId}`,
  form: ({ streamId }) => `forms/${streamId}`,
  post: ({ streamId }) => `posts/${streamId}`,
  image: ({ streamId }) => `images/${streamId}`,
  broadcast: ({ streamId }) => `broadcasts/${streamId}`,
  organization: () => 'organization',
  sender: () => 'organization',
  'api-key': ({ streamId }) => `keys/${streamId}`,
  'publishable-key': ({ streamId }) => `publishable-keys/${streamId}`,
  webhook: ({ streamId }) => `webhooks/${streamId}`,
  member: ({ streamId }) => `team/${streamId}`,
  'notification-settings': () => 'notifications',
};

const at = (organizationId: string, path: string) =>
  `/dashboard/${organizationId}${path === '' ? '' : `/${path}`}`;

/**
 * The weakest permitted role and the strongest forbidden one. `src/dashboard/access.unit.spec.ts` tests all roles.
 */
function triedOf(may: readonly Role[]): Role[] {
  if (isLong) return [...ROLES];
  const allowed = ROLES.findLast((role) => may.includes(role))!;
  const refused = ROLES.find((role) => !may.includes(role));
  return refused === undefined ? [allowed] : [allowed, refused];
}

describe.each(Object.entries(TABLE))('%s', (path, entry) => {
  const hasIds = path.includes(':');
  const placed = (visitor: Visitor) => (entry.isHere ? visitor.here() : visitor);

  it('is shown only to permitted roles, with the activity of its record if it has one', async () => {
    const below = await withIds(path, entry);
    let past = '';
    for (const role of triedOf(entry.see)) {
      const visitor = placed(visitors.get(role)!);
      const { status, text } = await visitor.get(at(client.organizationId, below));
      expect([role, status]).toEqual([role, entry.see.includes(role) ? (entry.shown ?? 200) : 403]);
      // No value is missing in the text. Whole words only, because signatures contain these letters by chance.
      if (entry.see.includes(role)) past = text;
      if (!text.startsWith('<!doctype')) continue;
      expect(mainOf(text)).not.toMatch(/(^|\s)(undefined|\[object |NaN)/);
      if (isFile(path)) continue;
      expect(structureOf(text)).toEqual({ headings: 1, title: expect.stringMatching(/\S – \S/), unnamed: 0 });
    }
    expect(/<ul class="past">\s*<li>/.test(past)).toBe(entry.hasPast === true);
    await requireForeign('get', below);
    if (!entry.isHere) return;
    for (const role of triedOf(entry.see)) {
      const { status } = await visitors.get(role)!.get(at(client.organizationId, below));
      expect([role, status]).toEqual([role, 404]);
    }
  });

  if (!entry.act) return;

  it('rejects its form from everyone outside the organization', async () => {
    await requireForeign('post', await withIds(path, entry));
  });

  it.each(triedOf(entry.act))('performs its form for %s as the table states', async (role) => {
    const below = await withIds(path, entry, entry.act!.includes(role));
    const before = await api.lastPosition();
    const visitor = visitors.get(role)!;
    const { status, text, location } = await sendForm(visitor, at(client.organizationId, below), entry);
    const done = entry.acted ?? 303;
    expect([role, status, status === done ? '' : mainOf(text)]).toEqual(
      entry.act!.includes(role) ? [role, done, ''] : [role, 403, mainOf(text)],
    );
    if (location !== null) expect([location, (await visitor.get(location)).status]).toEqual([location, 200]);
    // An API key prepared the records before.
    const events = await api.eventsAfter(client.organizationId, before);
    const own = events.filter(({ actor }) => actor === `user ${users.get(role)!}`);
    expect([role, own.length > 0]).toEqual([role, entry.act!.includes(role) && entry.isTrial !== true]);
    // Files have no page of their own, but their image does.
    const newest = own.findLast(({ streamType }) => streamType !== 'image-files');
    if (newest) await requirePast(visitor, below, newest, `${role.toLowerCase()}-`);
  });

  it('keeps the input of a rejected form, and links to each error', async () => {
    const below = await withIds(path, entry);
    const whole = at(client.organizationId, below);
    const owner = visitors.get('OWNER')!;
    const shownIn = (page: string) => fieldsIn(page).filter(({ type }) => type !== 'hidden');
    const typed = wronglyFilled(shownIn((await owner.get(whole)).text));
    // A form that contains only choices cannot be filled in wrongly.
    if (!entry.file && typed.every(({ type }) => /^(select|radio|checkbox)$/.test(type))) return;
    const fields = typed.map(({ name, value }): [string, string] => [name, value]);
    const file = entry.file && { ...entry.file, content: '\0' };
    const { status, text } = await (file ? owner.upload(whole, file, fields) : owner.post(whole, fields));
    expect([status, mainOf(text)]).toEqual([422, expect.anything()]);
    expect(shownIn(text).filter(({ isChosen }) => isChosen)).toEqual(typed);
    const faults = /<div class="faults"[^]*?<\/div>/.exec(text)![0];
    const links = [...faults.matchAll(/<li><a href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBe(faults.split('<li>').length - 1);
    for (const id of links) expect(text).toContain(` id="${id}"`);
  });

  /** Expects the actor in the activity of the record's page. */
  async function requirePast(visitor: Visitor, below: string, event: Event, who: string): Promise<void> {
    const named = entry.isGone || event.streamType in PAGE_OF ? [event.streamType] : [];
    expectEntries('PAGE_OF in test/dashboard-roles.e2e.spec.ts', named, [event.streamType]);
    const shown = entry.isGone
      ? `history?recordId=${event.streamId}`
      : PAGE_OF[event.streamType]!(event, below);
    const reader = entry.isGone ? visitors.get('OWNER')! : visitor;
    const { status, text } = await reader.get(at(client.organizationId, shown));
    expect([event, status, mainOf(text)]).toEqual([event, 200, expect.stringContaining(who)]);
  }

  async function requireForeign(how: 'get' | 'post', below: string): Promise<void> {
    const ask = (visitor: Visitor, whole: string) =>
      how === 'get' ? placed(visitor).get(whole) : sendForm(visitor, whole, entry);
    expect((await ask(stranger, at(client.organizationId, below))).status).toBe(404);
    if (isLong) expect((await ask(stranger, at(NOBODY, below))).status).toBe(404);
    const unknown = await ask(new Visitor(api.origin), at(client.organizationId, below));
    expect([unknown.status, unknown.location]).toEqual(
      how === 'get' ? [303, '/dashboard/sign-in'] : [403, null],
    );
    // In the stranger's own organization, with ids of this one.
    if (hasIds) expect((await ask(stranger, at(foreign.organizationId, below))).status).toBe(404);
  }
});

async function sendForm(visitor: Visitor, whole: string, { form, file }: PageEntry) {
  const fields = (await form?.(client)) ?? {};
  if (!file) return visitor.post(whole, fields);
  const content = await file.content();
  return visitor.upload(whole, { ...file, content }, fields);
}

/** Choices that decide which others are offered. */
const DECIDES = /^subject-\d+$/;

/** Fills text fields with invalid, overlong text, and chooses the last option of each choice that decides nothing else. */
function wronglyFilled(fields: readonly Field[]): Field[] {
  const isLast = ({ name }: Field, n: number) => {
    const own = fields.filter((one) => one.name === name);
    const chosen = DECIDES.test(name) ? (own.find((one) => one.isChosen) ?? own[0]) : own.at(-1);
    return fields[n] === chosen;
  };
  // A large field rejects only a longer text.
  const hasOnlyAreas = fields.every(({ type }) => /^(select|radio|checkbox|area)$/.test(type));
  return fields
    .filter((field, n) => !/^(select|radio)$/.test(field.type) || isLast(field, n))
    .map((field, n) => {
      const isChoice = /^(select|radio|checkbox)$/.test(field.type);
      return {
        ...field,
        value: isChoice
          ? field.value
          : `"<b>'&amp; ${n} ${'x'.repeat(field.type === 'area' && hasOnlyAreas ? 10_000 : 300)}`,
        isChosen: true,
      };
    });
}

/** The text of a page's main part. */
/** The main headings, the title and the navigations without a name, because screen readers announce these first. */
function structureOf(text: string): { headings: number; title: string; unnamed: number } {
  return {
    headings: text.split(/<h1[ >]/).length - 1,
    title: /<title>([^<]*)<\/title>/.exec(text)?.[1] ?? '',
    unnamed: [...text.matchAll(/<nav(?![^>]*aria-label=)/g)].length,
  };
}

function mainOf(text: string): string {
  const [, main = text] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? [];
  return main
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
