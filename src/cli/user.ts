import { type Command } from 'commander';
import { type Role } from '../team/index.js';
import { type Session, UsageError, withSession } from './session.js';

/** Maximum number of members listed. */
const MAX_LISTED = 1_000;

export function userCommands(program: Command): void {
  const users = program.command('user').description('manage access to the dashboard');
  const of = ['--organization <id>', 'the organization'] as const;
  users
    .command('invite')
    .description('invite a user, and print their link; works without a mail server')
    .requiredOption(...of)
    .requiredOption('--email <address>', 'the email address of the user')
    .option('--role <role>', 'OWNER, ADMIN, EDITOR, VIEWER or AUDITOR', 'OWNER')
    .addHelpText(
      'after',
      '\nPrints { "invitationId", "url", "expiresInDays" }. For an existing member, prints { "memberId", "url", ' +
        '"expiresInMinutes" }, a sign-in link that works once. Anyone with the link can sign in. Only send it to the user.',
    )
    .action((options: { organization: string; email: string; role: string }) =>
      withSession(program, (session) => invite(session, options)),
    );
  users
    .command('list')
    .description('list the members of an organization')
    .requiredOption(...of)
    .addHelpText('after', '\nPrints [{ "memberId", "email", "role", "joinedAt" }], newest first.')
    .action(({ organization }: { organization: string }) =>
      withSession(program, async (session) => {
        await session.requireOrganization(organization);
        const members = await membersOf(session, organization);
        return members.map(({ id: memberId, email, role, joinedAt }) => ({
          memberId,
          email,
          role,
          joinedAt,
        }));
      }),
    );
  users
    .command('remove')
    .description('remove a member; every instance rejects their sessions within a second')
    .requiredOption(...of)
    .requiredOption('--email <address>', 'the email address of the member')
    .addHelpText(
      'after',
      '\nPrints { "memberId" }. You cannot remove the last owner. Invite another owner first.',
    )
    .action(({ organization, email }: { organization: string; email: string }) =>
      withSession(program, async (session) => {
        const { RemoveMember } = await import('../team/index.js');
        const memberId = await memberWith(session, organization, email);
        if (memberId === undefined) throw new UsageError('No member of this organization has this address.');
        return session.run(session.input(RemoveMember, organization, { memberId }));
      }),
    );
}

async function invite(
  session: Session,
  { organization, email, role }: { organization: string; email: string; role: string },
): Promise<object> {
  const { isEmailAddress } = await import('#libs/rpc');
  const { DAYS_TO_ACCEPT, InvitationLinks, InviteMember, LINK_MINUTES, ROLES, SignInLinks, Users } =
    await import('../team/index.js');
  if (!isEmailAddress(email)) throw new UsageError('--email must be an email address.');
  if (!(ROLES as readonly string[]).includes(role))
    throw new UsageError(`--role must be one of ${ROLES.join(', ')}.`);
  await session.requireOrganization(organization);
  const memberId = await memberWith(session, organization, email);
  if (memberId !== undefined) {
    const userId = await session.find(Users).findOrMake(email);
    const url = await session.find(SignInLinks).make(userId);
    if (url === undefined)
      throw new UsageError('This user has reached the hourly limit of sign-in links. Try again later.');
    return { memberId, url, expiresInMinutes: LINK_MINUTES };
  }
  const command = session.input(InviteMember, organization, { email, role: role as Role });
  const { invitationId } = await session.run<{ invitationId: string }>(command);
  const url = session.find(InvitationLinks).urlOf({ organizationId: organization, invitationId });
  return { invitationId, url, expiresInDays: DAYS_TO_ACCEPT };
}

type Listed = { id: string; email: string | null; role: string; joinedAt: string };

async function membersOf(session: Session, organization: string): Promise<Listed[]> {
  const { ListMembers } = await import('../team/index.js');
  const found: Listed[] = [];
  let cursor: string | undefined;
  do {
    const fields = { limit: 100, ...(cursor === undefined ? {} : { cursor }) };
    const query = session.input(ListMembers, organization, { sort: '-createdAt', ...fields });
    const page = await session.run<{ records: Listed[]; pagination: { cursor: string | null } }>(query);
    found.push(...page.records);
    cursor = page.pagination.cursor ?? undefined;
  } while (cursor !== undefined && found.length < MAX_LISTED);
  return found;
}

async function memberWith(
  session: Session,
  organization: string,
  email: string,
): Promise<string | undefined> {
  const { comparableEmail } = await import('#libs/rpc');
  await session.requireOrganization(organization);
  const members = await membersOf(session, organization);
  return members.find((one) => one.email !== null && comparableEmail(one.email) === comparableEmail(email))
    ?.id;
}
