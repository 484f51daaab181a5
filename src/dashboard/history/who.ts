import { type Actor } from '#libs/event-store';
import { actorsOf } from '../activity-log.js';
import { type Visit } from '../visit.js';

export type { Actor };

/** One of those that a filter offers: an id or a name of the program, and what it is called. */
export type Choice = { value: string; text: string };

/** As many as there are in all but the largest organizations: of the others events tell who did them all the same. */
const MOST = 100;

/** People of the team by their addresses, keys by their names: whom a filter offers. */
export async function knownIn(visit: Visit): Promise<Choice[]> {
  const [people, keys] = await Promise.all([peopleIn(visit), keysIn(visit)]);
  return [...people, ...keys];
}

/** What those are called who did something. @param known of whom nobody need be asked any more. */
export async function namesOf(
  visit: Visit,
  actors: readonly Actor[],
  known: readonly Choice[],
): Promise<(actor: Actor) => string> {
  const names = new Map(known.map(({ value, text }) => [value, text]));
  const nameIn = ({ id }: Actor) => (id === null ? undefined : names.get(id));
  const others = actors.filter((actor) => nameIn(actor) === undefined);
  const nameOfOthers = await actorsOf(
    visit,
    others.map((actor) => ({ metadata: { actor } })),
  );
  return (actor) => nameIn(actor) ?? nameOfOthers({ metadata: { actor } });
}

async function peopleIn(visit: Visit): Promise<Choice[]> {
  const { records } = await visit.run<{ records: { userId: string; email: string | null }[] }>(
    'team.list-members',
    { limit: MOST },
  );
  return records.flatMap(({ userId, email }) => (email === null ? [] : [{ value: userId, text: email }]));
}

/** Keys by their names; none for whoever may not see them. */
export async function keysIn(visit: Visit): Promise<Choice[]> {
  if (!visit.may('api-key:read')) return [];
  const { records } = await visit.run<{ records: { id: string; name: string; prefix: string }[] }>(
    'api-key.list-api-keys',
    { limit: MOST },
  );
  // Those that followed each other have one name.
  const isOneOfSome = (name: string) => records.filter((one) => one.name === name).length > 1;
  return records.map(({ id, name, prefix }) => ({
    value: id,
    text: visit.words.history.key(isOneOfSome(name) ? `${name}, ${prefix}…` : name),
  }));
}
