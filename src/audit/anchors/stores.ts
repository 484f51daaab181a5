import { silenceAmazon } from '../../environment/index.js';
import { type AnchorStore } from './anchors.js';
import { type BucketLocation } from './bucket.js';
import { AnchorDirectory } from './directory.js';

/** A bucket's name, and names within it of which no program makes others. */
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.*'()!-]+(?:\/[\w.*'()!-]+)*))?\/?$/;

/** `s3://bucket/prefix`, the prefix may be left out; undefined where it is nothing of the kind. */
export function bucketLocationOf(text: string): BucketLocation | undefined {
  const [, bucket, prefix = ''] = BUCKET.exec(text) ?? [];
  return bucket === undefined ? undefined : { bucket, prefix };
}

/**
 * @param to a directory or a bucket.
 * @param signal ends what is under way.
 */
export async function openAnchorStore(
  to: string | BucketLocation,
  signal?: AbortSignal,
): Promise<AnchorStore> {
  if (typeof to === 'string') return new AnchorDirectory(to);
  silenceAmazon();
  // Not loaded for a directory, let alone for other commands: it takes a third of a second.
  const { AnchorBucket } = await import('./bucket.js');
  return new AnchorBucket(to, signal);
}
