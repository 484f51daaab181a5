import 'reflect-metadata';
import cluster from 'node:cluster';
import { type INestApplicationContext } from '@nestjs/common';
import { type AddressInfo, isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, failFast } from '#libs/database';
import { JsonLogger, logConsole, Readiness, standardOutput } from '#libs/operations';
import { ServerLife } from '#libs/rpc';
import { isTerminal } from '#libs/terminal';
import { currentTracer } from '#libs/tracing';
import { type Config, ConfigError, loadConfig } from './config.js';
import { environmentOfLibraries, processNumber } from './environment.js';
import { createDemo, tellHowToBegin, welcome } from './demo.js';
import { serveInsight } from './metrics.js';
import { BackgroundWorkers } from './background-workers.js';
import { openRuntime, type Runtime } from './runtime.js';
import { createApplication, docsUrl } from './server.js';
import { startTracing } from './tracing.js';

/** Idempotency keys are kept at least 24 hours; a day more for whoever repeats yesterday's batch. */
const IDEMPOTENCY_HOURS = 48;
const CLEANING_MS = 3_600_000;

/** A database that is being started together with us gets this long. */
const DATABASE_WAIT_MS = 30_000;
/** What runs when we are asked to stop may go on for so long; then it is cut off. */
const GRACE_MS = 7_000;
/**
 * After SHUTDOWN_DELAY. Orchestrators kill ten seconds later, if they are told to. Whatever hangs by then, on a lock in the
 * database say, is left.
 */
const LONGEST_STOP_MS = 9_500;
/**
 * Signals within so long are one: Ctrl-C and supervisors signal a whole group of processes, of which some pass it on. One
 * after it is somebody who does not want to wait for SHUTDOWN_DELAY.
 */
const ONE_SIGNAL_MS = 1_000;
const QUIET_MS = 1_000;
const LONGEST_UNREST_MS = 10_000;
/** For the last log lines, if anybody reads them. */
const FLUSH_MS = 300;

const config = readConfigOrExit();
const number = processNumber();
const logger = new JsonLogger(config.logLevel, number === undefined ? {} : { process: number });
if (number !== undefined) standardOutput.share();
logConsole(logger);
// The reader of what we say has gone: that is no reason to go too.
process.stderr.on('error', () => undefined);
process.on('uncaughtException', (error) => {
  // Without the stack's first lines: they are the message, of which describeError tells what may be told.
  const stack = error.stack?.split('\n').filter((line) => /^ +at /.test(line));
  logger.fatal({ message: 'uncaught exception: the process exits', reason: describeError(error), stack });
  void exit(1);
});

let isServing = false;
const stopping = new AbortController();
const hurrying = new AbortController();
const stop = new Promise<NodeJS.Signals>((resolve) => {
  let first: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Not once: a second one would kill us.
    process.on(signal, () => {
      first ??= performance.now();
      if (performance.now() - first >= ONE_SIGNAL_MS) hurrying.abort();
      stopping.abort();
      resolve(signal);
    });
  }
});

// The process that handed out the connections was killed. Without this Node.js would end us in the middle of requests.
cluster.worker?.once('disconnect', () => {
  cluster.worker!.exitedAfterDisconnect = true;
  process.kill(process.pid, 'SIGTERM');
});

try {
  await startTracing(environmentOfLibraries());
  await serve();
} catch (error) {
  if (isServing) {
    logger.fatal({ message: 'the server exited with an error', reason: describeError(error) });
    await exit(1);
  }
  if (stopping.signal.aborted) {
    logger.log({ message: 'stopped while starting', reason: describeError(error) });
    await exit(0);
  }
  const reason = isPortTaken(error)
    ? `port ${config.port} is already in use. Set PORT to a free port, or stop the program that listens on it.`
    : describeError(error);
  logger.fatal({ message: 'the server could not start', reason });
  process.stderr.write(`The server could not start: ${reason}\n`);
  await exit(1);
}

async function serve(): Promise<void> {
  const runtime = await openRuntime(config, logger, {
    databaseWaitMs: DATABASE_WAIT_MS,
    signal: stopping.signal,
    // A server that ended would be started again by its supervisor, and be down until somebody reads why. It warns.
    migratesBesideIncompatible: true,
  });
  let reactions: BackgroundWorkers | undefined;
  try {
    const app = await createApplication(config, runtime, logger);
    const server = app.getHttpServer();
    reactions = new BackgroundWorkers(app, runtime);
    const metrics = await serveInsight(config, number, app, runtime);
    const life = new ServerLife(server, docsUrl(config), { servedToTheEnd: '/health/live' });
    stopping.signal.throwIfAborted();
    await (config.host === undefined ? app.listen(config.port) : app.listen(config.port, config.host));
    isServing = true;
    failFast(runtime.source);
    runtime.projections.poll();
    runtime.sealer.start(runtime.store.pulse);
    runtime.selfCheck.start();
    runtime.cosigning.start();
    reactions.start();
    // Also at the start: an instance that never runs for an hour would forget nothing.
    void clean(runtime);
    const cleaning = setInterval(() => void clean(runtime), CLEANING_MS);

    const { port } = server.address() as AddressInfo;
    logger.log({ message: 'listening', port, metricsPort: metrics?.port, embedded: runtime.embedded });
    // Of several processes one speaks to whoever sits there.
    if (number === undefined || number === 1) await greet(app, runtime, port);

    const signal = await stop;
    logger.log({ message: 'stopping', signal, servedForSeconds: config.shutdownDelay });
    app.get(Readiness).end();
    if (config.shutdownDelay > 0) {
      life.startDraining();
      await sleep(config.shutdownDelay * 1_000, undefined, { signal: hurrying.signal }).catch(
        () => undefined,
      );
    }
    setTimeout(() => {
      logger.warn({ message: 'stopped before all connections were closed: the shutdown deadline passed' });
      void exit(1);
    }, LONGEST_STOP_MS);
    clearInterval(cleaning);
    await Promise.all([life.drain(GRACE_MS), reactions.stop()]);
    await app.close();
    metrics?.close();
  } finally {
    await reactions?.stop();
    await runtime.cosigning.stop();
    await runtime.selfCheck.stop();
    await runtime.sealer.stop();
    await runtime.projections.stop();
    await runtime.close();
  }
  logger.log({ message: 'stopped' });
  await exit(0);
}

async function greet(app: INestApplicationContext, runtime: Runtime, port: number): Promise<void> {
  const origin = originOf(config, port);
  const demo = runtime.embedded ? await createDemo(app, runtime) : undefined;
  // The emails of the demo are logged, and would push the key off the screen.
  if (demo && isTerminal) await standardOutput.quiet(QUIET_MS, LONGEST_UNREST_MS);
  if (demo) standardOutput.write(welcome(origin, demo));
  else if (runtime.embedded)
    standardOutput.write(
      `\n  Serving ${origin}, dashboard at ${origin}/dashboard, API reference at ${origin}/docs\n\n`,
    );
  else void tellHowToBegin(runtime, logger);
}

async function exit(status: number): Promise<never> {
  await currentTracer()?.close();
  await standardOutput.flush(FLUSH_MS);
  process.exit(status);
}

async function clean({ store, troubles }: Runtime): Promise<void> {
  try {
    const forgotten = await store.forgetIdempotencyKeys(IDEMPOTENCY_HOURS);
    if (forgotten > 0) logger.log({ message: 'expired idempotency keys deleted', forgotten });
  } catch (error) {
    if (troubles.tell(error)) return;
    logger.warn({ message: 'deleting expired idempotency keys failed', reason: describeError(error) });
  }
}

/** The address for whoever sits at this machine. */
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
