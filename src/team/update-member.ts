import { Commands, writeTo } from '#libs/commands';
import { handlerOf, OneOf, Operation, RecordInput } from '#libs/rpc';
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

export const UpdateMemberHandler = handlerOf(
  UpdateMember,
  [Commands, Team],
  async (command, commands, team) => {
    const { context, organizationId, memberId, role } = command;
    await commands.run(command, async () => {
      const { state, version } = await team.load(organizationId, memberId);
      const before = activeMember(state).role;
      for (const one of [before, role]) requireRole(context.scopes, one);
      const events = changeRole(state, role);
      const isOwner = events.length > 0 && before === 'OWNER';
      return {
        recordId: memberId,
        guards: isOwner ? [await team.guardOfOtherOwner(organizationId, memberId)] : [],
        writes: [writeTo(member, memberId, version, events)],
      };
    });
    return { memberId };
  },
);
