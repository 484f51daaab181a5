import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { invalid } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type GroupKind } from '../../contacts/index.js';
import { type ContactRecord, nameOf } from '../contacts/contact.js';
import { createdColumn, listFrom, numberColumn, Paging } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  Actions,
  Facts,
  fieldsFor,
  FormOf,
  SectionOf,
  Table,
  TextField,
  TextForm,
  timeIn,
} from '../parts.js';
import { recordPages } from '../record-pages.js';
import { TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { type PageContext } from '../page-context.js';

/** The page of a list or a tag shows this many contacts at a time, and links to all of them. */
const MEMBERS = 10;

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
  const { object: service, idField } = resource;
  const [reads, writes] = [`${service}:read`, `${service}:write`];
  const groups = recordPages<GroupRecord>({ section, record: service, titleOf: ({ name }) => name });
  const idOf = ({ address: { params } }: PageContext) => params[service]!;
  const further = Object.entries(fields).map(([name, { schema }]) => ({
    name,
    isTime: schema.format === 'date-time',
    labelIn: ({ fields: labels }: DashboardWords) => labels[name]!,
  }));
  const textOf = (group: GroupRecord | undefined, name: string) => (group?.[name] ?? null) as string | null;
  const zoneOf = async (context: PageContext) =>
    further.some(({ isTime }) => isTime) ? await timeZoneOf(context) : 'UTC';
  const fieldsOf = async (context: PageContext, group?: GroupRecord) => {
    const { words, form } = context;
    const timeZone = await zoneOf(context);
    const { text, optionalArea, optionalText } = fieldsFor(form, wordsOf(words), group);
    return [
      text('name', { label: words.nameOf, max: 200 }),
      optionalArea('description'),
      ...further.map(({ name, isTime, labelIn }) => {
        const label = labelIn(words);
        return isTime
          ? TimeField(form, timeZone, { name, label: `${label} (${timeZone})`, value: textOf(group, name) })
          : optionalText(name, { label });
      }),
    ];
  };
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
    ...groups.list({
      columns: [
        groups.titleColumn(),
        numberColumn(
          (words) => wordsOf(words).contacts,
          ({ contacts }) => contacts,
        ),
        createdColumn(),
      ],
    }),
    ...groups.writing({
      newTitle: (words) => wordsOf(words).new.title,
      editTitle: (words, name) => wordsOf(words).edit.title(name),
      content: async (context, group) => {
        const { edit, new: adding } = wordsOf(context.words);
        const { button } = group ? edit : adding;
        return TextForm(context.form, { fields: await fieldsOf(context, group), button, of: group });
      },
      input: async (context, group) => {
        await requireOwnName(context, group);
        return typedIn(context, group);
      },
    }),
    {
      ...groups.shownWith(
        (context) =>
          Promise.all([zoneOf(context), context.person.may('contact:read') ? MembersOf(context) : null]),
        ({ words }, group, { mayWrite, link }, [timeZone, members]) => {
          const { edit, deleting } = wordsOf(words);
          const facts = further.map(({ name, isTime, labelIn }) => {
            const text = textOf(group, name);
            const value = isTime && text !== null ? timeIn(words, text, timeZone) : text;
            return { name: labelIn(words), value };
          });
          return html`${group.description === null ? null : html`<p class="lead">${group.description}</p>`}
            ${facts.length === 0 ? null : Facts(facts)}
            ${Actions([mayWrite && link('edit', edit.link), mayWrite && link('delete', deleting.link)])} ${members}`;
        },
      ),
      changes: writes,
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
    groups.deletion({ isFinal: false }),
    {
      path: `${section}/:${service}/contacts/:contact`,
      needs: reads,
      changes: writes,
      show: async (context) => {
        const group = await groups.find(context);
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
      limit: MEMBERS,
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
              { name: words.email, isObvious: true },
              ...(mayChange ? [{ name: remove, isObvious: true }] : []),
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
