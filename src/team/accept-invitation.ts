import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, writeTo } from '#libs/commands';
import { Input, noSuch } from '#libs/rpc';
import { acceptInvitation, exists, member } from './member.js';
import { Team } from './team.js';

/** Accepts an invitation through its link. Not an operation of the API: the link authorizes it. */
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
   * If several requests use one link at the same time, only one succeeds.
   *
   * @returns the id of the invited user.
   * @throws RpcError NOT_FOUND if the invitation was revoked, accepted or has expired.
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
