import { type IncomingMessage, type ServerResponse } from 'node:http';

/** What a span says beside its name: counts and names of ours, never what clients sent. */
export type SpanAttributes = Record<string, string | number>;

type TraceIds = { traceId: string; spanId: string };

/** What spans are made by, where they are. */
export type Tracer = {
  /** Runs work within a span of its own, which ends when the work has. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>;
  /** Serves a request within a span that joins its sender's trace and ends with its answer. */
  request(
    request: IncomingMessage,
    response: ServerResponse,
    describe: () => { name: string; attributes: SpanAttributes },
    serve: () => void,
  ): TraceIds;
  /** The span that this runs in. */
  ids(): TraceIds | undefined;
  /** Sends what has ended; never rejects. */
  close(): Promise<void>;
};

let tracer: Tracer | undefined;

/** From now on spans are made; once, at the start. */
export function traceBy(chosen: Tracer): void {
  tracer = chosen;
}

/** Of the process; undefined: nothing is traced. */
export function currentTracer(): Tracer | undefined {
  return tracer;
}

/** Runs work, within a span where this process is traced. Where it is not, this is a comparison. */
export function traced<Result>(
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  return tracer ? tracer.span(name, attributes, work) : work();
}
