import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

/** A file of the store: `name` within the folder of the image; pixels and bytes. */
export type Variant = { name: string; type: string; width: number; height: number; bytes: number };

export type ImageTexts = { name: string; alt: string | null };

/**
 * `hash`: SHA-256 of the bytes that were uploaded, in hexadecimal, under which the variants lie in the store. The last of these is the
 * image as it is shown where one alone is named.
 */
export type ImageFields = ImageTexts & { hash: string; variants: Variant[] };

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

/** @throws RpcError NOT_FOUND unless the image stands. */
export function existingImage(state: Image): ImageFields {
  if (state.status !== 'standing') throw noSuch('image');
  const { status: _, ...fields } = state;
  return fields;
}

/** A text that is not given stays. What the image shows never changes: other bytes are another image. */
export function updateImage(state: Image, given: Partial<ImageTexts>): ImageEvent[] {
  const { name, alt } = existingImage(state);
  const data = changedFields({ name, alt }, given);
  return data ? [{ type: 'ImageUpdated', data }] : [];
}

/** Deleting the deleted changes nothing. */
export function deleteImage(state: Image): ImageEvent[] {
  if (state.status === 'deleted') return [];
  const { hash } = existingImage(state);
  return [{ type: 'ImageDeleted', data: { hash } }];
}
