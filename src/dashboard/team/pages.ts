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
import { type Visit } from '../visit.js';

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
    deeds: (visit) => [ButtonLink(visit, 'team/invitations', visit.words.team.invitations.title, true)],
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
    show: (visit) => {
      const { words } = visit;
      const { title, text, button } = words.team.inviting;
      const fields = [
        TextField(visit, { name: 'email', label: words.email, type: 'email', max: 254 }),
        RoleField(visit),
      ];
      return Promise.resolve(
        visit.page({
          section: 'team',
          back: toTeam(visit),
          title,
          content: html`<div class="text"><p class="lead">${text}</p>${FormOf(visit, { fields, button })}</div>`,
        }),
      );
    },
    act: async (visit) => {
      const { form } = visit;
      await visit.run('team.invite-member', {
        email: visit.typed('email') ?? '',
        role: form.get('role') ?? '',
      });
      const isWritten = visit.find(Mailer).written !== undefined;
      return { to: 'team/invitations', done: isWritten ? 'team.written' : 'team.invited' };
    },
  },
  {
    path: 'team/:member',
    needs: 'team:write',
    show: async (visit) => {
      const { words } = visit;
      const [member, past, isLast] = await Promise.all([
        memberOf(visit),
        ActivityLog(visit, visit.params.member!),
        isLastOwner(visit),
      ]);
      const { save, remove, removeText, last } = words.team.member;
      const { name, may } = words.roles[member.role];
      const mayChange = rolesFor(visit).includes(member.role);
      return visit.page({
        section: 'team',
        back: toTeam(visit),
        title: nameOf(visit, member.email),
        content: html`<div class="text">
          <p>${name}: ${may}</p>
          ${isLast ? html`<p>${last}</p>` : null}
          ${
            mayChange && !isLast
              ? html`${FormOf(visit, { fields: [RoleField(visit, member.role)], button: save })}
                ${SectionOf(remove, html`<p>${removeText}</p><p>${ButtonLink(visit, `team/${member.id}/remove`, remove, true)}</p>`)}`
              : null
          }
          ${past}
        </div>`,
      });
    },
    act: async (visit) => {
      const { id: memberId } = await memberOf(visit);
      await visit.run('team.update-member', { memberId, role: visit.form.get('role') ?? '' });
      return { to: 'team', done: 'team.roleChanged' };
    },
  },
  {
    path: 'team/:member/remove',
    needs: 'team:write',
    show: async (visit) => {
      const { id, email } = await memberOf(visit);
      const { title, text, keys, webhooks, invitations, button } = visit.words.team.removal;
      const name = nameOf(visit, email);
      return visit.page({
        section: 'team',
        title: title(name),
        content: html`${ConfirmForm(visit, { text, button: button(name), back: `team/${id}`, isFinal: true })}
          ${Actions([
            ButtonLink(visit, 'keys', keys, true),
            ButtonLink(visit, 'webhooks', webhooks, true),
            ButtonLink(visit, 'team/invitations', invitations, true),
          ])}`,
      });
    },
    act: async (visit) => {
      await visit.run('team.remove-member', { memberId: visit.params.member });
      return { to: 'team', done: 'team.removed' };
    },
  },
  {
    path: 'team/invitations/:invitation',
    needs: 'team:write',
    show: async (visit) => {
      const { state } = await visit.find(Team).load(visit.organizationId, visit.params.invitation!);
      if (state.status !== 'INVITED') throw noSuch('invitation');
      const email = await visit.find(Team).emailOf(visit.organizationId, visit.params.invitation!);
      const { title, text, button } = visit.words.team.revocation;
      return visit.page({
        section: 'team',
        title: title(nameOf(visit, email)),
        content: ConfirmForm(visit, { text, button, back: 'team/invitations' }),
      });
    },
    act: async (visit) => {
      await visit.run('team.revoke-invitation', { invitationId: visit.params.invitation });
      return { to: 'team/invitations', done: 'team.revoked' };
    },
  },
];

function toTeam(visit: Visit) {
  return { href: visit.path('team'), text: visit.words.team.title };
}

/** Checks only teams below 100 members. In larger ones, the operation itself rejects removing the last owner. */
async function isLastOwner(visit: Visit): Promise<boolean> {
  const { records } = await visit.run<{ records: MemberRecord[] }>('team.list-members', { limit: 100 });
  const owners = records.filter(({ role }) => role === 'OWNER');
  return records.length < 100 && owners.length === 1 && owners[0]!.id === visit.params.member;
}

/** @throws RpcError NOT_FOUND */
async function memberOf(visit: Visit): Promise<MemberRecord> {
  const found = await visit.find(Team).find(visit.organizationId, visit.params.member!);
  if (!found) throw noSuch('member');
  return found;
}

function nameOf({ words }: Visit, email: string | null): string {
  return email ?? words.team.formerly;
}

function MemberName({ id, email, userId }: MemberRecord, visit: Visit): Html {
  const { team } = visit.words;
  const name = nameOf(visit, email);
  const shown = visit.may('team:write')
    ? html`<a href="${visit.path(`team/${id}`)}" aria-label="${team.change(name)}">${name}</a>`
    : name;
  return html`${shown} ${userId === visit.person.session.userId ? team.you : null}`;
}

function InvitedName({ id, email }: InvitationRecord, visit: Visit): Html | string {
  const name = nameOf(visit, email);
  if (!visit.may('team:write')) return name;
  const says = visit.words.team.invitations.revoke(name);
  return html`<a href="${visit.path(`team/invitations/${id}`)}" aria-label="${says}">${name}</a>`;
}

function EndOf({ expiresAt }: InvitationRecord, { words }: Visit): string {
  const isOver = Date.parse(expiresAt) <= Date.now();
  return isOver ? words.team.invitations.expired : dateIn(words, expiresAt);
}

function RoleField(visit: Visit, role?: Role): Html {
  const { words } = visit;
  return ChoiceField(visit, {
    name: 'role',
    label: words.team.member.role,
    values: role ? [role] : [],
    choices: rolesFor(visit).map((one) => ({
      value: one,
      text: words.roles[one].name,
      hint: words.roles[one].may,
    })),
  });
}

/** The roles that this person can assign. */
function rolesFor({ person }: Visit): readonly Role[] {
  return person.organization.role === 'OWNER' ? ROLES : ROLES.filter((role) => role !== 'OWNER');
}
