import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { imageRecordSchema, images } from './images.js';

@Operation({
  method: 'GET',
  name: 'image.get-image',
  object: 'image',
  summary: 'Retrieve an image',
  answers: imageRecordSchema,
})
export class GetImage extends PastInput('imageId', 'image') {}

export const GetImageHandler = getHandler(GetImage, images);
