import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { invalid } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type GroupKind } from '../../contacts/index.js';
import { type ContactRecord, nameOf } from '../contacts/contact.js';
import { listFrom, listPages, Paging } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { stepPage } from '../step-pages.js';
import {
  AreaField,
  ConfirmForm,
  ButtonLink,
  Actions,
  Facts,
  FormOf,
  numberIn,
  SectionOf,
  Table,
  TextField,
  timeIn,
} from '../parts.js';
import { TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';

type GroupRecord = {
  updatedAt: string;
  id: string;
  name: string;
  description: string | null;
  contacts: number;
  createdAt: string;
  /** Further fields of the kind. */
  [field: string]: string | number | null;
};

/** The pages of a kind of groups of contacts, such as lists and tags. */
export function pagesOfGroups({
  kind,
  resource,
  fields,
}: Pick<GroupKind, 'kind' | 'resource' | 'fields'>): PageDefinition[] {
  const section = `${kind}s`;
  const wordsOf = (words: DashboardWords) =>
    (words as unknown as Record<string, DashboardWords['lists']>)[section]!;
  const { object: service, object: param, idField } = resource;
  const [reads, writes] = [`${service}:read`, `${service}:write`];
  const idOf = ({ address: { params } }: PageContext) => params[param]!;
  const groupOf = (context: PageContext) =>
    context.api.run<GroupRecord>(`${service}.get-${service}`, { [idField]: idOf(context) });
  const toAll = ({ words, address }: PageContext) => ({
    href: address.path(section),
    text: wordsOf(words).title,
  });
  const further = Object.entries(fields).map(([name, { schema }]) => ({
    name,
    isTime: schema.format === 'date-time',
    labelIn: ({ fields: labels }: DashboardWords) => labels[name]!,
  }));
  const textOf = (group: GroupRecord | undefined, name: string) => (group?.[name] ?? null) as string | null;
  const zoneOf = async (context: PageContext) =>
    further.some(({ isTime }) => isTime) ? await timeZoneOf(context) : 'UTC';
  const fieldsOf = async (context: PageContext, group?: GroupRecord) => {
    const timeZone = await zoneOf(context);
    return [
      ...namedFields(context, group),
      ...further.map(({ name, isTime, labelIn }) => {
        const label = labelIn(context.words);
        const field = { name, label, value: textOf(group, name) };
        return isTime
          ? TimeField(context.form, timeZone, { ...field, label: `${label} (${timeZone})` })
          : TextField(context.form, { ...field, isOptional: true });
      }),
    ];
  };
  const namedFields = ({ words, form }: PageContext, group?: GroupRecord) => [
    TextField(form, { name: 'name', label: words.nameOf, value: group?.name, max: 200 }),
    AreaField(form, {
      name: 'description',
      label: wordsOf(words).description,
      value: group?.description,
      isOptional: true,
    }),
  ];
  const nameIn = ({ form }: PageContext) => form.typed('name') ?? '';
  const typedIn = async (context: PageContext, group?: GroupRecord) => {
    const { form } = context;
    const timeZone = await zoneOf(context);
    return {
      name: nameIn(context),
      description: form.typed('description'),
      ...Object.fromEntries(
        further.map(({ name, isTime }) => [
          name,
          isTime ? typedTime(form, name, timeZone, textOf(group, name)) : form.typed(name),
        ]),
      ),
    };
  };
  /** Users cannot tell two groups with the same name apart, so a second one needs a confirmation. */
  const requireOwnName = async (context: PageContext, group?: GroupRecord) => {
    const name = nameIn(context);
    if (name === group?.name) return;
    const [other] = await context.api
      .find(Resources)
      .having(resource, context.api.organizationId, 'name', name, 1);
    // A form that is submitted twice finds its own record.
    if (other && other.id !== (await context.api.madeBefore(`${service}.create-${service}`)))
      context.form.requireSure(name, wordsOf(context.words).sameName);
  };
  return [
    ...listPages<GroupRecord>({
      path: section,
      section,
      needs: reads,
      operation: `${service}.list-${section}`,
      title: (words) => wordsOf(words).title,
      text: (words) => wordsOf(words).text,
      empty: (words) => wordsOf(words).none,
      search: (words) => wordsOf(words).search,
      add: { path: `${section}/new`, text: (words) => wordsOf(words).add, needs: writes },
      columns: [
        {
          name: ({ nameOf }) => nameOf,
          cell: ({ id, name }, { address }) =>
            html`<a href="${address.path(`${section}/${id}`)}">${name}</a>`,
          exported: ({ name }) => name,
        },
        {
          name: (words) => wordsOf(words).contacts,
          cell: ({ contacts }, { words }) => numberIn(words, contacts),
          exported: ({ contacts }) => contacts,
          isNumber: true,
        },
        { name: ({ since }) => since, cell: ({ createdAt }) => new Date(createdAt) },
      ],
    }),
    {
      path: `${section}/new`,
      needs: writes,
      show: async (context) => {
        const { title, button } = wordsOf(context.words).new;
        return context.view.page({
          section,
          back: toAll(context),
          title,
          content: html`<div class="text">${FormOf(context.form, { fields: await fieldsOf(context), button })}</div>`,
        });
      },
      act: async (context) => {
        await requireOwnName(context);
        const made = await context.api.run<Record<string, string>>(
          `${service}.create-${service}`,
          await typedIn(context),
        );
        return { to: `${section}/${made[idField]!}`, done: `${section}.created` };
      },
    },
    {
      path: `${section}/:${param}`,
      needs: reads,
      changes: writes,
      show: async (context) => {
        const [group, timeZone, members, past] = await Promise.all([
          groupOf(context),
          zoneOf(context),
          context.person.may('contact:read') ? MembersOf(context) : null,
          ActivityLog(context, idOf(context)),
        ]);
        const { edit, deleting } = wordsOf(context.words);
        return context.view.page({
          section,
          back: toAll(context),
          title: group.name,
          content: html`${group.description === null ? null : html`<p class="lead">${group.description}</p>`}
          ${
            further.length === 0
              ? null
              : Facts(
                  further.map(({ name, isTime, labelIn }) => {
                    const text = textOf(group, name);
                    return {
                      name: labelIn(context.words),
                      value: isTime && text !== null ? timeIn(context.words, text, timeZone) : text,
                    };
                  }),
                )
          }
          ${
            context.person.may(writes)
              ? Actions([
                  ButtonLink(context.address, `${section}/${group.id}/edit`, edit.link, true),
                  ButtonLink(context.address, `${section}/${group.id}/delete`, deleting.link, true),
                ])
              : null
          }
          ${members} ${past}`,
        });
      },
      act: async (context) => {
        const email = context.form.typed('email') ?? '';
        const { records } = await context.api.run<{ records: ContactRecord[] }>('contact.list-contacts', {
          email,
          limit: 1,
        });
        const [contact] = records;
        // The same shape as the issues of an operation.
        if (!contact) throw invalid([{ path: 'email', message: 'does not belong to any contact' }]);
        await context.api.run(`${service}.add-contacts`, {
          [idField]: idOf(context),
          contactIds: [contact.id],
        });
        return { to: `${section}/${idOf(context)}`, done: `${section}.added` };
      },
    },
    {
      path: `${section}/:${param}/edit`,
      needs: writes,
      show: async (context) => {
        const group = await groupOf(context);
        const { title, button } = wordsOf(context.words).edit;
        return context.view.page({
          section,
          back: { href: context.address.path(`${section}/${group.id}`), text: group.name },
          title: title(group.name),
          content: html`<div class="text">${FormOf(context.form, { fields: await fieldsOf(context, group), button, of: group })}</div>`,
        });
      },
      act: async (context) => {
        const group = await groupOf(context);
        context.form.requireSame(group);
        await requireOwnName(context, group);
        await context.api.run(`${service}.update-${service}`, {
          [idField]: idOf(context),
          ...(await typedIn(context, group)),
        });
        return { to: `${section}/${idOf(context)}`, done: `${section}.changed` };
      },
    },
    stepPage({
      section,
      record: service,
      step: 'delete',
      ask: async (context) => {
        const { name } = await groupOf(context);
        const { title, text, button } = wordsOf(context.words).deleting;
        return { title: title(name), text, button: button(name) };
      },
      done: 'deleted',
      to: section,
    }),
    {
      path: `${section}/:${param}/contacts/:contact`,
      needs: reads,
      changes: writes,
      // The confirmation page.
      show: async (context) => {
        const group = await groupOf(context);
        const contact = await context.api.run<ContactRecord>('contact.get-contact', {
          organizationId: context.api.organizationId,
          contactId: context.address.params.contact,
        });
        const { removeName, removeText } = wordsOf(context.words);
        return context.view.page({
          section,
          title: `${removeName(nameOf(contact))}?`,
          content: ConfirmForm(context, {
            text: removeText,
            button: removeName(nameOf(contact)),
            back: `${section}/${group.id}`,
          }),
        });
      },
      act: async (context) => {
        const contactIds = [context.address.params.contact];
        await context.api.run(`${service}.remove-contacts`, { [idField]: idOf(context), contactIds });
        return { to: `${section}/${idOf(context)}`, done: `${section}.removed` };
      },
    },
  ];

  async function MembersOf(context: PageContext): Promise<Html> {
    const { words } = context;
    const id = idOf(context);
    const { addressLabel, addressHint, addButton, noMembers, remove, removeName, members, all } =
      wordsOf(words);
    const listed = await listFrom<ContactRecord>(context, 'contact.list-contacts', {
      [idField]: id,
      limit: 25,
    });
    const mayChange = context.person.may(writes);
    return SectionOf(members, [
      mayChange
        ? FormOf(context.form, {
            fields: [
              TextField(context.form, {
                name: 'email',
                label: addressLabel,
                hint: addressHint,
                type: 'email',
              }),
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
              html`<a href="${context.address.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
              contact.email,
              ...(mayChange
                ? [
                    html`<a
                      href="${context.address.path(`${section}/${id}/contacts/${contact.id}`)}"
                      aria-label="${removeName(nameOf(contact))}"
                      >${remove}</a
                    >`,
                  ]
                : []),
            ]),
          }),
      Paging(context, listed),
      html`<p><a href="${context.address.path(`contacts?${idField}=${id}`)}">${all}</a></p>`,
    ]);
  }
}
