import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema, textOrNull } from '#libs/rpc';
import { image, type ImageFields } from './image.js';

const variantSchema = recordSchema({
  url: { type: 'string' },
  width: { type: 'integer' },
  type: { type: 'string' },
});

export const imageRecordSchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  alt: { ...textOrNull, description: 'Alternative text: describes the image for people who cannot see it.' },
  type: {
    type: 'string',
    enum: ['image/jpeg', 'image/png'],
    description: 'The format of the file at `url`. `width`, `height` and `bytes` describe the same file.',
  },
  url: { type: 'string' },
  width: { type: 'integer' },
  height: { type: 'integer' },
  bytes: { type: 'integer' },
  variants: {
    type: 'array',
    items: variantSchema,
    description:
      'Up to 320, 640, 1,280 and 1,920 pixels wide, each as WebP and as JPEG (PNG if the image has transparency).',
  },
});

export const imageIdSchema = recordSchema({ imageId: { type: 'string' } });

function pathOfFile(hash: string, name: string): string {
  return `/images/${hash}/${name}`;
}

/** Paths begin with a slash: responses prepend the server's address. */
export const images = new Resource({
  object: 'image',
  decider: image,
  existing: (state) => (state.status === 'standing' ? shown(state) : undefined),
  answers: imageRecordSchema,
  version: 1,
  columns: { name: { type: 'text', index: true, search: true }, alt: { type: 'text', search: true } },
});

/** The smallest file that mail programs show: Outlook does not support WebP. Undefined if there is none. */
export function logoFileOf({
  hash,
  variants,
}: ImageFields): { path: string; width: number; height: number } | undefined {
  const [file] = variants
    .filter(({ type }) => type !== 'image/webp')
    .toSorted((one, other) => one.width - other.width);
  return file && { path: pathOfFile(hash, file.name), width: file.width, height: file.height };
}

function shown({ name, alt, hash, variants }: ImageFields): object {
  const { type, name: file, width, height, bytes } = variants.at(-1)!;
  return {
    name,
    alt,
    type,
    url: pathOfFile(hash, file),
    width,
    height,
    bytes,
    variants: variants.map((variant) => ({
      url: pathOfFile(hash, variant.name),
      width: variant.width,
      type: variant.type,
    })),
  };
}
