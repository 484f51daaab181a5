import { Commands, type Decision, writeTo } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
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

export const RemoveMemberHandler = handlerOf(
  RemoveMember,
  [Commands, Team],
  async (command, commands, team) => {
    await commands.run(command, () => decide(command, team));
    return { memberId: command.memberId };
  },
);

async function decide({ context, organizationId, memberId }: RemoveMember, team: Team): Promise<Decision> {
  const { state, version } = await team.load(organizationId, memberId);
  const events = removeMember(state);
  const writes = [{ ...writeTo(member, memberId, version, events), subjectId: memberId }];
  if (events.length === 0 || state.status !== 'ACTIVE') return { recordId: memberId, writes };
  requireRole(context.scopes, state.role);
  return {
    recordId: memberId,
    guards: state.role === 'OWNER' ? [await team.guardOfOtherOwner(organizationId, memberId)] : [],
    writes,
    releasesAll: [memberId],
    erases: [memberId],
  };
}
