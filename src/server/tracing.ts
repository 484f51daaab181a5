import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type SpanAttributes, traceBy, type Tracer } from '#libs/tracing';

/** How long shutdown waits for the trace collector, in milliseconds. */
const FLUSH_MS = 1_000;

type Environment = { [name: string]: string | undefined };

/** Whether the standard variables enable tracing: an endpoint is set, and tracing is not disabled. */
function isTraced(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED = '', OTEL_TRACES_EXPORTER = 'otlp' } = environment;
  if (OTEL_SDK_DISABLED.trim().toLowerCase() === 'true' || OTEL_TRACES_EXPORTER.trim() !== 'otlp')
    return false;
  return Boolean(environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/**
 * Starts OpenTelemetry if its standard variables enable it. The SDK reads the others itself (sampler,
 * headers, batches, timeouts). Otherwise it is not loaded.
 */
export async function startTracing(environment: Environment): Promise<void> {
  if (!isTraced(environment)) return;
  const protocol =
    environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ??
    environment.OTEL_EXPORTER_OTLP_PROTOCOL ??
    'http/protobuf';
  const [
    api,
    sdk,
    { defaultResource, envDetector, detectResources, resourceFromAttributes },
    { OTLPTraceExporter },
  ] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/resources'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const { context, propagation, SpanKind, SpanStatusCode, trace } = api;
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'advocacy-api' }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(
      resourceFromAttributes(
        environment.OTEL_SERVICE_NAME ? { 'service.name': environment.OTEL_SERVICE_NAME } : {},
      ),
    );
  const provider = new sdk.NodeTracerProvider({
    resource,
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  const spans = provider.getTracer('advocacy-api');

  const tracer: Tracer = {
    span: (name, attributes, work) =>
      spans.startActiveSpan(name, { attributes }, async (span) => {
        try {
          return await work();
        } catch (error) {
          // The message is left out, because it may quote request data.
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      }),
    request(
      request: IncomingMessage,
      response: ServerResponse,
      describe: () => { name: string; attributes: SpanAttributes },
      serve,
    ) {
      const parent = propagation.extract(context.active(), request.headers);
      const span = spans.startSpan('request', { kind: SpanKind.SERVER }, parent);
      response.once('close', () => {
        const { name, attributes } = describe();
        span.updateName(name).setAttributes({
          ...attributes,
          'http.request.method': request.method ?? '',
          'http.response.status_code': response.statusCode,
        });
        if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      });
      context.with(trace.setSpan(parent, span), serve);
      return span.spanContext();
    },
    ids: () => trace.getActiveSpan()?.spanContext(),
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
  traceBy(tracer);
}
