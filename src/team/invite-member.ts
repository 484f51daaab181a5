import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { newId } from '#libs/random';
import { isSentAsCompared } from '#libs/mail';
import { Email, Input, invalid, OneOf, Operation, RpcError } from '#libs/rpc';
import { invitationIdSchema } from './member-record.js';
import { DAYS_TO_ACCEPT, member } from './member.js';
import { requireRole, type Role, ROLES } from './roles.js';
import { Team } from './team.js';
import { Users } from './users.js';

/** Repeating an invitation within this time sends no second email: networks repeat requests. */
const RENEWED_AFTER_MS = 10 * 60_000;

@Operation({
  name: 'team.invite-member',
  object: 'invitation',
  summary: 'Invite a member',
  description:
    `Sends an email with a link that is valid for ${DAYS_TO_ACCEPT} days. Inviting the same address again sends ` +
    'a new link with the given role. Within ten minutes and with the same role, it returns the existing ' +
    'invitation and sends nothing. You cannot grant a role with more permissions than your own.',
  answers: invitationIdSchema,
  reasons: ['ROLE_EXCEEDS_YOURS', 'ALREADY_MEMBER'],
})
export class InviteMember extends Input {
  @Email({ example: 'ada@example.org' })
  email!: string;

  @OneOf(ROLES)
  role!: Role;
}

@CommandHandler(InviteMember)
export class InviteMemberHandler implements ICommandHandler<InviteMember> {
  constructor(
    private readonly commands: Commands,
    private readonly users: Users,
    private readonly team: Team,
  ) {}

  async execute(command: InviteMember): Promise<{ invitationId: string }> {
    const { context, email, role } = command;
    requireRole(context.scopes, role);
    // Following the link identifies the person with this address in all organizations.
    if (!isSentAsCompared(email))
      throw invalid([{ path: 'email', message: 'must be an email address, like ada@example.org' }]);
    const userId = await this.users.findOrMake(email);
    const { recordId } = await this.commands.run(command, () => this.decide(command, userId));
    return { invitationId: recordId };
  }

  private decide(command: InviteMember, userId: string): Decision {
    const { email, role } = command;
    const recordId = newId();
    const invited = { type: 'MemberInvited' as const, data: { userId, role }, personal: { email } };
    const again = (memberId: string) => this.inviteAgain(command, memberId);
    return {
      recordId,
      writes: [{ ...writeTo(member, recordId, 0, [invited]), subjectId: recordId }],
      claims: [{ value: ['team.user', userId], streamId: recordId, taken: again }],
    };
  }

  private async inviteAgain(
    { context, organizationId, role }: InviteMember,
    memberId: string,
  ): Promise<Decision | undefined> {
    const { state, version } = await this.team.load(organizationId, memberId);
    // The invitation has ended since, so the address is free.
    if (state.status !== 'ACTIVE' && state.status !== 'INVITED') return undefined;
    if (state.status === 'ACTIVE') {
      throw new RpcError(
        'CONFLICT',
        'This person is already a member. To change their role, use update-member.',
        {
          reason: 'ALREADY_MEMBER',
        },
      );
    }
    requireRole(context.scopes, state.role);
    const isRepeat = state.role === role && Date.now() - Date.parse(state.invitedAt) < RENEWED_AFTER_MS;
    const renewed = { type: 'InvitationRenewed' as const, data: { role } };
    const write = writeTo(member, memberId, version, isRepeat ? [] : [renewed]);
    return { recordId: memberId, writes: [write] };
  }
}
