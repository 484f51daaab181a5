import { html, type Html } from '#libs/pages';
import { DatabaseMonitor } from '#libs/operations';
import { Sealer } from '#libs/sealing';
import { type Failures, Subscriptions } from '#libs/subscriptions';
import { type PageDefinition } from '../page.js';
import { Live, numberIn, SectionOf, Table } from '../parts.js';
import { type Visit } from '../visit.js';

/** Behind by so many events is no news: the next moment has them. */
const MOMENTARY = 100;

/** Whether it goes on: by itself, or only once somebody has done something. */
type State = 'upToDate' | 'behind' | 'standing' | 'paused';

/** A line of the page: what it is called, and how many events it is behind. */
type Working = { name: Html | string; state: State; lag: number };

type WebhookRecord = { id: string; url: string; status: string; lag: number | null };

/**
 * How far read models and reactions are. How far they are behind is counted over the whole installation, and tells how much all its
 * organizations write: so it is for those who vouch for the organization, and call the operator, and who check its history: owners,
 * administrators, auditors. What failed is told of their own events alone. What others do shows itself where they work, a broadcast's
 * progress say.
 */
export const workingsPages: PageDefinition[] = [
  { path: 'workings', needs: 'history:read', show: showWorkings },
];

async function showWorkings(visit: Visit) {
  const { words } = visit;
  const { workings: said } = words;
  const { models, reactions, failures, webhooks } = await lookAt(visit);
  const all = [...models, ...reactions, ...webhooks];
  const parked = failures.some((one) => one.parked.length > 0);
  const verdict =
    parked || all.some(({ state }) => state === 'standing')
      ? said.verdicts.standing
      : all.some(({ state }) => state === 'behind')
        ? said.verdicts.behind
        : said.verdicts.fine;
  const part = (title: string, text: string, workings: readonly Working[]) =>
    SectionOf(title, [html`<p>${text}</p>`, WorkingsOf(visit, title, workings)]);
  return visit.page({
    section: 'workings',
    title: said.title,
    content: html`<p class="lead">${said.text}</p>
      <div class="done"><strong>${verdict.title}</strong><br />${verdict.text}</div>
      ${Live(visit, { isGoing: true, says: verdict.title })} ${FailuresOf(visit, failures)}
      ${part(said.models, said.modelsText, models)} ${part(said.reactions, said.reactionsText, reactions)}
      ${webhooks.length === 0 ? null : part(words.sections.webhooks, said.webhooksText, webhooks)}`,
  });
}

/** Of what the server knows anyway, so that a page that is left open asks PostgreSQL for little: of itself for nothing, mostly. */
async function lookAt(visit: Visit) {
  const { words } = visit;
  const { workings: said } = words;
  const subscriptions = visit.find(Subscriptions);
  const [models, reactions] = await Promise.all([
    visit.find(DatabaseMonitor).ask(),
    subscriptions.lastSeen ?? subscriptions.status(),
  ]);
  const hasFailed = reactions.some(({ retrying, parked }) => retrying + parked > 0);
  const failures = hasFailed ? await subscriptions.failuresOf(visit.organizationId) : [];
  const isParked = (name: string) => failures.some((one) => one.name === name && one.parked.length > 0);
  const sealing = visit.find(Sealer).lastSeen;
  return {
    failures,
    models: [
      ...models.map(({ name, lag, failure }) => ({
        name: namedIn(said.namesOfModels, name),
        state: stateOf(lag, failure !== null),
        lag,
      })),
      ...(sealing ? [sealsOf(visit, Math.max(0, sealing.last - sealing.sealed))] : []),
    ],
    reactions: reactions.map(({ name, lag }) => ({
      name: namedIn(said.namesOfReactions, name),
      state: stateOf(lag, isParked(name)),
      lag,
    })),
    webhooks: visit.may('webhook:read') ? await webhooksOf(visit) : [],
  };
}

/** Every few seconds all are made: what is new until then is no delay. */
function sealsOf({ words }: Visit, lag: number): Working {
  return { name: words.workings.seals, state: stateOf(lag, false), lag };
}

async function webhooksOf(visit: Visit): Promise<Working[]> {
  const { records } = await visit.run<{ records: WebhookRecord[] }>('webhook.list-webhooks', { limit: 100 });
  return records.map(({ id, url, status, lag }) => ({
    name: html`<a href="${visit.path(`webhooks/${id}`)}">${url}</a>`,
    // One that fails is tried again by itself.
    state: status === 'PAUSED' ? 'paused' : stateOf(lag ?? 0, status === 'DISABLED'),
    lag: lag ?? 0,
  }));
}

function stateOf(lag: number, exists: boolean): State {
  if (exists) return 'standing';
  return lag > MOMENTARY ? 'behind' : 'upToDate';
}

/** One that a newer version of the program has keeps its name. */
function namedIn(names: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(names, name) ? names[name]! : name;
}

function WorkingsOf({ words }: Visit, caption: string, workings: readonly Working[]): Html {
  const { workings: said } = words;
  return Table({
    caption,
    columns: [{ name: said.name }, { name: said.state }, { name: said.lag, isNumber: true }],
    rows: workings.map(({ name, state, lag }) => [
      name,
      state === 'standing' ? html`<strong class="badge">${said.states[state]}</strong>` : said.states[state],
      numberIn(words, lag),
    ]),
  });
}

function FailuresOf(visit: Visit, failures: readonly Failures[]): Html | null {
  if (failures.length === 0) return null;
  const { words } = visit;
  const { workings: said } = words;
  const eventAt = (position: number) =>
    html`<a href="${visit.path(`history?before=${position + 1}`)}">${numberIn(words, position)}</a> `;
  return SectionOf(said.failures, [
    html`<p>${said.failuresText}</p>`,
    Table({
      caption: said.failures,
      columns: [{ name: said.name }, { name: said.retrying, isNumber: true }, { name: said.parked }],
      rows: failures.map(({ name, retrying, parked }) => [
        namedIn(said.namesOfReactions, name),
        numberIn(words, retrying),
        parked.length === 0 ? null : html`${parked.map(({ position }) => eventAt(position))}`,
      ]),
    }),
  ]);
}
