import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'GET',
  name: 'tag.get-tag',
  object: 'tag',
  summary: 'Retrieve a tag',
  description: 'To list its contacts, use contact.list-contacts with `tagId`.',
  answers: tagSchema,
})
export class GetTag extends Input {
  @Id()
  tagId!: string;

  @Timestamp({ optional: true, description: 'Returns the tag as it was at this time.' })
  asOf?: string;
}

export const GetTagHandler = getHandler(GetTag, tags);
