import { type IncomingMessage, type ServerResponse } from 'node:http';

/** The attributes of a span: counts and names of ours, never client input. */
export type SpanAttributes = Record<string, string | number>;

type TraceIds = { traceId: string; spanId: string };

/** Creates spans, if tracing is enabled. */
export type Tracer = {
  /** Runs work in a new span, which ends with the work. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>;
  /** Serves a request in a span that joins the client's trace and ends with the response. */
  request(
    request: IncomingMessage,
    response: ServerResponse,
    describe: () => { name: string; attributes: SpanAttributes },
    serve: () => void,
  ): TraceIds;
  /** The ids of the current span. */
  ids(): TraceIds | undefined;
  /** Sends all ended spans. Never rejects. */
  close(): Promise<void>;
};

let tracer: Tracer | undefined;

/** Enables tracing. Call it once, at startup. */
export function traceBy(chosen: Tracer): void {
  tracer = chosen;
}

export function currentTracer(): Tracer | undefined {
  return tracer;
}

/** Runs work in a span if tracing is enabled. Otherwise it costs only a comparison. */
export function traced<Result>(
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  return tracer ? tracer.span(name, attributes, work) : work();
}
