import { Commands, type Decision, writeTo } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
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

export const RevokeInvitationHandler = handlerOf(
  RevokeInvitation,
  [Commands, Team],
  async (command, commands, team) => {
    await commands.run(command, () => decide(command, team));
    return { invitationId: command.invitationId };
  },
);

async function decide(
  { context, organizationId, invitationId }: RevokeInvitation,
  team: Team,
): Promise<Decision> {
  const { state, version } = await team.load(organizationId, invitationId);
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
