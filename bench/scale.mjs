/**
 * What a signature costs the database. New people sign the same petition through one, two and four instances, with the same number of
 * connections to each. A proxy counts statements and network round trips. Also measures writing transactions, bytes of the write-ahead
 * log, and CPU time of PostgreSQL.
 */
import pg from 'pg';
import { compile } from './compile.mjs';
import { load } from './load.mjs';
import { checkCount, newPetition, signers } from './people.mjs';
import { cpuOfAll, postmasterOf } from './processes.mjs';
import { withProduct } from './servers.mjs';

export const options = {
  instances: [[1, 2, 4], 'server processes'],
  connections: [64, 'connections per instance; each waits for its response before the next request'],
  rounds: [3, 'rounds per number of instances'],
  seconds: [5, 'seconds per round'],
  'warm-up': [3, 'seconds of each round that do not count'],
};

/** The ratio by which two rounds of the same kind can differ. */
const NOISE = 1.05;

export async function run(bench) {
  const { instances: counts, rounds } = bench.options;
  const { startCountingProxy } = await import(await compile('libs/testing/counting-proxy.ts'));
  await bench.withDatabase(async (url) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const proxy = await startCountingProxy(url);
    try {
      const place = { proxy, client, postmaster: await postmasterOf(url) };
      const nameOf = (count) => `${count} instance${count === 1 ? '' : 's'}`;
      const contenders = counts.map((count) => ({
        name: nameOf(count),
        measure: () => signThrough(count, bench.options, place),
      }));
      const { ratio } = await bench.measure('cost per signature', contenders, rounds);
      const [one, ...more] = counts.map(nameOf);
      for (const figure of ['statements', 'transactions', 'WAL bytes', 'PostgreSQL µs']) {
        for (const name of more)
          bench.target(`${figure}: ${name} ÷ ${one}`, ratio(name, one, figure), { most: NOISE });
      }
      bench.note('The petitions count every acknowledged signature.');
    } finally {
      await proxy.close();
      await client.end();
    }
  });
}

/** Runs a round with its own servers, organization and petition. @returns its figures */
async function signThrough(
  instances,
  { connections, seconds, 'warm-up': warmUp },
  { proxy, client, postmaster },
) {
  let figures;
  await withProduct(proxy.url, instances, async ({ servers, key, call }) => {
    const petitionId = await newPetition(call);
    const sign = async (duration) => {
      const request = { ...signers(petitionId), key };
      const results = await Promise.all(
        servers.map(({ port }) => load(port, request, { connections, seconds: duration })),
      );
      const sum = (field) => results.reduce((total, result) => total + result[field], 0);
      return { answered: sum('answered'), sent: sum('sent'), seconds: results[0].seconds };
    };
    const before = warmUp > 0 ? await sign(warmUp) : { answered: 0, sent: 0 };
    proxy.forget();
    const from = { ...(await counters(client)), cpu: cpuOfAll(postmaster) };
    const during = await sign(seconds);
    const to = { ...(await counters(client)), cpu: cpuOfAll(postmaster) };
    const { turns } = proxy;
    const { answered } = during;
    await checkCount(call, petitionId, {
      answered: before.answered + answered,
      sent: before.sent + during.sent,
    });
    figures = {
      'requests/s': answered / during.seconds,
      statements: turns.reduce((sum, { statements }) => sum + statements.length, 0) / answered,
      turns: turns.length / answered,
      transactions: (to.transactions - from.transactions) / answered,
      'WAL bytes': (to.wal - from.wal) / answered,
      'PostgreSQL µs': (to.cpu - from.cpu) / answered,
    };
  });
  return figures;
}

async function counters(client) {
  const { rows } = await client.query(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transactions,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal`,
  );
  return { transactions: Number(rows[0].transactions), wal: Number(rows[0].wal) };
}
