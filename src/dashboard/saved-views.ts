import { html, type Html } from '#libs/pages';
import { findOperation, isId, type Page as PageOfRecords, RpcError } from '#libs/rpc';
import { storedParameters, type ViewFields } from '../views/index.js';
import { type DashboardWords } from '#locales';
import { countryName } from '../contacts/index.js';
import { fieldIn } from './activity-log.js';
import { type Api, type PageContext } from './page-context.js';
import { Actions, ButtonLink, type Choice, timeIn } from './parts.js';
import { places, type Section, sectionOf, textsIn } from './sections.js';

export type ViewRecord = ViewFields & { id: string; createdAt: string; updatedAt: string };
/** The filters, order and columns of a list. */
export type ListState = Pick<ViewFields, 'operation' | 'parameters' | 'columns'>;

/** The parameters of a list's address with the opened view, and with each chosen column. */
export const VIEW = 'view';
export const COLUMN = 'column';
/** The parameter of a view's pages with the list that it is saved from. */
const OPERATION = 'operation';

/** More views would be a long row. The page of all views shows the others. */
const LIMIT = 50;

/** The operation that lists the records of a section, if it has a list. */
export function listOperation(section: Section): string | undefined {
  const kind = places()[section]?.shows;
  const operation = `${kind}.list-${kind}s`;
  return findOperation(operation) ? operation : undefined;
}

/** The section whose list an operation fills; undefined for operations whose records have no list of their own. */
export function sectionOfList(operation: string): Section | undefined {
  const section = sectionOf(operation.split('.')[0]!);
  return section !== undefined && listOperation(section) === operation ? section : undefined;
}

/** Parameters of the address that a form keeps. */
export function Hidden(kept: readonly (readonly [string, string])[]): Html[] {
  return kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
}

/** The state of a list, from its address, or from that of a page that saves it; undefined if that says nothing about a list. */
export function stateIn(
  { address }: Pick<PageContext, 'address'>,
  operation = address.query(OPERATION),
): ListState | undefined {
  if (operation === undefined || sectionOfList(operation) === undefined) return undefined;
  const given = storedParameters(operation).map((name) => [name, address.query(name)] as const);
  return {
    operation,
    parameters: Object.fromEntries(
      given.filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    columns: address.search.getAll(COLUMN),
  };
}

function queryOf(
  { parameters, columns }: Omit<ListState, 'operation'>,
  more: Record<string, string>,
): string {
  const columnsChosen = columns.map((column): [string, string] => [COLUMN, column]);
  return `?${new URLSearchParams([...Object.entries({ ...more, ...parameters }), ...columnsChosen]).toString()}`;
}

/** The list as a view shows it, relative to the organization; the view's page if there is no such list. */
export function listWith(view: ListState & { id: string }): string {
  const section = sectionOfList(view.operation);
  return section === undefined
    ? `views/${view.id}`
    : `${places()[section]!.path}${queryOf(view, { [VIEW]: view.id })}`;
}

/** The views of a list, and what can be done with its state. */
export async function ViewsOf(
  context: PageContext,
  { section, path, operation }: { section: Section; path: string; operation: unknown },
): Promise<Html | null> {
  const { words, person, address, api } = context;
  if (!person.may('view:read') || path !== places()[section]?.path) return null;
  if (typeof operation !== 'string' || operation !== listOperation(section) || section === 'views')
    return null;
  const wanted = address.query(VIEW);
  const { records, pagination } = await api.run<PageOfRecords<ViewRecord>>('view.list-views', {
    operation,
    sort: 'name',
    limit: LIMIT,
  });
  const now = stateIn(context, operation)!;
  const opened = records.find(({ id }) => id === wanted) ?? (await findView(context, operation, wanted));
  const isPlain = queryOf(now, {}) === '?';
  const mayWrite = person.may('view:write');
  const { title, all, more, save, saveAsNew, saveChanges, manage } = words.views;
  const button = (to: string, text: string) => ButtonLink(address, to, text, true);
  const saved = queryOf(now, { [OPERATION]: now.operation });
  const saving = opened
    ? isSame(now, opened)
      ? [button(`views/${opened.id}`, manage)]
      : [button(`views/${opened.id}/edit${saved}`, saveChanges), button(`views/new${saved}`, saveAsNew)]
    : isPlain
      ? []
      : [button(`views/new${saved}`, save)];
  // One that is not among the first.
  const shown = opened && !records.includes(opened) ? [...records, opened] : records;
  const LinkTo = (to: string, text: string, isCurrent: boolean) =>
    html`<li><a href="${address.path(to)}"${isCurrent ? html` aria-current="page"` : null}>${text}</a></li>`;
  const row =
    shown.length === 0
      ? null
      : html`<nav class="views" aria-label="${title}"><ul>
          ${LinkTo(path, all, !opened && isPlain)}
          ${shown.map((one) => LinkTo(listWith(one), one.name, one === opened))}
          ${pagination.hasMore ? LinkTo('views', more, false) : null}
        </ul></nav>`;
  return html`${row}
    ${Actions(mayWrite ? saving : [])}`;
}

/** The view of an address; undefined if it was deleted, or is of another list. */
async function findView(
  { api }: PageContext,
  operation: string,
  viewId?: string,
): Promise<ViewRecord | undefined> {
  if (viewId === undefined) return undefined;
  try {
    const view = await api.run<ViewRecord>('view.get-view', { viewId });
    return view.operation === operation ? view : undefined;
  } catch (error) {
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function isSame(one: Omit<ListState, 'operation'>, other: Omit<ListState, 'operation'>): boolean {
  const sorted = ({ parameters, columns }: typeof one) =>
    JSON.stringify([Object.entries(parameters).toSorted(), columns.toSorted()]);
  return sorted(one) === sorted(other);
}

/** The name of a filter. */
export function filterLabel(words: DashboardWords, name: string): string {
  const { times } = words.views;
  return Object.hasOwn(times, name) ? times[name as keyof typeof times] : fieldIn(words, name);
}

/** The value of a filter, in words. */
export async function filterValue(
  { words, person, api }: PageContext,
  operation: string,
  name: string,
  value: string,
): Promise<string> {
  if (value === 'true' || value === 'false') return value === 'true' ? words.yes : words.no;
  if (name === 'country') return countryName(words.locale, value);
  if (Object.hasOwn(words.views.times, name)) return timeIn(words, value);
  const object = name.replace(/Id$/, '');
  if (object !== name && isId(value) && person.may(`${object}:read`))
    return (await choiceOf(api, object, value))?.text ?? words.views.gone;
  const section = sectionOfList(operation);
  return (section && textsIn(words, section).statuses?.[value]) ?? value;
}

/** A record as a choice. Undefined if it was deleted. */
export async function choiceOf(api: Api, object: string, id: string): Promise<Choice | undefined> {
  try {
    const record = await api.run<{ name: string; title?: string }>(`${object}.get-${object}`, {
      [`${object}Id`]: id,
    });
    return { value: id, text: record.title ?? record.name };
  } catch (error) {
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** The name of the list that an operation fills. */
export function listName(words: DashboardWords, operation: string): string {
  const section = sectionOfList(operation);
  return section === undefined ? operation : textsIn(words, section).title;
}
