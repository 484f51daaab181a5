import { type INestApplicationContext } from '@nestjs/common';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo } from 'node:net';
import { DatabaseMonitor, RequestCounts } from '#libs/operations';
import { Mailer } from '#libs/mail';
import { Concurrency, RateLimitStatus } from '#libs/rate-limit';
import { TIMER_BACKLOG } from '#libs/subscriptions';
import { BROADCAST_BACKLOG } from '../broadcasts/index.js';
import { type Config, ConfigError } from '../config/index.js';
import { IMPORT_BACKLOG } from '../contacts/import/jobs/index.js';
import { Renderer } from '../images/index.js';
import { METRICS, type Sources } from './metric-catalog.js';
import { type Runtime } from './runtime.js';
import { type DatabaseFacts, ScrapedDatabase } from './scraped-database.js';
import { programVersion } from '../environment/index.js';
import { WEBHOOK_BACKLOG } from '../webhooks/index.js';

type MetricsServer = { port: number; close(): void };

const BACKLOGS = [BROADCAST_BACKLOG, WEBHOOK_BACKLOG, IMPORT_BACKLOG, TIMER_BACKLOG];

/**
 * Serves the metrics of an instance if METRICS_PORT is set.
 *
 * @param process the number of the process, from 1; undefined if there is only one. The ports of processes are consecutive.
 * @throws ConfigError if the port is taken.
 */
export async function startMetrics(
  { host, metricsPort }: Pick<Config, 'host' | 'metricsPort'>,
  process: number | undefined,
  app: INestApplicationContext,
  { source, reserved, store, projections, sealer, selfCheck, cosigning, subscriptions }: Runtime,
): Promise<MetricsServer | undefined> {
  if (metricsPort === undefined) return undefined;
  const port = metricsPort === 0 ? 0 : metricsPort + (process ?? 1) - 1;
  const sources: Sources = {
    version: programVersion(),
    requests: app.get(RequestCounts),
    concurrency: app.get(Concurrency),
    rateLimit: app.get(RateLimitStatus),
    store,
    watch: app.get(DatabaseMonitor),
    projections,
    selfCheck,
    cosigning,
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
    throw new ConfigError([`Port ${port} in METRICS_PORT is already in use. Set it to a free port.`]);
  }
}

/**
 * Serves `GET /metrics` on its own port in Prometheus's text format. It requires no key, so only the operator's network may reach it.
 * It responds even while the database hangs, and stops with the process.
 *
 * @param host the API's host; undefined: all addresses.
 */
async function serveMetrics(
  { host, port }: { host: string | undefined; port: number },
  sources: Sources,
  watcher: ScrapedDatabase,
): Promise<MetricsServer> {
  // Loaded only if METRICS_PORT is set.
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  let facts: DatabaseFacts = { answered: false };
  for (const { name, type, help, labels = [], read } of METRICS) {
    // prom-client reads only these fields. Its own counters would cost each request a lookup of labels.
    const get = () =>
      Promise.resolve({
        name,
        type,
        help,
        aggregator: 'sum',
        values: read(sources, facts),
        labelNames: labels,
      });
    registry.registerMetric({ name, get } as unknown as Parameters<typeof registry.registerMetric>[0]);
  }

  const server = http.createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('GET /metrics\n');
      return;
    }
    const answer = async () => {
      facts = await watcher.read();
      const text = await registry.metrics();
      response.writeHead(200, { 'Content-Type': registry.contentType }).end(text);
    };
    answer().catch(() => response.writeHead(500).end());
  });
  Object.assign(server, { requestTimeout: 10_000, headersTimeout: 5_000, maxConnections: 50 });
  // Several processes share the API's port, but each has its own metrics.
  server.listen({ port, host, exclusive: true });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
