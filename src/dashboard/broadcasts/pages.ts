import { html, type Html } from '#libs/pages';
import { type Blocked, readableSubject, Starts, STATUSES } from '../../broadcasts/index.js';
import { createdColumn, filteredBy, statusColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ButtonLink, Actions, inQuarters, Live, Progress, SectionOf, timeIn, BadgeOf } from '../parts.js';
import { timeZoneOf } from '../time-zone.js';
import { Shares } from '../charts.js';
import { type Steps } from '../record-pages.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { AudienceOf, type BroadcastRecord, broadcasts, FIGURES, type Recipients } from './broadcast.js';
import { BlockersOf, sendingPages } from './sending-pages.js';
import { writingPages } from './writing-pages.js';
import { type DashboardWords } from '#locales';

export const broadcastPages: PageDefinition[] = [
  ...broadcasts.list({
    ...filteredBy(
      'status',
      ({ state }) => state,
      ({ broadcasts: { statuses } }) => STATUSES.map((value) => ({ value, text: statuses[value] })),
    ),
    columns: [
      broadcasts.titleColumn(),
      {
        name: ({ broadcasts }) => broadcasts.fields.subject,
        cell: ({ subject }) => readableSubject(subject),
      },
      statusColumn('broadcasts'),
      createdColumn(),
    ],
  }),
  ...writingPages,
  broadcasts.shownWith(
    async (context, found) => {
      const broadcast = await found;
      const { api } = context;
      const [audience, blockers, timeZone] = await Promise.all([
        AudienceOf(context, broadcast),
        isUnsent(broadcast) ? api.find(Starts).blockers(api.organizationId, broadcast.id, broadcast) : [],
        timeZoneOf(context),
      ]);
      return { audience, blockers, timeZone };
    },
    showBroadcast,
    // Loaded after the broadcast. A page that shows a final status stops polling, so its activity must be complete.
    async (context, found) => ActivityLog(context, (await found).id),
  ),
  ...sendingPages,
  broadcasts.deletion(),
];

const isUnsent = ({ status }: BroadcastRecord) => status === 'DRAFT' || status === 'SCHEDULED';

function showBroadcast(
  context: PageContext,
  broadcast: BroadcastRecord,
  { mayWrite, link, press }: Steps,
  { audience, blockers, timeZone }: { audience: Html | null; blockers: readonly Blocked[]; timeZone: string },
) {
  const { words, address } = context;
  const { broadcasts } = words;
  const { id, status, sendAt } = broadcast;
  const subject = readableSubject(broadcast.subject);
  const isOpen = isUnsent(broadcast);
  const isStarted = status === 'SENDING' || status === 'PAUSED';
  const maySend = context.person.may('broadcast:send');
  return html`${subject === broadcast.name ? null : html`<p class="lead">${subject}</p>`}
    <p>
      ${BadgeOf(status, broadcasts.statuses[status])}
      ${status === 'SCHEDULED' && sendAt !== null ? timeIn(words, sendAt, timeZone) : null}
    </p>
    ${Live(context, { isGoing: isGoing(broadcast), status: statusText(words, broadcast) })}
    ${ResultsOf(words, broadcast)}
    ${blockers.length > 0 ? BlockersOf(words, blockers) : null}
    ${Actions(
      [
        maySend && status === 'SENDING' && press('pause', broadcasts.steps.pause),
        maySend && status === 'PAUSED' && press('resume', broadcasts.steps.resume, false),
        maySend && status === 'DRAFT' && link('send', broadcasts.send.link, false),
        maySend && status === 'SCHEDULED' && link('send', broadcasts.send.changeLink, false),
        !isOpen && link('recipients', broadcasts.recipients.title, isStarted && maySend),
        mayWrite && isOpen && link('edit', broadcasts.edit),
        maySend && isOpen && link('test', broadcasts.test.title),
        link('preview', broadcasts.preview),
        isOpen && link('audience', broadcasts.audience.title),
        maySend && (isStarted || status === 'SCHEDULED') && link('cancel', broadcasts.steps.cancel),
        mayWrite &&
          (status === 'SENT' || status === 'CANCELLED') &&
          ButtonLink(address, `broadcasts/new?like=${id}`, broadcasts.again, true),
        mayWrite && (status === 'DRAFT' || status === 'CANCELLED') && link('delete', broadcasts.delete),
      ],
      words,
    )}
    ${SectionOf(broadcasts.audience.title, audience ?? html`<p>${broadcasts.audience.nobody}</p>`)}
    ${blockers.length > 0 ? null : SectionOf(words.posts.preview, html`<iframe sandbox title="${broadcasts.frame}" src="${address.path(`broadcasts/${id}/mail`)}"></iframe>`)}`;
}

/** Whether the page polls. After a pause or cancellation, in-flight messages still arrive. */
function isGoing(broadcast: BroadcastRecord): boolean {
  const { status, updatedAt } = broadcast;
  switch (status) {
    case 'DRAFT':
    case 'SENT':
      return false;
    case 'SCHEDULED':
      return isSoon(broadcast);
    case 'SENDING':
      return true;
    case 'PAUSED':
      return Date.now() < new Date(updatedAt).getTime() + ARRIVAL_MS;
    case 'CANCELLED':
      return !isSettled(broadcast);
  }
}
/** No message is in flight for this long. */
const ARRIVAL_MS = 60_000;

/** Whether sending is due within minutes. Otherwise the page must not poll, possibly for weeks. */
function isSoon({ sendAt }: BroadcastRecord): boolean {
  return sendAt !== null && Date.parse(sendAt) < Date.now() + SOON_MS;
}
const SOON_MS = 10 * 60_000;

/** Number of recipients with a final status. */
function doneOf({ sent, failed, skipped, inDoubt }: Recipients): number {
  return (sent ?? 0) + (failed ?? 0) + (skipped ?? 0) + (inDoubt ?? 0);
}

function isSettled({ recipients }: BroadcastRecord): boolean {
  return recipients === null || doneOf(recipients) >= recipients.total;
}

function statusText({ broadcasts }: DashboardWords, { status, recipients }: BroadcastRecord): string {
  const text = broadcasts.statuses[status];
  return status !== 'SENDING' || recipients === null
    ? text
    : inQuarters(text, doneOf(recipients), recipients.total);
}

/** Progress and results. At the end, the progress bar shows how many emails were sent. */
function ResultsOf(words: DashboardWords, broadcast: BroadcastRecord) {
  const { recipients, status, countClicks, clicks } = broadcast;
  if (recipients === null || status === 'DRAFT' || status === 'SCHEDULED') return null;
  const { broadcasts } = words;
  const { total, sent } = recipients;
  const done = doneOf(recipients);
  const isOver = (status === 'SENT' || status === 'CANCELLED') && isSettled(broadcast);
  const progress = isOver
    ? { label: broadcasts.figures.sent, value: sent ?? 0 }
    : { label: broadcasts.progress, value: done };
  const bars = FIGURES.map((name) => ({ name: broadcasts.figures[name], value: recipients[name] ?? 0 }));
  const waiting = { name: broadcasts.waiting, value: total - done };
  return html`${Progress({ words, ...progress, max: total })}
  ${
    bars.every(({ value }) => value === 0)
      ? null
      : SectionOf(
          broadcasts.results,
          Shares({
            words,
            caption: broadcasts.results,
            columns: [broadcasts.what, broadcasts.audience.people],
            bars: isOver ? bars : [waiting, ...bars],
          }),
        )
  }
  ${
    clicks === null
      ? null
      : SectionOf(
          broadcasts.clicks.title,
          Shares({
            words,
            caption: broadcasts.clicks.title,
            columns: [broadcasts.clicks.link, broadcasts.clicks.times],
            bars: clicks.map(({ url, clicks: value }) => ({ name: url, value })),
          }),
        )
  }
  <p class="hint">${countClicks ? broadcasts.clicks.untracked : broadcasts.untracked}</p>`;
}
