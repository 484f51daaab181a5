import { stringify } from 'csv-stringify/sync';
import { html, Html, trusted } from '#libs/pages';
import { StreamedAnswer } from '#libs/rpc';
import { type PageDefinition } from './page.js';
import { ButtonLink, Actions, Empty, numberIn, Table } from './parts.js';
import { type Section } from './sections.js';
import { type ListedPage, type Lister, type Visit } from './visit.js';
import { type Words } from './words/index.js';

type Text = (words: Words) => string;
type Back = { href: string; text: string };

export type Column<Listed> = {
  name: Text;
  cell: (record: Listed, visit: Visit) => Html | string | number | null;
  /** The value in the CSV file, if it differs from the cell. */
  exported?: (record: Listed) => string | number | boolean | null;
  isNumber?: boolean;
  /** Whether to show the column; by default, always. */
  isShown?: (visit: Visit) => boolean;
  /** The column contains actions, so exports leave it out. */
  isDeed?: boolean;
};

type ListOptions<Listed> = {
  /** Relative to the organization. The export is at `…/export`. */
  path: string;
  section: Section;
  needs: string;
  /** The operation that lists the records, or a function if no operation does. */
  operation: string | Lister<Listed>;
  title: (words: Words, visit: Visit) => string | Promise<string>;
  text: Text;
  columns: readonly Column<Listed>[];
  empty: (words: Words) => { title: string; text: string };
  /** Further input of the operation, from the address. */
  fields?: (visit: Visit) => Record<string, unknown>;
  /** Whether the list can be sorted oldest or newest first. Default: true. */
  isSorted?: boolean;
  /** Label of the search field, if the operation supports `q`. */
  search?: Text;
  /** The scope for searching, if it differs from `needs`. */
  searchNeeds?: string;
  /** The text to search if the operation cannot, because the data is encrypted. Only for lists with a few hundred records. */
  searchIn?: (record: Listed, visit: Visit) => string;
  /** Additional search fields. */
  filters?: (visit: Visit) => Promise<readonly Html[]>;
  /** The page that creates a record. */
  add?: { path: string | ((visit: Visit) => string); text: Text; needs: string };
  /** Why the search cannot match anything. The operation, which would reject it, is then not called. */
  cannotFind?: (visit: Visit) => string | undefined;
  /** Other actions. */
  deeds?: (visit: Visit) => readonly (Html | null)[];
  /** Content above the list. */
  before?: (visit: Visit) => Promise<Html | null>;
  back?: (visit: Visit) => Back | Promise<Back>;
  /** Adds data that the operation does not return. */
  complete?: (visit: Visit, records: Listed[]) => Promise<Listed[]>;
  /** Creates the export if a separate operation does. @param byColumns creates the default export with the list's columns. */
  exportBy?: (visit: Visit, byColumns: () => StreamedAnswer) => StreamedAnswer | Promise<StreamedAnswer>;
};

/** Maximum number of records searched with `searchIn`. */
const MOST_SEARCHED = 2_000;

/** The pages of a list: search, paging and an export. An empty list shows the first step instead. */
export function listPages<Listed extends { id?: string }>(options: ListOptions<Listed>): PageDefinition[] {
  const { path, needs } = options;
  return [
    { path, needs, show: (visit) => showList(visit, options) },
    {
      path: `${path}/export`,
      needs,
      show: async (visit) => {
        const byColumns = () => fileOf(visit, options);
        return options.exportBy ? options.exportBy(visit, byColumns) : byColumns();
      },
    },
  ];
}

async function showList<Listed>(visit: Visit, options: ListOptions<Listed>) {
  const { words } = visit;
  const { section, operation, text, empty, filters, add, deeds, before, back } = options;
  const columns = columnsFor(visit, options);
  const search = searchOf(visit, options);
  const cannotFind = options.cannotFind?.(visit);
  const list = async () => {
    if (cannotFind !== undefined) return { records: [], next: null, isFirst: true };
    const asked = askedOf(visit, options);
    const listed = isLookedThrough(visit, options)
      ? { records: await lookedThrough(visit, options), next: null, isFirst: true }
      : await visit.list<Listed>(operation, { ...asked, sort: sortOf(visit) });
    return { ...listed, records: (await options.complete?.(visit, listed.records)) ?? listed.records };
  };
  const [listed, title, above, fields, toBack] = await Promise.all([
    list(),
    options.title(words, visit),
    before?.(visit) ?? null,
    filters?.(visit) ?? [],
    back?.(visit),
  ]);
  const isSearched = [...visit.search.keys()].some((name) => !['done', 'cursor', 'sort'].includes(name));
  const adding =
    add && visit.may(add.needs)
      ? ButtonLink(visit, typeof add.path === 'string' ? add.path : add.path(visit), add.text(words))
      : null;
  const rows = listed.records.map((record) => columns.map(({ cell }) => cell(record, visit)));
  const none = isSearched
    ? html`<p>${cannotFind ?? words.nothingFound} <a href="${visit.request.path}">${words.showAll}</a></p>`
    : Empty({ ...empty(words), deed: adding });
  const isNothing = rows.length === 0 && listed.isFirst && !isSearched;
  return visit.page({
    section,
    title: titleOf(visit, title, isSearched),
    heading: title,
    ...(toBack ? { back: toBack } : {}),
    content: html`<p class="lead">${text(words)}</p>
      ${above}
      ${isNothing ? Actions(deeds?.(visit) ?? []) : Actions([adding, ...(deeds?.(visit) ?? [])])}
      ${isNothing || !(search || filters) ? null : Search(visit, search?.(words), fields)}
      <p class="pot" id="found" role="status">${isSearched ? foundIn(words, rows.length, listed.next !== null) : null}</p>
      <div id="list">
        ${
          rows.length === 0
            ? none
            : html`${Table({
                caption: title,
                columns: columns.map(({ name, isNumber }) => ({ name: name(words), isNumber })),
                rows,
              })}
              ${Paging(visit, listed, options.isSorted)}
              <p><a href="${exportPath(visit, options)}">${words.exportList}</a></p>`
        }
      </div>`,
  });
}

/** The window title, which distinguishes searches and pages. */
function titleOf({ words, query }: Visit, title: string, isSearched: boolean): string {
  const q = query('q');
  const found = isSearched
    ? [title, q === undefined ? words.found : words.quoted(q.slice(0, 50))].join(': ')
    : title;
  return query('cursor') === undefined ? found : `${found}, ${words.further}`;
}

function columnsFor<Listed>(visit: Visit, { columns }: ListOptions<Listed>): Column<Listed>[] {
  return columns.filter(({ isShown }) => isShown?.(visit) ?? true);
}

function searchOf<Listed>(visit: Visit, { search, searchNeeds }: ListOptions<Listed>): Text | undefined {
  return searchNeeds === undefined || visit.may(searchNeeds) ? search : undefined;
}

/** Updates the list while the user types; without scripts, when the form is sent. */
function Search(visit: Visit, label: string | undefined, filters: readonly Html[]): Html {
  const { words } = visit;
  return html`<form
    class="find"
    role="search"
    method="get"
    hx-get="${visit.request.path}"
    hx-trigger="input changed delay:300ms, change, submit"
    hx-select="#list"
    hx-select-oob="#found:innerHTML"
    hx-target="#list"
    hx-swap="outerHTML"
    hx-replace-url="true"
  >
    ${
      label === undefined
        ? null
        : html`<div class="field">
            <label for="q">${label}</label>
            <input id="q" name="q" type="search" autocomplete="off" maxlength="200" value="${visit.query('q') ?? ''}" />
          </div>`
    }
    ${filters}
    <button class="button plain">${words.search}</button>
  </form>`;
}

/** A filter in the search form. @param hasAll whether the first choice is "all". */
export function FilterField(
  visit: Visit,
  {
    name,
    label,
    choices,
    hasAll = true,
  }: { name: string; label: string; choices: readonly { value: string; text: string }[]; hasAll?: boolean },
): Html {
  const chosen = visit.query(name);
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      ${hasAll ? html`<option value="">${visit.words.all}</option>` : null}
      ${choices.map(
        ({ value, text }) =>
          html`<option value="${value}"${value === chosen ? trusted(' selected') : null}>${text}</option>`,
      )}
    </select>
  </div>`;
}

/** Pages forward from either end, so that the last page is as close as the first. */
export function Paging<Listed>(
  visit: Visit,
  { next, isFirst }: Pick<ListedPage<Listed>, 'next' | 'isFirst'>,
  isSorted = true,
): Html | null {
  if (isFirst && next === null) return null;
  const { words } = visit;
  const isOldestFirst = sortOf(visit) === 'createdAt';
  const at = (change: Record<string, string | null>, text: string) =>
    html`<a href="${visit.withQuery(change)}">${text}</a>`;
  return html`<nav class="paging" aria-label="${words.pages}">
    ${isFirst ? null : at({ cursor: null }, words.firstPage)}
    ${next === null ? null : at({ cursor: next }, words.nextPage)}
    ${
      !isSorted
        ? null
        : isOldestFirst
          ? at({ cursor: null, sort: null }, words.newestFirst)
          : at({ cursor: null, sort: 'createdAt' }, words.oldestFirst)
    }
  </nav>`;
}

function sortOf(visit: Visit): 'createdAt' | undefined {
  return visit.query('sort') === 'createdAt' ? 'createdAt' : undefined;
}

/** The number of results, announced by screen readers when the list changes. */
function foundIn(words: Words, many: number, hasMore: boolean): string {
  if (many === 0) return words.foundNone;
  return hasMore ? words.foundMore(numberIn(words, many)) : words.foundSome(numberIn(words, many));
}

/** Input of the list operation, from the address. */
function askedOf<Listed>(visit: Visit, options: ListOptions<Listed>): Record<string, unknown> {
  const q = options.searchIn ? undefined : searchOf(visit, options) && visit.query('q');
  return { q, ...options.fields?.(visit) };
}

function isLookedThrough<Listed>(visit: Visit, { searchIn }: ListOptions<Listed>): boolean {
  return searchIn !== undefined && visit.query('q') !== undefined;
}

async function lookedThrough<Listed>(visit: Visit, options: ListOptions<Listed>): Promise<Listed[]> {
  const wanted = visit.query('q')!.toLowerCase();
  const found: Listed[] = [];
  let looked = 0;
  for await (const records of pagesOf(visit, options)) {
    found.push(
      ...records.filter((record) => options.searchIn!(record, visit).toLowerCase().includes(wanted)),
    );
    if ((looked += records.length) >= MOST_SEARCHED) break;
  }
  return found;
}

async function* pagesOf<Listed>(visit: Visit, options: ListOptions<Listed>): AsyncGenerator<Listed[]> {
  const asked = { ...askedOf(visit, options), limit: 100 };
  let cursor: string | undefined;
  do {
    const { records, pagination } = await visit.listOnce(options.operation, { ...asked, cursor });
    yield records;
    cursor = pagination.cursor ?? undefined;
  } while (cursor !== undefined && visit.request.isGivenUp !== true);
}

/** The export contains the same search results as the page. */
function exportPath<Listed>(visit: Visit, { path }: ListOptions<Listed>): string {
  const searchParams = visit.search;
  for (const name of ['cursor', 'done', 'sort']) searchParams.delete(name);
  const query = searchParams.toString();
  const below = path.replace(/:(\w+)/g, (_, name: string) => visit.params[name]!);
  return visit.path(`${below}/export${query === '' ? '' : `?${query}`}`);
}

function fileOf<Listed extends { id?: string }>(visit: Visit, options: ListOptions<Listed>): StreamedAnswer {
  const { path } = options;
  const columns = columnsFor(visit, options).filter(({ isDeed }) => !isDeed);
  async function* pages() {
    if (isLookedThrough(visit, options)) yield await lookedThrough(visit, options);
    else yield* pagesOf(visit, options);
  }
  async function* lines() {
    const names = stringify([['id', ...columns.map(({ name }) => name(visit.words))]]);
    let isFirst = true;
    for await (const records of pages()) {
      const whole = (await options.complete?.(visit, records)) ?? records;
      const rows = whole.map((record) => [
        record.id,
        ...columns.map((column) => harmless(exportedOf(column, record, visit))),
      ]);
      // The header is sent with the first records, so that an error of the operation becomes a page and not a file.
      yield (isFirst ? names : '') + stringify(rows);
      isFirst = false;
    }
  }
  return new StreamedAnswer('text/csv; charset=utf-8', `${path.split('/').at(-1)}.csv`, lines());
}

function exportedOf<Listed>({ exported, cell }: Column<Listed>, record: Listed, visit: Visit) {
  if (exported) return exported(record);
  const shown = cell(record, visit);
  if (shown instanceof Html) throw new Error('A column whose cells contain markup must define `exported`.');
  return shown;
}

/** Prevents spreadsheets from running texts as formulas. */
export function harmless(value: string | number | boolean | null) {
  return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}
