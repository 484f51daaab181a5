import { html } from '#libs/pages';
import { readableSubject, STATUSES } from '../../broadcasts/index.js';
import { deletionPage } from '../step-pages.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ButtonOf,
  Actions,
  inQuarters,
  Live,
  Progress,
  SectionOf,
  Shares,
  timeIn,
  BadgeOf,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { type BroadcastRecord, broadcastOf, FIGURES, type Recipients } from './broadcast.js';
import { sendingPages } from './sending-pages.js';
import { writingPages } from './writing-pages.js';
import { type DashboardWords } from '#locales';

export const broadcastPages: PageDefinition[] = [
  ...listPages<BroadcastRecord>({
    path: 'broadcasts',
    section: 'broadcasts',
    needs: 'broadcast:read',
    operation: 'broadcast.list-broadcasts',
    title: ({ broadcasts }) => broadcasts.title,
    text: ({ broadcasts }) => broadcasts.text,
    empty: ({ broadcasts }) => broadcasts.none,
    search: ({ broadcasts }) => broadcasts.search,
    fields: ({ address }) => ({ status: address.query('status') }),
    filters: (context) => {
      const { broadcasts, state } = context.words;
      const choices = STATUSES.map((value) => ({ value, text: broadcasts.statuses[value] }));
      return Promise.resolve([FilterField(context, { name: 'status', label: state, choices })]);
    },
    add: { path: 'broadcasts/new', text: ({ broadcasts }) => broadcasts.add, needs: 'broadcast:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, { address }) => html`<a href="${address.path(`broadcasts/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      {
        name: ({ broadcasts }) => broadcasts.fields.subject,
        cell: ({ subject }) => readableSubject(subject),
      },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.broadcasts.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
      {
        name: ({ made }) => made,
        cell: ({ createdAt }) => new Date(createdAt),
        exported: ({ createdAt }) => new Date(createdAt).toISOString(),
      },
    ],
  }),
  ...writingPages,
  { path: 'broadcasts/:broadcast', needs: 'broadcast:read', show: showBroadcast },
  ...sendingPages,
  deletionPage({ section: 'broadcasts', record: 'broadcast', find: broadcastOf }),
];

async function showBroadcast(context: PageContext) {
  const { words } = context;
  const { broadcasts } = words;
  const broadcast = await broadcastOf(context);
  // Loaded after the broadcast. A page that shows a final status stops polling, so its activity must be complete.
  const past = await ActivityLog(context, broadcast.id);
  const { id, status, sendAt } = broadcast;
  const subject = readableSubject(broadcast.subject);
  const isUnsent = status === 'DRAFT' || status === 'SCHEDULED';
  const [mayWrite, maySend] = [context.person.may('broadcast:write'), context.person.may('broadcast:send')];
  return context.view.page({
    section: 'broadcasts',
    back: { href: context.address.path('broadcasts'), text: broadcasts.title },
    title: broadcast.name,
    content: html`${subject === broadcast.name ? null : html`<p class="lead">${subject}</p>`}
      <p>
        ${BadgeOf(status, broadcasts.statuses[status])}
        ${status === 'SCHEDULED' && sendAt !== null ? timeIn(words, sendAt) : null}
      </p>
      ${Live(context, { isGoing: isGoing(broadcast), status: statusText(context.words, broadcast) })}
      ${ResultsOf(context.words, broadcast)}
      ${Actions([
        maySend && status === 'SENDING'
          ? ButtonOf(context.address, `broadcasts/${id}/pause`, broadcasts.steps.pause)
          : null,
        maySend && status === 'PAUSED'
          ? ButtonOf(context.address, `broadcasts/${id}/resume`, broadcasts.steps.resume, false)
          : null,
        maySend && status === 'DRAFT'
          ? ButtonLink(context.address, `broadcasts/${id}/send`, broadcasts.send.link)
          : null,
        maySend && status === 'SCHEDULED'
          ? ButtonLink(context.address, `broadcasts/${id}/send`, broadcasts.send.changeLink)
          : null,
        ButtonLink(context.address, `broadcasts/${id}/preview`, broadcasts.preview, true),
        isUnsent
          ? ButtonLink(context.address, `broadcasts/${id}/audience`, broadcasts.audience.title, true)
          : null,
        maySend && isUnsent
          ? ButtonLink(context.address, `broadcasts/${id}/test`, broadcasts.test.title, true)
          : null,
        isUnsent
          ? null
          : ButtonLink(context.address, `broadcasts/${id}/recipients`, broadcasts.recipients.title, true),
        mayWrite && isUnsent
          ? ButtonLink(context.address, `broadcasts/${id}/edit`, broadcasts.edit, true)
          : null,
        maySend && (status === 'SENDING' || status === 'PAUSED' || status === 'SCHEDULED')
          ? ButtonLink(context.address, `broadcasts/${id}/cancel`, broadcasts.steps.cancel, true)
          : null,
        mayWrite && (status === 'SENT' || status === 'CANCELLED')
          ? ButtonLink(context.address, `broadcasts/new?like=${id}`, broadcasts.again, true)
          : null,
        mayWrite && (status === 'DRAFT' || status === 'CANCELLED')
          ? ButtonLink(context.address, `broadcasts/${id}/delete`, broadcasts.delete, true)
          : null,
      ])}
      ${past}`,
  });
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
  const { recipients, status } = broadcast;
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
  <p class="hint">${broadcasts.untracked}</p>`;
}
