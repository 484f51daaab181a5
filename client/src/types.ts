export type ClientOptions = {
  /** The address of the server, such as `https://advocacy.example.org`. */
  url: string;
  /** An API key. In a web page, a publishable key. */
  key: string;
  /**
   * For operations that require it. Default: the organization of the key, which the client requests once. That request needs the
   * scope `organization:read`.
   */
  organizationId?: string;
  /** Further attempts after a failed one. Default: 3. */
  maxRetries?: number;
  /** Milliseconds that an attempt may take. In a download, for each of its parts. Uploads may take longer. Default: 45,000. */
  timeout?: number;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** Receives each response, for its headers. Leave its body to the client. */
  onResponse?: (response: Response) => void;
};

export type RequestOptions = Pick<ClientOptions, 'maxRetries' | 'timeout' | 'onResponse'> & {
  /** Aborts the request. */
  signal?: AbortSignal;
  /** A UUID, a ULID or 32 hexadecimal digits, to find the request in the log and in the history. */
  requestId?: string;
};

export type WriteOptions = RequestOptions & {
  /** Identifies the request, for 48 hours. Default: a random one for each call, which its retries share. */
  idempotencyKey?: string;
};

export type UploadOptions = WriteOptions & {
  /** The format of the file. Default: the `type` of a Blob, NDJSON for objects, otherwise CSV or an image. */
  contentType?: string;
  /** Receives the number of bytes sent so far. Not for files in memory, which are sent as a whole. */
  onProgress?: (bytes: number) => void;
};

/** A file, or the objects of one. Strings, bytes, Blobs and arrays are in memory. Only those are sent again after a failure. */
export type UploadBody =
  | string
  | Uint8Array
  | Blob
  | ReadableStream<Uint8Array>
  | Iterable<object>
  | AsyncIterable<object>;

export type Page<Item> = { data: Item[]; pagination: { cursor: string | null; hasMore: boolean } };

/** All records, page by page: `for await (const record of list)`. Awaiting it returns the first page only: `await list`. */
export interface PagedList<Item> extends AsyncIterable<Item>, PromiseLike<Page<Item>> {
  pages(): AsyncIterable<Page<Item>>;
}

/** A file of any size: `for await (const record of download)`. */
export interface Download<Item> extends AsyncIterable<Item> {
  /** The file itself, such as CSV. */
  stream(): Promise<ReadableStream<Uint8Array>>;
}
