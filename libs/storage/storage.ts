import { type Readable } from 'node:stream';

/** A range of bytes, including the first and the last. */
export type ByteRange = { first: number; last: number };

/** `size` is the size of the whole file in bytes. */
export type StoredFile = { stream: Readable; size: number };

/**
 * Stores files by name. Names contain slashes, and the content under a name never changes. Any number of processes can use a
 * storage concurrently.
 *
 * A class, so that Nest can inject it. All methods reject with `StorageUnreachable` if the store is unavailable or rejects the
 * request.
 */
export abstract class Storage {
  /** When it resolves, the file survives a crash. If the name exists already, its content is the same. */
  abstract put(name: string, bytes: Uint8Array, type: string): Promise<void>;
  /** Undefined if the file does not exist. The stream must be read to its end or destroyed. */
  abstract read(name: string, range?: ByteRange): Promise<StoredFile | undefined>;
  /** In bytes; undefined if the file does not exist. */
  abstract sizeOf(name: string): Promise<number | undefined>;
  /** Removes all files whose names begin with this name and a slash, if any. */
  abstract removeFolder(name: string): Promise<void>;
}

/** The store is unreachable or rejects requests. The message is for operators and contains no file name. */
export class StorageUnreachable extends Error {}
