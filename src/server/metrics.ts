import { type INestApplicationContext } from '@nestjs/common';
import {
  DatabaseMonitor,
  ScrapedDatabase,
  type MetricsServer,
  RequestCounts,
  serveMetrics,
} from '#libs/operations';
import { Mailer } from '#libs/mail';
import { Concurrency, RateLimitStatus } from '#libs/rate-limit';
import { TIMER_BACKLOG } from '#libs/subscriptions';
import { BROADCAST_BACKLOG } from '../broadcasts/index.js';
import { type Config, ConfigError } from '../config/index.js';
import { IMPORT_BACKLOG } from '../contacts/import/jobs/index.js';
import { Renderer } from '../images/index.js';
import { type Runtime } from './runtime.js';
import { programVersion } from '../environment/index.js';
import { WEBHOOK_BACKLOG } from '../webhooks/index.js';

const BACKLOGS = [BROADCAST_BACKLOG, WEBHOOK_BACKLOG, IMPORT_BACKLOG, TIMER_BACKLOG];

/**
 * Serves the metrics of an instance if METRICS_PORT is set.
 *
 * @param process its number, which is added to the port; undefined if there is only one.
 */
export async function startMetrics(
  { host, metricsPort }: Pick<Config, 'host' | 'metricsPort'>,
  process: number | undefined,
  app: INestApplicationContext,
  { source, reserved, store, projections, sealer, selfCheck, cosigning, subscriptions }: Runtime,
): Promise<MetricsServer | undefined> {
  if (metricsPort === undefined) return undefined;
  const port = metricsPort === 0 ? 0 : metricsPort + (process ?? 1) - 1;
  const sources = {
    version: programVersion(),
    requests: app.get(RequestCounts),
    concurrency: app.get(Concurrency),
    rateLimit: app.get(RateLimitStatus),
    store,
    watch: app.get(DatabaseMonitor),
    projections,
    selfCheck,
    witnesses: cosigning,
    subscriptions,
    mailer: app.get(Mailer, { strict: false }),
    images: app.get(Renderer, { strict: false }),
    main: source,
    pools: { main: source, reserved: reserved.source },
  };
  try {
    return await serveMetrics({ host, port }, sources, new ScrapedDatabase(sealer, reserved, BACKLOGS));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new ConfigError([`Port ${port} of METRICS_PORT is taken: set it to a free one.`]);
  }
}
