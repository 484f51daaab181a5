import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, writeTo } from '#libs/commands';
import { Input, noSuch } from '#libs/rpc';
import { acceptInvitation, exists, member } from './member.js';
import { Team } from './team.js';

/** Somebody follows the link in their invitation. No operation: who has the link does it. */
export class AcceptInvitation extends Input {
  invitationId!: string;
}

@CommandHandler(AcceptInvitation)
export class AcceptInvitationHandler implements ICommandHandler<AcceptInvitation> {
  constructor(
    private readonly commands: Commands,
    private readonly team: Team,
  ) {}

  /**
   * Whose invitation it is. Of many who follow one link at once it lets one in.
   *
   * @throws RpcError NOT_FOUND where it stands no more, or was accepted.
   */
  async execute(command: AcceptInvitation): Promise<{ userId: string }> {
    const { organizationId, invitationId } = command;
    let userId: string | undefined;
    let isNew = false;
    await this.commands.run(command, async () => {
      const { state, version } = await this.team.load(organizationId, invitationId);
      if (exists(state)) ({ userId } = state);
      const events = acceptInvitation(state, new Date());
      isNew = events.length > 0;
      return { recordId: invitationId, writes: [writeTo(member, invitationId, version, events)] };
    });
    if (userId === undefined || !isNew) throw noSuch('invitation');
    return { userId };
  }
}
