import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { imageRecordSchema, images } from './images.js';

@Operation({
  method: 'GET',
  name: 'image.get-image',
  object: 'image',
  summary: 'Retrieve an image',
  answers: imageRecordSchema,
})
export class GetImage extends Input {
  @Id()
  imageId!: string;

  @Timestamp({ optional: true, description: 'Returns the image as it was at this time.' })
  asOf?: string;
}

export const GetImageHandler = getHandler(GetImage, images);
