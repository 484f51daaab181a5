import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Email, Input, OneOf, Operation } from '#libs/rpc';
import { suppressionIdSchema } from './suppression-record.js';
import { type Reason, REASONS } from './suppression.js';
import { Suppressions } from './suppressions.js';

@Operation({
  method: 'POST',
  name: 'suppression.create-suppression',
  object: 'suppression',
  summary: 'Suppress an address',
  description:
    'Nobody suppressed gets a broadcast, whatever `subscribed` says. It holds for the address (compared as by create-contact), ' +
    'whether or not a contact has it, and goes on to hold when the person is erased. The same again answers the same ' +
    'suppression; it may hold for several reasons.',
  answers: suppressionIdSchema,
})
export class CreateSuppression extends Input {
  @Email({ example: 'ada@example.org' })
  email!: string;

  @OneOf(REASONS, { default: 'MANUAL' })
  reason!: Reason;
}

@CommandHandler(CreateSuppression)
export class CreateSuppressionHandler implements ICommandHandler<CreateSuppression> {
  constructor(
    private readonly commands: Commands,
    private readonly suppressions: Suppressions,
  ) {}

  async execute(command: CreateSuppression): Promise<{ suppressionId: string }> {
    const { recordId } = await this.commands.run(command, () =>
      this.suppressions.decideToSuppress(command, { keepsAddress: true }),
    );
    return { suppressionId: recordId };
  }
}
