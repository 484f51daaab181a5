import { Mailer } from '#libs/mail';
import { html, type Html } from '#libs/pages';
import { noSuch } from '#libs/rpc';
import { type InvitationRecord, type MemberRecord, type Role, ROLES, Team } from '../../team/index.js';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  ChoiceField,
  dateIn,
  Actions,
  FormOf,
  SectionOf,
  TextField,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';

export const teamPages: PageDefinition[] = [
  ...listPages<MemberRecord>({
    path: 'team',
    section: 'team',
    needs: 'team:read',
    operation: 'team.list-members',
    title: ({ team }) => team.title,
    text: ({ team }) => team.text,
    empty: ({ team }) => team.none,
    search: ({ email }) => email,
    searchIn: ({ email }) => email ?? '',
    add: { path: 'team/invite', text: ({ team }) => team.invite, needs: 'team:write' },
    actions: (context) => [
      ButtonLink(context, 'team/invitations', context.words.team.invitations.title, true),
    ],
    columns: [
      { name: ({ email }) => email, cell: MemberName, exported: ({ email }) => email },
      {
        name: ({ role }) => role,
        cell: ({ role }, { words }) => words.roles[role].name,
        exported: ({ role }) => role,
      },
      {
        name: ({ since }) => since,
        cell: ({ joinedAt }, { words }) => dateIn(words, joinedAt),
        exported: ({ joinedAt }) => joinedAt,
      },
    ],
  }),
  ...listPages<InvitationRecord>({
    path: 'team/invitations',
    section: 'team',
    needs: 'team:read',
    operation: 'team.list-invitations',
    title: ({ team }) => team.invitations.title,
    text: ({ team }) => team.invitations.text,
    empty: ({ team }) => team.invitations.none,
    search: ({ email }) => email,
    searchIn: ({ email }) => email ?? '',
    add: { path: 'team/invite', text: ({ team }) => team.invite, needs: 'team:write' },
    back: toTeam,
    columns: [
      { name: ({ email }) => email, cell: InvitedName, exported: ({ email }) => email },
      {
        name: ({ role }) => role,
        cell: ({ role }, { words }) => words.roles[role].name,
        exported: ({ role }) => role,
      },
      { name: ({ team }) => team.invitations.ends, cell: EndOf, exported: ({ expiresAt }) => expiresAt },
    ],
  }),
  {
    path: 'team/invite',
    needs: 'team:write',
    show: (context) => {
      const { words } = context;
      const { title, text, button } = words.team.inviting;
      const fields = [
        TextField(context, { name: 'email', label: words.email, type: 'email', max: 254 }),
        RoleField(context),
      ];
      return Promise.resolve(
        context.page({
          section: 'team',
          back: toTeam(context),
          title,
          content: html`<div class="text"><p class="lead">${text}</p>${FormOf(context, { fields, button })}</div>`,
        }),
      );
    },
    act: async (context) => {
      const { form } = context;
      await context.run('team.invite-member', {
        email: context.typed('email') ?? '',
        role: form.get('role') ?? '',
      });
      const isWritten = context.find(Mailer).written !== undefined;
      return { to: 'team/invitations', done: isWritten ? 'team.written' : 'team.invited' };
    },
  },
  {
    path: 'team/:member',
    needs: 'team:write',
    show: async (context) => {
      const { words } = context;
      const [member, past, isLast] = await Promise.all([
        memberOf(context),
        ActivityLog(context, context.params.member!),
        isLastOwner(context),
      ]);
      const { save, remove, removeText, last } = words.team.member;
      const { name, may } = words.roles[member.role];
      const mayChange = rolesFor(context).includes(member.role);
      return context.page({
        section: 'team',
        back: toTeam(context),
        title: nameOf(context, member.email),
        content: html`<div class="text">
          <p>${name}: ${may}</p>
          ${isLast ? html`<p>${last}</p>` : null}
          ${
            mayChange && !isLast
              ? html`${FormOf(context, { fields: [RoleField(context, member.role)], button: save })}
                ${SectionOf(remove, html`<p>${removeText}</p><p>${ButtonLink(context, `team/${member.id}/remove`, remove, true)}</p>`)}`
              : null
          }
          ${past}
        </div>`,
      });
    },
    act: async (context) => {
      const { id: memberId } = await memberOf(context);
      await context.run('team.update-member', { memberId, role: context.form.get('role') ?? '' });
      return { to: 'team', done: 'team.roleChanged' };
    },
  },
  {
    path: 'team/:member/remove',
    needs: 'team:write',
    show: async (context) => {
      const { id, email } = await memberOf(context);
      const { title, text, keys, webhooks, invitations, button } = context.words.team.removal;
      const name = nameOf(context, email);
      return context.page({
        section: 'team',
        title: title(name),
        content: html`${ConfirmForm(context, { text, button: button(name), back: `team/${id}`, isFinal: true })}
          ${Actions([
            ButtonLink(context, 'keys', keys, true),
            ButtonLink(context, 'webhooks', webhooks, true),
            ButtonLink(context, 'team/invitations', invitations, true),
          ])}`,
      });
    },
    act: async (context) => {
      await context.run('team.remove-member', { memberId: context.params.member });
      return { to: 'team', done: 'team.removed' };
    },
  },
  {
    path: 'team/invitations/:invitation',
    needs: 'team:write',
    show: async (context) => {
      const { state } = await context.find(Team).load(context.organizationId, context.params.invitation!);
      if (state.status !== 'INVITED') throw noSuch('invitation');
      const email = await context.find(Team).emailOf(context.organizationId, context.params.invitation!);
      const { title, text, button } = context.words.team.revocation;
      return context.page({
        section: 'team',
        title: title(nameOf(context, email)),
        content: ConfirmForm(context, { text, button, back: 'team/invitations' }),
      });
    },
    act: async (context) => {
      await context.run('team.revoke-invitation', { invitationId: context.params.invitation });
      return { to: 'team/invitations', done: 'team.revoked' };
    },
  },
];

function toTeam(context: PageContext) {
  return { href: context.path('team'), text: context.words.team.title };
}

/**
 * Checks only teams of fewer than 100 members. In larger ones, the operation itself rejects removing the last
 * owner.
 */
async function isLastOwner(context: PageContext): Promise<boolean> {
  const { records } = await context.run<{ records: MemberRecord[] }>('team.list-members', { limit: 100 });
  const owners = records.filter(({ role }) => role === 'OWNER');
  return records.length < 100 && owners.length === 1 && owners[0]!.id === context.params.member;
}

/** @throws RpcError NOT_FOUND */
async function memberOf(context: PageContext): Promise<MemberRecord> {
  const found = await context.find(Team).find(context.organizationId, context.params.member!);
  if (!found) throw noSuch('member');
  return found;
}

function nameOf({ words }: PageContext, email: string | null): string {
  return email ?? words.team.formerly;
}

function MemberName({ id, email, userId }: MemberRecord, context: PageContext): Html {
  const { team } = context.words;
  const name = nameOf(context, email);
  const shown = context.may('team:write')
    ? html`<a href="${context.path(`team/${id}`)}" aria-label="${team.change(name)}">${name}</a>`
    : name;
  return html`${shown} ${userId === context.person.session.userId ? team.you : null}`;
}

function InvitedName({ id, email }: InvitationRecord, context: PageContext): Html | string {
  const name = nameOf(context, email);
  if (!context.may('team:write')) return name;
  const says = context.words.team.invitations.revoke(name);
  return html`<a href="${context.path(`team/invitations/${id}`)}" aria-label="${says}">${name}</a>`;
}

function EndOf({ expiresAt }: InvitationRecord, { words }: PageContext): string {
  const isOver = Date.parse(expiresAt) <= Date.now();
  return isOver ? words.team.invitations.expired : dateIn(words, expiresAt);
}

function RoleField(context: PageContext, role?: Role): Html {
  const { words } = context;
  return ChoiceField(context, {
    name: 'role',
    label: words.team.member.role,
    values: role ? [role] : [],
    choices: rolesFor(context).map((one) => ({
      value: one,
      text: words.roles[one].name,
      hint: words.roles[one].may,
    })),
  });
}

/** The roles that this person can assign. */
function rolesFor({ person }: PageContext): readonly Role[] {
  return person.organization.role === 'OWNER' ? ROLES : ROLES.filter((role) => role !== 'OWNER');
}
