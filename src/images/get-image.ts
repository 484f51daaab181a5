import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { imageRecordSchema, images } from './images.js';

@Operation({
  name: 'image.get-image',
  summary: 'Retrieve an image',
  answers: imageRecordSchema,
})
export class GetImage extends PastInput('imageId', 'image') {}

export const GetImageHandler = getHandler(GetImage, images);
