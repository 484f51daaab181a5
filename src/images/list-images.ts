import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { imageRecordSchema, images } from './images.js';

@Operation({
  name: 'image.list-images',
  summary: 'List images',
  answers: imageRecordSchema,
  list: true,
})
export class ListImages extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name or the alternative text. ${SEARCH_RULE}` })
  q?: string;
}

export const ListImagesHandler = listHandler(ListImages, images, ({ q }) => [search(['name', 'alt'], q)]);
