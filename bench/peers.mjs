/** The product and its HTTP baselines on one database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { postmasterOf } from './processes.mjs';
import { startBaseline, withProduct } from './servers.mjs';

/** The pool size of each, the same as the product's default. */
const POOL = 10;

/**
 * Calls `work` with the values of `withProduct` for one instance, and with the servers `noop` (stock Nest that does nothing) and
 * `typeorm`. Also passes a `pool` of connections to the database, the process id `postmaster`, and a `directory` for files. Stops
 * everything afterwards.
 */
export async function withPeers(bench, work) {
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-bench-'));
  try {
    await bench.withDatabase((url) =>
      withProduct(url, 1, async (product) => {
        const pool = new pg.Pool({ connectionString: url, max: POOL });
        const peers = [];
        try {
          peers.push(await startBaseline('noop'));
          peers.push(await startBaseline('typeorm', { DATABASE_URL: url }));
          const [noop, typeorm] = peers;
          const [server] = product.servers;
          const postmaster = await postmasterOf(url);
          await work({ ...product, server, noop, typeorm, pool, postmaster, directory });
        } finally {
          await Promise.all(peers.map(({ stop }) => stop()));
          await pool.end();
        }
      }),
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
