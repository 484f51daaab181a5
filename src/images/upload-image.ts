import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { newId } from '#libs/random';
import { Input, inputOf, Operation, StreamedInput, Text } from '#libs/rpc';
import { image } from './image.js';
import { ImageFiles } from './image-files.js';
import {
  MOST_AVIF_MEGAPIXELS,
  MOST_FRAMES,
  MOST_MEBIBYTES,
  MOST_MEGAPIXELS,
  TAKEN_TYPES,
} from './image-limits.js';
import { imageIdSchema } from './images.js';
import { FORM_TYPE, LARGEST_FORM, receiveFile } from './received-file.js';
import { Renderer } from './renderer.js';
import { digestsOf, imageFiles, imageFilesId, type ImageFilesStoredEvent } from './stored-files.js';

/** The name of an image if neither the request nor the file names it. */
const UNNAMED = 'image';

@Operation({
  name: 'image.upload-image',
  summary: 'Upload an image',
  description:
    `Send the image as the body, or as the only file of a form (${FORM_TYPE}), optionally with the fields \`name\` ` +
    `and \`alt\`. Without \`name\`, the file name is used. The limits are ${MOST_MEBIBYTES} MiB and ` +
    `${MOST_MEGAPIXELS} megapixels (${MOST_AVIF_MEGAPIXELS} as AVIF). Published images are re-encoded from the ` +
    'visible pixels, so no location, camera or other metadata remains. An animated GIF or WebP becomes an ' +
    'animated WebP, and its variants include a still image of the first frame. Animations can have up to ' +
    `${MOST_FRAMES} frames and ${MOST_MEGAPIXELS} megapixels across all frames. Uploading the same bytes again ` +
    'returns the existing image.',
  answers: imageIdSchema,
  bodyTypes: [...TAKEN_TYPES, FORM_TYPE],
  largestBody: LARGEST_FORM,
})
export class UploadImage extends StreamedInput {
  @Text({ max: 200, optional: true })
  name?: string;

  @Text({
    max: 1_000,
    optional: true,
    nullable: true,
    description: 'Alternative text: describes the image for people who cannot see it.',
  })
  alt?: string | null;
}

/** An upload once its bytes are known. Uploads with equal fields are the same. */
class StoreImage extends Input {
  hash!: string;
  name!: string;
  alt!: string | null;
}

@CommandHandler(UploadImage)
export class UploadImageHandler implements ICommandHandler<UploadImage> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly renderer: Renderer,
    private readonly files: ImageFiles,
  ) {}

  async execute(command: UploadImage): Promise<{ imageId: string }> {
    const directory = await mkdtemp(join(tmpdir(), 'image-'));
    try {
      const original = join(directory, 'original');
      const received = await receiveFile(command, original);
      const { hash, name = command.name ?? UNNAMED, alt = command.alt ?? null } = received;
      const input = inputOf(StoreImage, { hash, name, alt }, command.context);
      return await this.store(input, original, join(directory, 'variants'));
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  private async store(input: StoreImage, original: string, directory: string): Promise<{ imageId: string }> {
    const { organizationId, hash, name, alt } = input;
    const claim = ['image.bytes', hash] as const;
    const use = { organizationId, imageId: newId(), hash };
    let put: Promise<{ decision: Decision; requireInTime: () => void }> | undefined;
    const putOnce = async () => {
      const variants = await this.renderer.render(organizationId, original, directory);
      const requireInTime = await this.files.put(use, directory, variants);
      const data = { name, alt, hash, variants };
      const stored: ImageFilesStoredEvent = {
        type: 'ImageFilesStored',
        data: { imageId: use.imageId, files: await digestsOf(directory, variants) },
      };
      const decision: Decision = {
        recordId: use.imageId,
        writes: [
          writeTo(image, use.imageId, 0, [{ type: 'ImageUploaded', data }]),
          {
            streamType: imageFiles.streamType,
            streamId: imageFilesId(use.imageId),
            expectedVersion: 0,
            events: [stored],
          },
        ],
        // Another request uploaded the same bytes in between: return its image.
        claims: [{ value: claim, streamId: use.imageId, taken: () => undefined }],
      };
      return { decision, requireInTime };
    };
    const { recordId: imageId } = await this.commands.run(input, async () => {
      const [owner] = await this.commands.findOwners(organizationId, [claim]);
      if (owner !== undefined) {
        const { state, version } = await this.records.load(image, organizationId, owner);
        if (state.status === 'standing')
          return { recordId: owner, writes: [writeTo(image, owner, version, [])] };
      }
      const { decision, requireInTime } = await (put ??= putOnce());
      requireInTime();
      return decision;
    });
    if (imageId === use.imageId) await this.files.keep(use);
    else if (put) await this.files.release(use);
    return { imageId };
  }
}
