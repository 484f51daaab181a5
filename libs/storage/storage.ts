import { type Readable } from 'node:stream';

/** Bytes of a file, first and last, both of them among those that are read. */
export type ByteRange = { first: number; last: number };

/** `size`: of the whole file, in bytes. */
export type StoredFile = { stream: Readable; size: number };

/**
 * Keeps files by their names, which hold slashes and never change their content. Any number of processes use one at once.
 *
 * A class, so that it can be asked for by its name. All of it rejects with `StorageUnreachable` where the store is away, or does not take what it is given.
 */
export abstract class Storage {
  /** Once it is fulfilled the file outlives a crash. What is there already under the name is the same. */
  abstract put(name: string, bytes: Uint8Array, type: string): Promise<void>;
  /** undefined where there is none. The stream has to be read to its end, or destroyed. */
  abstract read(name: string, range?: ByteRange): Promise<StoredFile | undefined>;
  /** Bytes; undefined where there is none. */
  abstract sizeOf(name: string): Promise<number | undefined>;
  /** All whose names begin with this and a slash; where there is none nothing happens. */
  abstract removeFolder(name: string): Promise<void>;
}

/** The store cannot be reached, or refuses to work. The message is for operators: it names no file. */
export class StorageUnreachable extends Error {}
