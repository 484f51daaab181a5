import { parse } from 'csv-parse/sync';
import { v7 as uuidv7 } from 'uuid';
import { expectEntries } from '#libs/testing';
import { PAGES, WORDS } from '../src/dashboard/index.js';
import { type Role } from '../src/team/index.js';
import { TABLE } from './dashboard-pages.js';
import { SharedApi, type Client, NOBODY } from './harness.js';
import { acceptInvitation, patiently, signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { picture } from './pictures.js';
import { inParallel } from './processes.js';

/** A page of a list shows fifty. */
const MANY = 51;

type List = {
  /** Of what the list is, where it is of one record: its id. */
  of?: (client: Client) => Promise<string>;
  /** Makes one of those that the list is of, number 0 first. */
  make: (client: Client, n: number, of: string) => Promise<unknown>;
  /** What finds number 0 alone, as the address asks. */
  finds?: Record<string, string>;
  /** The page that makes another one. */
  add?: string;
  /** Where there cannot be, or are not soon, as many as two pages show. */
  most?: number;
  /** What is there before. */
  before?: number;
};

const name = (n: number) => (n === 0 ? 'Needle' : `Hay ${n}`);
const address = (n: number) => `${n === 0 ? 'needle' : `hay-${n}`}@example.org`;
const byName = (operation: string): List['make'] => {
  return (client, n) => call(client, operation, { name: name(n) });
};
const invite = (client: Client, email: string) =>
  call(client, 'team.invite-member', { email, role: 'VIEWER' });
const newPetition = async (client: Client): Promise<string> => {
  const { petitionId } = await call(client, 'petition.create-petition', { name: 'River' });
  await call(client, 'petition.publish-petition', { petitionId });
  return petitionId;
};
const sign = (client: Client, n: number, petitionId: string) =>
  call(client, 'petition.add-signature', { petitionId, contact: { email: address(n), firstName: name(n) } });

let api: SharedApi;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());

const LISTS: Record<string, List> = {
  contacts: {
    make: (client, n) =>
      call(client, 'contact.create-contact', {
        organizationId: client.organizationId,
        email: address(n),
        firstName: name(n),
      }),
    finds: { q: 'Needle' },
    add: 'contacts/new',
  },
  lists: { make: byName('list.create-list'), finds: { q: 'Needle' }, add: 'lists/new' },
  tags: { make: byName('tag.create-tag'), finds: { q: 'Needle' }, add: 'tags/new' },
  petitions: {
    make: async (client, n) => {
      const { petitionId } = await call(client, 'petition.create-petition', { name: name(n) });
      if (n === 0) await call(client, 'petition.publish-petition', { petitionId });
    },
    finds: { q: 'Needle', status: 'PUBLISHED' },
    add: 'petitions/new',
  },
  'petitions/:/signatures': {
    of: newPetition,
    make: sign,
    finds: { q: 'Needle' },
  },
  'petitions/:/invalidations': {
    of: newPetition,
    make: async (client, n, petitionId) => {
      const { signatureId } = await sign(client, n, petitionId);
      await call(client, 'petition.invalidate-signatures', { petitionId, signatureIds: [signatureId] });
    },
    add: 'petitions/:/invalidate',
  },
  posts: { make: byName('post.create-post'), finds: { q: 'Needle' }, add: 'posts/new' },
  images: {
    make: async (client, n) => {
      const path = `/v1/image.upload-image?name=${encodeURIComponent(name(n))}`;
      const headers = { 'Content-Type': 'image/png' };
      const image = await picture();
      const { status } = await patiently(() => client.request('POST', path, image, headers));
      expect(status).toBe(200);
    },
    finds: { q: 'Needle' },
    add: 'images/new',
    // Only so many are taken in a second.
    most: 5,
  },
  broadcasts: {
    make: byName('broadcast.create-broadcast'),
    finds: { q: 'Needle', status: 'DRAFT' },
    add: 'broadcasts/new',
  },
  'broadcasts/:/recipients': {
    of: async (client) => {
      const { listId } = await call(client, 'list.create-list', { name: 'Readers' });
      await call(client, 'organization.update-organization', {
        mailFrom: { address: 'office@example.org' },
        postalAddress: '1 Quay',
      });
      const written = { name: 'News', subject: 'News', content: 'We won.', audience: { listIds: [listId] } };
      return (await call(client, 'broadcast.create-broadcast', written)).broadcastId as string;
    },
    make: async (client, n, broadcastId) => {
      const { organizationId } = client;
      const contact = {
        organizationId,
        email: `reader-${n}@example.org`,
        firstName: name(n),
        subscribed: true,
      };
      const { contactId } = await call(client, 'contact.create-contact', contact);
      const { data } = (await client.get('broadcast.get-broadcast', { broadcastId })).body;
      await call(client, 'list.add-contacts', { listId: data.audience.listIds[0], contactIds: [contactId] });
    },
    finds: { q: 'Needle' },
  },
  suppressions: {
    make: (client, n) => call(client, 'suppression.create-suppression', { email: address(n) }),
    finds: { email: address(0) },
    add: 'suppressions/new',
  },
  team: {
    make: async (client) => acceptInvitation(api, client, (await invite(client, newAddress())).invitationId),
    add: 'team/invite',
    // Who looks at it.
    before: 2,
  },
  'team/invitations': { make: (client) => invite(client, newAddress()), add: 'team/invite' },
  keys: {
    make: (client, n) => call(client, 'api-key.create-api-key', { name: name(n), scopes: ['contact:read'] }),
    finds: { q: 'Needle' },
    add: 'keys/new',
    // The organization's first one, and that by which all of this is made.
    before: 2,
  },
  webhooks: {
    make: (client, n) =>
      call(client, 'webhook.create-webhook', { url: `https://webhooks.invalid/${n === 0 ? 'needle' : n}` }),
    finds: { q: 'needle' },
    add: 'webhooks/new',
    // An organization has fifty at most.
    most: 3,
  },
  'webhooks/:/deliveries': {
    of: async (client) =>
      (await call(client, 'webhook.create-webhook', { url: 'https://webhooks.invalid/x' })).webhookId,
    make: ({ organizationId }, n, webhookId) =>
      api.database.source.query(
        `INSERT INTO webhook_deliveries
           (id, organization_id, webhook_id, created_at, event_id, position, type, attempt, outcome, ms, reason)
         VALUES ($1, $2, $3, clock_timestamp(), $4, $5, 'TagCreated', 1, 'FAILED', 1, $6)`,
        [uuidv7(), organizationId, webhookId, NOBODY, n + 1, n === 0 ? 'Needle' : null],
      ),
    finds: { q: 'needle' },
  },
};

let people = 0;
function newAddress(): string {
  return `member-${(people += 1)}@example.org`;
}

/** The history goes from its end, in a way of its own; the outbox is of files, and tried where it is (`outbox.e2e.spec.ts`). */
const APART = ['history', 'outbox'];

it('each list is tried here', () => {
  const paths = PAGES.map(({ path }) => path);
  const lists = paths.filter((path) => paths.includes(`${path}/export`) && !APART.includes(path));
  expectEntries(
    'LISTS in test/dashboard-every-list.e2e.spec.ts',
    Object.keys(LISTS),
    lists.map((path) => path.replace(/:\w+/g, ':')),
  );
});

describe.each(Object.entries(LISTS))('%s', (path, { of, make, finds, add, most, before = 0 }) => {
  let client: Client;
  let owner: Visitor;
  let reader: Visitor;
  let id: string;
  beforeAll(async () => {
    client = await api.organization();
    owner = await signedIn(api, client, 'OWNER');
    reader = await signedIn(api, client, READER);
    id = (await of?.(client)) ?? '';
  });

  const { see } = TABLE[Object.keys(TABLE).find((each) => each.replace(/:\w+/g, ':') === path)!]!;
  /** Who may look, and add nothing. */
  const READER: Role = see.includes('VIEWER') ? 'VIEWER' : 'AUDITOR';
  const at = (below: string) => `/dashboard/${client.organizationId}/${below.replace(':', id)}`;
  const open = async (address: string, visitor = owner) => {
    const { status, text } = await patiently(() => visitor.get(address));
    expect([address, status]).toEqual([address, 200]);
    return text;
  };
  /** The address of the file, as the page says it. */
  const fileIn = (text: string): string => {
    const [, href] = new RegExp(`<a href="([^"]+)">${escaped(WORDS.en.exportList)}</a>`).exec(text)!;
    return href!.replaceAll('&amp;', '&');
  };
  const rowsOf = async (file: string) => parse(await open(file), { from_line: 2, relaxColumnCount: true });
  const adding = add === undefined ? undefined : () => `class="button" href="${at(add)}"`;

  it('where there is nothing, says what to do first to whoever may', async () => {
    const [own, other] = [await open(at(path)), await open(at(path), reader)];
    const empty = (text: string) => /<div class="empty">[^]*?<\/div>/.exec(text)?.[0];
    if (before > 0) {
      expect([own, other].map(empty)).toEqual([undefined, undefined]);
    } else {
      expect(empty(other)).not.toContain('class="button"');
      if (adding) expect(empty(own)).toContain(adding());
      else expect(empty(own)).not.toContain('class="button"');
    }
    expect(own).not.toContain('class="paging"');
    if (!adding) return;
    expect(own).toContain(adding());
    expect(other).not.toContain(adding());
  });

  it('goes on to another page where there is more, and its file has all', async () => {
    const count = most ?? MANY;
    await make(client, 0, id);
    await inParallel(count - 1, 8, async (n) => {
      await make(client, n + 1, id);
    });
    if (path === 'broadcasts/:/recipients')
      await call(client, 'broadcast.send-broadcast', { broadcastId: id });
    const text = await open(at(path));
    expect(fileIn(text)).toBe(at(`${path}/export`));
    expect(await rowsOf(fileIn(text))).toHaveLength(count + before);
    if (adding) expect(text).toContain(adding());
    if (most !== undefined) return;
    const [paging = ''] = /<nav class="paging"[^]*?<\/nav>/.exec(text) ?? [];
    const [, next] = new RegExp(`href="([^"]+)">${WORDS.en.nextPage}<`).exec(paging)!;
    const further = await open(next!.replaceAll('&amp;', '&'));
    expect(further.split('<tr').length - 1).toBe(1 + count + before - 50);
    expect(further).toContain(`<a href="${at(path)}">${WORDS.en.firstPage}</a>`);
    expect(further).not.toContain(WORDS.en.nextPage);
    // Of all, wherever somebody is.
    expect(fileIn(further)).toBe(at(`${path}/export`));
  });

  if (finds === undefined) return;

  it('finds what was looked for, and so does its file', async () => {
    const query = new URLSearchParams(finds);
    const text = await open(`${at(path)}?${query.toString()}`);
    expect(text.split('<tr').length - 1).toBe(2);
    const file = new URL(fileIn(text), api.origin);
    expect(file.pathname).toBe(at(`${path}/export`));
    const asked = Object.fromEntries(file.searchParams);
    // Signatures are exported by an operation that knows no search: the address of a file of all says nothing of one.
    if (path === 'petitions/:/signatures' && Object.keys(asked).length === 0) {
      expect(await rowsOf(fileIn(text))).toHaveLength(MANY);
      return;
    }
    expect(asked).toEqual(finds);
    const rows = await rowsOf(fileIn(text));
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows[0])).toMatch(/needle/i);
  });
});

function escaped(text: string): string {
  return text.replace(/[()]/g, '\\$&');
}
