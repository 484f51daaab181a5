import { changeHandler } from '#libs/resources';
import { Id, Input, Operation, Text } from '#libs/rpc';
import { updateTag } from './tag.js';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'POST',
  name: 'tag.update-tag',
  object: 'tag',
  summary: 'Update a tag',
  description: 'Changes only the fields you send; `null` clears the description.',
  answers: tagSchema,
})
export class UpdateTag extends Input {
  @Id()
  tagId!: string;

  @Text({ max: 100, optional: true })
  name?: string;

  @Text({ max: 500, optional: true, nullable: true })
  description?: string | null;
}

export const UpdateTagHandler = changeHandler(UpdateTag, tags, (state, { name, description }) =>
  updateTag(state, { name, description }),
);
