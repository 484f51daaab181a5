import { silenceAmazon } from '../../environment/index.js';
import { type AnchorStore } from './anchors.js';
import { type BucketLocation } from './bucket.js';
import { AnchorDirectory } from './directory.js';

/** A bucket's name, and a prefix of characters that no client escapes or normalizes. */
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.*'()!-]+(?:\/[\w.*'()!-]+)*))?\/?$/;

/** Parses `s3://bucket/prefix`, where the prefix is optional. Undefined for any other text. */
export function bucketLocationOf(text: string): BucketLocation | undefined {
  const [, bucket, prefix = ''] = BUCKET.exec(text) ?? [];
  return bucket === undefined ? undefined : { bucket, prefix };
}

/** @param to a directory or a bucket. @param signal aborts requests in progress. */
export async function openAnchorStore(
  to: string | BucketLocation,
  signal?: AbortSignal,
): Promise<AnchorStore> {
  if (typeof to === 'string') return new AnchorDirectory(to);
  silenceAmazon();
  // Loaded only for buckets, because it takes a third of a second.
  const { AnchorBucket } = await import('./bucket.js');
  return new AnchorBucket(to, signal);
}
