import { html, type Html } from '#libs/pages';
import { belongingOf, linkTo } from '../belonging.js';
import { type PageContext } from '../page-context.js';
import { ButtonOf, onceOf, SelectField, TextField } from '../parts.js';
import { sectionOf } from '../sections.js';
import { choicesOf } from './contact.js';

type Group = { id: string; name: string };

/** How `contact.update-contacts` changes the groups of a kind. */
const CHANGES = {
  tag: { add: 'addTags', remove: 'removeTags', valueOf: ({ name }: Group) => name },
  list: { add: 'addListIds', remove: 'removeListIds', valueOf: ({ id }: Group) => id },
};

/** The tags, lists and petitions of a contact. Tags and lists are added and removed in place. */
export async function BelongingOf(context: PageContext, contactId: string) {
  const { contacts, sections } = context.words;
  const path = `contacts/group?contact=${contactId}`;
  const facts = (await belongingOf(context, contactId)).map(async ({ kind, records, hasMore }) => {
    const { object } = kind;
    const groups = records.map((record) => ({ ...record, link: linkTo(context.address, kind, record) }));
    const more = hasMore ? contacts.andOthers : null;
    return {
      name: object === 'petition' ? contacts.signed : sections[sectionOf(object)!]!,
      value: mayChange(context, object)
        ? await ChangingOf(context, path, object, groups, more)
        : groups.length === 0
          ? null
          : html`${groups.map(({ link }, n) => (n === 0 ? link : html`, ${link}`))}${more && html`, ${more}`}`,
    };
  });
  return Promise.all(facts);
}

function mayChange({ person }: PageContext, object: string): object is keyof typeof CHANGES {
  return object in CHANGES && person.may('contact:write') && person.may(`${object}:write`);
}

/** Groups with buttons that remove the contact from them, and a form that adds it to others. Null if there are no groups. */
async function ChangingOf(
  context: PageContext,
  path: string,
  object: keyof typeof CHANGES,
  groups: readonly (Group & { link: Html })[],
  more: string | null,
): Promise<Html | null> {
  const { words, form, address } = context;
  const { tags, tagsHint: hint, removeTags, list, removeList } = words.contacts.grouping;
  const { add: name, remove, valueOf } = CHANGES[object];
  const [label, removing] = object === 'tag' ? [tags, removeTags] : [list, removeList];
  const all = await choicesOf(context, `${object}.list-${object}s`);
  const choices = all.filter(({ value }) => !groups.some(({ id }) => id === value));
  if (object === 'list' && choices.length === 0 && groups.length === 0) return null;
  const Chip = ({ link, ...group }: (typeof groups)[number]) => {
    const button = html`<button name="${remove}" value="${valueOf(group)}" aria-label="${removing}: ${group.name}">×</button>`;
    // Commas separate the names of tags.
    return html`<li class="chip">${link}${object === 'tag' && group.name.includes(',') ? null : button}</li>`;
  };
  const field =
    object === 'tag'
      ? TextField(form, { name, label, hint, offered: choices.map(({ text }) => text) })
      : choices.length > 0 && SelectField(form, { name, label, choices });
  return html`${
    groups.length === 0
      ? null
      : html`<form method="post" action="${address.path(path)}">
            ${onceOf()}
            <ul class="chips">${groups.map(Chip)}${more && html`<li>${more}</li>`}</ul>
          </form>`
  }
    ${field ? html`<details><summary>${label}</summary>${ButtonOf(address, path, words.save, true, field)}</details>` : null}`;
}
