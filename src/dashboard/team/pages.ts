import { Mailer } from '#libs/mail';
import { html, type Html } from '#libs/pages';
import { noSuch } from '#libs/rpc';
import { type InvitationRecord, type MemberRecord, type Role, ROLES, Team } from '../../team/index.js';
import { type Column, listPages } from '../list-pages.js';
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
import { type DashboardWords } from '#locales';
import { type Member } from '../people.js';

const roleColumn: Column<{ role: Role }> = {
  name: ({ role }) => role,
  cell: ({ role }, { words }) => words.roles[role].name,
  exported: ({ role }) => role,
};

export const teamPages: PageDefinition[] = [
  ...listPages<MemberRecord>({
    path: 'team',
    section: 'team',
    needs: 'team:read',
    operation: 'team.list-members',
    search: ({ email }) => email,
    searchIn: ({ email }) => email ?? '',
    add: { path: 'team/invite', text: ({ team }) => team.invite, needs: 'team:write' },
    actions: ({ words, address }) => [
      ButtonLink(address, 'team/invitations', words.team.invitations.title, true),
    ],
    columns: [
      { name: ({ email }) => email, cell: MemberName, exported: ({ email }) => email },
      roleColumn,
      {
        name: ({ since }) => since,
        cell: ({ joinedAt }) => new Date(joinedAt),
        exported: ({ joinedAt }) => joinedAt,
        sort: 'createdAt',
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
      roleColumn,
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
        TextField(context.form, { name: 'email', label: words.email, type: 'email', max: 254 }),
        RoleField(context),
      ];
      return context.view.page({
        section: 'team',
        back: toTeam(context),
        title,
        content: html`<div class="text"><p class="lead">${text}</p>${FormOf(context.form, { fields, button })}</div>`,
      });
    },
    act: async ({ form, api }) => {
      await api.run('team.invite-member', {
        email: form.typed('email') ?? '',
        role: form.get('role') ?? '',
      });
      const isWritten = api.find(Mailer).written !== undefined;
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
        ActivityLog(context, context.address.params.member!),
        isLastOwner(context),
      ]);
      const { save, remove, removeText, last } = words.team.member;
      const { name, may } = words.roles[member.role];
      const mayChange = rolesFor(context.person).includes(member.role);
      return context.view.page({
        section: 'team',
        back: toTeam(context),
        title: nameOf(context.words, member.email),
        content: html`<div class="text">
          <p>${name}: ${may}</p>
          ${isLast ? html`<p>${last}</p>` : null}
          ${
            mayChange && !isLast
              ? html`${FormOf(context.form, { fields: [RoleField(context, member.role)], button: save })}
                ${SectionOf(remove, html`<p>${removeText}</p><p>${ButtonLink(context.address, `team/${member.id}/remove`, remove, true)}</p>`)}`
              : null
          }
          ${past}
        </div>`,
      });
    },
    act: async (context) => {
      const { id: memberId } = await memberOf(context);
      await context.api.run('team.update-member', { memberId, role: context.form.get('role') ?? '' });
      return { to: 'team', done: 'team.roleChanged' };
    },
  },
  {
    path: 'team/:member/remove',
    needs: 'team:write',
    show: async (context) => {
      const { id, email } = await memberOf(context);
      const { title, text, keys, webhooks, invitations, button } = context.words.team.removal;
      const name = nameOf(context.words, email);
      return context.view.page({
        section: 'team',
        title: title(name),
        content: html`${ConfirmForm(context, { text, button: button(name), back: `team/${id}`, isFinal: true })}
          ${Actions([
            ButtonLink(context.address, 'keys', keys, true),
            ButtonLink(context.address, 'webhooks', webhooks, true),
            ButtonLink(context.address, 'team/invitations', invitations, true),
          ])}`,
      });
    },
    act: async ({ address, api }) => {
      await api.run('team.remove-member', { memberId: address.params.member });
      return { to: 'team', done: 'team.removed' };
    },
  },
  {
    path: 'team/invitations/:invitation',
    needs: 'team:write',
    show: async (context) => {
      const { state } = await context.api
        .find(Team)
        .load(context.api.organizationId, context.address.params.invitation!);
      if (state.status !== 'INVITED') throw noSuch('invitation');
      const email = await context.api
        .find(Team)
        .emailOf(context.api.organizationId, context.address.params.invitation!);
      const { title, text, button } = context.words.team.revocation;
      return context.view.page({
        section: 'team',
        title: title(nameOf(context.words, email)),
        content: ConfirmForm(context, { text, button, back: 'team/invitations' }),
      });
    },
    act: async ({ address, api }) => {
      await api.run('team.revoke-invitation', { invitationId: address.params.invitation });
      return { to: 'team/invitations', done: 'team.revoked' };
    },
  },
];

function toTeam({ words, address }: PageContext) {
  return { href: address.path('team'), text: words.team.title };
}

/**
 * Checks only teams of fewer than 100 members. In larger ones, the operation itself rejects removing the last
 * owner.
 */
async function isLastOwner({ address, api }: PageContext): Promise<boolean> {
  const { records } = await api.run<{ records: MemberRecord[] }>('team.list-members', { limit: 100 });
  const owners = records.filter(({ role }) => role === 'OWNER');
  return records.length < 100 && owners.length === 1 && owners[0]!.id === address.params.member;
}

/** @throws RpcError NOT_FOUND */
async function memberOf({ address, api }: PageContext): Promise<MemberRecord> {
  const found = await api.find(Team).find(api.organizationId, address.params.member!);
  if (!found) throw noSuch('member');
  return found;
}

function nameOf(words: DashboardWords, email: string | null): string {
  return email ?? words.team.formerly;
}

function MemberName({ id, email, userId }: MemberRecord, { words, person, address }: PageContext): Html {
  const { team } = words;
  const name = nameOf(words, email);
  const shown = person.may('team:write')
    ? html`<a href="${address.path(`team/${id}`)}" aria-label="${team.change(name)}">${name}</a>`
    : name;
  return html`${shown} ${userId === person.session.userId ? team.you : null}`;
}

function InvitedName(
  { id, email }: InvitationRecord,
  { words, person, address }: PageContext,
): Html | string {
  const name = nameOf(words, email);
  if (!person.may('team:write')) return name;
  const says = words.team.invitations.revoke(name);
  return html`<a href="${address.path(`team/invitations/${id}`)}" aria-label="${says}">${name}</a>`;
}

function EndOf({ expiresAt }: InvitationRecord, { words }: PageContext): string {
  const isOver = Date.parse(expiresAt) <= Date.now();
  return isOver ? words.team.invitations.expired : dateIn(words, expiresAt);
}

function RoleField({ words, person, form }: PageContext, role?: Role): Html {
  return ChoiceField(form, {
    name: 'role',
    label: words.team.member.role,
    values: role ? [role] : [],
    choices: rolesFor(person).map((one) => ({
      value: one,
      text: words.roles[one].name,
      hint: words.roles[one].may,
    })),
  });
}

function rolesFor(person: Member): readonly Role[] {
  return person.organization.role === 'OWNER' ? ROLES : ROLES.filter((role) => role !== 'OWNER');
}
