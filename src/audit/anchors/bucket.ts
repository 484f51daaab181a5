import {
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { describeError } from '#libs/database';
import { endpointOfS3 } from '../../environment/index.js';
import { type AnchorStore, NotWriteOnce } from './anchors.js';
import { isLogName, checkpointName, sizeOf } from './names.js';

export type BucketLocation = { bucket: string; prefix: string };

/** A store that does not respond is retried in the next round. */
const TIMEOUTS = {
  connectionTimeout: 5_000,
  requestTimeout: 20_000,
  socketTimeout: 20_000,
  throwOnRequestTimeout: true,
};
/** Maximum names that S3 lists per request. */
const PAGE = 1_000;
/** Larger than any note with many signatures. */
const LARGEST_NOTE = 64 * 1024;

/**
 * `s3://<bucket>/<prefix>/<organizationId>/<size>.checkpoint`, on Amazon S3 or a compatible store. The AWS SDK
 * reads region, credentials and endpoint from their usual places, environment variables first.
 */
export class AnchorBucket implements AnchorStore {
  private readonly client: S3Client;
  private readonly bucket: string;
  private readonly prefix: string;
  private readonly store: string;
  /** Whether the store has proved that it does not overwrite objects. */
  private isWriteOnce = false;

  /** @param signal aborts requests in progress. */
  constructor(
    { bucket, prefix }: BucketLocation,
    private readonly signal?: AbortSignal,
    private readonly page = PAGE,
  ) {
    this.bucket = bucket;
    this.prefix = prefix === '' ? '' : `${prefix}/`;
    const address = endpointOfS3();
    this.store = address ?? 'Amazon S3';
    // Other stores have no host name per bucket, and all of them accept the bucket name in the path.
    this.client = new S3Client({ requestHandler: TIMEOUTS, forcePathStyle: address !== undefined });
  }

  async organizations(): Promise<string[]> {
    const names: string[] = [];
    let from: string | undefined;
    do {
      const listed = await this.list({ Prefix: this.prefix, Delimiter: '/', ContinuationToken: from });
      for (const { Prefix = '' } of listed.CommonPrefixes ?? [])
        names.push(Prefix.slice(this.prefix.length, -1));
      from = listed.NextContinuationToken;
    } while (from !== undefined);
    return names.filter(isLogName);
  }

  /**
   * S3 lists keys only in ascending order, and a million anchors fill a thousand pages. So this lists the keys
   * after a size slightly below `near`, which usually suffices. Otherwise it searches down or up in doubling
   * steps, then by bisection.
   */
  async largest(organizationId: string, near: number): Promise<number | undefined> {
    let [found, none] = [-1, Infinity];
    let step = this.page;
    let after = Math.max(near - step, -1);
    for (;;) {
      const { sizes, isLast } = await this.sizesAfter(organizationId, after);
      found = sizes.at(-1) ?? found;
      if (isLast && sizes.length > 0) return found;
      if (isLast) none = after;
      if (found >= none) return found < 0 ? undefined : found;
      step *= 2;
      if (found < 0) after = Math.max(near - step, -1);
      else after = none === Infinity ? found + step : found + Math.floor((none - found) / 2);
    }
  }

  async read(organizationId: string, size: number): Promise<string> {
    const Key = this.keyOf(organizationId, size);
    const command = new GetObjectCommand({ Bucket: this.bucket, Key });
    return this.ask('s3:GetObject', async () => {
      const { Body, ContentLength = 0 } = await this.client.send(command, { abortSignal: this.signal });
      // Such a large object is damaged. Reading it as empty reports that without downloading gigabytes.
      return ContentLength > LARGEST_NOTE ? '' : Body!.transformToString();
    });
  }

  /** @throws NotWriteOnce if the store overwrites existing objects. */
  async create(organizationId: string, size: number, note: string): Promise<boolean> {
    const key = this.keyOf(organizationId, size);
    const isNew = await this.put(key, note);
    // Many S3-compatible stores ignore conditional requests. Writing the same content twice detects them and is
    // harmless.
    if (isNew && !this.isWriteOnce && (await this.put(key, note))) throw this.notWriteOnce();
    this.isWriteOnce = true;
    return isNew;
  }

  /** @returns whether the object was created. */
  private put(Key: string, Body: string): Promise<boolean> {
    return this.ask('s3:PutObject', async () => {
      const command = new PutObjectCommand({
        Bucket: this.bucket,
        ...{ Key, Body, IfNoneMatch: '*', ContentType: 'text/plain; charset=utf-8' },
      });
      try {
        await this.client.send(command, { abortSignal: this.signal });
        return true;
      } catch (error) {
        const { status, name } = partsOf(error);
        if (status === 412) return false;
        if (status === 501 || name === 'NotImplemented') throw this.notWriteOnce();
        throw error;
      }
    });
  }

  private async sizesAfter(
    organizationId: string,
    size: number,
  ): Promise<{ sizes: number[]; isLast: boolean }> {
    const Prefix = `${this.prefix}${organizationId}/`;
    let StartAfter = size < 0 ? Prefix : this.keyOf(organizationId, size);
    for (;;) {
      const { Contents = [], IsTruncated = false } = await this.list({ Prefix, StartAfter });
      const sizes = Contents.flatMap(({ Key = '' }) => sizeOf(Key.slice(Prefix.length)) ?? []);
      if (sizes.length > 0 || !IsTruncated) return { sizes, isLast: !IsTruncated };
      // Continue after objects of other programs, because anchors may follow them.
      StartAfter = Contents.at(-1)!.Key!;
    }
  }

  private list(
    input: Omit<ListObjectsV2CommandInput, 'Bucket' | 'MaxKeys'>,
  ): Promise<ListObjectsV2CommandOutput> {
    const command = new ListObjectsV2Command({ Bucket: this.bucket, MaxKeys: this.page, ...input });
    return this.ask('s3:ListBucket', () => this.client.send(command, { abortSignal: this.signal }));
  }

  private keyOf(organizationId: string, size: number): string {
    return `${this.prefix}${organizationId}/${checkpointName(size)}`;
  }

  private async ask<Answer>(permission: string, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NotWriteOnce) throw error;
      throw new Error(this.explained(error, permission), { cause: error });
    }
  }

  /** The problem and its fix, in one sentence. */
  private explained(error: unknown, permission: string): string {
    const { bucket, store } = this;
    const { name, status, message } = partsOf(error);
    if (name === 'CredentialsProviderError') {
      return `no credentials found for ${store}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (${message})`;
    }
    if (message === 'Region is missing') {
      return 'set AWS_REGION to the region of the bucket, or to us-east-1 if the store has no regions';
    }
    if (status === undefined) {
      return `${store} cannot be reached: ${name === 'TimeoutError' ? 'no response in time' : message}`;
    }
    if (name === 'NoSuchBucket') return `${store} has no bucket ${bucket}: create it, or correct --to`;
    if (status === 301 || name === 'AuthorizationHeaderMalformed') {
      return `the bucket ${bucket} is in another region: set AWS_REGION to the region of the bucket (${message})`;
    }
    if (status === 401 || status === 403) {
      return `${store} denies these credentials ${permission} on ${bucket}: allow it, or use others (${name}: ${message})`;
    }
    return `${store} returned status ${status} for ${permission} on ${bucket} (${name}: ${message})`;
  }

  private notWriteOnce(): NotWriteOnce {
    return new NotWriteOnce(
      `${this.store} ignores If-None-Match, so anchors in ${this.bucket} could be overwritten. Use a store that supports ` +
        'conditional writes.',
    );
  }
}

/** `status` is undefined if there was no response. */
function partsOf(error: unknown): { name: string; status: number | undefined; message: string } {
  const { name = '', $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  const message = describeError(error).replace(/\.$/, '');
  return { name, status: $metadata?.httpStatusCode, message };
}
