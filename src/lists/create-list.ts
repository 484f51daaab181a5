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
    'A new list has no contacts. Sending the same body again returns the first list, as long as it exists and ' +
    'still has that name. To create an identical one, send an `Idempotency-Key`.',
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
