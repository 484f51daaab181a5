import { type Actor, EventStore, isObject, type RecordedEvent } from '#libs/event-store';
import { html, type Html } from '#libs/pages';
import { Team } from '../team/index.js';
import { objectsOf } from './belonging.js';
import { SectionOf, timeIn } from './parts.js';
import { type Visit } from './visit.js';
import { type Words } from './words/index.js';

/** Of one record on one page. */
const MOST = 100;

/**
 * What has happened to a record, newest first: who did it, and when; of a person also what others did with them. Whoever may see a
 * record sees its past, without the scope for the whole history, as they do with `asOf`; as there, no `HistoryRead` tells it: that is
 * for who reads what all others have done. Of what was said there are the names of the fields alone, so nobody reads here what was
 * erased or what their role does not show.
 *
 * @param beside events of other streams that are part of it for people.
 */
export async function ActivityLog(
  visit: Visit,
  recordId: string,
  beside: Promise<readonly RecordedEvent[]> = Promise.resolve([]),
): Promise<Html> {
  const { words, organizationId } = visit;
  const before = beforeIn(visit);
  const [about, besides] = await Promise.all([
    visit.find(EventStore).readAbout(organizationId, recordId, MOST, before),
    beside,
  ]);
  const others = besides.filter(({ position }) => before === undefined || position < before);
  const all = [...about.events, ...others].toSorted((one, other) => other.position - one.position);
  const events = all.slice(0, MOST);
  const hasMore = about.hasMore || all.length > MOST;
  const [nameOf, objectOf] = await Promise.all([actorsOf(visit, events), objectsOf(visit, recordId, events)]);
  const { past } = words;
  return SectionOf(past.title, [
    html`<span id="past"></span>
      <ul class="past">
      ${events.map((event) => {
        const what = eventIn(visit, event.type);
        const changed = changedBy(visit, event);
        const object = objectOf(event);
        return html`<li>
          <p>${changed === undefined ? what : past.changed(what, changed)}${object && html`: ${object}`}</p>
          <p class="small">${nameOf(event)}, ${timeIn(words, event.recordedAt)}</p>
        </li>`;
      })}
    </ul>`,
    before === undefined
      ? null
      : html`<p><a href="${visit.withQuery({ before: null })}#past">${past.newest}</a></p>`,
    hasMore && events.length > 0
      ? html`<p>${past.more} <a href="${visit.withQuery({ before: String(events.at(-1)!.position) })}#past">${past.older}</a></p>`
      : null,
    visit.may('history:read')
      ? html`<p><a href="${visit.path(`history?recordId=${recordId}`)}">${past.all}</a></p>`
      : null,
  ]);
}

/** Before which position the page begins; undefined for the newest. */
function beforeIn(visit: Visit): number | undefined {
  const before = visit.query('before');
  return before !== undefined && /^\d{1,15}$/.test(before) ? Number(before) : undefined;
}

/** Which fields an event changed, in words; undefined where it is no change of fields, or nobody can tell any more. */
function changedBy({ words }: Visit, { type, data, personal }: RecordedEvent): string | undefined {
  if (!type.endsWith('Updated') || !isObject(data)) return undefined;
  const names = [...Object.keys(data), ...Object.keys(personal ?? {})].map((name) => fieldIn(words, name));
  return names.length === 0 ? undefined : new Intl.ListFormat(words.locale).format(names);
}

/** What happened, in words; a type that nobody has put into words stays as it is. */
export function eventIn({ words }: Visit, type: string): string {
  return Object.hasOwn(words.events, type) ? words.events[type]! : type;
}

/** What a field of an event is called; one that nobody has put into words keeps its name. */
export function fieldIn({ fields }: Words, name: string): string {
  return Object.hasOwn(fields, name) ? fields[name]! : name;
}

/** By whom something was done. */
type Done = { readonly metadata: { readonly actor: Actor } };

/** Who did it: a person of the team by their address, all others by what they are. */
export async function actorsOf(visit: Visit, events: readonly Done[]): Promise<(event: Done) => string> {
  const { words, organizationId } = visit;
  const users = events.flatMap(({ metadata: { actor } }) =>
    actor.type === 'user' && actor.id !== null ? [actor.id] : [],
  );
  const addresses = await visit.find(Team).addressesOf(organizationId, [...new Set(users)]);
  const { actors } = words.past;
  return ({ metadata: { actor } }) =>
    (actor.type === 'user' && actor.id !== null ? addresses.get(actor.id) : undefined) ?? actors[actor.type];
}
