import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type Variant } from './image.js';

/** `sha256`: of its bytes, in hexadecimal. */
export type StoredFile = { name: string; sha256: string };

export type ImageFilesStoredEvent = {
  type: 'ImageFilesStored';
  data: { imageId: string; files: StoredFile[] };
};

/** What the history records about the bytes that pages show. A stream next to the image's own, which is not a record and has no state. */
export const imageFiles = {
  streamType: 'image-files',
  events: { ImageFilesStored: true },
  isInternal: true,
} as const satisfies Pick<Decider<never, ImageFilesStoredEvent>, 'streamType' | 'events' | 'isInternal'>;

/** Derived from the image's id. */
export function imageFilesId(imageId: string): string {
  return streamIdOf(createHash('sha256').update(`image-files ${imageId}`).digest());
}

/** @param directory that contains the files. */
export function digestsOf(directory: string, variants: readonly Variant[]): Promise<StoredFile[]> {
  return Promise.all(
    variants.map(async ({ name }) => ({
      name,
      sha256: createHash('sha256')
        .update(await readFile(join(directory, name)))
        .digest('hex'),
    })),
  );
}
