import { CheckOf, FLASH, html, Html, type Option, OptionsOf } from '#libs/pages';
import { type Page as PageOfRecords, RpcError, StreamedAnswer } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { csvFor } from './csv.js';
import { type PageDefinition } from './page.js';
import { ButtonLink, Actions, BadgeOf, Chips, Empty, MomentOf, numberIn, Table, timeIn } from './parts.js';
import { COLUMN, filterLabel, filterValue, Hidden, stateIn, VIEW, ViewsOf } from './saved-views.js';
import { places, type Section, textsIn } from './sections.js';
import { type Address, type PageContext } from './page-context.js';

export type Asked = { limit: number; cursor: string | undefined; q?: unknown };

/** Lists records like an operation, for data that no operation returns. */
export type Lister<Listed> = (context: PageContext, asked: Asked) => Promise<PageOfRecords<Listed>>;

type ListedPage<Listed> = {
  records: Listed[];
  /** The cursor of the next page; null if this is the last. */
  next: string | null;
  isFirst: boolean;
};

type Text = (words: DashboardWords) => string;
type Back = { href: string; text: string };

export type Column<Listed> = {
  name: Text;
  /** Its name in addresses and saved views, if people can choose whether to see it. */
  key?: string;
  /** Moments are shown relative to now. */
  cell: (record: Listed, context: PageContext) => Html | Date | string | number | null;
  /** The value in the CSV file, if it differs from the cell. */
  exported?: (record: Listed) => string | number | boolean | null;
  isNumber?: boolean;
  /** The field that the operation sorts by to sort by this column. */
  sort?: string;
  /** The status that colours the cell. */
  badge?: (record: Listed) => string;
  /** See `Table`. */
  isObvious?: boolean;
  /** Whether to show the column; by default, always. */
  isShown?: (context: PageContext) => boolean;
  /** The column contains actions, so exports leave it out. */
  hasActions?: boolean;
};

/** How records are chosen in a list: by checkboxes, or all that were found. */
type Choosing<Listed> = {
  /** The page that the choice is sent to. The list's search and filters are added. */
  path: string;
  /** The parameter with the id of a chosen record. */
  name: string;
  /** What the buttons do. */
  label: string;
  /** Labels of the checkbox of one record, and of the one for all on the page. */
  nameOf: (record: Listed) => string;
  page: string;
  /** How many are ticked on other pages, as `{n}`. */
  elsewhere: string;
  /** A button with a name sends it as a parameter. */
  buttons: readonly { text: string; name?: string }[];
};

export type ListOptions<Listed> = {
  /** Relative to the organization. The export is at `…/export`. */
  path: string;
  section: Section;
  needs: string;
  /** The operation that lists the records, or a function if no operation does. */
  operation: string | Lister<Listed>;
  /** By default, the texts of the section. */
  title?: (words: DashboardWords, context: PageContext) => string | Promise<string>;
  text?: Text;
  empty?: (words: DashboardWords) => { title: string; text: string };
  columns: readonly Column<Listed>[];
  /** Columns that are only shown if they are chosen. */
  moreColumns?: (context: PageContext) => Promise<Column<Listed>[]>;
  /** Further input of the operation, from the address. */
  fields?: (context: PageContext) => Record<string, unknown>;
  /** Label of the search field, if the operation supports `q`: by default that of the section, if it has one. */
  search?: Text;
  /** The scope for searching, if it differs from `needs`. */
  searchNeeds?: string;
  /** The text to search if the operation cannot, because the data is encrypted. Only for lists with a few hundred records. */
  searchIn?: (record: Listed, context: PageContext) => string;
  /** Additional search fields. */
  filters?: (context: PageContext) => readonly Filter[] | Promise<readonly Filter[]>;
  /** The page that creates a record. */
  add?: { path: string | ((context: PageContext) => string); text: Text; needs: string };
  /** Why the search cannot match anything. The operation, which would reject it, is then not called. */
  cannotFind?: (context: PageContext) => string | undefined;
  /** Lets people choose records in the list. */
  choose?: (context: PageContext) => Choosing<Listed> | undefined;
  actions?: (context: PageContext) => readonly (Html | null)[];
  /** Content above the list. */
  before?: (context: PageContext) => Html | null | Promise<Html | null>;
  back?: (context: PageContext) => Back | Promise<Back>;
  /** Adds data that the operation does not return. */
  complete?: (context: PageContext, records: Listed[]) => Promise<Listed[]>;
  /** Creates the export if a separate operation does. @param byColumns creates the default export with the list's columns. */
  exportBy?: (
    context: PageContext,
    byColumns: () => StreamedAnswer,
  ) => StreamedAnswer | Promise<StreamedAnswer>;
};

/** A filter with a few values, or a typed one. By default, the first value is "all". */
export type Filter = { name: string; label: string } & (
  | { choices: readonly Option[]; hasAll?: boolean }
  | { type: 'date' | 'search' }
);

type Whole<Listed> = ListOptions<Listed> & Required<Pick<ListOptions<Listed>, 'title' | 'text' | 'empty'>>;

/** Records per page: a screen of rows, or three screens of cards on a phone. */
export const PAGE_SIZE = 20;

/** Parameters of a list's address that do not choose records. */
const NOT_SEARCHED = ['cursor', 'sort', FLASH, 'undo', VIEW, COLUMN];

/** Maximum number of records searched with `searchIn`. */
const MAX_SEARCHED = 2_000;

/** The pages of a list: search, paging and an export. An empty list shows the first step instead. */
export function listPages<Listed extends { id?: string }>(given: ListOptions<Listed>): PageDefinition[] {
  const { path, needs, section } = given;
  const options: Whole<Listed> = {
    title: (words) => textsIn(words, section).title,
    text: (words) => textsIn(words, section).text,
    empty: (words) => textsIn(words, section).none,
    ...given,
  };
  return [
    { path, needs, show: (context) => showList(context, options) },
    {
      path: `${path}/export`,
      needs,
      show: async (context) => {
        const byColumns = () => fileOf(context, options);
        return options.exportBy ? options.exportBy(context, byColumns) : byColumns();
      },
    },
  ];
}

async function showList<Listed extends { id?: string }>(context: PageContext, options: Whole<Listed>) {
  const { words } = context;
  const { section, operation, text, empty, filters, add, actions, before, back } = options;
  const usualColumns = columnsFor(context, options);
  const chosen = context.address.search.getAll(COLUMN);
  const search = searchOf(context, options);
  const cannotFind = options.cannotFind?.(context);
  const list = async () => {
    if (cannotFind !== undefined) return { records: [], next: null, isFirst: true };
    const asked = askedOf(context, options);
    const listed = isSearchedHere(context.address, options)
      ? { records: await searchRecords(context, options), next: null, isFirst: true }
      : await listFrom(context, operation, { ...asked, sort: sortOf(context, usualColumns) ?? asked.sort });
    return { ...listed, records: (await options.complete?.(context, listed.records)) ?? listed.records };
  };
  const [{ isBroken, ...listed }, title, above, offered, toBack, moreColumns, saved] = await Promise.all([
    list().then(
      (found) => ({ ...found, isBroken: false }),
      (error: unknown) => {
        // For example, it names a list that was deleted.
        if (filtersIn(context, options).length === 0 || !isWrongInput(error)) throw error;
        return { records: [], next: null, isFirst: true, isBroken: true };
      },
    ),
    options.title(words, context),
    before?.(context) ?? null,
    filters?.(context) ?? [],
    back?.(context),
    options.moreColumns?.(context) ?? [],
    ViewsOf(context, options),
  ]);
  const filtering = await chosenFilters(context, operation, offered);
  const choosable = [...usualColumns, ...moreColumns].filter(({ key }) => key !== undefined);
  const isChosen = (key: string) =>
    chosen.length > 0 ? chosen.includes(key) : usualColumns.some((column) => column.key === key);
  const allColumns = [...usualColumns, ...moreColumns].filter(
    ({ key }) => key === undefined || isChosen(key),
  );
  const isSearched = [...context.address.search.keys()].some((name) => !NOT_SEARCHED.includes(name));
  const adding =
    add && context.person.may(add.needs)
      ? ButtonLink(
          context.address,
          typeof add.path === 'string' ? add.path : add.path(context),
          add.text(words),
        )
      : null;
  const choosing = options.choose?.(context);
  const cells = listed.records.map((record) =>
    allColumns.map(({ cell, badge }) => {
      const value = cell(record, context);
      if (badge) return BadgeOf(badge(record), String(value));
      return value instanceof Date ? MomentOf(words, value) : value;
    }),
  );
  const isWanted = ({ key }: Column<Listed>) => key !== undefined && chosen.includes(key);
  const isEmpty = (n: number) =>
    n > 0 && !isWanted(allColumns[n]!) && cells.every((row) => row[n] === null || row[n] === '');
  const columns = allColumns.filter((_, n) => !isEmpty(n));
  const rows = listed.records.map((record, index) => {
    const [first = null, ...others] = cells[index]!.filter((_, n) => !isEmpty(n));
    return [choosing ? html`${Tick(choosing, record)}${first}` : first, ...others];
  });
  const none = isSearched
    ? html`<p>${isBroken ? words.views.broken : (cannotFind ?? words.nothingFound)} <a href="${context.address.pathname}">${words.showAll}</a></p>`
    : Empty({ ...empty(words), action: adding });
  const isNothing = rows.length === 0 && listed.isFirst && !isSearched;
  return context.view.page({
    section,
    title: titleOf(context, title, isSearched),
    heading: title,
    ...(toBack ? { back: toBack } : {}),
    content: html`<p class="lead">${text(words)}</p>
      ${above}
      ${isNothing ? Actions(actions?.(context) ?? []) : Actions([adding, ...(actions?.(context) ?? [])])}
      <div id="views">${saved}${rows.length === 0 || choosable.length === 0 ? null : ColumnChoice(context, choosable, isChosen)}</div>
      ${isNothing || !(search || filtering.length > 0) ? null : Search(context, search?.(words), filtering)}
      <p class="small" id="found" role="status">${isSearched ? foundIn(words, rows.length, listed.next !== null) : null}</p>
      <div id="list">
        ${isSearched && (rows.length > 0 || isBroken) ? FilterChips(context, filtering) : null}
        ${
          rows.length === 0
            ? none
            : html`${Choice(
                context.address,
                choosing,
                Table({
                  caption: title,
                  columns: columns.map(({ name, isNumber, isObvious, hasActions, sort }) => ({
                    name: name(words),
                    isNumber,
                    isObvious: isObvious ?? hasActions,
                    sorting: sort === undefined ? undefined : sortingBy(context.address, sort),
                  })),
                  rows,
                }),
              )}
              <div class="foot">${Paging(context, listed)} <p><a href="${exportPath(context.address, options)}">${words.exportList}</a></p></div>`
        }
      </div>`,
  });
}

/** Chooses the columns. None chosen means the usual ones. */
function ColumnChoice<Listed>(
  { words, address }: PageContext,
  columns: readonly Column<Listed>[],
  isChosen: (key: string) => boolean,
): Html {
  const { label, button } = words.views.columns;
  return html`<details class="columns">
    <summary>${label}</summary>
    <form method="get" action="${address.pathname}">
      ${Hidden([...address.search].filter(([name]) => ![COLUMN, 'cursor', FLASH].includes(name)))}
      <fieldset>
        <legend class="pot">${label}</legend>
        <div class="choices">
          ${columns.map(({ key, name }) => CheckOf({ id: `column-${key}`, name: COLUMN, label: name(words), value: key!, isChecked: isChosen(key!) }))}
        </div>
      </fieldset>
      <button class="button plain">${button}</button>
    </form>
  </details>`;
}

function Tick<Listed extends { id?: string }>({ name, nameOf }: Choosing<Listed>, record: Listed): Html {
  return html`<label class="tick"><input type="checkbox" name="${name}" value="${record.id}" aria-label="${nameOf(record)}" /></label>`;
}

/** The table with the buttons for the chosen records, which stay in view. */
function Choice<Listed>(address: Address, choosing: Choosing<Listed> | undefined, table: Html): Html {
  if (!choosing) return table;
  const { path, label, page, elsewhere, buttons } = choosing;
  const kept = [...address.search].filter(([name]) => !NOT_SEARCHED.includes(name));
  return html`<form method="get" action="${address.path(path)}">
    ${Hidden(kept)} ${table}
    <div class="choosing" role="group" aria-label="${label}" data-page="${page}" data-elsewhere="${elsewhere}">
      <strong>${label}</strong>
      ${buttons.map(
        ({ name, text }) =>
          html`<button class="button plain"${name === undefined ? null : html` name="${name}" value="true"`}>${text}</button>`,
      )}
    </div>
  </form>`;
}

export async function listFrom<Listed>(
  context: PageContext,
  by: string | Lister<Listed>,
  fields: Record<string, unknown>,
): Promise<ListedPage<Listed>> {
  const cursor = context.address.query('cursor');
  const { records, pagination } = await listOnce(context, by, { limit: PAGE_SIZE, ...fields, cursor });
  return { records, next: pagination.cursor, isFirst: cursor === undefined };
}

function listOnce<Listed>(
  context: PageContext,
  by: string | Lister<Listed>,
  asked: Asked,
): Promise<PageOfRecords<Listed>> {
  return typeof by === 'string' ? context.api.run<PageOfRecords<Listed>>(by, asked) : by(context, asked);
}

/** The window title, which distinguishes searches and pages. */
function titleOf({ words, address: { query } }: PageContext, title: string, isSearched: boolean): string {
  const q = query('q');
  const found = isSearched
    ? [title, q === undefined ? words.found : words.quoted(q.slice(0, 50))].join(': ')
    : title;
  return query('cursor') === undefined ? found : `${found}, ${words.further}`;
}

function columnsFor<Listed>(context: PageContext, { columns }: ListOptions<Listed>): Column<Listed>[] {
  return columns.filter(({ isShown }) => isShown?.(context) ?? true);
}

function searchOf<Listed>(context: PageContext, options: ListOptions<Listed>): Text | undefined {
  const { path, section, search, searchNeeds } = options;
  if (searchNeeds !== undefined && !context.person.may(searchNeeds)) return undefined;
  const own = path.includes(':') ? undefined : textsIn(context.words, section).search;
  return search ?? (own === undefined ? undefined : () => own);
}

/** With more filters, they are behind a summary. The chosen ones are above the list. */
const MAX_FILTERS = 1;

/** The filters of a list, with all that its address chooses: others than those that the page offers, and older records. */
async function chosenFilters(
  context: PageContext,
  operation: unknown,
  offered: readonly Filter[],
): Promise<Filter[]> {
  const state = typeof operation === 'string' ? stateIn(context, operation) : undefined;
  const filters = [...offered];
  for (const [name, value] of Object.entries(state?.parameters ?? {})) {
    const at = filters.findIndex((filter) => filter.name === name);
    const before = filters[at] ?? { name, label: filterLabel(context.words, name), choices: [] };
    if (name === 'sort' || !('choices' in before) || before.choices.some((one) => one.value === value))
      continue;
    const text = await filterValue(context, operation as string, name, value);
    filters.splice(at < 0 ? filters.length : at, 1, {
      ...before,
      choices: [...before.choices, { value, text }],
    });
  }
  return filters;
}

/** Filters behind a summary. @param button sends them, if nothing else does. */
export function MoreFilters(
  context: PageContext,
  filters: readonly Filter[],
  button: Html | null = null,
): Html {
  return html`<details><summary>${context.words.filters}</summary><div>${filters.map((one) => FilterOf(context, one))} ${button}</div></details>`;
}

/** The search and the chosen filters, each filter with a link to the list without it. */
export function FilterChips({ words, address }: PageContext, filters: readonly Filter[]): Html | null {
  const chosen = filters.flatMap((filter) => {
    const value = address.query(filter.name);
    if (value === undefined) return [];
    const choice = 'choices' in filter ? filter.choices.find((one) => one.value === value) : undefined;
    const text = `${filter.label}: ${choice?.text ?? value}`;
    const href = address.withQuery({ [filter.name]: null, cursor: null, after: null, before: null });
    return { text, label: words.removeFilter(text), href };
  });
  if (chosen.length === 0 && address.query('q') === undefined) return null;
  return Chips(chosen, { text: words.showAll, href: address.pathname });
}

/** Updates the list while the user types; without scripts, when the form is sent. */
function Search(context: PageContext, label: string | undefined, filters: readonly Filter[]): Html {
  const { words, address } = context;
  const kept = [...address.search].filter(([name]) => ['sort', VIEW, COLUMN].includes(name));
  return html`<form
    class="find"
    role="search"
    method="get"
    hx-get="${address.pathname}"
    hx-trigger="input changed delay:300ms, change, submit"
    hx-select="#list"
    hx-select-oob="#found:innerHTML,#views:innerHTML"
    hx-target="#list"
    hx-swap="outerHTML"
    hx-replace-url="true"
  >
    ${
      label === undefined
        ? null
        : html`<div class="field">
            <label for="q">${label}</label>
            <input id="q" name="q" type="search" autocomplete="off" maxlength="200" value="${address.query('q') ?? ''}" />
          </div>`
    }
    ${filters.length > MAX_FILTERS ? MoreFilters(context, filters) : filters.map((one) => FilterOf(context, one))}
    ${Hidden(kept)}
    <button class="button plain">${words.search}</button>
  </form>`;
}

/** The column of a status, with its colour and the texts of the section. */
export function statusColumn<Status extends string>(section: Section): Column<{ status: Status }> {
  return {
    name: ({ state }) => state,
    cell: ({ status }, { words }) => textsIn(words, section).statuses[status]!,
    badge: ({ status }) => status,
    isObvious: true,
  };
}

/** A column of numbers, which exports contain without separators. */
export function numberColumn<Listed>(name: Text, value: (record: Listed) => number): Column<Listed> {
  return {
    name,
    cell: (record, { words }) => numberIn(words, value(record)),
    exported: value,
    isNumber: true,
  };
}

/** The column with the moment when the record was created. */
export function createdColumn<Listed extends { createdAt: string | Date }>(
  name: Text = ({ made }) => made,
): Column<Listed> {
  return { name, cell: ({ createdAt }) => new Date(createdAt), sort: 'createdAt', isObvious: true };
}

/** Filters a list by a field of its operation with a few values. */
export function filteredBy(
  name: string,
  label: Text,
  choices: (words: DashboardWords) => readonly Option[],
): Required<Pick<ListOptions<never>, 'fields' | 'filters'>> {
  return {
    fields: ({ address }) => ({ [name]: address.query(name) }),
    filters: ({ words }) => [{ name, label: label(words), choices: choices(words) }],
  };
}

function FilterOf({ words, address }: PageContext, filter: Filter): Html {
  const { name, label } = filter;
  const value = address.query(name);
  const field =
    'type' in filter
      ? html`<input id="${name}" name="${name}" type="${filter.type}" autocomplete="off" value="${value ?? ''}" />`
      : html`<select id="${name}" name="${name}">
          ${(filter.hasAll ?? true) ? html`<option value="">${words.all}</option>` : null}
          ${OptionsOf(filter.choices, value)}
        </select>`;
  return html`<div class="field"><label for="${name}">${label}</label>${field}</div>`;
}

/** Pages forward. A list that can be sorted both ways has its last page as close as the first. */
export function Paging<Listed>(
  { words, address }: PageContext,
  { next, isFirst }: Pick<ListedPage<Listed>, 'next' | 'isFirst'>,
): Html | null {
  if (isFirst && next === null) return null;
  const at = (cursor: string | null, text: string) =>
    html`<a href="${address.withQuery({ cursor })}">${text}</a>`;
  return html`<nav class="paging" aria-label="${words.pages}">
    ${isFirst ? null : at(null, words.firstPage)} ${next === null ? null : at(next, words.nextPage)}
  </nav>`;
}

/** The default of every operation that sorts: newest first. */
const DEFAULT_SORT = '-createdAt';

/** The order that the address names, if a column sorts by it. */
function sortOf<Listed>({ address }: PageContext, columns: readonly Column<Listed>[]): string | undefined {
  const sort = address.query('sort');
  return columns.some((column) => column.sort !== undefined && column.sort === sort?.replace(/^-/, ''))
    ? sort
    : undefined;
}

/** Whether the list is sorted by a field, and the link that does: newest first for times, and from A to Z for names. */
function sortingBy(address: Address, field: string) {
  const [up, down] = [field, `-${field}`];
  const now = address.query('sort') ?? DEFAULT_SORT;
  const [first, second] = down === DEFAULT_SORT ? [down, up] : [up, down];
  const sort = now === first ? second : first;
  return {
    href: address.withQuery({ cursor: null, sort: sort === DEFAULT_SORT ? null : sort }),
    direction: now === up ? ('ascending' as const) : now === down ? ('descending' as const) : undefined,
  };
}

/** The number of results, announced by screen readers when the list changes. */
function foundIn(words: DashboardWords, many: number, hasMore: boolean): string {
  if (many === 0) return words.foundNone;
  return hasMore ? words.foundMore(numberIn(words, many)) : words.foundSome(numberIn(words, many));
}

/** Input of the list operation, from the address. */
function askedOf<Listed>(context: PageContext, options: ListOptions<Listed>): Record<string, unknown> {
  const q = options.searchIn ? undefined : searchOf(context, options) && context.address.query('q');
  const filters = Object.fromEntries(filtersIn(context, options));
  return { q, ...filters, ...options.fields?.(context) };
}

/** The filters in the address of a section's list, and its order. */
function filtersIn<Listed>(context: PageContext, { path, section, operation }: ListOptions<Listed>) {
  const isOfSection = typeof operation === 'string' && path === places()[section]?.path;
  return Object.entries((isOfSection ? stateIn(context, operation)?.parameters : undefined) ?? {});
}

function isWrongInput(error: unknown): boolean {
  return error instanceof RpcError && ['BAD_REQUEST', 'NOT_FOUND'].includes(error.code);
}

function isSearchedHere<Listed>(address: Address, { searchIn }: ListOptions<Listed>): boolean {
  return searchIn !== undefined && address.query('q') !== undefined;
}

async function searchRecords<Listed>(context: PageContext, options: ListOptions<Listed>): Promise<Listed[]> {
  const wanted = context.address.query('q')!.toLowerCase();
  const found: Listed[] = [];
  let searched = 0;
  for await (const records of pagesOf(context, options)) {
    found.push(
      ...records.filter((record) => options.searchIn!(record, context).toLowerCase().includes(wanted)),
    );
    if ((searched += records.length) >= MAX_SEARCHED) break;
  }
  return found;
}

async function* pagesOf<Listed>(
  context: PageContext,
  options: ListOptions<Listed>,
): AsyncGenerator<Listed[]> {
  const asked = { ...askedOf(context, options), limit: 100 };
  let cursor: string | undefined;
  do {
    const { records, pagination } = await listOnce(context, options.operation, { ...asked, cursor });
    yield records;
    cursor = pagination.cursor ?? undefined;
  } while (cursor !== undefined && !context.api.isGivenUp);
}

/** The export contains the same search results as the page. */
function exportPath<Listed>(address: Address, { path }: ListOptions<Listed>): string {
  const searchParams = address.search;
  for (const name of NOT_SEARCHED) searchParams.delete(name);
  const query = searchParams.toString();
  const below = path.replace(/:(\w+)/g, (_, name: string) => address.params[name]!);
  return address.path(`${below}/export${query === '' ? '' : `?${query}`}`);
}

function fileOf<Listed extends { id?: string }>(
  context: PageContext,
  options: ListOptions<Listed>,
): StreamedAnswer {
  const { path } = options;
  const columns = columnsFor(context, options).filter(({ hasActions }) => !hasActions);
  async function* pages() {
    if (isSearchedHere(context.address, options)) yield await searchRecords(context, options);
    else yield* pagesOf(context, options);
  }
  async function* lines() {
    const write = csvFor(context.words);
    const names = ['id', ...columns.map(({ name }) => name(context.words))];
    let isFirst = true;
    for await (const records of pages()) {
      const whole = (await options.complete?.(context, records)) ?? records;
      const rows = whole.map((record) => [
        record.id ?? null,
        ...columns.map((column) => textOf(exportedOf(column, record, context))),
      ]);
      // The header is sent with the first records, so that an error of the operation becomes a page and not a file.
      yield write(isFirst ? [names, ...rows] : rows, isFirst);
      isFirst = false;
    }
  }
  return new StreamedAnswer('text/csv; charset=utf-8', `${path.split('/').at(-1)}.csv`, lines());
}

function exportedOf<Listed>({ exported, cell }: Column<Listed>, record: Listed, context: PageContext) {
  if (exported) return exported(record);
  const shown = cell(record, context);
  if (shown instanceof Html) throw new Error('A column whose cells contain markup must define `exported`.');
  return shown instanceof Date ? timeIn(context.words, shown) : shown;
}

function textOf(value: string | number | boolean | null): string | null {
  // As csv-stringify writes them.
  if (typeof value === 'boolean') return value ? '1' : '';
  return value === null ? null : String(value);
}
