import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import { MOST_AVIF_MEGAPIXELS, MOST_FRAMES, MOST_MEGAPIXELS } from './image-limits.js';
import { type Variant } from './image.js';

/** What is taken, by the name that libvips has for it. What the bytes are decides, whatever anybody calls them. */
const TAKEN = ['jpeg', 'png', 'webp', 'gif', 'heif'];
/** libvips has one name for all that is kept like AVIF. */
const AVIF = 'av1';
/** Of these several frames are an animation; in what is kept like AVIF they are other pictures. */
const ANIMATED = ['gif', 'webp'];

const MOST_PIXELS = MOST_MEGAPIXELS * 1_000_000;
const MOST_AVIF_PIXELS = MOST_AVIF_MEGAPIXELS * 1_000_000;
/** Pixels, of what pages show at once on a phone, a phone turned, a page, and a large screen. */
const WIDTHS = [320, 640, 1_280, 1_920];
/** WebP knows none higher: what is, becomes narrower. */
const HIGHEST = 16_383;
/** Of libvips's work on one file. */
const LONGEST_SECONDS = 20;

/**
 * `variants`: the widest last, of each width first WebP, then what every program knows. Of an animation WebP comes second: it moves,
 * and the other is a still of its first frame.
 */
export type Rendered =
  | { variants: Variant[] }
  /** `not taken`: no image, or of a format that is not taken. */
  | { problem: 'not taken' | 'too large' | 'too many frames' | 'too large in all frames' | 'damaged' };

/**
 * Makes of a file that somebody sent the files that others are shown: decoded and encoded anew, so that nothing of it survives but
 * what can be seen.
 *
 * @param directory where they are put, by the names of the variants; it need not be there.
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
 * What was sent is decoded once, to the widest that anybody is shown; an animation for each width, because all its frames would
 * take 200 MB.
 */
async function renderAll(original: Sharp, directory: string, animation?: () => Sharp): Promise<Variant[]> {
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

/** Its frames keep their times. Of the encoder's efforts the quickest that still saves half: a hundred frames are a hundred images. */
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
