import { html, type Html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { SelectField } from './parts.js';
import { type PageContext } from './page-context.js';

export type ImageRecord = {
  id: string;
  createdAt: string;
  updatedAt: string;
  name: string;
  alt: string | null;
  url: string;
  width: number;
  height: number;
  bytes: number;
  variants: { url: string; width: number; type: string }[];
};

/** The image's path on this server, which may have a different public address. */
export function pathOfImage(url: string): string {
  return new URL(url).pathname;
}

/** A thumbnail for lists. */
export function Thumb({ alt, url, width, height, variants }: ImageRecord): Html {
  const small = variants.toSorted((one, other) => one.width - other.width)[0];
  const shown = Math.min(width, 320);
  return html`<img
    class="thumb"
    src="${pathOfImage(small?.url ?? url)}"
    alt="${alt ?? ''}"
    width="${shown}"
    height="${Math.max(1, Math.round((height * shown) / width))}"
    loading="lazy"
  />`;
}

/** The image of a record or a form; null if it does not exist, or the viewer may not read images. */
export async function findImage(
  { person, api }: PageContext,
  imageId: string | null,
): Promise<ImageRecord | null> {
  if (imageId === null || !person.may('image:read')) return null;
  try {
    return await api.run<ImageRecord>('image.get-image', { imageId });
  } catch (error) {
    if (error instanceof RpcError && ['NOT_FOUND', 'BAD_REQUEST'].includes(error.code)) return null;
    throw error;
  }
}

/**
 * Offers the newest 100 images. The button for uploading another one only appears with the script `editor`. Null if the viewer may not read images: the stored
 * image is then kept.
 */
export async function ImageField(
  { words, person, form, api }: PageContext,
  imageId: string | null | undefined,
): Promise<Html | null> {
  if (!person.may('image:read')) return null;
  const { images } = words;
  const { records } = await api.run<{ records: ImageRecord[] }>('image.list-images', { limit: 100 });
  const known = records.map(({ id, name }) => ({ value: id, text: name }));
  const isElsewhere = imageId && !known.some(({ value }) => value === imageId);
  const select = SelectField(form, {
    name: 'imageId',
    label: images.choose,
    hint: images.chooseHint,
    value: imageId,
    isOptional: true,
    choices: [
      { value: '', text: images.noImage },
      ...(isElsewhere ? [{ value: imageId, text: images.present }] : []),
      ...known,
    ],
  });
  if (!person.may('image:write')) return select;
  return html`${select}<button type="button" class="button plain" data-new-image hidden>${images.add}</button>`;
}
