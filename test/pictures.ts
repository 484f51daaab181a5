import sharp, { type Sharp } from 'sharp';
import { crc32, deflateSync } from 'node:zlib';

/** An image of noise, which does not compress well. */
export function noise(width: number, height: number): Sharp {
  const background = '#468';
  return sharp({
    create: { width, height, channels: 3, background, noise: { type: 'gaussian', mean: 128, sigma: 30 } },
  });
}

/** An image that differs from all others. */
export async function picture(width = 40, height = 30): Promise<Buffer<ArrayBuffer>> {
  return Buffer.from(await noise(width, height).png().toBuffer());
}

/** The photographer in the metadata of `photo`. */
export const ARTIST = 'Ada Lovelace of London';

/** A photo with a rotated orientation and a location. */
export function photo(width: number, height: number): Promise<Buffer> {
  return noise(width, height)
    .withExif({
      IFD0: { Artist: ARTIST, Orientation: '6' },
      IFD3: { GPSLatitude: '52/1 30/1 0/1', GPSLatitudeRef: 'N' },
    })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
}

/** A PNG of one colour in few bytes, of any size. @param claims a different size for the header */
export function flat(width: number, height: number, claims = { width, height }): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(claims.width, 0);
  header.writeUInt32BE(claims.height, 4);
  header.set([1, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 9 });
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, check]);
}

/** A GIF of this many frames of different colours and increasing delays that plays twice. */
export function frames(count: number, { width, height } = { width: 8, height: 8 }): Promise<Buffer> {
  const size = width * height * 3;
  const pixels = Buffer.alloc(size * count);
  for (let n = 0; n < count; n += 1) pixels.fill(n * 37, n * size, (n + 1) * size);
  const raw = { width, height: height * count, channels: 3 as const, pageHeight: height };
  const delay = Array.from({ length: count }, (_, n) => 70 + 10 * (n % 10));
  return sharp(pixels, { raw, limitInputPixels: false }).gif({ effort: 1, delay, loop: 2 }).toBuffer();
}

/** A GIF of this many frames of one pixel each, in few bytes. */
export function gif(count: number, width: number, height: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16LE(width, 0);
  size.writeUInt16LE(height, 2);
  const colours = [0x80, 0, 0, 0, 0, 0, 255, 255, 255];
  const frame = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0];
  const frames = Array.from({ length: count }, () => frame).flat();
  return Buffer.concat([Buffer.from('GIF89a'), size, Buffer.from([...colours, ...frames, 0x3b])]);
}
