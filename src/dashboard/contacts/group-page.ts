import { html, type Html } from '#libs/pages';
import { invalid, type Page } from '#libs/rpc';
import { Actions, ButtonLink, ConfirmForm, FormOf, numberIn, SelectField, TextField } from '../parts.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { type Member } from '../people.js';
import { choicesOf, contactOf, type ContactRecord, filtersOf, nameOf, toContacts } from './contact.js';

/** The parameter with a contact's id, which may be repeated; and the one for all contacts that the filters find. */
const CHOSEN = 'contact';
const ALL = 'all';
/** The parameter with the change of tags and lists that can be undone. */
const UPDATE = 'undo';

const PATH = 'contacts/group';
const MOST_CHOSEN = 1_000;

function canGroup(person: Member): boolean {
  return person.may('contact:write') && (person.may('tag:write') || person.may('list:write'));
}

/** Where the list of contacts sends those that were chosen in it. */
export function choosing(context: PageContext) {
  if (!canGroup(context.person)) return undefined;
  const { choose, chosen, all, found, page, elsewhere, one } = context.words.contacts.grouping;
  const isSearched = [...searchIn(context)].length > 0;
  return {
    path: PATH,
    name: CHOSEN,
    label: choose,
    nameOf: (contact: ContactRecord) => one(nameOf(contact)),
    page,
    elsewhere,
    buttons: [{ text: chosen }, { text: isSearched ? found : all, name: ALL }],
  };
}

/** Changes the tags and lists of one contact, of chosen ones, or of all that the list's filters find. */
export const groupPage: PageDefinition = {
  path: PATH,
  needs: 'contact:write',
  show: async (context) => {
    const { grouping } = context.words.contacts;
    const chosen = chosenIn(context);
    const contacts = await countOf(context);
    const [first] = chosen.contactIds ?? [];
    const contact = first !== undefined && contacts === 1 ? await contactOf(context, first) : undefined;
    return context.view.page({
      section: 'contacts',
      back: contact
        ? { href: context.address.path(`contacts/${contact.id}`), text: nameOf(contact) }
        : { ...toContacts(context), href: context.address.path(toList(context)) },
      title: contact
        ? grouping.title(nameOf(contact))
        : contacts === 0
          ? grouping.noneTitle
          : grouping.titleOfMany(contacts),
      content:
        contacts === 0
          ? html`<p>${grouping.none}</p>`
          : html`<div class="text">
              ${FormOf(context.form, { fields: await fieldsOf(context), button: grouping.button })}
              ${contact ? null : OtherActions(context)}
            </div>`,
    });
  },
  act: async (context) => {
    const chosen = chosenIn(context);
    const changes = changesIn(context);
    if (Object.keys(changes).length === 0) throw invalid([{ path: 'addTags', message: 'is required' }]);
    const { operationId, updateId } = await context.api.run<{
      operationId: string | null;
      updateId: string | null;
    }>('contact.update-contacts', { ...chosen, ...changes });
    if (operationId !== null) return { to: `contacts/import/${operationId}` };
    const done = 'contacts.grouped';
    if (chosen.contactIds?.length === 1) return { to: `contacts/${chosen.contactIds[0]}`, done };
    const list = toList(context);
    return { to: updateId === null ? list : withUpdate(list, updateId), done };
  },
};

/** The number of contacts that was confirmed. */
const CONFIRMED = 'contacts';

/** Confirms what cannot be undone for the contacts that were chosen for `groupPage`. */
function finalPage(
  step: 'unsubscribe' | 'erase',
  done: string,
  act: (context: PageContext, contactIds: readonly string[]) => Promise<unknown>,
): PageDefinition {
  const path = `${PATH}/${step}`;
  return {
    path,
    needs: 'contact:write',
    show: async (context) => {
      const { grouping } = context.words.contacts;
      const { title, text, button, tooMany } = grouping[step];
      const contacts = await countOf(context);
      const fields = [html`<input type="hidden" name="${CONFIRMED}" value="${contacts}" />`];
      const back = toList(context);
      return context.view.page({
        section: 'contacts',
        back: { ...toContacts(context), href: context.address.path(back) },
        title: contacts === 0 ? grouping.noneTitle : title(contacts),
        content:
          contacts === 0
            ? html`<p>${grouping.none}</p>`
            : contacts > MOST_CHOSEN
              ? html`<p>${tooMany(numberIn(context.words, MOST_CHOSEN))}</p>`
              : ConfirmForm(context, { text, button: button(contacts), back, fields, isFinal: true }),
      });
    },
    act: async (context) => {
      const contactIds = await idsOf(context);
      // Others may match the filters by now: ask again, with their number.
      if (contactIds.length !== Number(context.form.get(CONFIRMED) ?? contactIds.length))
        return { to: `${path}?${context.address.search.toString()}` };
      await act(context, contactIds);
      return { to: toList(context), done };
    },
  };
}

export const unsubscribePage = finalPage('unsubscribe', 'contacts.unsubscribed', ({ api }, contactIds) =>
  api.run('contact.update-contacts', { contactIds, subscribed: false }),
);

export const erasePage = finalPage('erase', 'contacts.erasedMany', ({ api }, contactIds) =>
  api.run('contact.delete-contacts', { contactIds }),
);

/** Undoes a change of tags and lists. */
export const ungroupPage: PageDefinition = {
  path: `${PATH}/undo`,
  needs: 'contact:write',
  show: (context) => {
    const { title, text, button } = context.words.contacts.grouping.undo;
    return context.view.page({
      section: 'contacts',
      back: { ...toContacts(context), href: context.address.path(toList(context)) },
      title,
      content: ConfirmForm(context, { text, button, back: toList(context) }),
    });
  },
  act: async (context) => {
    const updateId = context.address.query(UPDATE);
    const { operationIds } = await context.api.run<{ operationIds: string[] }>('contact.undo-update', {
      updateId,
    });
    const [operationId] = operationIds;
    if (operationId !== undefined) return { to: `contacts/import/${operationId}` };
    return { to: toList(context), done: 'contacts.ungrouped' };
  },
};

/** Leads to `ungroupPage` for the update that the address names, if it does. */
export function UngroupLink({ address, person, words }: PageContext, updateId = address.query(UPDATE)) {
  if (updateId === undefined || !canGroup(person)) return null;
  const list = new URLSearchParams([...address.search].filter(([name]) => !['done', UPDATE].includes(name)));
  const path = withUpdate(`${PATH}/undo?${list.toString()}`, updateId);
  return ButtonLink(address, path, words.contacts.grouping.undo.open, true);
}

function withUpdate(path: string, updateId: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${UPDATE}=${updateId}`;
}

/** Links to the pages that export, unsubscribe and erase the chosen contacts. */
function OtherActions({ address, words }: PageContext): Html | null {
  const { unsubscribe, export: exporting, erase } = words.contacts.grouping;
  const query = address.search.toString();
  return Actions([
    ButtonLink(address, `contacts/export?${query}`, exporting, true),
    ButtonLink(address, `${PATH}/unsubscribe?${query}`, unsubscribe.open, true),
    ButtonLink(address, `${PATH}/erase?${query}`, erase.open),
  ]);
}

/** Fields of `contact.export-contacts`: the contacts that were chosen, or those that the list shows. */
export function exportedIn(context: PageContext): object {
  const { contactIds = [] } = chosenIn(context);
  return contactIds.length > 0
    ? { contactIds: contactIds.join() }
    : { q: context.address.query('q'), ...filtersOf(context) };
}

/** The chosen contacts, which are listed if the filters choose them. One more than `MOST_CHOSEN` means too many. */
async function idsOf(context: PageContext): Promise<string[]> {
  const { contactIds, matching } = chosenIn(context);
  if (contactIds) return contactIds;
  const ids: string[] = [];
  let cursor: string | null | undefined;
  do {
    const { records, pagination } = await context.api.run<Page<ContactRecord>>('contact.list-contacts', {
      ...matching,
      limit: 100,
      cursor: cursor ?? undefined,
    });
    ids.push(...records.map(({ id }) => id));
    cursor = pagination.cursor;
  } while (cursor !== null && ids.length <= MOST_CHOSEN);
  return ids.slice(0, MOST_CHOSEN + 1);
}

/** How many contacts were chosen. */
async function countOf(context: PageContext): Promise<number> {
  const chosen = chosenIn(context);
  if (chosen.contactIds?.length === 0) return 0;
  const dryRun = { ...chosen, dryRun: true };
  return (await context.api.run<{ contacts: number }>('contact.update-contacts', dryRun)).contacts;
}

function chosenIn(context: PageContext): { contactIds?: string[]; matching?: object } {
  const { address } = context;
  if (address.query(ALL) === undefined)
    return { contactIds: [...new Set(address.search.getAll(CHOSEN))].slice(0, MOST_CHOSEN) };
  const { subscribed, ...filters } = filtersOf(context);
  const matching = {
    q: address.query('q'),
    ...filters,
    subscribed: subscribed === undefined ? undefined : subscribed === 'true',
  };
  return {
    matching: Object.fromEntries(Object.entries(matching).filter(([, value]) => value !== undefined)),
  };
}

/** The search and the filters of the list, without what was chosen in it. */
function searchIn({ address }: PageContext): URLSearchParams {
  return new URLSearchParams(
    [...address.search].filter(
      ([name, value]) => value !== '' && ![CHOSEN, ALL, UPDATE, 'cursor', 'sort', 'done'].includes(name),
    ),
  );
}

function toList(context: PageContext): string {
  const query = searchIn(context).toString();
  return query === '' ? 'contacts' : `contacts?${query}`;
}

async function fieldsOf(context: PageContext): Promise<Html[]> {
  const { grouping } = context.words.contacts;
  const { person, form } = context;
  const tags = [
    { name: 'addTags', label: grouping.tags, hint: grouping.tagsHint, isOptional: true },
    { name: 'removeTags', label: grouping.removeTags, isOptional: true },
  ];
  const lists = [
    { name: 'addListIds', label: grouping.list, isOptional: true },
    { name: 'removeListIds', label: grouping.removeList, isOptional: true },
  ];
  const choices = person.may('list:write') ? await choicesOf(context, 'list.list-lists') : [];
  const offered = person.may('tag:read') ? await choicesOf(context, 'tag.list-tags') : [];
  return [
    ...(person.may('tag:write')
      ? tags.map((field) => TextField(form, { ...field, offered: offered.map(({ text }) => text) }))
      : []),
    ...(choices.length > 0
      ? lists.map((field) => SelectField(form, { ...field, choices: [{ value: '', text: '' }, ...choices] }))
      : []),
  ];
}

/** The fields of the operation that were filled in. */
function changesIn({ form }: PageContext): Record<string, string[]> {
  const tags = ['addTags', 'removeTags'].map((name) => {
    const names = (form.typed(name) ?? '').split(',').map((tag) => tag.trim());
    return [name, names.filter((tag) => tag !== '')] as const;
  });
  const lists = ['addListIds', 'removeListIds'].map((name) => [name, [form.typed(name) ?? '']] as const);
  const given = [...tags, ...lists].filter(([, values]) => values.some((value) => value !== ''));
  return Object.fromEntries(given) as Record<string, string[]>;
}
