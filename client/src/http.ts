import { ApiError, ConfigurationError, ConnectionError, type Issue } from './errors.js';
import { type ErrorCode, type ErrorReason } from './generated.js';
import { type ClientOptions, type UploadOptions } from './types.js';

/** Waiting does not help, or the server needs its operator. */
const FINAL: readonly (ErrorReason | undefined)[] = ['ADDRESS_RATE', 'HISTORY_DAMAGED', 'TIMED_OUT'];
const RETRIED_STATUSES = [429, 500, 503];
const LONGEST_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 500;
const MAX_RETRIES = 3;
/** The server responds within 30 seconds. */
const TIMEOUT_MS = 45_000;

export type HttpRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | Blob | ReadableStream<Uint8Array>;
  /** A file, which may take any time. */
  isUpload: boolean;
  /** The response is read after it was returned. */
  isDownload: boolean;
};

/**
 * Sends a request until it succeeds, fails for good, or has no retries left.
 *
 * @param read reads a successful response, within the timeout. Each part of a download must arrive within it
 * @throws ApiError, ConnectionError, ConfigurationError if the server redirects, the reason of `signal` if it was aborted, and
 *   what `onResponse` throws
 */
export async function send<Result>(
  request: HttpRequest,
  client: ClientOptions,
  options: UploadOptions,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  // A stream is consumed by the first attempt.
  const isRepeatable = !(request.body instanceof ReadableStream);
  const retries = isRepeatable ? (options.maxRetries ?? client.maxRetries ?? MAX_RETRIES) : 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await sendOnce(request, client, options, read);
    } catch (error) {
      const delay = attempt < retries ? waitAfter(error, attempt) : undefined;
      if (delay === undefined) throw error;
      await pause(delay, options.signal);
    }
  }
}

async function sendOnce<Result>(
  { method, path, headers, body, isUpload, isDownload }: HttpRequest,
  { url, key, fetch: ownFetch = fetch, onResponse, timeout = TIMEOUT_MS }: ClientOptions,
  options: UploadOptions,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  const aborting = new AbortController();
  const abort = () => aborting.abort(options.signal?.reason);
  const limit = options.timeout ?? timeout;
  const startTimer = () =>
    setTimeout(() => aborting.abort(new Error(`No response within ${limit} ms`)), limit);
  const timer = isUpload ? undefined : startTimer();
  const release = () => options.signal?.removeEventListener('abort', abort);
  let isOpen = false;
  if (options.signal?.aborted) abort();
  options.signal?.addEventListener('abort', abort, { once: true });
  // Not for errors of the caller, such as those of `onResponse`: repeating the request would not help.
  const connected = <Value>(step: Promise<Value>) =>
    step.catch((error: unknown) => {
      throw connectionError(error, options.signal);
    });
  try {
    const init = {
      method,
      // Throws if one is invalid.
      headers: new Headers({ Authorization: `Bearer ${key}`, ...headers }),
      signal: aborting.signal,
      // A redirect could send personal data to another server.
      redirect: 'manual' as const,
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      // Required for streams, and missing in the types of browsers.
      ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
    };
    const response = await connected(ownFetch(`${url.replace(/\/+$/, '')}${path}`, init));
    onResponse?.(response);
    options.onResponse?.(response);
    // Browsers hide the status of a redirect.
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400))
      throw new ConfigurationError('The server redirects. Set `url` to the address to which it redirects.');
    if (!response.ok) throw await connected(errorOf(response));
    if (!isDownload) return await connected(read(response));
    isOpen = true;
    const fail = (error: unknown) => connectionError(error, options.signal);
    const parts = watched(response.body!, aborting.signal, { startTimer, release, fail });
    return await read(new Response(parts, response));
  } finally {
    clearTimeout(timer);
    if (!isOpen) release();
  }
}

/** The body of a download, which fails if a part does not arrive within the timeout. */
function watched(
  body: ReadableStream<Uint8Array>,
  aborting: AbortSignal,
  of: {
    startTimer: () => ReturnType<typeof setTimeout>;
    release: () => void;
    fail: (error: unknown) => unknown;
  },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        aborting.addEventListener('abort', () => {
          controller.error(of.fail(aborting.reason));
          reader.cancel().catch(() => undefined);
        });
      },
      async pull(controller) {
        // Only while the caller waits for a part, because callers may be slow.
        const timer = of.startTimer();
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
          of.release();
        } catch (error) {
          controller.error(of.fail(error));
          of.release();
        } finally {
          clearTimeout(timer);
        }
      },
      async cancel(reason) {
        of.release();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** What to throw if `fetch` or reading a response failed. */
function connectionError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  // After a timeout, browsers throw the reason of the signal, and other programs an error with it.
  const { message } = error as Error;
  return new ConnectionError(`The connection to the server failed: ${message}`, { cause: error });
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  const { error } = parsed(text);
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return new ApiError(
    response.status,
    // A proxy responds without the server's format.
    error?.code ?? (response.status === 503 ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR'),
    error?.message ?? `The server responded with ${response.status}.`,
    error?.reason,
    error?.requestId ?? response.headers.get('X-Request-Id') ?? undefined,
    error?.docs,
    error?.issues ?? [],
    Number.isNaN(seconds) ? undefined : seconds,
    error?.contactId,
    error?.mergedInto,
  );
}

type ErrorBody = {
  error?: {
    code: ErrorCode;
    message: string;
    reason?: ErrorReason;
    docs?: string;
    requestId?: string;
    issues?: Issue[];
    contactId?: string;
    mergedInto?: string;
  };
};

function parsed(text: string): ErrorBody {
  try {
    return (JSON.parse(text) ?? {}) as ErrorBody;
  } catch {
    return {};
  }
}

/** Milliseconds to wait before the next attempt, or undefined if there should be none. */
function waitAfter(error: unknown, attempt: number): number | undefined {
  const growing = FIRST_WAIT_MS * 2 ** attempt;
  const jitter = Math.random();
  if (error instanceof ConnectionError) return growing * (0.5 + jitter);
  if (
    !(error instanceof ApiError) ||
    !RETRIED_STATUSES.includes(error.status) ||
    FINAL.includes(error.reason)
  )
    return undefined;
  const wait =
    error.retryAfter === undefined ? growing * (0.5 + jitter) : error.retryAfter * 1_000 + jitter * 1_000;
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
