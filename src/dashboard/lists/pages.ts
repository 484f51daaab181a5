import { html, type Html } from '#libs/pages';
import { type Resource, Resources } from '#libs/resources';
import { invalid } from '#libs/rpc';
import { lists } from '../../lists/index.js';
import { tags } from '../../tags/index.js';
import { type ContactRecord, nameOf } from '../contacts/pages.js';
import { listPages, Paging } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ConfirmForm,
  ButtonLink,
  dateIn,
  Actions,
  FormOf,
  numberIn,
  SectionOf,
  Table,
  TextField,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Visit } from '../visit.js';

type GroupRecord = {
  updatedAt: string;
  id: string;
  name: string;
  description: string | null;
  contacts: number;
  createdAt: string;
};

/** Lists and tags are both groups of contacts and share their pages. */
export const listsPages: PageDefinition[] = [
  ...pagesOfGroups({ section: 'lists', resource: lists }),
  ...pagesOfGroups({ section: 'tags', resource: tags }),
];

function pagesOfGroups({
  section,
  resource,
}: {
  section: 'lists' | 'tags';
  resource: Resource;
}): PageDefinition[] {
  const { object: service, object: param, idField } = resource;
  const [reads, writes] = [`${service}:read`, `${service}:write`];
  const idOf = ({ params }: Visit) => params[param]!;
  const groupOf = (visit: Visit) =>
    visit.run<GroupRecord>(`${service}.get-${service}`, { [idField]: idOf(visit) });
  const toAll = (visit: Visit) => ({ href: visit.path(section), text: visit.words[section].title });
  const fieldsOf = (visit: Visit, group?: GroupRecord) => [
    TextField(visit, { name: 'name', label: visit.words.nameOf, value: group?.name, max: 200 }),
    AreaField(visit, {
      name: 'description',
      label: visit.words[section].description,
      value: group?.description,
      isOptional: true,
    }),
  ];
  const typedIn = (visit: Visit) => ({
    name: visit.typed('name') ?? '',
    description: visit.typed('description'),
  });
  /** Users cannot tell two groups with the same name apart, so a second one needs a confirmation. */
  const requireOwnName = async (visit: Visit, group?: GroupRecord) => {
    const { name } = typedIn(visit);
    if (name === group?.name) return;
    const [other] = await visit.find(Resources).having(resource, visit.organizationId, 'name', name, 1);
    // A form that is submitted twice finds its own record.
    if (other && other.id !== (await visit.madeBefore(`${service}.create-${service}`)))
      visit.requireSure(name, visit.words[section].sameName);
  };
  return [
    ...listPages<GroupRecord>({
      path: section,
      section,
      needs: reads,
      operation: `${service}.list-${section}`,
      title: (words) => words[section].title,
      text: (words) => words[section].text,
      empty: (words) => words[section].none,
      search: (words) => words[section].search,
      add: { path: `${section}/new`, text: (words) => words[section].add, needs: writes },
      columns: [
        {
          name: ({ nameOf }) => nameOf,
          cell: ({ id, name }, visit) => html`<a href="${visit.path(`${section}/${id}`)}">${name}</a>`,
          exported: ({ name }) => name,
        },
        {
          name: (words) => words[section].contacts,
          cell: ({ contacts }, { words }) => numberIn(words, contacts),
          exported: ({ contacts }) => contacts,
          isNumber: true,
        },
        { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
      ],
    }),
    {
      path: `${section}/new`,
      needs: writes,
      show: (visit) => {
        const { title, button } = visit.words[section].new;
        return Promise.resolve(
          visit.page({
            section,
            back: toAll(visit),
            title,
            content: html`<div class="text">${FormOf(visit, { fields: fieldsOf(visit), button })}</div>`,
          }),
        );
      },
      act: async (visit) => {
        await requireOwnName(visit);
        const made = await visit.run<Record<string, string>>(`${service}.create-${service}`, typedIn(visit));
        return { to: `${section}/${made[idField]!}`, done: `${section}.created` };
      },
    },
    {
      path: `${section}/:${param}`,
      needs: reads,
      changes: writes,
      show: async (visit) => {
        const [group, members, past] = await Promise.all([
          groupOf(visit),
          visit.may('contact:read') ? MembersOf(visit) : null,
          ActivityLog(visit, idOf(visit)),
        ]);
        const { edit, delete: deletion } = visit.words[section];
        return visit.page({
          section,
          back: toAll(visit),
          title: group.name,
          content: html`${group.description === null ? null : html`<p class="lead">${group.description}</p>`}
          ${
            visit.may(writes)
              ? Actions([
                  ButtonLink(visit, `${section}/${group.id}/edit`, edit.link, true),
                  ButtonLink(visit, `${section}/${group.id}/delete`, deletion.link, true),
                ])
              : null
          }
          ${members} ${past}`,
        });
      },
      act: async (visit) => {
        const email = visit.typed('email') ?? '';
        const { records } = await visit.run<{ records: ContactRecord[] }>('contact.list-contacts', {
          email,
          limit: 1,
        });
        const [contact] = records;
        // The same shape as the issues of an operation.
        if (!contact) throw invalid([{ path: 'email', message: 'is the address of no contact' }]);
        await visit.run(`${service}.add-contacts`, { [idField]: idOf(visit), contactIds: [contact.id] });
        return { to: `${section}/${idOf(visit)}`, done: `${section}.added` };
      },
    },
    {
      path: `${section}/:${param}/edit`,
      needs: writes,
      show: async (visit) => {
        const group = await groupOf(visit);
        const { title, button } = visit.words[section].edit;
        return visit.page({
          section,
          back: { href: visit.path(`${section}/${group.id}`), text: group.name },
          title: title(group.name),
          content: html`<div class="text">${FormOf(visit, { fields: fieldsOf(visit, group), button, of: group })}</div>`,
        });
      },
      act: async (visit) => {
        const group = await groupOf(visit);
        visit.requireSame(group);
        await requireOwnName(visit, group);
        await visit.run(`${service}.update-${service}`, { [idField]: idOf(visit), ...typedIn(visit) });
        return { to: `${section}/${idOf(visit)}`, done: `${section}.changed` };
      },
    },
    {
      path: `${section}/:${param}/delete`,
      needs: writes,
      show: async (visit) => {
        const group = await groupOf(visit);
        const { title, text, button } = visit.words[section].delete;
        return visit.page({
          section,
          title: title(group.name),
          content: ConfirmForm(visit, { text, button: button(group.name), back: `${section}/${group.id}` }),
        });
      },
      act: async (visit) => {
        await visit.run(`${service}.delete-${service}`, { [idField]: idOf(visit) });
        return { to: section, done: `${section}.deleted` };
      },
    },
    {
      path: `${section}/:${param}/contacts/:contact`,
      needs: reads,
      changes: writes,
      // The confirmation page.
      show: async (visit) => {
        const group = await groupOf(visit);
        const contact = await visit.run<ContactRecord>('contact.get-contact', {
          organizationId: visit.organizationId,
          contactId: visit.params.contact,
        });
        const { removeName, removeText } = visit.words[section];
        return visit.page({
          section,
          title: `${removeName(nameOf(contact))}?`,
          content: ConfirmForm(visit, {
            text: removeText,
            button: removeName(nameOf(contact)),
            back: `${section}/${group.id}`,
          }),
        });
      },
      act: async (visit) => {
        const contactIds = [visit.params.contact];
        await visit.run(`${service}.remove-contacts`, { [idField]: idOf(visit), contactIds });
        return { to: `${section}/${idOf(visit)}`, done: `${section}.removed` };
      },
    },
  ];

  async function MembersOf(visit: Visit): Promise<Html> {
    const { words } = visit;
    const id = idOf(visit);
    const { addressLabel, addressHint, addButton, noMembers, remove, removeName, members, all } =
      words[section];
    const listed = await visit.list<ContactRecord>('contact.list-contacts', {
      [idField]: id,
      limit: 25,
    });
    const mayChange = visit.may(writes);
    return SectionOf(members, [
      mayChange
        ? FormOf(visit, {
            fields: [
              TextField(visit, { name: 'email', label: addressLabel, hint: addressHint, type: 'email' }),
            ],
            button: addButton,
          })
        : null,
      listed.records.length === 0
        ? html`<p>${noMembers}</p>`
        : Table({
            caption: members,
            columns: [
              { name: words.nameOf },
              { name: words.email },
              ...(mayChange ? [{ name: remove }] : []),
            ],
            rows: listed.records.map((contact) => [
              html`<a href="${visit.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
              contact.email,
              ...(mayChange
                ? [
                    html`<a
                      href="${visit.path(`${section}/${id}/contacts/${contact.id}`)}"
                      aria-label="${removeName(nameOf(contact))}"
                      >${remove}</a
                    >`,
                  ]
                : []),
            ]),
          }),
      Paging(visit, listed),
      html`<p><a href="${visit.path(`contacts?${idField}=${id}`)}">${all}</a></p>`,
    ]);
  }
}
