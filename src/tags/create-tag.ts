import { createHandler } from '#libs/resources';
import { Input, Operation, Text } from '#libs/rpc';
import { type TagEvent } from './tag.js';
import { tagIdSchema, tags } from './tags.js';

@Operation({
  method: 'POST',
  name: 'tag.create-tag',
  object: 'tag',
  summary: 'Create a tag',
  description:
    'No contact has it yet. The same body again answers the one it made first, as long as that exists and has its name; ' +
    'for a second one like it send an `Idempotency-Key`.',
  answers: tagIdSchema,
})
export class CreateTag extends Input {
  @Text({ max: 100, example: 'Donor' })
  name!: string;

  @Text({ max: 500, optional: true, nullable: true })
  description?: string | null;
}

export const CreateTagHandler = createHandler(CreateTag, tags, ({ name, description = null }): TagEvent => ({
  type: 'TagCreated',
  data: { name, description },
}));
