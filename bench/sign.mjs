/**
 * Signatures and new contacts over HTTP through one instance. In each round, everyone signs the same petition. Compared with a stock
 * Nest server that does nothing, and with Nest and TypeORM, which insert a signature and increment the counter in one transaction.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { byNode } from './harness.mjs';
import { overHttp } from './load.mjs';
import { withPeers } from './peers.mjs';
import {
  checkCount,
  fillBaselineContacts,
  importContacts,
  newBaselinePetition,
  newPetition,
  signers,
  writeIds,
} from './people.mjs';
import { round } from './rounds.mjs';

export const options = {
  connections: [[64, 1], 'connections; each waits for its response before the next request'],
  rounds: [3, 'rounds per contender'],
  seconds: [5, 'seconds per round'],
  'warm-up': [3, 'seconds per contender, before all rounds; 0: none'],
  contacts: [40_000, 'contacts who can sign; must be enough for a round'],
};

export function run(bench) {
  return withPeers(bench, (peers) => compare(bench, peers));
}

async function compare(bench, peers) {
  const { server, noop, typeorm, organizationId, key, call, pool, postmaster, directory } = peers;
  const { connections: counts, rounds, seconds, 'warm-up': warmUp, contacts } = bench.options;
  const ids = await importContacts(pool, server.port, organizationId, key, contacts);
  await fillBaselineContacts(pool, organizationId, ids);
  // Autovacuum would do the same within a minute.
  await pool.query('VACUUM (ANALYZE)');
  const file = await writeIds(join(directory, 'contacts'), ids);

  /** Each round has a new petition. Its check ensures that the petition counts every acknowledged signature. */
  const known = async () => {
    const petitionId = await newPetition(call);
    return { ...sign({ petitionId, contactId: '{id}' }), ids: file, check: countOf(petitionId, contacts) };
  };
  const person = async () => {
    const petitionId = await newPetition(call);
    return { ...signers(petitionId), key, check: countOf(petitionId) };
  };
  const create = async () => ({
    ...post('contact.create-contact', {
      organizationId,
      email: 'new-{n}@example.org',
      firstName: 'Ada',
      lastName: 'Example',
    }),
    key,
  });
  const sign = (body) => ({ ...post('petition.add-signature', body), key });
  const ofTypeorm = async () => {
    const petitionId = await newBaselinePetition(pool, organizationId);
    return { ...post('add-signature', { petitionId, contactId: '{id}' }), ids: file };
  };
  const nothing = async () =>
    post('resource-15.add-signature', { petitionId: randomUUID(), contactId: randomUUID() });

  let signed = 0;
  const countOf =
    (petitionId, most = Infinity) =>
    async (result) => {
      if (result.sent > most)
        throw new Error(`${contacts} contacts are too few for a round: increase --contacts`);
      await checkCount(call, petitionId, result);
      signed += result.answered;
    };

  for (const connections of counts) {
    const settings = { connections, seconds, warmUp, postmaster };
    const contenders = [
      overHttp('no-op POST', noop, nothing, { ...settings, postmaster: undefined }),
      overHttp('add-signature, known contact', server, known, settings),
      overHttp('add-signature, new person', server, person, settings),
      overHttp('create-contact', server, create, settings),
      overHttp('TypeORM, insert and increment', typeorm, ofTypeorm, settings),
      ...(connections === 1 ? [await insertOf(pool, { seconds })] : []),
    ];
    const result = await bench.measure(
      `${connections} connection${connections === 1 ? '' : 's'}`,
      contenders,
      rounds,
    );
    declare(bench, connections, result);
  }
  bench.note(
    `${signed.toLocaleString('en')} signatures were acknowledged, and the petitions count all of them.`,
  );
}

function declare(bench, connections, { values, ratio }) {
  const at = `at ${connections}`;
  const rate = (name, other) => ratio(name, other, 'requests/s');
  if (connections > 1) {
    bench.target(
      `known contact ÷ no-op, ${at}`,
      rate('add-signature, known contact', 'no-op POST'),
      byNode(1, 0.5),
    );
    bench.target(
      `new person ÷ no-op, ${at}`,
      rate('add-signature, new person', 'no-op POST'),
      byNode(0.75, 0.35),
    );
    bench.target(`create-contact ÷ no-op, ${at}`, rate('create-contact', 'no-op POST'), byNode(0.9, 0.45));
    bench.target(
      `known contact ÷ TypeORM, ${at}`,
      rate('add-signature, known contact', 'TypeORM, insert and increment'),
      { least: 8 },
    );
    bench.target(
      `p99 of known contact ÷ TypeORM’s, ${at}`,
      ratio('add-signature, known contact', 'TypeORM, insert and increment', 'p99 ms'),
      { most: 0.25 },
    );
    return;
  }
  const [own, insert, noop] = ['add-signature, known contact', 'one INSERT', 'no-op POST'].map((name) =>
    values(name, 'p50 ms'),
  );
  bench.target(
    'known contact ÷ (one INSERT + no-op), p50 at 1',
    own.flatMap((value, n) => (n in insert && n in noop ? value / (insert[n] + noop[n]) : [])),
    { most: 1.6 },
  );
}

const post = (operation, body) => ({ method: 'POST', path: `/v1/${operation}`, body: JSON.stringify(body) });

/** One caller that inserts rows into a table, one durable INSERT after another. */
async function insertOf(pool, { seconds }) {
  await pool.query(
    `CREATE TABLE IF NOT EXISTS baseline.one_insert
       (id uuid PRIMARY KEY, petition_id uuid NOT NULL, contact_id uuid NOT NULL, signed_at timestamptz NOT NULL)`,
  );
  const petitionId = randomUUID();
  const operation = () =>
    pool.query('INSERT INTO baseline.one_insert VALUES ($1, $2, $3, now())', [
      randomUUID(),
      petitionId,
      randomUUID(),
    ]);
  return {
    name: 'one INSERT',
    async measure() {
      const { rate, p50, p99 } = await round({ operation }, { callers: 1, seconds, warmUpSeconds: 0.5 });
      return { 'requests/s': rate, 'p50 ms': p50, 'p99 ms': p99 };
    },
  };
}
