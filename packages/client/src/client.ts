import { randomId } from './crypto.js';
import { OPERATIONS, type Services } from './generated.js';
import { connectionError, type HttpRequest, send } from './http.js';
import {
  type ClientOptions,
  type Download,
  type Page,
  type PagedList,
  type UploadBody,
  type UploadOptions,
} from './types.js';
import { uploadOf } from './uploads.js';

export type Client = Services;

type Input = Record<string, unknown>;

/** An entry of OPERATIONS. */
type Operation = {
  method: string;
  path: string;
  answer: 'data' | 'document' | 'list' | 'lines' | 'text';
  /** The parameter that continues a list. */
  cursor?: string;
  hasFormat?: true;
  needsOrganization?: true;
  /** The formats of files that it accepts. */
  uploads?: readonly string[];
};

/** A client for the organization of an API key. It sends nothing until you call one of its methods. */
export function createClient(options: ClientOptions): Client {
  let organizationId: Promise<string> | undefined;
  const ownOrganization = () => {
    if (options.organizationId !== undefined) return Promise.resolve(options.organizationId);
    organizationId ??= client.organization.get().then(({ id }) => id);
    // The next call tries again.
    organizationId.catch(() => (organizationId = undefined));
    return organizationId;
  };
  const services: Record<string, Record<string, Operation>> = OPERATIONS;
  const client = mapped(services, (operations) =>
    mapped(operations, (operation) => method(operation, options, ownOrganization)),
  ) as unknown as Client;
  return client;
}

function mapped<Value, Result>(values: Record<string, Value>, map: (value: Value) => Result) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

function method(operation: Operation, client: ClientOptions, ownOrganization: () => Promise<string>) {
  const run = async <Result>(
    input: Input,
    options: UploadOptions,
    read: (response: Response) => Promise<Result>,
    body?: UploadBody,
  ) => {
    const organization =
      operation.needsOrganization && input.organizationId === undefined
        ? { organizationId: await ownOrganization() }
        : {};
    const request = await requestOf(operation, { ...organization, ...input }, options, body);
    return send(request, client, options, read);
  };
  if (operation.uploads)
    return (body: UploadBody, input: Input = {}, options: UploadOptions = {}) =>
      run(input, options, async (response) => ((await response.json()) as { data: unknown }).data, body);
  return (input: Input = {}, options: UploadOptions = {}) => {
    switch (operation.answer) {
      case 'data':
        return run(input, options, async (response) => ((await response.json()) as { data: unknown }).data);
      case 'document':
        return run(input, options, (response) => response.json());
      case 'text':
        return run(input, options, (response) => response.text());
      case 'list':
        return pagedList(operation.cursor ?? 'cursor', input, (of) =>
          run(of, options, (response) => response.json() as Promise<Page<unknown>>),
        );
      case 'lines':
        return download(options.signal, (format) =>
          run({ ...(operation.hasFormat && format), ...input }, options, (response) =>
            Promise.resolve(response),
          ),
        );
    }
  };
}

async function requestOf(
  { method, path, answer, uploads }: Operation,
  input: Input,
  { requestId, idempotencyKey, contentType, onProgress }: UploadOptions,
  file: UploadBody | undefined,
): Promise<HttpRequest> {
  const headers: Record<string, string> = requestId === undefined ? {} : { 'X-Request-Id': requestId };
  if (method !== 'GET') headers['Idempotency-Key'] = idempotencyKey ?? (await randomId());
  const isQuery = method === 'GET' || uploads !== undefined;
  const parameters = Object.entries(isQuery ? input : {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]): [string, string] => [name, parameterOf(value)]);
  const query = new URLSearchParams(parameters).toString();
  const request = {
    method,
    path: `/v1/${path}${query && `?${query}`}`,
    headers,
    isUpload: file !== undefined,
    isDownload: answer === 'lines',
  };
  if (uploads && file !== undefined) {
    const { body, type } = await uploadOf(file, uploads, onProgress);
    headers['Content-Type'] = contentType ?? type;
    return { ...request, body };
  }
  if (isQuery) return request;
  headers['Content-Type'] = 'application/json';
  return { ...request, body: JSON.stringify(input) };
}

/** Lists are separated by commas. */
function parameterOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(parameterOf).join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function pagedList(
  parameter: string,
  input: Input,
  request: (input: Input) => Promise<Page<unknown>>,
): PagedList<unknown> {
  const list: PagedList<unknown> = {
    then: (onPage, onError) => request(input).then(onPage, onError),
    async *pages() {
      for (let next = input; ;) {
        const page = await request(next);
        yield page;
        if (!page.pagination.hasMore) return;
        next = { ...input, [parameter]: page.pagination.cursor };
      }
    },
    async *[Symbol.asyncIterator]() {
      for await (const { data } of list.pages()) yield* data;
    },
  };
  return list;
}

function download(
  signal: AbortSignal | undefined,
  request: (format?: Input) => Promise<Response>,
): Download<unknown> {
  return {
    stream: async () => (await request()).body!,
    async *[Symbol.asyncIterator]() {
      const response = await request({ format: 'ndjson' });
      const type = response.headers.get('Content-Type') ?? '';
      if (!type.startsWith('application/x-ndjson')) {
        await response.body?.cancel();
        throw new TypeError(`The file is ${type}. Read it with stream().`);
      }
      for await (const line of linesOf(response.body!, signal)) yield JSON.parse(line) as unknown;
    },
  };
}

/** The lines of a response, without empty ones. @throws ConnectionError if it is incomplete */
async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw connectionError(error, signal);
      });
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
      rest = done ? '' : lines.pop()!;
      yield* lines.filter((line) => line !== '');
      if (done) return;
    }
  } finally {
    // If the caller stops early.
    await reader.cancel().catch(() => undefined);
  }
}
