import { Injectable } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { FairGate, TooManyWaiting } from '#libs/database';
import { invalid, RpcError } from '#libs/rpc';
import { type Variant } from './image.js';
import { MOST_AVIF_MEGAPIXELS, MOST_FRAMES, MOST_MEGAPIXELS, TAKEN_TYPES } from './image-limits.js';
import { type Rendered } from './processing.js';

/** Always the compiled file, wherever this runs from. */
const PROGRAM = createRequire(import.meta.url).resolve('#render-image');

/** Per image. A second is usual; images that take longer are malicious. */
const LONGEST_MS = 25_000;
/** The wait for a turn. Together with the rendering, it is below the deadline of a request (`DEADLINE.stream`). */
const LONGEST_WAIT_MS = 20_000;

/**
 * Renders each image in a separate process, so that a malicious file affects only its own decoder and the
 * memory is freed. Renders one image at a time, in turn for the waiting organizations.
 */
@Injectable()
export class Renderer {
  private readonly gate = new FairGate({ atOnce: 1, ofOneGroup: 1, waiting: 8 });
  /** Milliseconds per image. Shorter in tests. */
  longestMs = LONGEST_MS;

  /** Images being rendered, images waiting, and how many were rejected. */
  get use(): { running: number; waiting: number; turnedAway: number } {
    return this.gate.use;
  }

  /**
   * @param directory for the rendered files.
   * @throws RpcError UNSUPPORTED_MEDIA_TYPE if it is not an image of an accepted format; BAD_REQUEST if it is
   *   damaged or too large; SERVICE_UNAVAILABLE if too many wait, or it took too long.
   */
  async render(organizationId: string, file: string, directory: string): Promise<Variant[]> {
    const rendered = await this.inTurn(organizationId, () => run(file, directory, this.longestMs));
    if (rendered === 'late') throw overloaded('Decoding this image took too long; the server may be busy');
    if ('variants' in rendered) return rendered.variants;
    switch (rendered.problem) {
      case 'not taken':
        throw new RpcError(
          'UNSUPPORTED_MEDIA_TYPE',
          `Unsupported image format. Send one of: ${TAKEN_TYPES.join(', ')}.`,
        );
      case 'too large':
        throw invalid([
          {
            path: '',
            message:
              `has too many pixels: send an image of at most ${MOST_MEGAPIXELS} megapixels (${MOST_AVIF_MEGAPIXELS} as ` +
              'AVIF, which needs more memory)',
          },
        ]);
      case 'too many frames':
        throw invalid([
          {
            path: '',
            message: `has too many frames: send an animation of at most ${MOST_FRAMES} frames, or a still image`,
          },
        ]);
      case 'too large in all frames':
        throw invalid([
          {
            path: '',
            message:
              `has too many pixels: send an animation of at most ${MOST_MEGAPIXELS} megapixels across all frames (fewer or ` +
              'smaller frames), or a still image',
          },
        ]);
      case 'damaged':
        throw invalid([{ path: '', message: 'is damaged and cannot be decoded: send an intact image' }]);
    }
  }

  private async inTurn<Result>(group: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.gate.run(group, LONGEST_WAIT_MS, work);
    } catch (error) {
      if (!(error instanceof TooManyWaiting)) throw error;
      throw overloaded('The server is processing too many images');
    }
  }
}

function overloaded(why: string): RpcError {
  return new RpcError('SERVICE_UNAVAILABLE', `${why}. Send it again in a moment, or send a smaller one.`, {
    reason: 'OVERLOADED',
    headers: { 'Retry-After': '5' },
  });
}

function run(file: string, directory: string, longestMs: number): Promise<Rendered | 'late'> {
  // It needs nothing from the environment, which contains keys.
  const options = { env: {}, timeout: longestMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 } as const;
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--max-old-space-size=64', PROGRAM, file, directory],
      options,
      (error, stdout, stderr) => {
        if (!error) return resolve(JSON.parse(stdout) as Rendered);
        // Killed by us, which does not mean that the image is bad.
        if (error.killed) return resolve('late');
        // Killed by the image it decoded. Otherwise, it could not even start.
        if (error.signal) return resolve({ problem: 'damaged' });
        reject(
          new Error(`Images cannot be rendered: ${stderr.trim().split('\n').find(Boolean) ?? error.message}`),
        );
      },
    );
  });
}
