import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { findProgram, startSilentProxy } from '#libs/testing';
import { type Client } from './harness.js';
import { METRICS } from '../src/server/index.js';
import { longIt } from './length.js';
import { Deployment, eventually, ServerProcess } from './processes.js';

const root = resolve(__dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The names of a scrape's series in Prometheus. A histogram has three. */
function namesOf(scrape: string): Set<string> {
  const names = new Set<string>();
  for (const [, name = '', type] of scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    for (const end of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) names.add(name + end);
  }
  return names;
}

function valueOf(scrape: string, sample: string): number | undefined {
  const line = scrape.split('\n').find((candidate) => candidate.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

/** The metrics in a PromQL expression: words that are not functions, labels, keywords or strings. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '');
  const ungrouped = bare.replace(/\b(by|without)\s*\([^)]*\)/g, '');
  const words = [...ungrouped.matchAll(/[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)].map(([word]) => word);
  return words.filter((word) => !['and', 'or', 'unless', 'bool', 'on', 'ignoring'].includes(word));
}

describe('metrics', () => {
  let deployment: Deployment;
  let server: ServerProcess;
  let client: Client;
  const origin = (of: ServerProcess) => {
    const port = of.log.find(({ message }) => message === 'listening')?.metricsPort;
    return `http://127.0.0.1:${port}`;
  };
  const scrape = async (of = server) => (await fetch(`${origin(of)}/metrics`)).text();

  beforeAll(async () => {
    deployment = await Deployment.create();
    const organization = await deployment.organization();
    server = await deployment.startServer({
      METRICS_PORT: '0',
      VERIFY_EVERY: '3600',
      MAIL_URL: 'smtp://127.0.0.1:1',
    });
    client = organization.at(server.origin);
    await eventually(async () => expect(await scrape()).toContain('advocacy_projection_lag_positions{'));
  });
  afterAll(() => deployment.stop());

  it('are all exported with their name, type and help, and those of the process', async () => {
    await fetch(`${server.origin}/health/live`);
    await eventually(async () => expect(await scrape()).toContain('operation="health.live"'));
    // By then the background work has reported.
    await eventually(async () => expect(await scrape()).toContain('\nadvocacy_subscription_parked{'));
    const answer = await fetch(`${origin(server)}/metrics?x=1`);
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const { name, type, help } of METRICS) {
      expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
      expect(text).toMatch(new RegExp(`^${name}(_bucket)?(\\{[^}]*\\})? [0-9.e+-]+$`, 'm'));
    }
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds ');
    expect(valueOf(text, 'advocacy_database_up')).toBe(1);
    const { version } = JSON.parse(read('package.json'));
    expect(valueOf(text, `advocacy_info{version="${version}"}`)).toBe(1);
  });

  it('count every operation by name and status, without client input', async () => {
    const { paths } = JSON.parse(read('test/openapi.json')) as { paths: Record<string, object> };
    const operations = Object.entries(paths).filter(([path]) => path.startsWith('/v1/'));
    for (const [path, methods] of operations) {
      const method = Object.keys(methods)[0]!.toUpperCase();
      await client.request(method, path, method === 'GET' ? undefined : '{}').catch(() => undefined);
    }
    await client.request('GET', '/mary@example.org/v1/x');
    await client.get('contact.list-contacts', { q: 'mary@example.org' });
    await client.post('contact.create-contact', {
      organizationId: client.organizationId,
      email: 'a@example.org',
    });
    const text = await scrape();
    for (const [path] of operations) {
      const operation = path.slice('/v1/'.length);
      expect(text).toMatch(
        new RegExp(`^advocacy_requests_total\\{operation="${operation}",status="\\d+"\\} [1-9]`, 'm'),
      );
      expect(text).toContain(`advocacy_request_duration_seconds_count{operation="${operation}"} `);
    }
    expect(text).toMatch(/^advocacy_requests_total\{operation="none",status="404"\} 1$/m);
    expect(valueOf(text, 'advocacy_errors_total{reason="BAD_REQUEST"}')).toBeGreaterThan(0);
    expect(valueOf(text, 'advocacy_append_batch_commands_count')).toBeGreaterThan(0);
    expect(text).not.toMatch(/example\.org|[0-9a-f]{8}-[0-9a-f]{4}-7|adv_/);
  });

  it('count the decisions of the rate limiter', async () => {
    const limited = (await deployment.organization(2)).at(server.origin);
    await eventually(async () => expect((await limited.get('contact.list-contacts')).status).not.toBe(401));
    // Retried, because on a busy machine the requests may take more than a second, or be rejected before they count.
    await eventually(async () => {
      await Promise.all(Array.from({ length: 20 }, () => limited.get('contact.list-contacts')));
      const text = await scrape();
      for (const counted of [
        'advocacy_limiter_decisions_total{decision="accepted"}',
        'advocacy_limiter_decisions_total{decision="refused"}',
        'advocacy_errors_total{reason="KEY_RATE"}',
      ]) {
        expect(valueOf(text, counted)).toBeGreaterThan(0);
      }
    });
  });

  longIt(
    'are exported with their last values while the database is unresponsive, and show an unreachable Redis',
    async () => {
      const proxy = await startSilentProxy(deployment.database.url);
      const one = await deployment.startServer({
        METRICS_PORT: '0',
        DATABASE_URL: proxy.url,
        REDIS_URL: 'redis://127.0.0.1:1',
      });
      await eventually(async () => expect(valueOf(await scrape(one), 'advocacy_redis_fallback')).toBe(1));
      const before = valueOf(await scrape(one), 'advocacy_last_position');
      expect(before).toBeGreaterThan(0);
      // Freezes new connections too: if none is idle, a scrape opens one.
      proxy.freeze();
      const text = await scrape(one);
      expect(valueOf(text, 'advocacy_database_up')).toBe(0);
      expect(valueOf(text, 'advocacy_last_position')).toBe(before);
      await one.end('SIGKILL');
      await proxy.close();
    },
  );

  it('show the number and age of waiting background work', async () => {
    const { source } = deployment.database;
    const [organizationId, id] = [
      '01990a6e-1111-7000-8000-000000000001',
      '01990a6e-1111-7000-8000-000000000002',
    ];
    await source.query(
      `INSERT INTO timers (timer, id, organization_id, due_at, next_at)
       SELECT 'unknown', $1, $2, t, t FROM (SELECT clock_timestamp() - interval '1 hour' AS t) AS due`,
      [id, organizationId],
    );
    await source.query(
      `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id, total, sent, in_doubt) VALUES ($1, $2, $1, 10, 3, 2)`,
      [id, organizationId],
    );
    const text = await scrape();
    expect(valueOf(text, 'advocacy_timers_overdue')).toBe(1);
    expect(valueOf(text, 'advocacy_timer_oldest_seconds')).toBeGreaterThanOrEqual(3_600);
    expect(valueOf(text, 'advocacy_broadcast_recipients_waiting')).toBe(5);
    expect(valueOf(text, 'advocacy_broadcast_recipients_in_doubt')).toBe(2);
    for (const name of ['broadcast_oldest_due', 'webhook_oldest_retry', 'import_oldest'])
      expect(valueOf(text, `advocacy_${name}_seconds`)).toBe(0);
    await source.query("DELETE FROM timers WHERE timer = 'unknown'");
    await source.query('DELETE FROM broadcast_sendings');
  });

  it('show an unreachable mail server', async () => {
    const input = { email: 'owner@example.org', role: 'OWNER' };
    expect((await client.post('team.invite-member', input)).status).toBe(200);
    await eventually(async () => {
      const text = await scrape();
      expect(valueOf(text, 'advocacy_mail_outcomes_total{outcome="unreachable"}')).toBeGreaterThan(0);
      expect(valueOf(text, 'advocacy_mail_last_unreachable_timestamp_seconds')).toBeGreaterThan(1.7e9);
      expect(valueOf(text, 'advocacy_mail_waiting')).toBeGreaterThanOrEqual(0);
    });
  });

  // In `npm test`, `test/start` covers this.
  longIt('are disabled without METRICS_PORT', async () => {
    const without = await deployment.startServer();
    expect(without.log.find(({ message }) => message === 'listening')).not.toHaveProperty('metricsPort');
    await without.end('SIGKILL');
  });

  longIt('the server reports if METRICS_PORT is in use', async () => {
    const port = new URL(origin(server)).port;
    const second = new ServerProcess({ ...deployment.environment, METRICS_PORT: port });
    const { status, stderr } = await second.ended;
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`Port ${port} in METRICS_PORT is already in use`),
    ]);
  });

  it('include everything that the dashboard and the alerts use', async () => {
    const names = namesOf(await scrape());
    const { schemaVersion, panels, templating } = JSON.parse(read('deploy/grafana/advocacy-api.json'));
    expect(schemaVersion).toBeGreaterThanOrEqual(36);
    expect(templating.list.map(({ name }: { name: string }) => name)).toEqual(['datasource', 'instance']);
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
    const ofPanels: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    );
    const { groups } = parse(read('deploy/prometheus/alerts.yml'));
    const ofAlerts: string[] = groups.flatMap(({ rules }: { rules: { expr: string }[] }) =>
      rules.map(({ expr }) => expr),
    );
    expect([ofPanels.length, ofAlerts.length]).toEqual([expect.any(Number), 33]);
    for (const expression of [...ofPanels, ...ofAlerts]) {
      const used = metricsIn(expression);
      expect(used).not.toEqual([]);
      // Except metrics of Prometheus and Kubernetes.
      for (const name of used.filter((name) => name !== 'up' && !name.startsWith('kube_'))) {
        expect([expression, name, names.has(name)]).toEqual([expression, name, true]);
      }
    }
    const shown = new Set(ofPanels.flatMap(metricsIn).map((name) => name.replace(/_bucket$/, '')));
    expect(METRICS.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([]);
  });

  it('have alerts with instructions that promtool accepts', () => {
    const { groups } = parse(read('deploy/prometheus/alerts.yml'));
    for (const { alert, annotations, labels } of groups[0].rules) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(page|ticket)$/)]);
      expect(annotations.summary).toMatch(/.{60,}\.$/s);
    }
    const promtool = findProgram('promtool');
    if (!promtool) return;
    const directory = join(root, 'deploy/prometheus');
    execFileSync(promtool, ['check', 'rules', 'alerts.yml'], { cwd: directory });
    execFileSync(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd: directory });
  });

  it('stop with the process', async () => {
    const address = origin(server);
    expect((await fetch(`${address}/`)).status).toBe(404);
    expect(await server.end('SIGTERM')).toMatchObject({ status: 0 });
    await expect(fetch(`${address}/metrics`)).rejects.toThrow();
  });
});
