import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../dist/libs/database/index.js';

/**
 * Runs `work(url)` on an empty database, or on `count` of them (`work(url, another)`), and drops them afterwards. Uses the server
 * of DATABASE_URL if set. Otherwise starts one in a temporary directory.
 */
export async function withDatabase(work, count = 1) {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL) return withOwnDatabases(DATABASE_URL, work, count);
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-bench-'));
  // If root runs the benchmark, PostgreSQL runs as another user, who needs access.
  await chmod(directory, 0o711);
  try {
    const server = await startEmbeddedPostgres({ directory, log: () => {}, createDatabases: true });
    try {
      await withOwnDatabases(server.url, work, count);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function withOwnDatabases(serverUrl, work, count, ...urls) {
  if (urls.length === count) return work(...urls);
  await withOwnDatabase(serverUrl, (url) => withOwnDatabases(serverUrl, work, count, ...urls, url));
}

async function withOwnDatabase(serverUrl, work) {
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const administrator = new pg.Client({ connectionString: serverUrl });
  await administrator.connect();
  try {
    const { rows } = await administrator.query('SHOW fsync');
    if (rows[0].fsync !== 'on' && process.env.NODE_ENV !== 'test')
      throw new Error('Benchmarks require fsync. Turn it on in this PostgreSQL.');
    await administrator.query(`CREATE DATABASE ${name}`);
    await administrator.query(`ALTER DATABASE ${name} SET synchronous_commit = on`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    await work(url.href);
  } finally {
    await administrator.query(`DROP DATABASE IF EXISTS ${name}`);
    await administrator.end();
  }
}
