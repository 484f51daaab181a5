import { Commands } from '#libs/commands';
import { Email, handlerOf, Input, Operation } from '#libs/rpc';
import { suppressionIdSchema } from './suppression-record.js';
import { Suppressions } from './suppressions.js';

@Operation({
  name: 'suppression.delete-suppression',
  isConditional: false,
  summary: 'Delete a suppression',
  description:
    'Removes all reasons, so the address can receive email again. Repeating the request returns the same result. ' +
    'Returns 404 if the address was never suppressed.',
  answers: suppressionIdSchema,
})
export class DeleteSuppression extends Input {
  @Email({ example: 'ada@example.org', namesRecord: true })
  email!: string;
}

export const DeleteSuppressionHandler = handlerOf(
  DeleteSuppression,
  [Commands, Suppressions],
  async (command, commands, suppressions) => {
    const { recordId } = await commands.run(command, () => suppressions.decideToDelete(command));
    return { suppressionId: recordId };
  },
);
