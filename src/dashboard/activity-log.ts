import { type Actor, EventStore, isObject, type RecordedEvent } from '#libs/event-store';
import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { Team } from '../team/index.js';
import { objectsOf } from './belonging.js';
import { SectionOf, timeIn } from './parts.js';
import { type PageContext } from './page-context.js';

/** Events per page. */
const MOST = 100;

/**
 * The activity of a record, newest first: what happened, who did it and when. A person's activity includes events of other records
 * that concern them. Like `asOf`, it requires no `history:read` and records no `HistoryRead`, which is for reading other people's
 * activity. It shows the names of changed fields but no values, so it reveals nothing that was erased or that the role may not see.
 *
 * @param beside events of other streams that users see as part of this record.
 */
export async function ActivityLog(
  context: PageContext,
  recordId: string,
  beside: Promise<readonly RecordedEvent[]> = Promise.resolve([]),
): Promise<Html> {
  const { words, organizationId } = context;
  const before = beforeIn(context);
  const [about, besides] = await Promise.all([
    context.find(EventStore).readAbout(organizationId, recordId, MOST, before),
    beside,
  ]);
  const others = besides.filter(({ position }) => before === undefined || position < before);
  const all = [...about.events, ...others].toSorted((one, other) => other.position - one.position);
  const events = all.slice(0, MOST);
  const hasMore = about.hasMore || all.length > MOST;
  const [nameOf, objectOf] = await Promise.all([
    actorsOf(context, events),
    objectsOf(context, recordId, events),
  ]);
  const { past } = words;
  return SectionOf(past.title, [
    html`<span id="past"></span>
      <ul class="past">
      ${events.map((event) => {
        const what = eventIn(context, event.type);
        const changed = changedBy(context, event);
        const object = objectOf(event);
        return html`<li>
          <p>${changed === undefined ? what : past.changed(what, changed)}${object && html`: ${object}`}</p>
          <p class="small">${nameOf(event)}, ${timeIn(words, event.recordedAt)}</p>
        </li>`;
      })}
    </ul>`,
    before === undefined
      ? null
      : html`<p><a href="${context.withQuery({ before: null })}#past">${past.newest}</a></p>`,
    hasMore && events.length > 0
      ? html`<p>${past.more} <a href="${context.withQuery({ before: String(events.at(-1)!.position) })}#past">${past.older}</a></p>`
      : null,
    context.may('history:read')
      ? html`<p><a href="${context.path(`history?recordId=${recordId}`)}">${past.all}</a></p>`
      : null,
  ]);
}

/** The page shows events before this position; undefined for the newest. */
function beforeIn(context: PageContext): number | undefined {
  const before = context.query('before');
  return before !== undefined && /^\d{1,15}$/.test(before) ? Number(before) : undefined;
}

/** Labels of the fields that an event changed. Undefined if it changed no fields, or they were erased. */
function changedBy({ words }: PageContext, { type, data, personal }: RecordedEvent): string | undefined {
  if (!type.endsWith('Updated') || !isObject(data)) return undefined;
  const names = [...Object.keys(data), ...Object.keys(personal ?? {})].map((name) => fieldIn(words, name));
  return names.length === 0 ? undefined : new Intl.ListFormat(words.locale).format(names);
}

/** The text of an event type, or the type itself if there is no text. */
export function eventIn({ words }: PageContext, type: string): string {
  return Object.hasOwn(words.events, type) ? words.events[type]! : type;
}

/** The label of an event's field, or its name if there is no label. */
export function fieldIn({ fields }: DashboardWords, name: string): string {
  return Object.hasOwn(fields, name) ? fields[name]! : name;
}

/** Anything with an actor. */
type Done = { readonly metadata: { readonly actor: Actor } };

/** The actor: team members by email address, all others by their kind. */
export async function actorsOf(
  context: PageContext,
  events: readonly Done[],
): Promise<(event: Done) => string> {
  const { words, organizationId } = context;
  const users = events.flatMap(({ metadata: { actor } }) =>
    actor.type === 'user' && actor.id !== null ? [actor.id] : [],
  );
  const addresses = await context.find(Team).addressesOf(organizationId, [...new Set(users)]);
  const { actors } = words.past;
  return ({ metadata: { actor } }) =>
    (actor.type === 'user' && actor.id !== null ? addresses.get(actor.id) : undefined) ?? actors[actor.type];
}
