import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containsDatabase, describeError, startEmbeddedPostgres } from '#libs/database';
import { type Config, type Inspected } from '../config/index.js';
import { activity } from './activity.js';
import { address } from './address.js';
import { clock } from './clock.js';
import { configuration } from './configuration.js';
import { connections } from './connections.js';
import { database as databaseCheck, STATEMENT_POOLING, unreachable } from './database.js';
import { disk, storage } from './disk.js';
import { type Finding, Findings, ok, problem } from './finding.js';
import { encryptionKey } from './keys.js';
import { images } from './images.js';
import { mail } from './mail.js';
import { type Check, type DatabaseCheck, type Deployment, type Examine } from './deployment.js';
import { readModels } from './read-models.js';
import { ReadOnlyDatabase } from './read-only-database.js';
import { redis } from './redis.js';
import { releases } from './releases.js';
import { replica } from './replica.js';
import { role } from './role.js';
import { extensions, migrations } from './schema.js';
import { seals } from './seals.js';
import { selfCheck } from './self-check.js';
import { settings } from './settings.js';
import { witnesses } from './witnesses.js';

export type Examined = Finding & { check: string };

const DATABASE_CHECKS: readonly DatabaseCheck[] = [
  ...[databaseCheck, role, settings, connections, extensions, clock, encryptionKey],
  ...[migrations, releases, readModels, seals, witnesses, selfCheck, activity, storage],
];

const OTHER_CHECKS: readonly Check[] = [replica, disk, redis, mail, images, address];

/**
 * Checks everything that an instance needs, and changes nothing. A check that cannot run is also a finding.
 */
export async function* examine({ config, wrong, ofDeployments }: Inspected): AsyncGenerator<Examined> {
  const isWrong = (variable: string) => wrong.some((sentence) => sentence.startsWith(`${variable} `));
  for (const sentence of wrong) {
    yield { check: 'configuration', ...problem(sentence, 'Fix it. Until then, no server starts.') };
  }
  const deployment: Deployment = {
    config,
    ofDeployments,
    isWrong,
    database: undefined,
    encryptionKey: undefined,
  };
  if (wrong.length === 0) yield* run(configuration, deployment);

  const opened = isWrong('DATABASE_URL') ? {} : await openDatabase(config);
  if (opened.finding) yield { check: 'database', ...opened.finding };
  try {
    const key = isWrong('ENCRYPTION_KEY') ? undefined : await keyOf(config);
    const { database } = opened;
    if (database) {
      const open = { ...deployment, database, encryptionKey: key };
      for (const check of DATABASE_CHECKS) yield* run(check, open);
    }
    for (const check of OTHER_CHECKS) yield* run(check, { ...deployment, database });
  } finally {
    await opened.close?.();
  }
}

async function* run<P extends Deployment>(
  { name, examine }: { name: string; examine: Examine<P> },
  deployment: P,
): AsyncGenerator<Examined> {
  const found = new Findings();
  try {
    const well = await examine(deployment, found);
    if (well !== undefined && found.isEmpty) found.ok(well);
  } catch (error) {
    const reason = describeError(error).replace(/\.$/, '');
    found.all.splice(0);
    found.problem(`This check failed: ${reason}.`, 'Fix the other problems first.');
  }
  for (const finding of found.all) yield { check: name, ...finding };
}

type Opened = { database?: ReadOnlyDatabase; finding?: Finding; close?: () => Promise<void> };

async function openDatabase({ databaseUrl, dataDirectory }: Config): Promise<Opened> {
  const isEmbedded = databaseUrl === undefined;
  if (isEmbedded && !containsDatabase(dataDirectory)) {
    return { finding: ok('DATA_DIR contains no database yet. The first start creates it.') };
  }
  let embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>> | undefined;
  let database: ReadOnlyDatabase | undefined;
  const close = async () => {
    await database?.close();
    await embedded?.stop();
  };
  try {
    // Uses the embedded PostgreSQL that already runs, or starts it temporarily. It only writes its own files.
    if (isEmbedded)
      embedded = await startEmbeddedPostgres({ directory: dataDirectory, log: () => undefined });
    database = await ReadOnlyDatabase.connect(databaseUrl ?? embedded!.url);
    await database.query('SELECT 1');
    return { database, close };
  } catch (error) {
    await close();
    if (/statement pooling/i.test(describeError(error))) return { finding: STATEMENT_POOLING };
    return { finding: unreachable(error, isEmbedded) };
  }
}

/** The configured master key, or the embedded mode's own, which is never created here. */
async function keyOf({
  encryptionKey: configured,
  databaseUrl,
  dataDirectory,
}: Config): Promise<Buffer | undefined> {
  if (configured !== undefined || databaseUrl !== undefined) return configured;
  const text = await readFile(join(dataDirectory, 'encryption-key'), 'utf8').catch(() => '');
  const key = Buffer.from(text.trim(), 'base64');
  return key.length === 32 ? key : undefined;
}
