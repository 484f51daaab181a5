import { type Actor, actorsOf } from '../activity-log.js';
import { type Api, type PageContext } from '../page-context.js';

/** An option of a filter: an id or a program name, and its label. */
export type Choice = { value: string; text: string };

/** Enough for all but the largest organizations. Events also show names that the filter does not offer. */
const LIMIT = 100;

/** The options of the filter: team members by address, API keys by name. */
export async function knownIn(context: PageContext): Promise<Choice[]> {
  const [people, keys] = await Promise.all([peopleIn(context.api), keysIn(context)]);
  return [...people, ...keys];
}

export async function namesOf(
  context: PageContext,
  actors: readonly Actor[],
  known: readonly Choice[],
): Promise<(actor: Actor) => string> {
  const names = new Map(known.map(({ value, text }) => [value, text]));
  const nameIn = ({ id }: Actor) => (id === null ? undefined : names.get(id));
  const others = actors.filter((actor) => nameIn(actor) === undefined);
  const nameOfOthers = await actorsOf(context, others);
  return (actor) => nameIn(actor) ?? nameOfOthers(actor);
}

async function peopleIn(api: Api): Promise<Choice[]> {
  const { records } = await api.run<{ records: { userId: string; email: string | null }[] }>(
    'team.list-members',
    { limit: LIMIT },
  );
  return records.flatMap(({ userId, email }) => (email === null ? [] : [{ value: userId, text: email }]));
}

/** API keys by name. Empty if the user may not see them. */
export async function keysIn({ words, person, api }: PageContext): Promise<Choice[]> {
  if (!person.may('api-key:read')) return [];
  const { records } = await api.run<{ records: { id: string; name: string; prefix: string }[] }>(
    'api-key.list-api-keys',
    { limit: LIMIT },
  );
  // A rotated key and its successor have the same name.
  const isOneOfSome = (name: string) => records.filter((one) => one.name === name).length > 1;
  return records.map(({ id, name, prefix }) => ({
    value: id,
    text: words.history.key(isOneOfSome(name) ? `${name}, ${prefix}…` : name),
  }));
}
