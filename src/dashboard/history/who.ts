import { type Actor } from '#libs/event-store';
import { actorsOf } from '../record-past.js';
import { type Visit } from '../visit.js';

export type { Actor };

type Who = {
  /** People of the team by their addresses, keys by their names: whom a filter offers. */
  choices: { value: string; text: string }[];
  nameOf: (actor: Actor) => string;
};

/** As many as there are in all but the largest organizations: of the others events tell who did them all the same. */
const MOST = 100;

/** Who may have done something, and what those are called who did these. */
export async function whoIn(visit: Visit, actors: readonly Actor[]): Promise<Who> {
  const { history } = visit.words;
  const nameOfOthers = await actorsOf(
    visit,
    actors.map((actor) => ({ metadata: { actor } })),
  );
  const { records: members } = await visit.run<{ records: { userId: string; email: string | null }[] }>(
    'team.list-members',
    { limit: MOST },
  );
  const { records: keys } = visit.may('api-key:read')
    ? await visit.run<{ records: { id: string; name: string }[] }>('api-key.list-api-keys', { limit: MOST })
    : { records: [] };
  const keyNames = new Map(keys.map(({ id, name }) => [id, history.key(name)]));
  const nameOf = (actor: Actor) =>
    (actor.id === null ? undefined : keyNames.get(actor.id)) ?? nameOfOthers({ metadata: { actor } });
  const choices = [
    ...members.flatMap(({ userId, email }) => (email === null ? [] : [{ value: userId, text: email }])),
    ...[...keyNames].map(([value, text]) => ({ value, text })),
  ];
  // Who has left, or what is no person, is chosen by a link alone.
  const chosen = visit.query('actorId');
  if (chosen !== undefined && !choices.some(({ value }) => value === chosen)) {
    const actor = actors.find(({ id }) => id === chosen);
    choices.push({ value: chosen, text: actor ? nameOf(actor) : history.somebodyElse });
  }
  return { choices, nameOf };
}
