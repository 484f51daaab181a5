import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { picture } from '../../test/pictures.js';
import { Renderer } from './renderer.js';

it('an image that takes too long is not reported as damaged: 503 asks to send it again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'renderer-'));
  try {
    const file = join(directory, 'original');
    await writeFile(file, await picture());
    const renderer = new Renderer();
    renderer.longestMs = 1;
    await expect(renderer.render('one', file, directory)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      details: { reason: 'OVERLOADED' },
      message: expect.stringMatching(/^Decoding this image took too long.*Send it again/),
    });
    renderer.longestMs = 60_000;
    expect((await renderer.render('one', file, directory)).length).toBeGreaterThan(0);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
