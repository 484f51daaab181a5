import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { longIt } from './length.js';
import { Deployment, eventually } from './processes.js';

type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
};

/** A receiver of OTLP spans, as JSON over HTTP. */
class Receiver {
  readonly spans: Span[] = [];
  readonly services = new Set<string>();
  text = '';
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        receiver.text += `${request.url} ${text}\n`;
        for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
          for (const { key, value } of resource.attributes) {
            if (key === 'service.name') receiver.services.add(value.stringValue);
          }
          for (const { spans } of scopeSpans) receiver.spans.push(...spans);
        }
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

let deployment: Deployment;
let receiver: Receiver;
beforeAll(async () => {
  deployment = await Deployment.create();
  receiver = await Receiver.start();
});
afterAll(async () => {
  await deployment.stop();
  receiver.stop();
});

/** Prints the number of loaded files of this package. Open or mapped files would not show it. */
const PRINT_MODULES = `data:text/javascript,${encodeURIComponent(
  "import { createRequire } from 'node:module'; const { cache } = createRequire('/');" +
    "process.on('exit', () => process.stderr.write(Object.keys(cache).filter((file) => file.includes('@opentelemetry')).length + ' files of OpenTelemetry'));",
)}`;

it('traces a request through command, append and projections in the caller’s trace, without its data', async () => {
  const organization = await deployment.organization();
  const server = await deployment.startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'advocacy-test',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    NODE_OPTIONS: `--import=${PRINT_MODULES}`,
  });
  const client = organization.at(server.origin);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const body = { organizationId: client.organizationId, email: 'mary@example.org', firstName: 'Mary' };
  expect((await client.post('contact.create-contact', body, headers)).status).toBe(200);
  await client.get('contact.list-contacts', { q: 'mary' }, headers);

  const named = (name: string) =>
    receiver.spans.find((span) => span.name === name && span.traceId === traceId);
  await eventually(() => {
    for (const name of [
      'contact.create-contact',
      'command',
      'append',
      'projections',
      'query',
      'wide query',
    ]) {
      expect([name, named(name)]).toEqual([name, expect.anything()]);
    }
  });
  const request = named('contact.create-contact')!;
  expect(request.parentSpanId).toBe('00f067aa0ba902b7');
  expect(named('command')!.parentSpanId).toBe(request.spanId);
  expect(named('append')!.parentSpanId).toBe(named('command')!.spanId);
  expect(named('projections')!.parentSpanId).toBe(named('command')!.spanId);
  expect(receiver.services).toEqual(new Set(['advocacy-test']));
  expect(receiver.text).toContain('/v1/traces');
  expect(receiver.text).not.toMatch(/mary|example\.org|adv_/i);
  await eventually(() => {
    const line = server.log.find(({ path }) => path === '/v1/contact.create-contact');
    expect(line).toMatchObject({ traceId, spanId: request.spanId });
  });
  const { stderr } = await server.end('SIGTERM');
  expect(stderr).toMatch(/^[1-9]\d* files of OpenTelemetry$/);
});

/** The case with an endpoint is first, because only the last variable keeps the packages from loading. */
const DISABLED: [string, Record<string, string>][] = [
  ['it is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
  [
    'the traces exporter is none',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' },
  ],
  ['no variable enables it', {}],
];
longIt.each(DISABLED)('loads nothing if %s', async (_, environment) => {
  const organization = await deployment.organization();
  const server = await deployment.startServer({ ...environment, NODE_OPTIONS: `--import=${PRINT_MODULES}` });
  await organization.at(server.origin).get('contact.list-contacts');
  expect(readFileSync(`/proc/${server.pid}/maps`, 'utf8')).not.toContain('opentelemetry');
  const { status, stderr } = await server.end('SIGTERM');
  expect([status, stderr]).toEqual([0, '0 files of OpenTelemetry']);
  for (const line of server.log) expect(line).not.toHaveProperty('traceId');
});
