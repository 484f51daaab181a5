import { changeHandler } from '#libs/resources';
import { Id, Input, Operation, Text } from '#libs/rpc';
import { updateList } from './list.js';
import { lists, listSchema } from './lists.js';

@Operation({
  method: 'POST',
  name: 'list.update-list',
  object: 'list',
  summary: 'Update a list',
  description: 'Changes only the fields you send; `null` clears the description.',
  answers: listSchema,
})
export class UpdateList extends Input {
  @Id()
  listId!: string;

  @Text({ max: 200, optional: true })
  name?: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;
}

export const UpdateListHandler = changeHandler(UpdateList, lists, (state, { name, description }) =>
  updateList(state, { name, description }),
);
