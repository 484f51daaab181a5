import { DirectoryStorage } from './directory.js';
import { type BucketLocation } from './bucket.js';
import { type Storage } from './storage.js';

export { type BucketLocation } from './bucket.js';
export { type ByteRange, Storage, StorageUnreachable } from './storage.js';

/** The place of the files: a directory, or a bucket of an S3-compatible store. */
export type StorageLocation = { directory: string } | BucketLocation;

export async function openStorage(location: StorageLocation): Promise<Storage> {
  if ('directory' in location) return new DirectoryStorage(location.directory);
  // Amazon's library takes 0.3 s to load.
  const { BucketStorage } = await import('./bucket.js');
  return new BucketStorage(location);
}
