import { html, type Html } from '#libs/pages';
import { invalid, isId, type Page } from '#libs/rpc';
import { type EventFilter, type EventRecord, HistoryPaging } from '../../history/index.js';
import { type Filter, FilterChips, MoreFilters, PAGE_SIZE } from '../list-pages.js';
import { ButtonLink, Actions, numberIn, Table, timeIn } from '../parts.js';
import { type Actor, eventIn } from '../activity-log.js';
import { type Address, type PageContext } from '../page-context.js';
import { pageOfRecord } from './event-data.js';
import { type Choice, knownIn, namesOf } from './who.js';
import { type DashboardWords } from '#locales';

const DAY_MS = 86_400_000;

export async function showEvents(context: PageContext) {
  const { history } = context.words;
  const filter = filterOf(context);
  const [{ events, hasOlder, hasNewer }, known] = await Promise.all([
    pageOf(context, filter),
    knownIn(context),
  ]);
  const actors = events.map(({ actor }) => actor);
  const nameOf = await namesOf(context, actors, known);
  const filters = filtersIn(context.words, withChosen(context, known, actors, nameOf));
  const way = (change: Record<'after' | 'before', string | null>, text: string) =>
    html`<a href="${context.address.withQuery(change)}">${text}</a>`;
  const [newest, oldest] = [events[0], events.at(-1)];
  return context.view.page({
    section: 'history',
    title: history.title,
    content: html`<p class="lead">${history.text}</p>
      <p class="small">${history.told}</p>
      ${Actions([
        ButtonLink(context.address, 'history/verify', history.verify),
        ButtonLink(context.address, 'history/checkpoints', history.checkpoint, true),
        ButtonLink(context.address, 'history/export', history.export, true),
      ])}
      <p class="small">${history.exportText}</p>
      ${FiltersOf(context, filters)} ${OnlyOf(context, events[0])}
      <div id="list">
        ${FilterChips(context, filters)}
        ${events.length === 0 ? html`<p>${context.words.foundNone}. ${context.words.nothingFound}</p>` : EventsOf(context, events, nameOf)}
        <nav class="paging" aria-label="${context.words.pages}">
          ${hasNewer ? way({ after: null, before: null }, history.newest) : null}
          ${hasNewer && newest ? way({ after: String(newest.position), before: null }, history.newer) : null}
          ${hasOlder && oldest ? way({ after: null, before: String(oldest.position) }, history.older) : null}
          ${hasOlder ? way({ after: '0', before: null }, history.first) : null}
        </nav>
      </div>`,
  });
}

function pageOf({ address, api }: PageContext, filter: EventFilter) {
  const place = {
    after: positionIn(address, 'after'),
    before: positionIn(address, 'before'),
  };
  const listEvents = (fields: object) => api.run<Page<EventRecord>>('history.list-events', { ...fields });
  return api.find(HistoryPaging).page(api.organizationId, listEvents, place, PAGE_SIZE, filter);
}

/** Rejects invalid values, because `HistoryPaging` does not check them. */
function filterOf({ words, address }: PageContext): EventFilter {
  const from = dayIn(address, 'from');
  const to = dayIn(address, 'to');
  return {
    type: textIn(address, 'type', (text) => Object.hasOwn(words.events, text)),
    recordType: textIn(address, 'recordType', (text) => Object.hasOwn(words.kinds, text)),
    recordId: textIn(address, 'recordId', isId),
    // Actors that are neither users nor API keys have a program name.
    actorId: textIn(address, 'actorId', (text) => /^[a-z0-9-]{1,100}$/.test(text)),
    requestId: textIn(address, 'requestId', (text) => /^[\x21-\x7e]{1,200}$/.test(text)),
    // Times are whole milliseconds, and both bounds are exclusive.
    occurredAfter: from && new Date(from.getTime() - 1).toISOString(),
    occurredBefore: to && new Date(to.getTime() + DAY_MS).toISOString(),
  };
}

/** @throws RpcError BAD_REQUEST */
function textIn(address: Address, name: string, isRight: (text: string) => boolean): string | undefined {
  const value = address.query(name);
  if (value === undefined || isRight(value)) return value;
  throw invalid([{ path: name, message: 'must be one of those that are offered' }]);
}

function dayIn(address: Address, name: string): Date | undefined {
  const value = textIn(
    address,
    name,
    (text) => /^[12]\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  );
  return value === undefined ? undefined : new Date(value);
}

function positionIn(address: Address, name: string): number | undefined {
  const value = textIn(address, name, (text) => /^\d{1,15}$/.test(text));
  return value === undefined ? undefined : Number(value);
}

function EventsOf(
  { words, address }: PageContext,
  events: readonly EventRecord[],
  nameOf: (actor: Actor) => string,
): Html {
  const { history } = words;
  return Table({
    caption: history.title,
    columns: [
      { name: history.what },
      { name: history.who, isObvious: true },
      { name: history.when, isObvious: true },
      { name: history.number, isNumber: true },
    ],
    rows: events.map(({ id, position, type, actor, occurredAt }) => [
      html`<a href="${address.path(`history/events/${id}`)}">${eventIn(words, type)}</a>`,
      nameOf(actor),
      timeIn(words, occurredAt),
      numberIn(words, position),
    ]),
  });
}

/** The name of a kind of record. A kind without one is shown as it is. */
export function kindIn(words: DashboardWords, recordType: string): string {
  return Object.hasOwn(words.kinds, recordType) ? words.kinds[recordType]! : recordType;
}

/** Adds an actor chosen by a link, such as a former member, whom the filter does not offer. */
function withChosen(
  { words, address }: PageContext,
  known: readonly Choice[],
  actors: readonly Actor[],
  nameOf: (actor: Actor) => string,
): readonly Choice[] {
  const chosen = address.query('actorId');
  if (chosen === undefined || known.some(({ value }) => value === chosen)) return known;
  const actor = actors.find(({ id }) => id === chosen);
  return [...known, { value: chosen, text: actor ? nameOf(actor) : words.history.somebodyElse }];
}

function filtersIn(words: DashboardWords, people: readonly Choice[]): Filter[] {
  const { filters } = words.history;
  return [
    { name: 'type', label: filters.type, choices: sortedIn(words, 'events') },
    { name: 'recordType', label: filters.kind, choices: sortedIn(words, 'kinds') },
    { name: 'actorId', label: filters.actor, choices: people },
    { name: 'from', label: filters.from, type: 'date' },
    { name: 'to', label: filters.to, type: 'date' },
  ];
}

/** Unlike in other lists, changing a filter does not search immediately: the history records each search. */
function FiltersOf(context: PageContext, filters: readonly Filter[]): Html {
  const kept = ['recordId', 'requestId'].map((name) => {
    const value = context.address.query(name);
    return value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}" />`;
  });
  return html`<form class="find" method="get" role="search">
    ${MoreFilters(context, filters, html`<button class="button plain">${context.words.search}</button>`)} ${kept}
  </form>`;
}

/** Options sorted by name. Cached per language, because sorting eighty texts takes 0.1 ms. */
const sorted = new Map<string, readonly Choice[]>();
function sortedIn(words: DashboardWords, name: 'events' | 'kinds'): readonly Choice[] {
  const key = `${words.locale} ${name}`;
  const known = sorted.get(key);
  if (known) return known;
  const { compare } = new Intl.Collator(words.locale);
  const choices = Object.entries(words[name])
    .map(([value, text]) => ({ value, text }))
    .toSorted((one, other) => compare(one.text, other.text));
  sorted.set(key, choices);
  return choices;
}

/** Filters that only a link can set, with a link to remove them. */
function OnlyOf(context: PageContext, event: EventRecord | undefined): Html | null {
  const { only } = context.words.history;
  const [recordId, requestId] = [context.address.query('recordId'), context.address.query('requestId')];
  if (recordId === undefined && requestId === undefined) return null;
  const all = html`<a href="${context.address.withQuery({ recordId: null, requestId: null, after: null, before: null })}">${only.all}</a>`;
  const page =
    recordId !== undefined && event ? pageOfRecord(context, event.recordType, recordId) : undefined;
  return html`<p>
    ${recordId === undefined ? only.request : only.record} ${page === undefined ? null : html`<a href="${page}">${only.show}</a>`} ${all}
  </p>`;
}
