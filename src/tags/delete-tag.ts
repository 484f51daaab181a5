import { deleteHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { deleteTag } from './tag.js';
import { tagIdSchema, tags } from './tags.js';

@Operation({
  method: 'DELETE',
  name: 'tag.delete-tag',
  object: 'tag',
  summary: 'Delete a tag',
  description: 'The contacts that have the tag are kept.',
  answers: tagIdSchema,
})
export class DeleteTag extends Input {
  @Id()
  tagId!: string;
}

export const DeleteTagHandler = deleteHandler(DeleteTag, tags, deleteTag);
