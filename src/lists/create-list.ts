import { createHandler } from '#libs/resources';
import { Input, Operation, Text } from '#libs/rpc';
import { type ListEvent } from './list.js';
import { listIdSchema, lists } from './lists.js';

@Operation({
  method: 'POST',
  name: 'list.create-list',
  object: 'list',
  summary: 'Create a list',
  description:
    'It starts without contacts. The same body again answers the one it made first, as long as that exists and has its ' +
    'name; for a second one like it send an `Idempotency-Key`.',
  answers: listIdSchema,
})
export class CreateList extends Input {
  @Text({ max: 200, example: 'Volunteers' })
  name!: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;
}

export const CreateListHandler = createHandler(
  CreateList,
  lists,
  ({ name, description = null }): ListEvent => ({
    type: 'ListCreated',
    data: { name, description },
  }),
);
