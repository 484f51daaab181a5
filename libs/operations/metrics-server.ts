import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo } from 'node:net';
import { METRICS, type Sources } from './metrics.js';
import { type DatabaseFacts, type ScrapedDatabase } from './scraped-database.js';

export type MetricsServer = { port: number; close(): void };

/**
 * Answers `GET /metrics` on a port of its own, in Prometheus's text format. Asks for no key: it is for the operator's network
 * alone. It answers also while the database hangs, and ends with the process.
 *
 * @param host as of the API; undefined: all addresses.
 */
export async function serveMetrics(
  { host, port }: { host: string | undefined; port: number },
  sources: Sources,
  watcher: ScrapedDatabase,
): Promise<MetricsServer> {
  // Only here, so that who measures nothing does not load it.
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  let facts: DatabaseFacts = { answered: false };
  for (const { name, type, help, labels = [], read } of METRICS) {
    // prom-client reads only these of a metric: with a counter of its own each request would pay for looking up its labels.
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
      facts = await watcher.look();
      const text = await registry.metrics();
      response.writeHead(200, { 'Content-Type': registry.contentType }).end(text);
    };
    answer().catch(() => response.writeHead(500).end());
  });
  Object.assign(server, { requestTimeout: 10_000, headersTimeout: 5_000, maxConnections: 50 });
  // Of several processes on one port each has metrics of its own.
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
