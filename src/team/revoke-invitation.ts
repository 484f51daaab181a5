import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { Operation, RecordInput } from '#libs/rpc';
import { invitationIdSchema } from './member-record.js';
import { member, revokeInvitation } from './member.js';
import { requireRole } from './roles.js';
import { Team } from './team.js';

@Operation({
  name: 'team.revoke-invitation',
  summary: 'Revoke an invitation',
  description: 'The link in the email stops working immediately, and the address is destroyed.',
  answers: invitationIdSchema,
  reasons: ['ROLE_EXCEEDS_YOURS', 'INVITATION_ACCEPTED'],
})
export class RevokeInvitation extends RecordInput('invitationId') {}

@CommandHandler(RevokeInvitation)
export class RevokeInvitationHandler implements ICommandHandler<RevokeInvitation> {
  constructor(
    private readonly commands: Commands,
    private readonly team: Team,
  ) {}

  async execute(command: RevokeInvitation): Promise<{ invitationId: string }> {
    await this.commands.run(command, () => this.decide(command));
    return { invitationId: command.invitationId };
  }

  private async decide({ context, organizationId, invitationId }: RevokeInvitation): Promise<Decision> {
    const { state, version } = await this.team.load(organizationId, invitationId);
    const events = revokeInvitation(state);
    const writes = [{ ...writeTo(member, invitationId, version, events), subjectId: invitationId }];
    if (events.length === 0 || state.status !== 'INVITED') return { recordId: invitationId, writes };
    requireRole(context.scopes, state.role);
    return {
      recordId: invitationId,
      writes,
      releasesAll: [invitationId],
      erases: [invitationId],
    };
  }
}
