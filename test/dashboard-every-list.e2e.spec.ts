import { parse } from 'csv-parse/sync';
import { v7 as uuidv7 } from 'uuid';
import { expectEntries } from '#libs/testing';
import { DASHBOARD } from '#locales';
import { PAGE_SIZE, PAGES } from '../src/dashboard/index.js';
import { type Role } from '../src/team/index.js';
import { TABLE } from './dashboard-pages.js';
import { retryAfter, SharedApi, type Client, NOBODY } from './harness.js';
import { isLong } from './length.js';
import { acceptInvitation, signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';
import { picture } from './pictures.js';
import { inParallel } from './processes.js';

/** More than the entries of a page. */
const MANY = PAGE_SIZE + 1;
/**
 * Lists that get a second page in `npm test`: one that pages by records, one by signatures, and one without a search. The others
 * share their code, and `pagination.e2e.spec.ts` reads many pages of an operation.
 */
const PAGED = ['contacts', 'petitions/:/signatures', 'team/invitations'];
const FEW = 3;

type List = {
  /** Creates the record that the list belongs to, and returns its id. */
  of?: (client: Client) => Promise<string>;
  /** Creates entry `n`, starting with 0. */
  make: (client: Client, n: number, of: string) => Promise<unknown>;
  /** The query parameters that find only entry 0. */
  finds?: Record<string, string>;
  /** The page that creates an entry. */
  add?: string;
  /** The number of entries if two pages of them are impossible or slow. */
  most?: number;
  /** The number of entries that exist before the test. */
  before?: number;
};

const name = (n: number) => (n === 0 ? 'Needle' : `Hay ${n}`);
const address = (n: number) => `${n === 0 ? 'needle' : `hay-${n}`}@example.org`;
const byName = (operation: string, more: object = {}): List['make'] => {
  return (client, n) => call(client, operation, { name: name(n), ...more });
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
  segments: {
    make: byName('segment.create-segment', { filter: { field: 'city', op: 'isSet' } }),
    finds: { q: 'Needle' },
    add: 'segments/new',
  },
  views: {
    make: byName('view.create-view', { operation: 'contact.list-contacts' }),
    finds: { q: 'Needle' },
    add: 'views/new',
  },
  fields: { make: byName('field.create-field'), finds: { q: 'Needle' }, add: 'fields/new' },
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
  'petitions/:/paper': {
    of: newPetition,
    make: (client, n, petitionId) =>
      call(client, 'petition.record-offline-signatures', {
        ...{ petitionId, count: n + 1, collectedOn: '2026-11-20', note: name(n) },
      }),
    add: 'petitions/:/paper/new',
  },
  forms: { make: byName('form.create-form'), finds: { q: 'Needle' }, add: 'forms/new', before: 1 },
  posts: { make: byName('post.create-post'), finds: { q: 'Needle' }, add: 'posts/new' },
  images: {
    make: async (client, n) => {
      const path = `/v1/image.upload-image?name=${encodeURIComponent(name(n))}`;
      const headers = { 'Content-Type': 'image/png' };
      const image = await picture();
      const { status } = await retryAfter(() => client.request('POST', path, image, headers));
      expect(status).toBe(200);
    },
    finds: { q: 'Needle' },
    add: 'images/new',
    // Uploads are limited per second.
    most: 3,
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
    // The two members who open the page.
    before: 2,
  },
  'team/invitations': { make: (client) => invite(client, newAddress()), add: 'team/invite' },
  keys: {
    make: (client, n) => call(client, 'api-key.create-api-key', { name: name(n), scopes: ['contact:read'] }),
    finds: { q: 'Needle' },
    add: 'keys/new',
    // The organization's first key, and the key that creates these records.
    before: 2,
  },
  'publishable-keys': {
    make: byName('publishable-key.create-publishable-key', { origins: ['https://www.example.org'] }),
    add: 'publishable-keys/new',
  },
  webhooks: {
    make: (client, n) =>
      call(client, 'webhook.create-webhook', { url: `https://webhooks.invalid/${n === 0 ? 'needle' : n}` }),
    finds: { q: 'needle' },
    add: 'webhooks/new',
    // An organization may have at most fifty.
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

/**
 * The history pages backwards (`dashboard-history.e2e.spec.ts`), the outbox lists files (`outbox.e2e.spec.ts`), and a contact's
 * export is not a list: it contains everything about the person.
 */
const APART = ['history', 'outbox', 'contacts/:contact'];

it('covers every list', () => {
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
  /** A role that may read the list but not add to it. */
  const READER: Role = see.includes('VIEWER') ? 'VIEWER' : 'AUDITOR';
  const count = most ?? (isLong || PAGED.includes(path) ? MANY : FEW);
  const at = (below: string) => `/dashboard/${client.organizationId}/${below.replace(':', id)}`;
  const open = async (address: string, visitor = owner) => {
    const { status, text } = await visitor.get(address);
    expect([address, status]).toEqual([address, 200]);
    return text;
  };
  /** The export link of the page. */
  const fileIn = (text: string): string => {
    const [, href] = new RegExp(`<a href="([^"]+)">${escaped(DASHBOARD.en.exportList)}</a>`).exec(text)!;
    return href!.replaceAll('&amp;', '&');
  };
  const rowsOf = async (file: string) => parse(await open(file), { from_line: 2, relaxColumnCount: true });
  const adding = add === undefined ? undefined : () => `class="button" href="${at(add)}"`;

  it('shows an empty state that offers the first action only to roles that may take it', async () => {
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

  it('continues on another page, and its export contains everything', async () => {
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
    if (count < MANY) return;
    const [paging = ''] = /<nav class="paging"[^]*?<\/nav>/.exec(text) ?? [];
    const [, next] = new RegExp(`href="([^"]+)">${DASHBOARD.en.nextPage}<`).exec(paging)!;
    const further = await open(next!.replaceAll('&amp;', '&'));
    expect(further.split('<tr').length - 1).toBe(1 + count + before - PAGE_SIZE);
    expect(further).toContain(`<a href="${at(path)}">${DASHBOARD.en.firstPage}</a>`);
    expect(further).not.toContain(DASHBOARD.en.nextPage);
    // The export covers all pages.
    expect(fileIn(further)).toBe(at(`${path}/export`));
  });

  it('headings sort the list, and show how it is sorted', async () => {
    const heads = (text: string) =>
      [...text.matchAll(/<th role="columnheader"[^>]*?(?: aria-sort="(\w+)")?><a href="([^"]+)">/g)].map(
        ([, direction, href]) => ({ direction, href: href!.replaceAll('&amp;', '&') }),
      );
    const firsts = (text: string) =>
      [...text.matchAll(/<th role="rowheader"[^]*?<\/th>/g)].map(([cell]) => cell);
    const text = await open(at(path));
    for (const { direction, href } of heads(text)) {
      const once = await open(href);
      const sorted = heads(once).filter(({ direction }) => direction !== undefined);
      expect(sorted).toHaveLength(1);
      const twice = await open(sorted[0]!.href);
      // One page has all rows, so the other direction is the reverse.
      if (count < MANY) expect(firsts(once)).toEqual(firsts(twice).toReversed());
      if (count < MANY && direction !== undefined) expect(firsts(twice)).toEqual(firsts(text));
    }
  });

  if (finds === undefined) return;

  it('the search finds one entry, and so does its export', async () => {
    const query = new URLSearchParams(finds);
    const text = await open(`${at(path)}?${query.toString()}`);
    expect(text.split('<tr').length - 1).toBe(2);
    // Each filter is a chip that removes it, and nothing else.
    const chips = [...text.matchAll(/class="chip" href="([^"]+)"/g)].map(([, href]) =>
      Object.fromEntries(new URL(href!.replaceAll('&amp;', '&'), api.origin).searchParams),
    );
    const filters = Object.keys(finds).filter((name) => name !== 'q');
    expect(chips).toEqual(filters.map((name) => ({ ...finds, [name]: undefined })));
    const file = new URL(fileIn(text), api.origin);
    expect(file.pathname).toBe(at(`${path}/export`));
    const exported = Object.fromEntries(file.searchParams);
    // export-signatures has no search, so the export of signatures may contain all of them.
    if (path === 'petitions/:/signatures' && Object.keys(exported).length === 0) {
      expect(await rowsOf(fileIn(text))).toHaveLength(count);
      return;
    }
    expect(exported).toEqual(finds);
    const rows = await rowsOf(fileIn(text));
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows[0])).toMatch(/needle/i);
  });
});

function escaped(text: string): string {
  return text.replace(/[()]/g, '\\$&');
}
