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
    'A new tag has no contacts. Sending the same body again returns the first tag, as long as it exists and ' +
    'still has that name. To create an identical one, send an `Idempotency-Key`.',
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
