import { html } from '#libs/pages';
import { listFrom, Paging } from '../list-pages.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { Table } from '../parts.js';
import { type ContactRecord, nameOf, toContacts } from './contact.js';

type Pair = { reasons: ('NAME_AND_ZIP' | 'PHONE' | 'EMAIL')[]; contacts: [ContactRecord, ContactRecord] };

/** Pairs of contacts that may be the same person, with a link to the form that merges them. */
export const duplicatePage: PageDefinition = {
  path: 'contacts/duplicates',
  needs: 'contact:write',
  show: async (context) => {
    const { duplicates } = context.words.contacts;
    const listed = await listFrom<Pair>(context, 'contact.list-duplicates', {});
    const columns = [duplicates.older, duplicates.newer, duplicates.shared, ''];
    return context.view.page({
      section: 'contacts',
      back: toContacts(context),
      title: duplicates.title,
      content: html`<p class="lead">${duplicates.text}</p>
        ${
          listed.records.length > 0
            ? Table({
                caption: duplicates.title,
                columns: columns.map((name) => ({ name })),
                rows: listed.records.map((pair) => rowOf(context, pair)),
              })
            : html`<p>${listed.next === null ? duplicates.none : duplicates.noneHere}</p>`
        }
        ${Paging(context, listed)}`,
    });
  },
};

function rowOf(context: PageContext, { reasons, contacts: [older, newer] }: Pair) {
  const { duplicates } = context.words.contacts;
  const Person = (one: ContactRecord) =>
    html`<a href="${context.address.path(`contacts/${one.id}`)}">${nameOf(one)}</a><br />${one.email}`;
  return [
    Person(older),
    Person(newer),
    reasons.map((reason) => duplicates.reasons[reason]).join(', '),
    html`<a href="${context.address.path(`contacts/${older.id}/merge?other=${newer.id}`)}"
      >${duplicates.merge(nameOf(older))}</a
    >`,
  ];
}
