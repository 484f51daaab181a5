import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Email, Input, Operation } from '#libs/rpc';
import { suppressionIdSchema } from './suppression-record.js';
import { Suppressions } from './suppressions.js';

@Operation({
  method: 'DELETE',
  name: 'suppression.delete-suppression',
  object: 'suppression',
  summary: 'Lift a suppression',
  description:
    'For all its reasons: the address may be written to again. One that was lifted before answers as the first time; 404 ' +
    'where the address never was suppressed.',
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
