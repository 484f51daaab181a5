import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, writeTo } from '#libs/commands';
import { OneOf, Operation, RecordInput } from '#libs/rpc';
import { memberIdSchema } from './member-record.js';
import { activeMember, changeRole, member } from './member.js';
import { requireRole, type Role, ROLES } from './roles.js';
import { Team } from './team.js';

@Operation({
  name: 'team.update-member',
  summary: "Change a member's role",
  description:
    "Ends the member's sessions in this organization. They sign in again with the new role. The last owner must " +
    'remain an owner. You cannot grant or take away a role with more permissions than your own.',
  answers: memberIdSchema,
  reasons: ['ROLE_EXCEEDS_YOURS', 'LAST_OWNER'],
})
export class UpdateMember extends RecordInput('memberId') {
  @OneOf(ROLES)
  role!: Role;
}

@CommandHandler(UpdateMember)
export class UpdateMemberHandler implements ICommandHandler<UpdateMember> {
  constructor(
    private readonly commands: Commands,
    private readonly team: Team,
  ) {}

  async execute(command: UpdateMember): Promise<{ memberId: string }> {
    const { context, organizationId, memberId, role } = command;
    await this.commands.run(command, async () => {
      const { state, version } = await this.team.load(organizationId, memberId);
      const before = activeMember(state).role;
      for (const one of [before, role]) requireRole(context.scopes, one);
      const events = changeRole(state, role);
      const isOwner = events.length > 0 && before === 'OWNER';
      return {
        recordId: memberId,
        guards: isOwner ? [await this.team.guardOfOtherOwner(organizationId, memberId)] : [],
        writes: [writeTo(member, memberId, version, events)],
      };
    });
    return { memberId };
  }
}
