/**
 * Compares pages of the dashboard with the API operations that they run. Also measures pages of a list of a million contacts. One
 * person opens one page after another. Pages and operations alternate, so that other load on the machine affects both equally.
 */
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { importContacts, lastNameOf, newPetition, signAll } from './people.mjs';
import { cli, withProduct } from './servers.mjs';

export const options = {
  contacts: [1_000_000, 'contacts in the list'],
  rounds: [5, 'rounds per page, and per set of its operations'],
  requests: [60, 'requests per round'],
};

/** Records per page. */
const SHOWN = 50;

const SEARCH = 'search by name';

/** Number of people who take turns, because of the rate limit per person. */
const PEOPLE = 16;

export async function run(bench) {
  const { contacts, rounds } = bench.options;
  await bench.withDatabase((url) =>
    withProduct(url, 1, async (product) => {
      const records = await fill(url, product, contacts);
      const place = await placeOf(product, bench.options.requests);
      try {
        await compare(bench, place, pagesOf(product, records), rounds);
        await compareEnds(bench, place, product, rounds);
      } finally {
        place.agent.destroy();
      }
      bench.note(
        `Every page and every operation returned 200, with ${contacts.toLocaleString('en')} contacts.`,
      );
    }),
  );
}

/** Measures each page and its operations with the same sequential requests. */
async function compare(bench, place, pages, rounds) {
  const { ratio } = await bench.measure(
    'one page after another',
    pages.flatMap(({ name, page, operations }) => [
      {
        name: `${name}: operations`,
        measure: () => place.time(operations.map((path) => ({ path, isApi: true }))),
      },
      { name: `${name}: page`, measure: () => place.time([{ path: page }]) },
    ]),
    rounds,
  );
  for (const { name } of pages)
    bench.target(`${name}: page ÷ operations, p50`, ratio(`${name}: page`, `${name}: operations`, 'p50 ms'), {
      most: 2,
    });
}

/** Compares the first page of the list with the last, one in the middle, and a search by name. */
async function compareEnds(bench, place, product, rounds) {
  const { organizationId } = product;
  const cursors = await cursorsToTheEnd(product);
  const contacts = `/dashboard/${organizationId}/contacts`;
  const at = (cursor) =>
    cursor === undefined ? contacts : `${contacts}?cursor=${encodeURIComponent(cursor)}`;
  const pages = {
    first: contacts,
    middle: at(cursors[Math.floor(cursors.length / 2)]),
    last: at(cursors.at(-1)),
    'first, oldest first': `${contacts}?sort=createdAt`,
    [SEARCH]: `${contacts}?q=${lastNameOf(Math.floor(bench.options.contacts / 3))}`,
  };
  const { ratio } = await bench.measure(
    'a list of all contacts',
    Object.entries(pages).map(([name, path]) => ({ name, measure: () => place.time([{ path }]) })),
    rounds,
  );
  for (const name of Object.keys(pages).filter((one) => one !== 'first'))
    bench.target(
      `list of contacts: ${name} ÷ first, p50`,
      ratio(name, 'first', 'p50 ms'),
      // A search scans all contacts.
      name === SEARCH ? {} : { most: 1.2 },
    );
}

/** Pages, each with the operations that it runs in parallel. */
function pagesOf({ organizationId }, { contactId, petitionId, listId, eventId }) {
  const dashboard = (path) => `/dashboard/${organizationId}${path}`;
  const list = (operation, more = '') => `${operation}?limit=${SHOWN}${more}`;
  const organization = `&organizationId=${organizationId}`;
  /** A list with its saved views, as the pages of the navigation show it. */
  const listWithViews = (operation, more) => [
    list(operation, more),
    `view.list-views?operation=${operation}&sort=name&limit=50`,
  ];
  // Pages of a record end with its activity.
  const activityOf = (recordId) => `history.list-events?recordId=${recordId}&limit=100`;
  return [
    {
      name: 'contacts',
      page: dashboard('/contacts'),
      operations: [
        ...listWithViews('contact.list-contacts', organization),
        ...['list.list-lists', 'tag.list-tags', 'petition.list-petitions'].map(
          (operation) => `${operation}?limit=100`,
        ),
      ],
    },
    {
      name: 'contact',
      page: dashboard(`/contacts/${contactId}`),
      // No operation returns the contact's groups.
      operations: [
        `contact.get-contact?contactId=${contactId}${organization}`,
        'suppression.list-suppressions?limit=1',
        activityOf(contactId),
      ],
    },
    {
      name: 'petitions',
      page: dashboard('/petitions'),
      operations: listWithViews('petition.list-petitions'),
    },
    {
      name: 'petition',
      page: dashboard(`/petitions/${petitionId}`),
      operations: [
        `petition.get-petition?petitionId=${petitionId}`,
        `petition.get-stats?petitionId=${petitionId}`,
        activityOf(petitionId),
      ],
    },
    {
      name: 'signatures',
      page: dashboard(`/petitions/${petitionId}/signatures`),
      operations: [
        list('petition.list-signatures', `&petitionId=${petitionId}`),
        `petition.get-petition?petitionId=${petitionId}`,
        // Returns the names, which the operation above does not.
        list('contact.list-contacts', `&petitionId=${petitionId}${organization}`),
      ],
    },
    {
      name: 'contacts of a list',
      page: dashboard(`/lists/${listId}`),
      operations: [
        `list.get-list?listId=${listId}`,
        list('contact.list-contacts', `&listId=${listId}${organization}`),
      ],
    },
    { name: 'posts', page: dashboard('/posts'), operations: listWithViews('post.list-posts') },
    {
      name: 'broadcasts',
      page: dashboard('/broadcasts'),
      operations: listWithViews('broadcast.list-broadcasts'),
    },
    { name: 'team', page: dashboard('/team'), operations: listWithViews('team.list-members') },
    { name: 'API keys', page: dashboard('/keys'), operations: listWithViews('api-key.list-api-keys') },
    {
      name: 'history',
      page: dashboard('/history'),
      operations: [list('history.list-events')],
    },
    {
      name: 'event',
      page: dashboard(`/history/events/${eventId}`),
      operations: [`history.get-event?eventId=${eventId}`],
    },
  ];
}

async function fill(url, { servers, organizationId, key, call }, count) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const ids = await importContacts(client, servers[0].port, organizationId, key, count);
    const petitionId = await newPetition(call);
    for (let n = 0; n < 60; n += 1) await newPetition(call);
    const few = ids.slice(0, 1_000);
    await signAll(call, petitionId, few);
    const { listId } = await call('POST', 'list.create-list', { name: 'Readers' });
    await call('POST', 'list.add-contacts', { listId, contactIds: few });
    const [event] = await call('GET', 'history.list-events?limit=1');
    // Autovacuum would do the same within a minute.
    await client.query('VACUUM (ANALYZE)');
    return { contactId: ids[0], petitionId, listId, eventId: event.id };
  } finally {
    await client.end();
  }
}

/** Sends requests as signed-in members of the organization, and with its API key. */
async function placeOf({ servers: [{ port }], env, organizationId, key }, requests) {
  const agent = new http.Agent({ keepAlive: true });
  const ask = (path, { method = 'GET', headers = {} } = {}) => send({ agent, port, path, method, headers });
  const cookies = [];
  for (let n = 0; n < PEOPLE; n += 1) {
    const options = [
      '--organization',
      organizationId,
      '--email',
      `owner-${n}@example.org`,
      '--role',
      'OWNER',
    ];
    const { url } = await cli(
      { ...env, PUBLIC_URL: `http://127.0.0.1:${port}` },
      'user',
      'invite',
      ...options,
    );
    const headers = { Origin: `http://127.0.0.1:${port}`, 'Sec-Fetch-Site': 'same-origin' };
    const { status, cookie } = await ask(new URL(url).pathname, { method: 'POST', headers });
    if (status !== 303) throw new Error(`An invitation returned ${status}.`);
    cookies.push(cookie);
  }
  let turn = 0;
  const once = async ({ path, isApi }) => {
    const headers = isApi
      ? { Authorization: `Bearer ${key}` }
      : { Cookie: cookies[(turn += 1) % PEOPLE], Accept: 'text/html' };
    const { status, text } = await ask(isApi ? `/v1/${path}` : path, { headers });
    if (status !== 200) throw new Error(`${path} returned ${status}: ${text.slice(0, 300)}`);
  };
  return {
    agent,
    /** @returns the median and 90th percentile of the time that all these requests take in parallel */
    async time(requested) {
      const times = [];
      for (let n = 0; n < requests; n += 1) {
        const begin = performance.now();
        await Promise.all(requested.map(once));
        times.push(performance.now() - begin);
        // A person may open at most 30 pages per second.
        if (n % PEOPLE === PEOPLE - 1) await sleep(40);
      }
      times.sort((a, b) => a - b);
      return { 'p50 ms': times[times.length >> 1], 'p90 ms': times[Math.floor(times.length * 0.9)] };
    },
  };
}

async function send({ agent, port, path, method, headers }) {
  const request = http.request({ agent, port, host: '127.0.0.1', path, method, headers });
  request.end();
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  const [cookie = ''] = response.headers['set-cookie'] ?? [];
  return { status: response.statusCode, text, cookie: cookie.split(';')[0] };
}

/** Reads all pages in order. @returns the cursor of each */
async function cursorsToTheEnd({ servers: [{ port }], organizationId, key }) {
  const cursors = [];
  for (let cursor = ''; ;) {
    const path = `/v1/contact.list-contacts?limit=100&organizationId=${organizationId}${cursor && `&cursor=${cursor}`}`;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const { pagination, error } = await response.json();
    if (error) throw new Error(JSON.stringify(error));
    if (!pagination.hasMore) return cursors;
    cursors.push((cursor = pagination.cursor));
  }
}
