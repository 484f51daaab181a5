import { changeHandler } from '#libs/resources';
import { Operation, RecordInput, Text } from '#libs/rpc';
import { updateImage } from './image.js';
import { imageRecordSchema, images } from './images.js';

@Operation({
  name: 'image.update-image',
  summary: 'Update an image',
  answers: imageRecordSchema,
})
export class UpdateImage extends RecordInput('imageId') {
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

export const UpdateImageHandler = changeHandler(UpdateImage, images, (state, { name, alt }) =>
  updateImage(state, { name, alt }),
);
