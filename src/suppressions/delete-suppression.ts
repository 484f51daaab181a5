import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Email, Input, Operation } from '#libs/rpc';
import { suppressionIdSchema } from './suppression-record.js';
import { Suppressions } from './suppressions.js';

@Operation({
  name: 'suppression.delete-suppression',
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

@CommandHandler(DeleteSuppression)
export class DeleteSuppressionHandler implements ICommandHandler<DeleteSuppression> {
  constructor(
    private readonly commands: Commands,
    private readonly suppressions: Suppressions,
  ) {}

  async execute(command: DeleteSuppression): Promise<{ suppressionId: string }> {
    const { recordId } = await this.commands.run(command, () => this.suppressions.decideToDelete(command));
    return { suppressionId: recordId };
  }
}
