import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import { MOST_AVIF_MEGAPIXELS, MOST_MEGAPIXELS } from './image-limits.js';
import { type Variant } from './image.js';

/** What is taken, by the name that libvips has for it. What the bytes are decides, whatever anybody calls them. */
const TAKEN = ['jpeg', 'png', 'webp', 'gif', 'heif'];
/** libvips has one name for all that is kept like AVIF. */
const AVIF = 'av1';

const MOST_PIXELS = MOST_MEGAPIXELS * 1_000_000;
const MOST_AVIF_PIXELS = MOST_AVIF_MEGAPIXELS * 1_000_000;
/** Pixels, of what pages show at once on a phone, a phone turned, a page, and a large screen. */
const WIDTHS = [320, 640, 1_280, 1_920];
/** WebP knows none higher: what is, becomes narrower. */
const HIGHEST = 16_383;
/** Of libvips's work on one file. */
const LONGEST_SECONDS = 20;

/** `variants`: the widest last, of each width first WebP, then what every program knows. */
export type Rendered =
  | { variants: Variant[] }
  /** `not taken`: no image, or of a format that is not taken. */
  | { problem: 'not taken' | 'too large' | 'damaged' };

/**
 * Makes of a file that somebody sent the files that others are shown: decoded and encoded anew, so that nothing of it survives but
 * what can be seen. Of several frames the first.
 *
 * @param directory where they are put, by the names of the variants; it need not be there.
 */
export async function render(path: string, directory: string): Promise<Rendered> {
  sharp.cache(false);
  sharp.concurrency(1);
  const options: SharpOptions = {
    limitInputPixels: MOST_PIXELS,
    pages: 1,
    failOn: 'error',
    sequentialRead: true,
  };
  const open = () => sharp(path, options).timeout({ seconds: LONGEST_SECONDS });
  try {
    const { format, compression, width, height } = await open().metadata();
    if (!TAKEN.includes(format) || (format === 'heif' && compression !== AVIF))
      return { problem: 'not taken' };
    if (format === 'heif' && width * height > MOST_AVIF_PIXELS) return { problem: 'too large' };
  } catch (error) {
    return { problem: isTooLarge(error) ? 'too large' : 'not taken' };
  }
  try {
    return { variants: await renderAll(open(), directory) };
  } catch (error) {
    return { problem: isTooLarge(error) ? 'too large' : 'damaged' };
  }
}

/** What was sent is decoded once, to the widest that anybody is shown. */
async function renderAll(original: Sharp, directory: string): Promise<Variant[]> {
  const { data, info } = await original
    // Turned as its camera was held.
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
    for (const encode of isOpaque ? [webp, jpeg] : [webp, png]) {
      const { extension, type, encoded } = encode(pixels().resize({ width, withoutEnlargement: true }));
      const { data: bytes, info: made } = await encoded.toBuffer({ resolveWithObject: true });
      const name = `${width}.${extension}`;
      await writeFile(join(directory, name), bytes);
      variants.push({ name, type, width: made.width, height: made.height, bytes: bytes.length });
    }
  }
  return variants;
}

type Encoded = { extension: string; type: string; encoded: Sharp };

function webp(image: Sharp): Encoded {
  return { extension: 'webp', type: 'image/webp', encoded: image.webp({ quality: 80 }) };
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
