import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import { MOST_AVIF_MEGAPIXELS, MOST_FRAMES, MOST_MEGAPIXELS } from './image-limits.js';
import { type Variant } from './image.js';

/** The accepted formats, by libvips's names. The file's actual format counts, whatever it was declared as. */
const TAKEN = ['jpeg', 'png', 'webp', 'gif', 'heif'];
/** libvips uses one name for all formats in the container of AVIF. */
const AVIF = 'av1';
/** In these formats, several frames are an animation. In the container of AVIF, they are separate pictures. */
const ANIMATED = ['gif', 'webp'];

const MOST_PIXELS = MOST_MEGAPIXELS * 1_000_000;
const MOST_AVIF_PIXELS = MOST_AVIF_MEGAPIXELS * 1_000_000;
/** In pixels: what pages show on a phone, on a rotated phone, on a desktop, and on a large screen. */
const WIDTHS = [320, 640, 1_280, 1_920];
/** The limit of WebP. Taller images are scaled down. */
const HIGHEST = 16_383;
/** The time limit for libvips, per file. */
const LONGEST_SECONDS = 20;

/**
 * `variants`: by width, ascending. For each width, WebP comes first and a format that every program supports
 * second. For an animation, the still of its first frame comes first, and the animated WebP second.
 */
export type Rendered =
  | { variants: Variant[] }
  /** `not taken`: not an image, or an unsupported format. */
  | { problem: 'not taken' | 'too large' | 'too many frames' | 'too large in all frames' | 'damaged' };

/**
 * Converts an uploaded file to the files that others see. It is decoded and encoded again, so that nothing but
 * the picture survives.
 *
 * @param directory for the files, named like the variants; it is created if missing.
 */
export async function render(path: string, directory: string): Promise<Rendered> {
  sharp.cache(false);
  sharp.concurrency(1);
  const options: SharpOptions = {
    limitInputPixels: MOST_PIXELS,
    failOn: 'error',
    sequentialRead: true,
  };
  const open = (pages = 1) => sharp(path, { ...options, pages }).timeout({ seconds: LONGEST_SECONDS });
  let isAnimation: boolean;
  try {
    const { format, compression, width, height, pages = 1 } = await open().metadata();
    if (!TAKEN.includes(format) || (format === 'heif' && compression !== AVIF))
      return { problem: 'not taken' };
    if (format === 'heif' && width * height > MOST_AVIF_PIXELS) return { problem: 'too large' };
    isAnimation = ANIMATED.includes(format) && pages > 1;
    if (isAnimation && pages > MOST_FRAMES) return { problem: 'too many frames' };
    if (isAnimation && width * height * pages > MOST_PIXELS) return { problem: 'too large in all frames' };
  } catch (error) {
    return { problem: isTooLarge(error) ? 'too large' : 'not taken' };
  }
  try {
    return { variants: await renderAll(open(), directory, isAnimation ? () => open(-1) : undefined) };
  } catch (error) {
    return { problem: isTooLarge(error) ? 'too large' : 'damaged' };
  }
}

/**
 * Decodes an upload once, at the largest width that is shown. An animation is decoded for each width, because
 * all its frames would take 200 MB.
 */
async function renderAll(original: Sharp, directory: string, animation?: () => Sharp): Promise<Variant[]> {
  const { data, info } = await original
    // Rotated according to the camera's orientation.
    .autoOrient()
    .resize({ width: WIDTHS.at(-1)!, height: HIGHEST, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width: widest, height, channels } = info;
  const pixels = () => sharp(data, { raw: { width: widest, height, channels } });
  const isOpaque = channels === 1 || channels === 3 || (await pixels().stats()).isOpaque;
  await mkdir(directory, { recursive: true });
  const variants: Variant[] = [];
  for (const width of [...WIDTHS.filter((one) => one < widest), widest]) {
    const still = isOpaque ? jpeg : png;
    for (const encode of animation ? [still, movingWebp] : [webp, still]) {
      const source = encode === movingWebp ? animation!() : pixels();
      const { extension, type, encoded } = encode(source.resize({ width, withoutEnlargement: true }));
      const { data: bytes, info: made } = await encoded.toBuffer({ resolveWithObject: true });
      const name = `${width}.${extension}`;
      await writeFile(join(directory, name), bytes);
      const shown = made.pageHeight ?? made.height;
      variants.push({ name, type, width: made.width, height: shown, bytes: bytes.length });
    }
  }
  return variants;
}

type Encoded = { extension: string; type: string; encoded: Sharp };

function webp(image: Sharp): Encoded {
  return { extension: 'webp', type: 'image/webp', encoded: image.webp({ quality: 80 }) };
}

/**
 * Keeps the timing of the frames. Uses the encoder's fastest effort that still halves the size, because a
 * hundred frames are a hundred images.
 */
function movingWebp(image: Sharp): Encoded {
  const encoded = image.toColourspace('srgb').webp({ quality: 75, effort: 2 });
  return { extension: 'webp', type: 'image/webp', encoded };
}

function jpeg(image: Sharp): Encoded {
  const encoded = image.flatten({ background: '#fff' }).jpeg({ quality: 80, progressive: true });
  return { extension: 'jpg', type: 'image/jpeg', encoded };
}

function png(image: Sharp): Encoded {
  return { extension: 'png', type: 'image/png', encoded: image.png({ compressionLevel: 9 }) };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && /pixel limit/i.test(error.message);
}
