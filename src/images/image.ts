import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** A stored file. Sizes are in pixels and bytes. */
export type Variant = {
  /** Relative to the folder of the image. */
  name: string;
  type: string;
  width: number;
  height: number;
  bytes: number;
};

export type ImageTexts = { name: string; alt: string | null };

export type ImageFields = ImageTexts & {
  /** SHA-256 of the uploaded bytes, in hexadecimal. It names the folder of the variants. */
  hash: string;
  /** The last one is shown where only one can be. */
  variants: Variant[];
};

export type ImageEvent =
  | { type: 'ImageUploaded'; data: ImageFields }
  | { type: 'ImageUpdated'; data: Partial<ImageTexts> }
  | { type: 'ImageDeleted'; data: { hash: string } };

export type Image = { status: 'unknown' } | ({ status: 'standing' } & ImageFields) | { status: 'deleted' };

export const image: Decider<Image, ImageEvent> = {
  streamType: 'image',
  initial: { status: 'unknown' },
  events: { ImageUploaded: true, ImageUpdated: true, ImageDeleted: true },
  evolve(state, event) {
    if (event.type === 'ImageUploaded') return { status: 'standing', ...event.data };
    if (state.status !== 'standing') return state;
    switch (event.type) {
      case 'ImageUpdated':
        return { ...state, ...event.data };
      case 'ImageDeleted':
        return { status: 'deleted' };
    }
  },
};

/** @throws RpcError NOT_FOUND if the image does not exist. */
export function existingImage(state: Image): ImageFields {
  if (state.status !== 'standing') throw noSuch('image');
  const { status: _, ...fields } = state;
  return fields;
}

/** Texts that are not given stay unchanged. The picture never changes: other bytes are another image. */
export function updateImage(state: Image, given: Partial<ImageTexts>): ImageEvent[] {
  const { name, alt } = existingImage(state);
  const data = changedFields({ name, alt }, given);
  return data ? [{ type: 'ImageUpdated', data }] : [];
}

/** Deleting a deleted image changes nothing. */
export function deleteImage(state: Image): ImageEvent[] {
  if (state.status === 'deleted') return [];
  const { hash } = existingImage(state);
  return [{ type: 'ImageDeleted', data: { hash } }];
}
