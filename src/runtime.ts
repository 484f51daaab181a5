import { type LoggerService } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import {
  isTurnedAway,
  isUnavailable,
  ReadSource,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  startEmbeddedPostgres,
  IncidentLog,
} from '#libs/database';
import { EventStore, Keyring } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Checkpoints, Sealer, type Signers } from '#libs/sealing';
import { Subscriptions } from '#libs/subscriptions';
import { projections, upcasters } from './modules.js';
import { type Config, ConfigError } from './config.js';
import { Cosigning } from './cosigning/index.js';
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
import { SelfCheck } from './self-check/index.js';
import { signersOf } from './signing.js';
import { programVersion } from './version.js';

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
  subscriptions: Subscriptions;
  troubles: IncidentLog;
  embedded: boolean;
  close(): Promise<void>;
};

export type Patience = {
  /** How long to wait for a database that is being started together with us (a container, say). */
  databaseWaitMs: number;
  /** Ends the waiting. */
  signal?: AbortSignal;
  /** Whether pending migrations run while instances of an incompatible version serve. Otherwise that is an error. */
  migratesBesideIncompatible?: boolean;
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
    const master = await masterKeyOf(config);
    const url = config.databaseUrl ?? embedded!.url;
    const address = { url, config, logger, troubles: new IncidentLog(logger) };
    return await untilAvailable(config, logger, patience, () => openOn(address, master, embedded, patience));
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
      if (reason !== told) logger.warn({ message: 'database not available yet', reason });
      told = reason;
      await sleep(1_000, undefined, { signal });
    }
  }
}

/** Without a wait, and without the embedded PostgreSQL's end where it fails. */
async function openOn(
  address: Address,
  master: Buffer,
  embedded: { stop(): Promise<void> } | undefined,
  { migratesBesideIncompatible }: Patience,
): Promise<Runtime> {
  const { config, logger, troubles } = address;
  const source = await connect(address, config.databasePoolSize);
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
    const reserved = await connect(address, RESERVED_CONNECTIONS);
    sources.push(reserved);
    if (!migratesBesideIncompatible) await refuseToMigrateBesideIncompatible(source);
    await prepareSchema(source, logger);
    reads = new ReadSource(source, replicaOf(config, reserved, logger));
    await reads.start();
    const store = new EventStore(
      source,
      new Keyring(master, config.previousEncryptionKey),
      upcasters,
      reads,
      reserved,
    );
    await openKeyring(source, store.keyring);
    readModels = new Projections(source, store, projections, logger, {
      purgeAfterHours: config.erasurePurgeHours,
      release: programVersion(),
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
        'SIGNING_KEY is not the key that signed the checkpoints of this database, so no new ones can be signed. Set it to ' +
          'that key. To replace it, add the previous key to SIGNING_KEY_PREVIOUS ("derived" if SIGNING_KEY was not set ' +
          'before).',
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
      subscriptions: new Subscriptions(source, store, logger, troubles),
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
