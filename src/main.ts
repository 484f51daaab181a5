import 'reflect-metadata';
import { type AddressInfo } from 'node:net';
import { describeError } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { ServerLife } from '#libs/rpc';
import { type Config, ConfigError, loadConfig } from './config.js';
import { createDemo, welcome } from './demo.js';
import { openRuntime, type Runtime } from './runtime.js';
import { createApplication, docsUrl } from './server.js';

/** Idempotency keys are kept at least 24 hours; a day more for whoever repeats yesterday's batch. */
const IDEMPOTENCY_HOURS = 48;
const CLEANING_MS = 3_600_000;

const config = readConfigOrExit();
const logger = new JsonLogger(config.logLevel);
process.on('uncaughtException', (error) => {
  logger.fatal(
    { message: 'uncaught exception: the process ends', reason: describeError(error) },
    error.stack,
  );
  process.exit(1);
});

try {
  await serve();
} catch (error) {
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
  } else {
    const reason = isPortTaken(error)
      ? `port ${config.port} is taken: set PORT to a free one, or stop what listens there`
      : describeError(error);
    logger.fatal({ message: 'the server could not start', reason });
    process.stderr.write(`The server could not start: ${reason}\n`);
  }
  process.exit(1);
}

async function serve(): Promise<void> {
  // Asked to stop while starting: as soon as there is something to stop.
  const stop = new Promise<NodeJS.Signals>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  const runtime = await openRuntime(config, logger);
  try {
    const app = await createApplication(config, runtime, logger);
    const server = app.getHttpServer();
    const life = new ServerLife(server, docsUrl(config));
    await (config.host === undefined ? app.listen(config.port) : app.listen(config.port, config.host));
    runtime.projections.poll();
    const cleaning = setInterval(() => void clean(runtime), CLEANING_MS);

    const { port } = server.address() as AddressInfo;
    logger.log({ message: 'listening', port, embedded: runtime.embedded });
    const origin = config.publicUrl ?? `http://localhost:${port}`;
    const demo = runtime.embedded ? await createDemo(app, runtime) : undefined;
    if (demo) process.stdout.write(welcome(origin, demo));
    else if (runtime.embedded)
      process.stdout.write(`\n  Serving ${origin}, documentation at ${origin}/docs\n\n`);

    logger.log({ message: 'stopping', signal: await stop });
    clearInterval(cleaning);
    await life.drain();
    await app.close();
  } finally {
    await runtime.projections.stop();
    await runtime.close();
  }
  logger.log({ message: 'stopped' });
  process.exit(0);
}

async function clean({ store }: Runtime): Promise<void> {
  try {
    const forgotten = await store.forgetIdempotencyKeys(IDEMPOTENCY_HOURS);
    if (forgotten > 0) logger.log({ message: 'idempotency keys forgotten', forgotten });
  } catch (error) {
    logger.warn({ message: 'idempotency keys not cleaned', reason: describeError(error) });
  }
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
