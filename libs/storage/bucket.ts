import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { type Readable } from 'node:stream';
import { type ByteRange, Storage, type StoredFile, StorageUnreachable } from './storage.js';

/** Callers must not wait for a store that does not respond. */
const TIMEOUTS = {
  connectionTimeout: 5_000,
  requestTimeout: 20_000,
  socketTimeout: 20_000,
  throwOnRequestTimeout: true,
};

/** `endpoint` is set for stores other than Amazon's. They have no host name per bucket, but accept its name in the path. */
export type BucketLocation = { bucket: string; prefix: string; endpoint: string | undefined };

/**
 * Stores files as `s3://<bucket>/<prefix>/<name>`, at Amazon or any S3-compatible store. Region, credentials and endpoint are
 * read like those of Amazon's tools, from the environment first.
 */
export class BucketStorage extends Storage {
  private readonly client: S3Client;
  private readonly prefix: string;

  constructor(private readonly location: BucketLocation) {
    super();
    const { prefix, endpoint } = location;
    this.prefix = prefix === '' ? '' : `${prefix}/`;
    this.client = new S3Client({ requestHandler: TIMEOUTS, forcePathStyle: endpoint !== undefined });
  }

  async put(name: string, bytes: Uint8Array, type: string): Promise<void> {
    const object = { ...this.objectOf(name), Body: bytes, ContentType: type, ContentLength: bytes.length };
    await this.ask(() => this.client.send(new PutObjectCommand(object)));
  }

  async read(name: string, range?: ByteRange): Promise<StoredFile | undefined> {
    const Range = range && `bytes=${range.first}-${range.last}`;
    return this.ask(async () => {
      try {
        const { Body, ContentLength, ContentRange } = await this.client.send(
          new GetObjectCommand({ ...this.objectOf(name), ...(Range ? { Range } : {}) }),
        );
        const size = ContentRange ? Number(ContentRange.split('/')[1]) : ContentLength!;
        return { stream: Body as Readable, size };
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    });
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.ask(async () => {
      try {
        return (await this.client.send(new HeadObjectCommand(this.objectOf(name)))).ContentLength!;
      } catch (error) {
        if (error instanceof NotFound) return undefined;
        throw error;
      }
    });
  }

  async removeFolder(name: string): Promise<void> {
    const { bucket: Bucket } = this.location;
    await this.ask(async () => {
      const listed = await this.client.send(
        new ListObjectsV2Command({ Bucket, Prefix: `${this.prefix}${name}/` }),
      );
      // One by one, because some stores do not support deleting several at once.
      for (const { Key } of listed.Contents ?? [])
        await this.client.send(new DeleteObjectCommand({ Bucket, Key }));
    });
  }

  private objectOf(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.location.bucket, Key: this.prefix + name };
  }

  private async ask<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    try {
      return await request();
    } catch (error) {
      // A network error has a code, an error response of the store has a name.
      const { code, name } = error as NodeJS.ErrnoException;
      throw new StorageUnreachable(`The image storage is unavailable: ${code ?? name}.`, { cause: error });
    }
  }
}
