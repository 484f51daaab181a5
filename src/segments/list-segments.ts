import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { segments, segmentSchema } from './segments.js';

@Operation({
  name: 'segment.list-segments',
  summary: 'List segments',
  answers: segmentSchema,
  list: true,
})
export class ListSegments extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name. ${SEARCH_RULE}` })
  q?: string;
}

export const ListSegmentsHandler = listHandler(ListSegments, segments, ({ q }) => [search(['name'], q)]);
