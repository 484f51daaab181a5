/**
 * Reads of records and pages of 25 over HTTP through one instance. Consecutive requests read different records or pages. Compared with
 * a stock Nest server that does nothing, and with Nest and TypeORM. TypeORM's tables have as many rows, and indexes for these reads.
 */
import { join } from 'node:path';
import { byNode } from './harness.mjs';
import { overHttp } from './load.mjs';
import { withPeers } from './peers.mjs';
import {
  cursorsOf,
  fillBaselineContacts,
  fillBaselineSignatures,
  importContacts,
  newBaselinePetition,
  newPetition,
  signAll,
  writeIds,
} from './people.mjs';

export const options = {
  connections: [64, 'connections; each waits for its response before the next request'],
  rounds: [3, 'rounds per contender'],
  seconds: [5, 'seconds per round'],
  'warm-up': [3, 'seconds per contender, before all rounds; 0: none'],
  contacts: [40_000, 'contacts in the projection'],
  petitions: [100, 'petitions in the projection'],
  pages: [200, 'pages per list'],
};

const NOOP = 'no-op GET';
const PAGE = 25;

export function run(bench) {
  return withPeers(bench, (peers) => compare(bench, peers));
}

async function compare(bench, peers) {
  const { server, noop, typeorm, organizationId, key, call, pool, postmaster } = peers;
  const { connections, rounds, seconds, 'warm-up': warmUp } = bench.options;
  const files = await fill(bench, peers);
  const settings = { connections, seconds, warmUp, postmaster };
  const { petitionId } = files;

  const ours = (operation, path, ids) =>
    overHttp(operation, server, () => ({ path: `/v1/${path}{id}`, ids, key }), settings);
  const theirs = (operation, path, ids) =>
    overHttp(`TypeORM, ${operation}`, typeorm, () => ({ path: `/v1/${path}{id}`, ids }), settings);
  const { contacts, petitions, pages } = files;
  const contenders = [
    overHttp(NOOP, noop, () => ({ path: '/v1/resource-15.get' }), { ...settings, postmaster: undefined }),
    ours('get-contact', `contact.get-contact?organizationId=${organizationId}&contactId=`, contacts),
    ours('get-petition', 'petition.get-petition?petitionId=', petitions.ours),
    ours(
      'list-contacts',
      `contact.list-contacts?organizationId=${organizationId}&limit=${PAGE}&cursor=`,
      pages.contacts,
    ),
    ours(
      'list-signatures',
      `petition.list-signatures?petitionId=${petitionId.ours}&limit=${PAGE}&cursor=`,
      pages.signatures,
    ),
    theirs('get-contact', 'get-contact?id=', contacts),
    theirs('get-petition', 'get-petition?id=', petitions.theirs),
    theirs('list-contacts', `list-contacts?organizationId=${organizationId}&before=`, pages.theirContacts),
    theirs(
      'list-signatures',
      `list-signatures?petitionId=${petitionId.theirs}&before=`,
      pages.theirSignatures,
    ),
  ];
  const result = await bench.measure(`${connections} connections`, contenders, rounds);
  for (const name of ['get-contact', 'get-petition', 'list-contacts', 'list-signatures']) {
    const target = name.startsWith('get') ? byNode(1.2, 0.6) : byNode(0.6, 0.3);
    bench.target(`${name} ÷ no-op`, result.ratio(name, NOOP, 'requests/s'), target);
    bench.target(`${name} ÷ TypeORM`, result.ratio(name, `TypeORM, ${name}`, 'requests/s'), { least: 2 });
  }
  const { signatures } = await call('GET', `petition.get-petition?petitionId=${petitionId.ours}`);
  const { rows } = await pool.query('SELECT count(*)::int AS count FROM baseline.signatures');
  bench.note(
    `${bench.options.contacts.toLocaleString('en')} contacts and ${signatures.toLocaleString('en')} signatures in the product, ` +
      `${rows[0].count.toLocaleString('en')} signatures in the baseline.`,
  );
}

/** Creates the same contacts, petitions and signatures in both, and writes the files of ids. */
async function fill(bench, { server, organizationId, key, call, pool, directory }) {
  const { contacts: count, petitions: petitionCount, pages } = bench.options;
  const file = (name, ids) => writeIds(join(directory, name), ids);
  const ids = await importContacts(pool, server.port, organizationId, key, count);
  await fillBaselineContacts(pool, organizationId, ids);
  const contacts = await file('contacts', ids);

  const own = [];
  const their = [];
  for (let n = 0; n < petitionCount; n += 1) {
    own.push(await newPetition(call));
    their.push(await newBaselinePetition(pool, organizationId));
  }
  const petitionId = { ours: own[0], theirs: their[0] };
  const signers = ids.slice(0, pages * PAGE);
  await signAll(call, own[0], signers);
  await fillBaselineSignatures(pool, their[0], signers);

  // Autovacuum would do the same within a minute.
  await pool.query('VACUUM (ANALYZE)');
  const cursors = (path) => cursorsOf(server.port, key, `${path}limit=${PAGE}`, pages);
  const lastOf = async (table, condition, value) => {
    const { rows } = await pool.query(
      `SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM baseline.${table} WHERE ${condition} = $1) AS t
       WHERE n % ${PAGE} = 0 AND n <= $2`,
      [value, pages * PAGE],
    );
    return rows.map(({ id }) => id);
  };
  return {
    contacts,
    petitionId,
    petitions: { ours: await file('petitions', own), theirs: await file('their-petitions', their) },
    pages: {
      contacts: await file(
        'pages-of-contacts',
        await cursors(`contact.list-contacts?organizationId=${organizationId}&`),
      ),
      signatures: await file(
        'pages-of-signatures',
        await cursors(`petition.list-signatures?petitionId=${own[0]}&`),
      ),
      theirContacts: await file(
        'their-pages-of-contacts',
        await lastOf('contacts', '"organizationId"', organizationId),
      ),
      theirSignatures: await file(
        'their-pages-of-signatures',
        await lastOf('signatures', '"petitionId"', their[0]),
      ),
    },
  };
}
