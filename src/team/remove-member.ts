import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { Operation, RecordInput } from '#libs/rpc';
import { memberIdSchema } from './member-record.js';
import { member, removeMember } from './member.js';
import { requireRole } from './roles.js';
import { Team } from './team.js';

@Operation({
  name: 'team.remove-member',
  summary: 'Remove a member',
  description:
    "All instances reject the member's sessions in this organization within a second. Their address is " +
    'destroyed. The history keeps their actions under their userId. API keys they created stay active: revoke ' +
    'those you no longer need. The last owner cannot be removed.',
  answers: memberIdSchema,
  reasons: ['ROLE_EXCEEDS_YOURS', 'LAST_OWNER'],
})
export class RemoveMember extends RecordInput('memberId') {}

@CommandHandler(RemoveMember)
export class RemoveMemberHandler implements ICommandHandler<RemoveMember> {
  constructor(
    private readonly commands: Commands,
    private readonly team: Team,
  ) {}

  async execute(command: RemoveMember): Promise<{ memberId: string }> {
    await this.commands.run(command, () => this.decide(command));
    return { memberId: command.memberId };
  }

  private async decide({ context, organizationId, memberId }: RemoveMember): Promise<Decision> {
    const { state, version } = await this.team.load(organizationId, memberId);
    const events = removeMember(state);
    const writes = [{ ...writeTo(member, memberId, version, events), subjectId: memberId }];
    if (events.length === 0 || state.status !== 'ACTIVE') return { recordId: memberId, writes };
    requireRole(context.scopes, state.role);
    return {
      recordId: memberId,
      guards: state.role === 'OWNER' ? [await this.team.guardOfOtherOwner(organizationId, memberId)] : [],
      writes,
      releasesAll: [memberId],
      erases: [memberId],
    };
  }
}
