import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { Documented, RpcError } from '#libs/rpc';
import { type ByteRange, Storage } from '#libs/storage';
import { inStore } from './image-files.js';

const FILE = /^\/images\/([0-9a-f]{64})\/(\d{1,4}\.(webp|jpg|png))$/;
const TYPES: Record<string, string> = { webp: 'image/webp', jpg: 'image/jpeg', png: 'image/png' };

/** The file under a name never changes. A browser never runs it, whatever type it detects. */
const HEADERS = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  // Other sites can embed it: campaigns depend on that.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Accept-Ranges': 'bytes',
};

/** The name of `/images/…` in logs and metrics. */
export function nameOfImagePath(path: string): string | undefined {
  return FILE.test(path) ? '/images' : undefined;
}

/** The files of images. They are public, and serving them needs no database: knowing the address is enough. */
@Controller('images')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class ImageFileController {
  constructor(private readonly storage: Storage) {}

  @Get(':hash/:name')
  async file(
    @Param('hash') hash: string,
    @Param('name') name: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const [, , , extension] = FILE.exec(`/images/${hash}/${name}`) ?? [];
    if (!extension) throw noFile();
    const etag = `"${hash.slice(0, 32)}-${name}"`;
    if (isKnown(request, etag)) {
      response
        .status(304)
        .set({ ...HEADERS, ETag: etag })
        .end();
      return;
    }
    const path = `${hash}/${name}`;
    const isPart = request.headers.range !== undefined;
    const known = isPart || request.method === 'HEAD' ? await this.sizeOf(path) : undefined;
    const range = known === undefined ? undefined : rangeOf(request, known, etag);
    if (range === 'none') {
      response.status(416).set('Content-Range', `bytes */${known}`).end();
      return;
    }
    const file = request.method === 'HEAD' ? undefined : await inStore(() => this.storage.read(path, range));
    const size = known ?? file?.size;
    if (size === undefined) throw noFile();
    const { first, last } = range ?? { first: 0, last: size - 1 };
    response.status(range ? 206 : 200).set({
      ...HEADERS,
      ETag: etag,
      'Content-Type': TYPES[extension]!,
      'Content-Length': String(last - first + 1),
      ...(range ? { 'Content-Range': `bytes ${first}-${last}/${size}` } : {}),
    });
    if (!file) {
      response.end();
      return;
    }
    // A client that disconnects early has read what it wanted.
    await pipeline(file.stream, response).catch(() => response.destroy());
  }

  private async sizeOf(path: string): Promise<number> {
    const size = await inStore(() => this.storage.sizeOf(path));
    if (size === undefined) throw noFile();
    return size;
  }
}

function noFile(): RpcError {
  return new RpcError(
    'NOT_FOUND',
    'This image does not exist or was deleted. Use image.get-image to get the URLs of an image.',
  );
}

function isKnown({ headers }: Request, etag: string): boolean {
  const known = headers['if-none-match'];
  return (
    known !== undefined &&
    (known.trim() === '*' || known.split(',').some((one) => one.trim().replace(/^W\//, '') === etag))
  );
}

/** The requested range; undefined: the whole file. Several ranges return the whole file, as RFC 9110 allows. */
function rangeOf(request: Request, size: number, etag: string): ByteRange | 'none' | undefined {
  const { range, 'if-range': ifRange } = request.headers;
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const ranges = request.range(size);
  if (ranges === -1) return 'none';
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1)
    return undefined;
  const [{ start, end }] = ranges as unknown as [{ start: number; end: number }];
  return { first: start, last: end };
}
