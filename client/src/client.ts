import { randomId } from './crypto.js';
import { ConfigurationError, ConnectionError, SecretLostError } from './errors.js';
import { OPERATIONS, type Services } from './generated.js';
import { type HttpRequest, send } from './http.js';
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

/** Contents of a response that the server shows only once. */
const SECRETS = ['key', 'secret'];

/**
 * A client for the organization of an API key. It sends nothing until you call one of its methods.
 *
 * @throws ConfigurationError
 */
export function createClient(options: ClientOptions): Client {
  requireUsable(options);
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

/** Errors of `fetch` would contain the key, and the password of an address. */
function requireUsable({ url, key }: ClientOptions): void {
  // Spaces and line breaks around the key are allowed: keys come from files.
  if (!/^[\x21-\x7e]+$/.test(String(key ?? '').trim()))
    throw new ConfigurationError(
      '`key` is not an API key: it is empty, or contains a space or a special character.',
    );
  const { protocol, username, password, search, hash } = addressOf(url) ?? {};
  if (!/^https?:$/.test(protocol ?? '') || username || password || search || hash)
    throw new ConfigurationError(
      '`url` is not the address of a server, such as https://advocacy.example.org, without a user and a query.',
    );
}

function addressOf(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
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
  const dataOf = async (input: Input, options: UploadOptions, body?: UploadBody) => {
    const { data } = await run(
      input,
      options,
      (response) => response.json() as Promise<{ data: unknown }>,
      body,
    );
    // Only repeats return it without.
    const lost =
      operation.method !== 'GET' && SECRETS.find((field) => (data as Input | null)?.[field] === null);
    if (lost) throw new SecretLostError(lost, data as Input);
    return data;
  };
  if (operation.uploads)
    return (body: UploadBody, input: Input = {}, options: UploadOptions = {}) => dataOf(input, options, body);
  return (input: Input = {}, options: UploadOptions = {}) => {
    switch (operation.answer) {
      case 'data':
        return dataOf(input, options);
      case 'document':
        return run(input, options, (response) => response.json());
      case 'text':
        return run(input, options, (response) => response.text());
      case 'list':
        return pagedList(operation.cursor ?? 'cursor', input, (of) =>
          run(of, options, (response) => response.json() as Promise<Page<unknown>>),
        );
      case 'lines':
        return download((format) =>
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
        const { cursor } = page.pagination;
        // The same page again, without an end.
        if (cursor === null || cursor === next[parameter])
          throw new ConnectionError('The list has more pages, but the response has no new cursor.');
        next = { ...input, [parameter]: cursor };
      }
    },
    async *[Symbol.asyncIterator]() {
      for await (const { data } of list.pages()) yield* data;
    },
  };
  return list;
}

function download(request: (format?: Input) => Promise<Response>): Download<unknown> {
  return {
    stream: async () => (await request()).body!,
    async *[Symbol.asyncIterator]() {
      const response = await request({ format: 'ndjson' });
      const type = response.headers.get('Content-Type') ?? '';
      if (!type.startsWith('application/x-ndjson')) {
        await response.body?.cancel();
        throw new TypeError(`The file is ${type}. Read it with stream().`);
      }
      for await (const line of linesOf(response.body!)) yield recordOf(line);
    },
  };
}

/** @throws ConnectionError if the response ends within the line */
function recordOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    throw new ConnectionError('The response is incomplete: a line is not JSON.', { cause: error });
  }
}

/** The lines of a response, without empty ones. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const [end, ...others] = decoder.decode(value, { stream: !done }).split('\n');
      const lines = [rest + end!, ...others];
      rest = done ? '' : lines.pop()!;
      yield* lines.filter((line) => line !== '');
      if (done) return;
    }
  } finally {
    // If the caller stops early.
    await reader.cancel().catch(() => undefined);
  }
}
