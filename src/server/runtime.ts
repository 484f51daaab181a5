import { type LoggerService } from '@nestjs/common';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import {
  isTurnedAway,
  isUnavailable,
  ReadSource,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
  IncidentLog,
} from '#libs/database';
import { EventStore, Keyring } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Checkpoints, Sealer, type Signers } from '#libs/sealing';
import { openStorage, type Storage } from '#libs/storage';
import { Subscriptions } from '#libs/subscriptions';
import { projections, upcasters } from '../modules.js';
import { type Config, ConfigError } from '../config/index.js';
import { Cosigning } from '../audit/index.js';
import {
  type Address,
  connect,
  prepareSchema,
  reasonIn,
  refuseToMigrateBesideIncompatible,
  replicaOf,
  unusable,
} from './database.js';
import { masterKeyOf, openKeyring } from './encryption.js';
import { findAlteredRecipients } from '../broadcasts/index.js';
import { findAlteredFiles } from '../images/index.js';
import { findAlteredSlugs } from '../organizations/index.js';
import { findAlteredTimers, findCursorsBeyondEnd, SelfCheck } from '../self-check/index.js';
import { signersOf } from './signing.js';
import { programVersion, silenceAmazon } from '../environment/index.js';

/** The database and everything that works on it, for the server and the command line. */
export type Runtime = {
  source: DataSource;
  /** Reads that a replica may serve. */
  reads: ReadSource;
  reserved: ReservedConnections;
  store: EventStore;
  projections: Projections;
  sealer: Sealer;
  checkpoints: Checkpoints;
  signers: Signers;
  selfCheck: SelfCheck;
  cosigning: Cosigning;
  /** Opens the store of images when it is first used. */
  storage(): Promise<Storage>;
  subscriptions: Subscriptions;
  incidents: IncidentLog;
  embedded: boolean;
  close(): Promise<void>;
  /** Stops the embedded PostgreSQL even if connections are still open. For a process that can wait no longer. */
  stopEmbedded(): Promise<void>;
};

type OpenOptions = {
  /** How long to wait for a database that starts together with this process, for example in another container. */
  databaseWaitMs: number;
  /** Ends the wait. */
  signal?: AbortSignal;
  /** Whether pending migrations run while instances of an incompatible version serve. Otherwise that is an error. */
  migratesBesideIncompatible?: boolean;
};

/**
 * Connects to the database (the embedded PostgreSQL unless DATABASE_URL is set), migrates it, and updates the projections.
 *
 * @throws ConfigError if the database cannot be used as configured.
 */
export async function openRuntime(
  config: Config,
  logger: LoggerService,
  options: OpenOptions = { databaseWaitMs: 0 },
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
    const master = await masterKeyOf(config);
    const url = config.databaseUrl ?? embedded!.url;
    const address = { url, config, logger, incidents: new IncidentLog(logger) };
    return await untilAvailable(config, logger, options, () => openOn(address, master, embedded, options));
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** Retries while the database is unavailable: it has not started yet, has stopped, or does not accept writes yet. */
async function untilAvailable(
  config: Config,
  logger: LoggerService,
  { databaseWaitMs, signal }: OpenOptions,
  open: () => Promise<Runtime>,
): Promise<Runtime> {
  const deadline = Date.now() + databaseWaitMs;
  let logged = '';
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (isTurnedAway(error) || Date.now() >= deadline) throw unusable(config, error);
      const reason = reasonIn(config, error);
      if (reason !== logged) logger.warn({ message: 'database not available yet', reason });
      logged = reason;
      await sleep(1_000, undefined, { signal });
    }
  }
}

/** Opens everything on an available database. If a step fails, closes everything that is already open. */
async function openOn(
  address: Address,
  master: Buffer,
  embedded: EmbeddedPostgres | undefined,
  { migratesBesideIncompatible }: OpenOptions,
): Promise<Runtime> {
  const { config, logger, incidents } = address;
  const opened: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of opened.toReversed()) await close();
  };
  const opens = <One>(one: One, close: (one: One) => Promise<void>): One => {
    opened.push(() => close(one));
    return one;
  };
  try {
    const source = opens(await connect(address, config.databasePoolSize), (one) => one.destroy());
    const reserved = opens(await connect(address, RESERVED_CONNECTIONS), (one) => one.destroy());
    if (!migratesBesideIncompatible) await refuseToMigrateBesideIncompatible(source);
    await prepareSchema(source, logger);

    const replica = replicaOf(config, reserved, logger);
    const reads = opens(new ReadSource(source, replica), (one) => one.stop());
    await reads.start();

    const keyring = new Keyring(master, config.previousEncryptionKey);
    await openKeyring(source, keyring);
    const store = new EventStore(source, keyring, upcasters, reads, reserved);

    const running = new Projections(source, store, projections, logger, {
      purgeAfterHours: config.erasurePurgeHours,
      release: programVersion(),
      reserved,
      incidents,
    });
    opens(running, (one) => one.stop());
    await running.start();
    // Checks the keys again. From now on, the database records the keys of this instance, so no other instance replaces them with keys
    // that this one does not have.
    await openKeyring(source, keyring);

    const signers = signersOf(config, keyring);
    const sealer = await openSealer(source, signers, logger, incidents);
    const checkpoints = new Checkpoints(source, sealer);
    const { verifyEvery, witnesses, witnessEvery } = config;
    let opening: Promise<Storage> | undefined;
    const storage = () => (opening ??= storageOf(config));
    return {
      source,
      reads,
      reserved: new ReservedConnections(reserved),
      store,
      projections: running,
      sealer,
      checkpoints,
      signers,
      selfCheck: new SelfCheck(source, running, signers, verifyEvery, logger, incidents, {
        'broadcast recipients': (sql) => findAlteredRecipients(sql, config.broadcastRecipientDays),
        cursors: findCursorsBeyondEnd,
        'organization slugs': findAlteredSlugs,
        timers: findAlteredTimers,
        'image files': async (sql) => findAlteredFiles(sql, await storage()),
      }),
      storage,
      subscriptions: new Subscriptions(source, store, logger, incidents),
      cosigning: new Cosigning(source, checkpoints, signers, witnesses, witnessEvery, logger, incidents),
      incidents,
      embedded: embedded !== undefined,
      close: async () => {
        await closeAll();
        await embedded?.stop();
      },
      stopEmbedded: async () => embedded?.stop(true),
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** @throws ConfigError if SIGNING_KEY did not sign this database's checkpoints. */
async function openSealer(
  source: DataSource,
  signers: Signers,
  logger: LoggerService,
  incidents: IncidentLog,
): Promise<Sealer> {
  const sealer = new Sealer(source, signers, logger, incidents);
  if (await sealer.isSignerOfDatabase()) return sealer;
  throw new ConfigError([
    'SIGNING_KEY is not the key that signed the checkpoints of this database, so no new ones can be signed. Set it to ' +
      'that key. To replace it, add the previous key to SIGNING_KEY_PREVIOUS ("derived" if SIGNING_KEY was not set ' +
      'before).',
  ]);
}

function storageOf({ storage, dataDirectory }: Config): Promise<Storage> {
  if (storage) silenceAmazon();
  return openStorage(storage ?? { directory: join(dataDirectory, 'images') });
}
