import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { fieldIn } from '../activity-log.js';
import { customColumn, customFieldsOf } from '../contacts/custom-values.js';
import { createdColumn } from '../list-pages.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { Actions, ButtonLink, dateIn, Facts, SelectField, TextField, TextForm } from '../parts.js';
import { recordPages } from '../record-pages.js';
import {
  filterLabel,
  filterValue,
  listName,
  listOperation,
  type ListState,
  listWith,
  sectionOfList,
  stateIn,
  type ViewRecord,
} from '../saved-views.js';
import { isOpenTo, places } from '../sections.js';

const views = recordPages<ViewRecord>({ section: 'views', record: 'view' });

const edit = views.form('edit', {
  title: ({ views: { edit } }, { name }) => edit.title(name),
  content: async (context, view) => html`${await StateOf(context)}
    ${TextForm(context.form, { fields: [NameField(context, view)], button: context.words.save, of: view })}`,
  input: (context) => {
    const { parameters, columns } = stateIn(context) ?? {};
    return { name: context.form.typed('name') ?? '', ...(parameters ? { parameters, columns } : {}) };
  },
});

export const viewPages: PageDefinition[] = [
  ...views.list({
    columns: [
      views.titleColumn(),
      {
        name: ({ views: { list } }) => list,
        cell: (view, { words }) => listName(words, view.operation),
        isObvious: true,
      },
      createdColumn(),
    ],
  }),
  views.adding({
    content: async (context) => {
      const { words, form } = context;
      const { list: label, create: button } = words.views;
      const list = stateIn(context)
        ? null
        : SelectField(form, { name: 'operation', label, choices: listsOf(context) });
      return html`${await StateOf(context)} ${TextForm(form, { fields: [NameField(context), list], button })}`;
    },
    input: (context) => ({ name: context.form.typed('name') ?? '', ...newState(context) }),
    created: (context, { viewId }) => ({
      to: listWith({ id: viewId!, ...newState(context) }),
      done: 'views.created',
    }),
  }),
  {
    ...edit,
    act: async (context) => ({
      ...(await edit.act!(context)),
      to: listWith({ ...(await views.find(context)), ...stateIn(context) }),
    }),
  },
  views.shownWith(
    async (context, found) => factsOf(context, await found),
    ({ words, address, person }, view, { mayWrite, link }, facts) => {
      const { open, edit, deleting, list } = words.views;
      const section = sectionOfList(view.operation);
      const isListed = section !== undefined && isOpenTo(person, places()[section]!);
      return html`${Actions([
        isListed && ButtonLink(address, listWith(view), open),
        mayWrite && link('edit', edit.link),
        mayWrite && link('delete', deleting.link),
      ])}
      ${Facts([
        { name: list, value: listName(words, view.operation) },
        ...facts,
        { name: words.made, value: dateIn(words, view.createdAt) },
      ])}`;
    },
  ),
  views.deletion({ isFinal: false }),
];

function NameField({ words, form }: PageContext, view?: ViewRecord): Html {
  return TextField(form, { name: 'name', label: words.nameOf, value: view?.name, max: 200 });
}

/** The state that a new view saves: of the list that it was created from, or of the list chosen in the form. */
function newState(context: PageContext): ListState {
  return stateIn(context) ?? { operation: context.form.get('operation') ?? '', parameters: {}, columns: [] };
}

function listsOf({ words, person }: PageContext): { value: string; text: string }[] {
  return Object.entries(places()).flatMap(([section, place]) => {
    const value = listOperation(section);
    return value === undefined || !isOpenTo(person, place) ? [] : [{ value, text: listName(words, value) }];
  });
}

/** The state in the address, as facts; null if there is none. */
async function StateOf(context: PageContext): Promise<Html | null> {
  const state = stateIn(context);
  if (!state) return null;
  const list = { name: context.words.views.list, value: listName(context.words, state.operation) };
  return Facts([list, ...(await factsOf(context, state))]);
}

/** The filters, the order and the columns, in words. */
async function factsOf(context: PageContext, { operation, parameters, columns }: ListState) {
  const { words } = context;
  const { order, ascending, descending, columns: texts } = words.views;
  const { sort, ...filters } = parameters;
  const chosen = Object.entries(filters).map(async ([name, value]) => ({
    name: filterLabel(words, name),
    value: await filterValue(context, operation, name, value),
  }));
  const facts = await Promise.all(chosen);
  if (sort !== undefined) {
    const direction = sort.startsWith('-') ? descending : ascending;
    facts.push({ name: order, value: direction(labelOf(words, sort.replace('-', ''))) });
  }
  if (columns.length > 0) {
    const customFields = await customFieldsOf(context);
    const named = columns.map(
      (column) =>
        customFields.find(({ key }) => column === customColumn(key))?.name ?? labelOf(words, column),
    );
    facts.push({ name: texts.label, value: named.join(', ') });
  }
  return facts;
}

function labelOf(words: DashboardWords, field: string): string {
  if (field === 'createdAt') return words.made;
  return field === 'updatedAt' ? words.changed : fieldIn(words, field);
}
