import 'reflect-metadata';
import cluster from 'node:cluster';
import { type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { type AddressInfo, isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, failFast } from '#libs/database';
import { JsonLogger, logConsole, standardOutput } from '#libs/operations';
import { ServerLife } from '#libs/rpc';
import { isTerminal } from '#libs/terminal';
import { currentTracer } from '#libs/tracing';
import { type Config, ConfigError, loadConfig } from '../config/index.js';
import { environmentOfLibraries, processNumber } from '../environment/index.js';
import { createDemo, demoIsSent, logFirstSteps, welcome } from '../demo/index.js';
import { startMetrics } from './metrics.js';
import { BackgroundWorkers } from './workers.js';
import { Readiness } from './health.controller.js';
import { openRuntime, type Runtime } from './runtime.js';
import { createApplication, docsUrl } from './application.js';
import { startTracing } from './tracing.js';

/** Clients may retry for 24 hours. The second day covers batches from the day before. */
const IDEMPOTENCY_HOURS = 48;
const CLEANING_MS = 3_600_000;

/** How long to wait for a database that starts together with this server. */
const DATABASE_WAIT_MS = 30_000;
/** Running requests and work have this long to finish after SHUTDOWN_DELAY. */
const GRACE_MS = 7_000;
/** Orchestrators kill ten seconds after SHUTDOWN_DELAY. Work that still hangs by then, for example on a lock, is abandoned. */
const MAX_STOP_MS = 9_500;
/** How long the embedded PostgreSQL may take after that. Orchestrators use a database of their own. */
const EMBEDDED_STOP_MS = 10_000;
/**
 * Ctrl-C and supervisors signal a whole process group, and some processes pass the signal on. Signals within this time count as one.
 * A later one means that an operator does not want to wait for SHUTDOWN_DELAY.
 */
const ONE_SIGNAL_MS = 1_000;
/** On a busy machine, the next email of the demo can take two seconds. */
const QUIET_MS = 3_000;
const MAX_QUIET_WAIT_MS = 10_000;
/** How long to wait until a reader has read the last log lines. */
const FLUSH_MS = 300;

/** Runs the server until a signal stops it, and exits the process. */
export async function serve(): Promise<void> {
  const config = readConfigOrExit();
  const logger = openLog(config);
  const stop = listenForSignals();
  let isServing = false;
  try {
    await startTracing(environmentOfLibraries());
    const runtime = await openRuntime(config, logger, {
      databaseWaitMs: DATABASE_WAIT_MS,
      signal: stop.requested,
      // A server that exited would be restarted by its supervisor and stay down until someone reads the log. It warns instead.
      migratesBesideIncompatible: true,
    });
    await run(config, logger, runtime, stop, () => (isServing = true));
    logger.log({ message: 'stopped' });
    await exit(0);
  } catch (error) {
    await exit(report(error, { config, logger, isServing, isStopping: stop.requested.aborted }));
  }
}

/** Serves on the open runtime until a signal arrives, then stops everything in reverse order. */
async function run(
  config: Config,
  logger: LoggerService,
  runtime: Runtime,
  stop: Stop,
  onServing: () => void,
): Promise<void> {
  let workers: BackgroundWorkers | undefined;
  try {
    const app = await createApplication(config, runtime, logger);
    workers = new BackgroundWorkers(app, runtime);
    const metrics = await startMetrics(config, processNumber(), app, runtime);
    const life = new ServerLife(app.getHttpServer(), docsUrl(config), { servedToTheEnd: '/health/live' });
    stop.requested.throwIfAborted();
    await (config.host === undefined ? app.listen(config.port) : app.listen(config.port, config.host));
    onServing();
    startWork(runtime, workers);
    // Also runs at the start. Otherwise an instance that always stops within an hour would delete nothing.
    void clean(runtime, logger);
    const cleaning = setInterval(() => void clean(runtime, logger), CLEANING_MS);
    const { port } = app.getHttpServer().address() as AddressInfo;
    logger.log({ message: 'listening', port, metricsPort: metrics?.port, embedded: runtime.embedded });
    await greet(app, config, logger, runtime, port);

    const signal = await stop.signal;
    const uptimeSeconds = Math.round(process.uptime());
    logger.log({ message: 'stopping', signal, uptimeSeconds, stillServesForSeconds: config.shutdownDelay });
    app.get(Readiness).end();
    if (config.shutdownDelay > 0) {
      life.startDraining();
      await sleep(config.shutdownDelay * 1_000, undefined, { signal: stop.hurried }).catch(() => undefined);
    }
    exitAtDeadline(logger, runtime);
    clearInterval(cleaning);
    await Promise.all([life.drain(GRACE_MS), workers.stop()]);
    await app.close();
    metrics?.close();
  } finally {
    await workers?.stop();
    await stopWork(runtime);
    await runtime.close();
  }
}

function startWork(runtime: Runtime, workers: BackgroundWorkers): void {
  failFast(runtime.source);
  runtime.projections.poll();
  runtime.sealer.start(runtime.store.pulse);
  runtime.selfCheck.start();
  runtime.cosigning.start();
  workers.start();
}

async function stopWork({ cosigning, selfCheck, sealer, projections }: Runtime): Promise<void> {
  await cosigning.stop();
  await selfCheck.stop();
  await sealer.stop();
  await projections.stop();
}

/** The logger of this process. It also logs uncaught errors, which end the process. */
function openLog({ logLevel }: Config): LoggerService {
  const number = processNumber();
  const logger = new JsonLogger(logLevel, number === undefined ? {} : { process: number });
  if (number !== undefined) standardOutput.share();
  logConsole(logger);
  // The reader of our output may exit before we do.
  process.stderr.on('error', () => undefined);
  process.on('uncaughtException', (error) => {
    // The stack's first lines are the message, which may contain personal data. `describeError` leaves that out.
    const stack = error.stack?.split('\n').filter((line) => /^ +at /.test(line));
    logger.fatal({ message: 'uncaught exception: the process exits', reason: describeError(error), stack });
    void exit(1);
  });
  return logger;
}

type Stop = {
  signal: Promise<NodeJS.Signals>;
  /** Aborted by the first signal. */
  requested: AbortSignal;
  /** Aborted by a later signal. */
  hurried: AbortSignal;
};

function listenForSignals(): Stop {
  const stopping = new AbortController();
  const secondSignal = new AbortController();
  const signal = new Promise<NodeJS.Signals>((resolve) => {
    let first: number | undefined;
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      // Not `once`: a second signal would kill the process.
      process.on(name, () => {
        first ??= performance.now();
        if (performance.now() - first >= ONE_SIGNAL_MS) secondSignal.abort();
        stopping.abort();
        resolve(name);
      });
    }
  });
  // If the primary process is killed, Node.js would end this one in the middle of requests.
  cluster.worker?.once('disconnect', () => {
    cluster.worker!.exitedAfterDisconnect = true;
    process.kill(process.pid, 'SIGTERM');
  });
  return { signal, requested: stopping.signal, hurried: secondSignal.signal };
}

type Failure = { config: Config; logger: LoggerService; isServing: boolean; isStopping: boolean };

/** Logs why the server ended. Returns the exit status. */
function report(error: unknown, { config, logger, isServing, isStopping }: Failure): number {
  if (isServing) {
    logger.fatal?.({ message: 'the server exited with an error', reason: describeError(error) });
    return 1;
  }
  if (isStopping) {
    logger.log({ message: 'stopped while starting', reason: describeError(error) });
    return 0;
  }
  const reason = isPortTaken(error)
    ? `port ${config.port} is already in use. Set PORT to a free port, or stop the program that listens on it.`
    : describeError(error);
  logger.fatal?.({ message: 'the server could not start', reason });
  process.stderr.write(`The server could not start: ${reason}\n`);
  return 1;
}

function exitAtDeadline(logger: LoggerService, runtime: Runtime): void {
  setTimeout(() => {
    logger.warn({ message: 'stopped before all connections were closed: the shutdown deadline passed' });
    // Connections that are still open end with the embedded PostgreSQL.
    if (runtime.embedded) runtime.incidents.end();
    const stopped = runtime.stopEmbedded().catch(() => undefined);
    void Promise.race([stopped, sleep(EMBEDDED_STOP_MS)]).then(() => exit(1));
  }, MAX_STOP_MS);
}

/** Shows where to start: the demo at the first start, or how to create an organization. Only the first of several processes does this. */
async function greet(
  app: INestApplicationContext,
  config: Config,
  logger: LoggerService,
  runtime: Runtime,
  port: number,
): Promise<void> {
  if ((processNumber() ?? 1) !== 1) return;
  const origin = originOf(config, port);
  // The demo's addresses are invented. Through a real mail server, its emails would bounce.
  const isForTrying = runtime.embedded && config.mailUrl === undefined;
  const demo = isForTrying ? await createDemo(app, runtime) : undefined;
  // The demo's emails are logged and would push the key off the screen.
  if (demo && isTerminal) {
    await demoIsSent(app, demo);
    await standardOutput.quiet(QUIET_MS, MAX_QUIET_WAIT_MS);
  }
  if (demo) return void standardOutput.write(welcome(origin, demo));
  if (runtime.embedded)
    standardOutput.write(
      `\n  Serving ${origin}, dashboard at ${origin}/dashboard, API reference at ${origin}/docs\n\n`,
    );
  void logFirstSteps(runtime, logger);
}

async function exit(status: number): Promise<never> {
  await currentTracer()?.close();
  await standardOutput.flush(FLUSH_MS);
  process.exit(status);
}

async function clean({ store, incidents }: Runtime, logger: LoggerService): Promise<void> {
  try {
    const forgotten = await store.forgetIdempotencyKeys(IDEMPOTENCY_HOURS);
    if (forgotten > 0) logger.log({ message: 'expired idempotency keys deleted', forgotten });
  } catch (error) {
    if (incidents.report(error)) return;
    logger.warn({ message: 'deleting expired idempotency keys failed', reason: describeError(error) });
  }
}

/** The address on this machine. */
function originOf({ publicUrl, host }: Config, port: number): string {
  if (publicUrl !== undefined) return publicUrl;
  const everywhere = host === undefined || host === '0.0.0.0' || host === '::';
  return `http://${everywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function readConfigOrExit(): Config {
  try {
    return loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
