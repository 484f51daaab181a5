import { html, type Html, trusted } from '#libs/pages';
import { type ContactRecord, nameOf } from './contacts/contact.js';
import { type PageDefinition } from './page.js';
import { Empty, SectionOf } from './parts.js';
import { type PageContext } from './page-context.js';
import { isOpenTo, places, sectionOf, textsIn } from './sections.js';

/** Kinds of records that the search covers, in the order of its results. Their lists have a search. */
const KINDS = ['contact', 'petition', 'broadcast', 'post', 'form', 'segment', 'list', 'tag'];

/** Results of each kind. Its list shows the others. */
const LIMIT = 5;

type Found = { id: string; status?: string; name?: string; title?: string; email?: string | null };

/** Finds records of all kinds, as far as the person may see them, and the pages of the navigation. */
export const searchPages: PageDefinition[] = [
  {
    path: 'search',
    needs: null,
    show: async (context) => {
      const { words, address, view } = context;
      const { title, text } = words.searching;
      const q = address.query('q')?.trim().slice(0, 200);
      const asked = address.search.getAll('kind');
      const kinds = asked.length === 0 ? KINDS : KINDS.filter((kind) => asked.includes(kind));
      const records = q ? await Promise.all(kinds.map((kind) => recordsOf(context, kind, q))) : [];
      const found = [...records, q && asked.length === 0 ? pagesOf(context, q) : null];
      const shown = found.filter((one) => one !== null);
      return view.page({
        section: 'search',
        title: q ? `${title}: ${words.quoted(q)}` : title,
        content: html`<form class="find" method="get">
            <div class="field"><input name="q" type="search" maxlength="200" aria-label="${title}" value="${q ?? ''}"${q ? null : trusted(' autofocus')} /></div>
            <button class="button plain">${words.search}</button>
          </form>
          ${q ? null : html`<p class="lead">${text}</p>`}
          ${q && shown.length === 0 ? Empty({ title: words.foundNone, text: words.nothingFound }) : shown}`,
      });
    },
  },
];

async function recordsOf(context: PageContext, kind: string, q: string): Promise<Html | null> {
  const { words, person, address, api } = context;
  if (!person.may(`${kind}:read`)) return null;
  const { records, pagination } = await api.run<{ records: Found[]; pagination: { hasMore: boolean } }>(
    `${kind}.list-${kind}s`,
    { q, limit: LIMIT },
  );
  if (records.length === 0) return null;
  const section = sectionOf(kind)!;
  const { path } = places()[section]!;
  const all = `${path}?q=${encodeURIComponent(q)}`;
  return SectionOf(textsIn(words, section).title, [
    html`<ul class="past">
      ${records.map((record) => {
        const title = titleOf(record);
        const status = record.status && textsIn(words, section).statuses[record.status];
        // Tells people of the same name apart.
        const more = status ?? (record.email === title ? null : record.email);
        return html`<li class="ends"><a href="${address.path(`${path}/${record.id}`)}">${title}</a> ${more}</li>`;
      })}
    </ul>`,
    pagination.hasMore
      ? html`<p><a href="${address.path(all)}">${words.searching.all(words.sections[section]!)}</a></p>`
      : null,
  ]);
}

function titleOf(record: Found): string {
  return record.title ?? record.name ?? nameOf(record as unknown as ContactRecord);
}

/** Pages by their names in the navigation, such as the settings. */
function pagesOf({ words, person, address }: PageContext, q: string): Html | null {
  const isNamed = (name: string) => words.sections[name]!.toLowerCase().includes(q.toLowerCase());
  const found = Object.entries(places()).filter(
    ([name, place]) => name !== 'search' && isNamed(name) && isOpenTo(person, place),
  );
  if (found.length === 0) return null;
  const links = found.map(
    ([name, { path }]) => html`<li><a href="${address.path(path)}">${words.sections[name]}</a></li>`,
  );
  return SectionOf(words.pages, html`<ul class="past">${links}</ul>`);
}
