import { type LoggerService } from '@nestjs/common';
import { constants } from 'node:fs';
import { access, chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import {
  describeError,
  isTurnedAway,
  isUnavailable,
  migrate,
  missingFromSchema,
  openDatabase,
  ReadSource,
  type ReplicaOptions,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  startEmbeddedPostgres,
  TroubleLog,
} from '#libs/database';
import { EventStore, Keyring, type KeyringFault } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Checkpoints, Sealer, type Signers } from '#libs/sealing';
import { migrations, schema } from '#migrations';
import { projections, upcasters } from './app.module.js';
import { type Config, ConfigError } from './config.js';
import { Cosigning } from './cosigning/index.js';
import { SelfCheck } from './self-check/index.js';
import { signersOf } from './signing.js';

/** The database and what stands on it: the same for the server and for the command line. */
export type Runtime = {
  source: DataSource;
  /** What a replica may answer. */
  reads: ReadSource;
  reserved: ReservedConnections;
  store: EventStore;
  projections: Projections;
  sealer: Sealer;
  checkpoints: Checkpoints;
  signers: Signers;
  selfCheck: SelfCheck;
  cosigning: Cosigning;
  troubles: TroubleLog;
  embedded: boolean;
  close(): Promise<void>;
};

export type Patience = {
  /** How long to wait for a database that is being started together with us (a container, say). */
  databaseWaitMs: number;
  /** Ends the waiting. */
  signal?: AbortSignal;
};

/**
 * Connects (to the embedded PostgreSQL if no other is configured), migrates, and brings read models up to date.
 *
 * @throws ConfigError when the database cannot be used as it is configured.
 */
export async function openRuntime(
  config: Config,
  logger: LoggerService,
  patience: Patience = { databaseWaitMs: 0 },
): Promise<Runtime> {
  const { dataDirectory } = config;
  const embedded = config.databaseUrl
    ? undefined
    : await startEmbeddedPostgres({
        directory: dataDirectory,
        log: (message) => {
          logger.log({ message });
        },
      });
  try {
    const master = config.encryptionKey ?? (await embeddedKey(dataDirectory));
    const url = config.databaseUrl ?? embedded!.url;
    const troubles = new TroubleLog(logger);
    return await untilAvailable(config, logger, patience, () =>
      openOn(url, master, config, logger, troubles, embedded),
    );
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** A database that goes away while we start on it, or takes no writes yet, gets as long as one that is not there yet. */
async function untilAvailable(
  config: Config,
  logger: LoggerService,
  { databaseWaitMs, signal }: Patience,
  open: () => Promise<Runtime>,
): Promise<Runtime> {
  const deadline = Date.now() + databaseWaitMs;
  let told = '';
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (isTurnedAway(error) || Date.now() >= deadline) throw unusable(config, error);
      const reason = reasonIn(config, error);
      // Said once, not every second.
      if (reason !== told) logger.warn({ message: 'database cannot be used yet', reason });
      told = reason;
      await sleep(1_000, undefined, { signal });
    }
  }
}

/** Without a wait, and without the embedded PostgreSQL's end where it fails. */
async function openOn(
  url: string,
  master: Buffer,
  config: Config,
  logger: LoggerService,
  troubles: TroubleLog,
  embedded: { stop(): Promise<void> } | undefined,
): Promise<Runtime> {
  const source = await connect(url, config.databasePoolSize, config, logger, troubles);
  const sources = [source];
  let readModels: Projections | undefined;
  let reads: ReadSource | undefined;
  const destroy = async () => {
    await readModels?.stop();
    await reads?.stop();
    await Promise.all(sources.map((one) => one.destroy()));
  };
  const close = async () => {
    await destroy();
    await embedded?.stop();
  };
  try {
    const reserved = await connect(url, RESERVED_CONNECTIONS, config, logger, troubles);
    sources.push(reserved);
    const ran = await migrate(source);
    if (ran.length > 0) logger.log({ message: 'database migrated', migrations: ran });
    const missing = await missingFromSchema(source, schema);
    if (missing.parts.length > 0) throw new ConfigError([otherSchema(missing.parts)]);
    if (missing.indexes.length > 0) {
      logger.warn({
        message: 'indexes are missing: what they find is looked for in whole tables. Make them again',
        statements: missing.indexes,
      });
    }
    reads = new ReadSource(source, replicaOf(config, reserved, logger));
    await reads.start();
    const store = new EventStore(source, new Keyring(master, config.previousEncryptionKey), upcasters, reads);
    await openKeyring(source, store.keyring);
    readModels = new Projections(source, store, projections, logger, {
      purgeAfterHours: config.erasurePurgeHours,
      reserved,
      troubles,
    });
    await readModels.start();
    // Again: from now on it is known here which keys this instance has, and none takes over that it does not have.
    await openKeyring(source, store.keyring);
    const signers = signersOf(config, store.keyring);
    const sealer = new Sealer(source, signers, logger, troubles);
    if (!(await sealer.isSignerOfDatabase())) {
      throw new ConfigError([
        'SIGNING_KEY is not the key that the checkpoints of this database were signed with: nothing could be signed on top ' +
          'of them. Set it to that key. If it is to be another from now on, add the one before to SIGNING_KEY_PREVIOUS ' +
          '("derived", if SIGNING_KEY was not set before).',
      ]);
    }
    const { verifyEvery, witnesses, witnessEvery } = config;
    const checkpoints = new Checkpoints(source, sealer);
    const isEmbedded = embedded !== undefined;
    return {
      source,
      reads,
      reserved: new ReservedConnections(reserved),
      store,
      projections: readModels,
      sealer,
      checkpoints,
      signers,
      selfCheck: new SelfCheck(source, readModels, signers, verifyEvery, logger, troubles),
      cosigning: new Cosigning(source, checkpoints, signers, witnesses, witnessEvery, logger, troubles),
      troubles,
      embedded: isEmbedded,
      close,
    };
  } catch (error) {
    await destroy();
    throw error;
  }
}

const KEYRING_FAULTS: { [fault in KeyringFault]: string } = {
  first:
    'ENCRYPTION_KEY is not the key that this database was first used with: personal data could not be read. ' +
    'Set it to that key; an embedded database has its own under DATA_DIR and needs none. If it is to be another from now ' +
    'on, set ENCRYPTION_KEY_PREVIOUS to that key.',
  replaced:
    'ENCRYPTION_KEY is not the key of this database: that was replaced by another (keys rewrap). Set it to the new one.',
  unfinished:
    'ENCRYPTION_KEY_PREVIOUS is not the key before: personal data of some persons could not be read, whose keys are wrapped ' +
    'with that. Set it, and run keys rewrap to its end.',
};

/** @throws ConfigError unless all personal data in the database can be read. */
async function openKeyring(source: DataSource, keyring: Keyring): Promise<void> {
  const fault = await keyring.openFor(source);
  if (fault !== undefined) throw new ConfigError([KEYRING_FAULTS[fault]]);
}

/** The replica may be away at the start, and come and go. */
function replicaOf(
  { databaseReplicaUrl: url, databasePoolSize: poolSize }: Config,
  primary: DataSource,
  logger: LoggerService,
): ReplicaOptions | undefined {
  if (url === undefined) return undefined;
  return {
    primary,
    open: () => openDatabase({ url, poolSize, migrations: [] }),
    onChange: (trouble) => {
      if (trouble === undefined) logger.log({ message: 'the replica serves reads' });
      else logger.warn({ message: 'the replica cannot serve: the primary does', reason: trouble });
    },
  };
}

async function connect(
  url: string,
  poolSize: number,
  config: Config,
  logger: LoggerService,
  troubles: TroubleLog,
): Promise<DataSource> {
  try {
    return await openDatabase({
      url,
      poolSize,
      migrations,
      onConnectionError: (error) => {
        if (!troubles.tell(error))
          logger.warn({ message: 'database connection lost', reason: describeError(error) });
      },
    });
  } catch (error) {
    throw isUnavailable(error) ? error : unusable(config, error);
  }
}

function unusable(config: Config, error: unknown): ConfigError {
  const which = config.databaseUrl === undefined ? 'built-in PostgreSQL' : 'database in DATABASE_URL';
  return new ConfigError([`The ${which} cannot be used: ${reasonIn(config, error)}.`]);
}

/** Of the operating system's errors too: nobody else is asked for anything here. */
function reasonIn(config: Config, error: unknown): string {
  return describeError(error, config.databaseUrl !== undefined);
}

/**
 * Whoever started on it would answer that it is ready and then fail requests: the migrations have run, and left
 * something else than they leave, because they were other ones or somebody changed it since.
 */
function otherSchema(missing: readonly string[]): string {
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
  return (
    `The schema of the database is not what this version needs, although its migrations have run. Missing: ` +
    `${missing.slice(0, 5).join(', ')}${more}. Start the version that made it, or restore a backup.`
  );
}

/** The embedded mode's own master key: made once, also when several processes start at the same time. */
async function embeddedKey(directory: string): Promise<Buffer> {
  const file = join(directory, 'encryption-key');
  if (!(await exists(file))) {
    // Linked into place whole: a crash in the middle of the write leaves no half key behind.
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
    await link(draft, file).catch(async (error: unknown) => {
      if (!(await exists(file))) throw error;
    });
    await rm(draft);
  }
  await chmod(file, 0o600);
  return Buffer.from((await readFile(file, 'utf8')).trim(), 'base64');
}

async function exists(file: string): Promise<boolean> {
  return access(file, constants.F_OK).then(
    () => true,
    () => false,
  );
}
