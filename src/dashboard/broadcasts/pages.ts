import { html } from '#libs/pages';
import { deletionPage } from '../deletion-page.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ButtonOf,
  dateIn,
  Deeds,
  inQuarters,
  Live,
  Progress,
  SectionOf,
  Shares,
  timeIn,
} from '../parts.js';
import { RecordPast } from '../record-past.js';
import { type Visit } from '../visit.js';
import { type BroadcastRecord, broadcastOf, FIGURES } from './broadcast.js';
import { sendingPages } from './sending-pages.js';
import { writingPages } from './writing-pages.js';

const STATUSES = ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED'] as const;

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
    fields: (visit) => ({ status: visit.query('status') }),
    filters: (visit) => {
      const { broadcasts, state } = visit.words;
      const choices = STATUSES.map((value) => ({ value, text: broadcasts.statuses[value] }));
      return Promise.resolve([FilterField(visit, { name: 'status', label: state, choices })]);
    },
    add: { path: 'broadcasts/new', text: ({ broadcasts }) => broadcasts.add, needs: 'broadcast:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, visit) => html`<a href="${visit.path(`broadcasts/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ broadcasts }) => broadcasts.fields.subject, cell: ({ subject }) => subject },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.broadcasts.statuses[status] },
      { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
  }),
  ...writingPages,
  { path: 'broadcasts/:broadcast', needs: 'broadcast:read', show: showBroadcast },
  ...sendingPages,
  deletionPage({ section: 'broadcasts', record: 'broadcast', find: broadcastOf }),
];

async function showBroadcast(visit: Visit) {
  const { words } = visit;
  const { broadcasts } = words;
  const broadcast = await broadcastOf(visit);
  // After it: what has ended says how, and the page asks no more.
  const past = await RecordPast(visit, broadcast.id);
  const { id, status, sendAt, subject } = broadcast;
  const isDraft = status === 'DRAFT' || status === 'SCHEDULED';
  const [mayWrite, maySend] = [visit.may('broadcast:write'), visit.may('broadcast:send')];
  return visit.page({
    section: 'broadcasts',
    back: { href: visit.path('broadcasts'), text: broadcasts.title },
    title: broadcast.name,
    content: html`<p class="lead">${subject}</p>
      <p>
        <span class="badge">${broadcasts.statuses[status]}</span>
        ${status === 'SCHEDULED' && sendAt !== null ? timeIn(words, sendAt) : null}
      </p>
      ${Live(visit, { isGoing: status === 'SENDING' || isSoon(broadcast), says: howItIs(visit, broadcast) })}
      ${ResultsOf(visit, broadcast)}
      ${Deeds([
        maySend && status === 'SENDING'
          ? ButtonOf(visit, `broadcasts/${id}/pause`, broadcasts.steps.pause)
          : null,
        maySend && status === 'PAUSED'
          ? ButtonOf(visit, `broadcasts/${id}/resume`, broadcasts.steps.resume, false)
          : null,
        maySend && isDraft ? ButtonLink(visit, `broadcasts/${id}/send`, broadcasts.send.link) : null,
        ButtonLink(visit, `broadcasts/${id}/preview`, broadcasts.preview, true),
        isDraft ? ButtonLink(visit, `broadcasts/${id}/audience`, broadcasts.audience.title, true) : null,
        maySend && isDraft ? ButtonLink(visit, `broadcasts/${id}/test`, broadcasts.test.title, true) : null,
        isDraft ? null : ButtonLink(visit, `broadcasts/${id}/recipients`, broadcasts.recipients.title, true),
        mayWrite && isDraft ? ButtonLink(visit, `broadcasts/${id}/edit`, broadcasts.edit, true) : null,
        maySend && (status === 'SENDING' || status === 'PAUSED' || status === 'SCHEDULED')
          ? ButtonLink(visit, `broadcasts/${id}/cancel`, broadcasts.steps.cancel, true)
          : null,
        mayWrite && isDraft ? ButtonLink(visit, `broadcasts/${id}/delete`, broadcasts.delete, true) : null,
      ])}
      ${past}`,
  });
}

/** Sent within minutes: nobody need be asked for weeks. */
function isSoon({ status, sendAt }: BroadcastRecord): boolean {
  return status === 'SCHEDULED' && sendAt !== null && Date.parse(sendAt) < Date.now() + SOON_MS;
}
const SOON_MS = 10 * 60_000;

/** Recipients with whom something has become of it, of all. */
function progressOf({ recipients }: BroadcastRecord): { value: number; max: number } | null {
  if (recipients === null) return null;
  const { total, sent, failed, skipped, inDoubt } = recipients;
  return { value: (sent ?? 0) + (failed ?? 0) + (skipped ?? 0) + (inDoubt ?? 0), max: total };
}

function howItIs({ words: { broadcasts } }: Visit, broadcast: BroadcastRecord): string {
  const progress = progressOf(broadcast);
  const status = broadcasts.statuses[broadcast.status];
  return broadcast.status !== 'SENDING' || !progress
    ? status
    : inQuarters(status, progress.value, progress.max);
}

/** How far it is, and what became of it. */
function ResultsOf({ words }: Visit, broadcast: BroadcastRecord) {
  const { recipients, status } = broadcast;
  const progress = progressOf(broadcast);
  if (recipients === null || !progress || status === 'DRAFT' || status === 'SCHEDULED') return null;
  const { broadcasts } = words;
  const bars = FIGURES.map((name) => ({ name: broadcasts.figures[name], value: recipients[name] ?? 0 }));
  return html`${Progress({ words, label: broadcasts.progress, ...progress })}
  ${
    bars.every(({ value }) => value === 0)
      ? null
      : SectionOf(
          broadcasts.results,
          Shares({
            words,
            caption: broadcasts.results,
            columns: [broadcasts.what, broadcasts.audience.people],
            bars,
          }),
        )
  }`;
}
