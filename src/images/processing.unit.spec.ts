import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { flat, frames, gif, photo, picture } from '../../test/pictures.js';
import { type Variant } from './image.js';
import { render } from './processing.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'processing-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function rendered(bytes: Uint8Array): ReturnType<typeof render> {
  const file = join(directory, 'original');
  await writeFile(file, bytes);
  return render(file, join(directory, 'files'));
}
async function variantsOf(bytes: Uint8Array): Promise<Variant[]> {
  const result = await rendered(bytes);
  if ('problem' in result) throw new Error(result.problem);
  return result.variants;
}
const read = ({ name }: Variant) => readFile(join(directory, 'files', name));

it('a transparent image stays transparent, as PNG, and a wide one becomes narrower', async () => {
  const background = { r: 9, g: 9, b: 9, alpha: 0.5 };
  const half = sharp({ create: { width: 2_500, height: 100, channels: 4, background } });
  const variants = await variantsOf(await half.webp().toBuffer());
  expect(variants.map(({ name }) => name)).toEqual(
    [320, 640, 1_280, 1_920].flatMap((width) => [`${width}.webp`, `${width}.png`]),
  );
  const widest = variants.at(-1)!;
  expect(widest).toMatchObject({ type: 'image/png', width: 1_920, height: 77 });
  expect(await sharp(await read(widest)).metadata()).toMatchObject({ hasAlpha: true, width: 1_920 });
});

it.each([
  ['a line', 1, 20_000, [1, 16_383]],
  ['a strip', 20_000, 3, [1_920, 1]],
  ['a dot', 1, 1, [1, 1]],
])('renders %s', async (_, width, height, expected) => {
  const variants = await variantsOf(flat(width, height));
  expect([variants.at(-1)!.width, variants.at(-1)!.height]).toEqual(expected);
  for (const variant of variants) expect((await read(variant)).length).toBe(variant.bytes);
});

function plain([r, g, b]: [number, number, number], alpha = 1) {
  return sharp({ create: { width: 20, height: 20, channels: 4, background: { r, g, b, alpha } } });
}

it.each<[name: string, make: () => Promise<Buffer>, rgb: number[]]>([
  [
    'grey with transparency',
    () => plain([128, 128, 128], 0.5).toColourspace('b-w').png().toBuffer(),
    [128, 128, 128],
  ],
  ['of 16 bits', () => plain([200, 100, 50]).toColourspace('rgb16').png().toBuffer(), [200, 100, 50]],
  [
    'for print',
    () => plain([200, 100, 50]).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer(),
    [200, 100, 50],
  ],
  ['as WebP', () => plain([200, 100, 50]).webp({ lossless: true }).toBuffer(), [200, 100, 50]],
])('keeps the colours of an image %s', async (_, make, rgb) => {
  const made = sharp(await read((await variantsOf(await make())).at(-1)!));
  const pixel = [...(await made.removeAlpha().toColourspace('srgb').raw().toBuffer()).subarray(0, 3)];
  // CMYK has fewer colours.
  pixel.forEach((value, n) => expect(Math.abs(value - rgb[n]!)).toBeLessThan(40));
});

it('an animation stays animated in each width, with a still image next to it', async () => {
  const variants = await variantsOf(await frames(3, { width: 400, height: 30 }));
  expect(variants.map(({ type, width }) => [type, width])).toEqual([
    ['image/jpeg', 320],
    ['image/webp', 320],
    ['image/jpeg', 400],
    ['image/webp', 400],
  ]);
  for (const variant of variants) {
    const { name, type, width, height } = variant;
    expect([name, height]).toEqual([name, (width * 30) / 400]);
    const { pages = 1, ...made } = await sharp(await read(variant), { pages: -1 }).metadata();
    expect([name, pages, made.pageHeight ?? made.height]).toEqual([
      ...[name, type === 'image/webp' ? 3 : 1, height],
    ]);
    if (type === 'image/webp') expect([made.delay, made.loop]).toEqual([[70, 80, 90], 2]);
  }
});

it('data after the end of an image is removed', async () => {
  const script = Buffer.from('<script>alert(1)</script>');
  for (const variant of await variantsOf(Buffer.concat([await picture(), script])))
    expect((await read(variant)).includes('script')).toBe(false);
});

it.each<[name: string, bytes: () => Buffer | Promise<Buffer>, problem: string]>([
  ['text', () => Buffer.from('Hello'), 'not taken'],
  ['SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 'not taken'],
  ['half a JPEG', async () => (await photo(300, 300)).subarray(0, 9_000), 'damaged'],
  ['a PNG of 200 megapixels', () => flat(20_000, 10_000), 'too large'],
  [
    'a PNG whose header claims many more pixels',
    () => flat(10, 10, { width: 60_000, height: 60_000 }),
    'too large',
  ],
  ['a PNG whose header claims more pixels', () => flat(10, 10, { width: 3_000, height: 3_000 }), 'damaged'],
  ['an animation of 501 frames', () => gif(501, 8, 8), 'too many frames'],
  ['an animation of 60 megapixels', () => gif(60, 1_000, 1_000), 'too large in all frames'],
])('rejects %s', async (_, bytes, problem) => {
  expect(await rendered(await bytes())).toEqual({ problem });
});
