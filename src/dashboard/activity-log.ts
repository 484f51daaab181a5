import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { Activity, type ActivityEvent } from '../history/index.js';
import { Team } from '../team/index.js';
import { objectsOf } from './belonging.js';
import { SectionOf, timeIn } from './parts.js';
import { type Address, type PageContext } from './page-context.js';

/** Events per page. */
const LIMIT = 100;

/**
 * The activity of a record, newest first: each event with its actor and time. It shows the names of changed fields but no values, so it
 * reveals no erased data, and nothing that the role may not see.
 *
 * @param others events of other records that users see as part of this one.
 */
export async function ActivityLog(
  context: PageContext,
  recordId: string,
  others: Promise<readonly ActivityEvent[]> = Promise.resolve([]),
): Promise<Html> {
  const { words } = context;
  const { organizationId } = context.api;
  const before = beforeIn(context.address);
  const { events, hasMore } = await context.api
    .find(Activity)
    .of(organizationId, recordId, { limit: LIMIT, before, others });
  const [nameOf, objectOf] = await Promise.all([
    actorsOf(
      context,
      events.map(({ actor }) => actor),
    ),
    objectsOf(context, recordId, events),
  ]);
  const { past } = words;
  return SectionOf(past.title, [
    html`<span id="past"></span>
      <ul class="past">
      ${events.map((event) => {
        const what = eventIn(context.words, event.type);
        const changed = changedBy(context.words, event);
        const object = objectOf(event);
        return html`<li>
          <p>${changed === undefined ? what : past.changed(what, changed)}${object && html`: ${object}`}</p>
          <p class="small">${timeIn(words, event.recordedAt)} · ${nameOf(event.actor)}</p>
        </li>`;
      })}
    </ul>`,
    before === undefined
      ? null
      : html`<p><a href="${context.address.withQuery({ before: null })}#past">${past.newest}</a></p>`,
    hasMore && events.length > 0
      ? html`<p>${past.more} <a href="${context.address.withQuery({ before: String(events.at(-1)!.position) })}#past">${past.older}</a></p>`
      : null,
    context.person.may('history:read')
      ? html`<p><a href="${context.address.path(`history?recordId=${recordId}`)}">${past.all}</a></p>`
      : null,
  ]);
}

/** The position before which the page shows events; undefined for the newest. */
function beforeIn(address: Address): number | undefined {
  const before = address.query('before');
  return before !== undefined && /^\d{1,15}$/.test(before) ? Number(before) : undefined;
}

/** Labels of the fields that an event changed. Undefined if it changed no fields, or they were erased. */
function changedBy(words: DashboardWords, { type, fields }: ActivityEvent): string | undefined {
  if (!type.endsWith('Updated') || fields.length === 0) return undefined;
  return new Intl.ListFormat(words.locale).format(fields.map((name) => fieldIn(words, name)));
}

/** The text of an event type, or the type itself if there is no text. */
export function eventIn(words: DashboardWords, type: string): string {
  return Object.hasOwn(words.events, type) ? words.events[type]! : type;
}

/** The label of an event's field, or its name if there is no label. */
export function fieldIn({ fields }: DashboardWords, name: string): string {
  return Object.hasOwn(fields, name) ? fields[name]! : name;
}

export type Actor = ActivityEvent['actor'];

/** The names of actors: team members by email address, all others by their kind. */
export async function actorsOf(
  { words, api }: PageContext,
  all: readonly Actor[],
): Promise<(actor: Actor) => string> {
  const { organizationId } = api;
  const users = all.flatMap(({ type, id }) => (type === 'user' && id !== null ? [id] : []));
  const addresses = await api.find(Team).addressesOf(organizationId, [...new Set(users)]);
  const { actors } = words.past;
  return ({ type, id }) => (type === 'user' && id !== null ? addresses.get(id) : undefined) ?? actors[type];
}
