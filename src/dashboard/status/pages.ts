import { html, type Html } from '#libs/pages';
import { DatabaseMonitor } from '#libs/operations';
import { Sealer } from '#libs/sealing';
import { type Failures, Subscriptions } from '#libs/subscriptions';
import { type PageDefinition } from '../page.js';
import { BadgeOf, Live, numberIn, SectionOf, Table } from '../parts.js';
import { type PageContext } from '../page-context.js';
import { type DashboardWords } from '#locales';

/** A lag of at most this many events is normal and clears within moments. */
const MOMENTARY = 100;

/** `behind` clears by itself; `stalled` and `paused` need someone to act. */
type State = 'upToDate' | 'behind' | 'stalled' | 'paused';

/** As in `BadgeOf`. */
const TONES = { upToDate: 'UP_TO_DATE', behind: 'BEHIND', stalled: 'STALLED', paused: 'PAUSED' };

/** A row of the page: its name, state and how many events it is behind. */
type Part = { name: Html | string; state: State; lag: number };

type WebhookRecord = { id: string; url: string; status: string; lag: number | null };

/**
 * Progress of projections and background tasks. The lag covers the whole installation and reveals how much all organizations write.
 * Only owners, administrators and auditors see it, because they contact the operator and check the history. Failures are listed only for the
 * organization's own events. Other roles see progress where they work, for example on a broadcast.
 */
export const systemStatusPages: PageDefinition[] = [
  { path: 'workings', needs: 'history:read', show: showSystemStatus },
];

async function showSystemStatus(context: PageContext) {
  const { words } = context;
  const { systemStatus: said } = words;
  const { models, reactions, failures, webhooks } = await progressOf(context);
  const all = [...models, ...reactions, ...webhooks];
  const parked = failures.some((one) => one.parked.length > 0);
  const verdict =
    parked || all.some(({ state }) => state === 'stalled')
      ? said.verdicts.stalled
      : all.some(({ state }) => state === 'behind')
        ? said.verdicts.behind
        : said.verdicts.fine;
  const part = (title: string, text: string, parts: readonly Part[]) =>
    SectionOf(title, [html`<p>${text}</p>`, PartsOf(context.words, title, parts)]);
  return context.view.page({
    section: 'systemStatus',
    title: said.title,
    content: html`<p class="lead">${said.text}</p>
      <div class="done"><strong>${verdict.title}</strong><br />${verdict.text}</div>
      ${Live(context, { isGoing: true, status: verdict.title })} ${FailuresOf(context, failures)}
      ${part(said.models, said.modelsText, models)} ${part(said.reactions, said.reactionsText, reactions)}
      ${webhooks.length === 0 ? null : part(words.sections.webhooks, said.webhooksText, webhooks)}`,
  });
}

/** Uses values that the server already has, so that pages left open rarely query PostgreSQL. */
async function progressOf(context: PageContext) {
  const { words } = context;
  const { systemStatus: said } = words;
  const subscriptions = context.api.find(Subscriptions);
  const [models, reactions] = await Promise.all([
    context.api.find(DatabaseMonitor).ask(),
    subscriptions.lastSeen ?? subscriptions.status(),
  ]);
  const hasFailed = reactions.some(({ retrying, parked }) => retrying + parked > 0);
  const failures = hasFailed ? await subscriptions.failuresOf(context.api.organizationId) : [];
  const isParked = (name: string) => failures.some((one) => one.name === name && one.parked.length > 0);
  const sealing = context.api.find(Sealer).lastSeen;
  return {
    failures,
    models: [
      ...models.map(({ name, lag, failure }) => ({
        name: namedIn(said.namesOfModels, name),
        state: stateOf(lag, failure !== null),
        lag,
      })),
      ...(sealing ? [sealsOf(context.words, Math.max(0, sealing.last - sealing.sealed))] : []),
    ],
    reactions: reactions.map(({ name, lag }) => ({
      name: namedIn(said.namesOfReactions, name),
      state: stateOf(lag, isParked(name)),
      lag,
    })),
    webhooks: context.person.may('webhook:read') ? await webhooksOf(context) : [],
  };
}

/** All events are signed every few seconds, so a few unsigned ones are not a delay. */
function sealsOf(words: DashboardWords, lag: number): Part {
  return { name: words.systemStatus.seals, state: stateOf(lag, false), lag };
}

async function webhooksOf({ address, api }: PageContext): Promise<Part[]> {
  const { records } = await api.run<{ records: WebhookRecord[] }>('webhook.list-webhooks', {
    limit: 100,
  });
  return records.map(({ id, url, status, lag }) => ({
    name: html`<a href="${address.path(`webhooks/${id}`)}">${url}</a>`,
    // Failing webhooks are retried automatically.
    state: status === 'PAUSED' ? 'paused' : stateOf(lag ?? 0, status === 'DISABLED'),
    lag: lag ?? 0,
  }));
}

function stateOf(lag: number, isStopped: boolean): State {
  if (isStopped) return 'stalled';
  return lag > MOMENTARY ? 'behind' : 'upToDate';
}

/** Names from a newer version of the program are shown as they are. */
function namedIn(names: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(names, name) ? names[name]! : name;
}

/** Parts that are up to date need no attention, so they are behind a summary. */
function PartsOf(words: DashboardWords, caption: string, parts: readonly Part[]): Html {
  const { systemStatus: said } = words;
  const isFine = ({ state }: Part) => state === 'upToDate';
  const tableOf = (some: readonly Part[]) =>
    some.length === 0
      ? null
      : Table({
          caption,
          columns: [
            { name: said.name },
            { name: said.state, isObvious: true },
            { name: said.lag, isNumber: true },
          ],
          rows: some.map(({ name, state, lag }) => [
            name,
            BadgeOf(TONES[state], said.states[state]),
            numberIn(words, lag),
          ]),
        });
  const fine = parts.filter(isFine);
  return html`${tableOf(parts.filter((part) => !isFine(part)))}
  ${fine.length === 0 ? null : html`<details><summary>${said.states.upToDate}: ${numberIn(words, fine.length)}</summary>${tableOf(fine)}</details>`}`;
}

function FailuresOf({ words, address }: PageContext, failures: readonly Failures[]): Html | null {
  if (failures.length === 0) return null;
  const { systemStatus: said } = words;
  const eventAt = (position: number) =>
    html`<a href="${address.path(`history?before=${position + 1}`)}">${numberIn(words, position)}</a> `;
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
