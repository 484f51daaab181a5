import { Commands } from '#libs/commands';
import { Email, handlerOf, Input, OneOf, Operation } from '#libs/rpc';
import { suppressionIdSchema } from './suppression-record.js';
import { type Reason, REASONS } from './suppression.js';
import { Suppressions } from './suppressions.js';

@Operation({
  name: 'suppression.create-suppression',
  summary: 'Suppress an address',
  description:
    'Suppressed addresses receive no broadcasts, even if `subscribed` is true. The suppression applies to the ' +
    'address (compared as in create-contact), whether or not a contact has it, and remains if the contact is ' +
    'deleted. Repeating the request returns the same suppression. A suppression can have several reasons.',
  answers: suppressionIdSchema,
})
export class CreateSuppression extends Input {
  @Email({ example: 'ada@example.org' })
  email!: string;

  @OneOf(REASONS, { default: 'MANUAL' })
  reason!: Reason;
}

export const CreateSuppressionHandler = handlerOf(
  CreateSuppression,
  [Commands, Suppressions],
  async (command, commands, suppressions) => {
    const { recordId } = await commands.run(command, () =>
      suppressions.decideToSuppress(command, { keepsAddress: true }),
    );
    return { suppressionId: recordId };
  },
);
