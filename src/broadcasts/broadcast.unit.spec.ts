import { given } from '#libs/testing';
import {
  broadcast,
  type BroadcastEvent,
  cancelBroadcast,
  deleteBroadcast,
  finishBroadcast,
  pauseBroadcast,
  requireUnsent,
  resumeBroadcast,
  retryBroadcast,
  scheduleBroadcast,
  existingBroadcast,
  updateBroadcast,
} from './broadcast.js';

const created: BroadcastEvent = {
  type: 'BroadcastCreated',
  data: {
    name: 'May',
    subject: 'May',
    preheader: null,
    content: 'Hello',
    format: 'MARKDOWN',
    countClicks: false,
    audience: { listIds: ['l'] },
  },
};
const at = '2027-05-01T09:00:00.000Z';
const scheduled: BroadcastEvent = { type: 'BroadcastScheduled', data: { sendAt: at } };
const started: BroadcastEvent = {
  type: 'BroadcastStarted',
  data: { sendingId: 's', position: 7, recipients: 3, digest: 'd' },
};
const paused: BroadcastEvent = { type: 'BroadcastPaused', data: {} };
const resumed: BroadcastEvent = { type: 'BroadcastResumed', data: {} };
const cancelled: BroadcastEvent = { type: 'BroadcastCancelled', data: {} };
const deleted: BroadcastEvent = { type: 'BroadcastDeleted', data: {} };
const figures = { sent: 2, failed: 1, skipped: 0, inDoubt: 0 };
const sent: BroadcastEvent = { type: 'BroadcastSent', data: figures };
const retried: BroadcastEvent = { type: 'BroadcastRetried', data: { status: 'FAILED' } };

const stateAfter = (...events: BroadcastEvent[]) =>
  existingBroadcast(
    events.reduce((state, event) => broadcast.evolve(state, event, new Date(at)), broadcast.initial),
  );

it('can be changed only before sending starts', () => {
  const change = (state: typeof broadcast.initial) =>
    updateBroadcast(state, { subject: 'June', name: 'May' });
  const updated: BroadcastEvent = { type: 'BroadcastUpdated', data: { subject: 'June' } };
  given(broadcast, [created]).when(change).then([updated]);
  given(broadcast, [created, scheduled]).when(change).then([updated]);
  given(broadcast, [created, updated]).when(change).then([]);
  for (const event of [started, cancelled])
    given(broadcast, [created, event]).when(change).thenThrows('CONFLICT');
  given(broadcast, []).when(change).thenThrows('NOT_FOUND');
});

it('can be scheduled and rescheduled, and is sent only once', () => {
  const later = '2027-06-01T09:00:00.000Z';
  given(broadcast, [created])
    .when((state) => scheduleBroadcast(state, at))
    .then([scheduled]);
  given(broadcast, [created, scheduled])
    .when((state) => scheduleBroadcast(state, at))
    .then([]);
  given(broadcast, [created, scheduled])
    .when((state) => scheduleBroadcast(state, later))
    .then([{ type: 'BroadcastScheduled', data: { sendAt: later } }]);
  for (const events of [[started], [started, sent], [cancelled]]) {
    given(broadcast, [created, ...events])
      .when((state) => {
        requireUnsent(state);
        return [];
      })
      .thenThrows('CONFLICT');
  }
  const blockers: BroadcastEvent = { type: 'BroadcastHindered', data: { hindrances: ['NO_SENDER'] } };
  expect(stateAfter(created, scheduled, blockers)).toMatchObject({ status: 'DRAFT', sendAt: null });
});

it('can be paused and resumed during sending', () => {
  given(broadcast, [created, started]).when(pauseBroadcast).then([paused]);
  given(broadcast, [created, started, paused]).when(pauseBroadcast).then([]);
  given(broadcast, [created, started, paused]).when(resumeBroadcast).then([resumed]);
  given(broadcast, [created, started, paused, resumed]).when(resumeBroadcast).then([]);
  for (const events of [[], [scheduled], [started, sent], [started, cancelled]]) {
    given(broadcast, [created, ...events])
      .when(pauseBroadcast)
      .thenThrows('CONFLICT');
    given(broadcast, [created, ...events])
      .when(resumeBroadcast)
      .thenThrows('CONFLICT');
  }
});

it('can be cancelled in any state except SENT', () => {
  for (const events of [[], [scheduled], [started], [started, paused]]) {
    given(broadcast, [created, ...events])
      .when(cancelBroadcast)
      .then([cancelled]);
  }
  given(broadcast, [created, cancelled]).when(cancelBroadcast).then([]);
  given(broadcast, [created, started, sent]).when(cancelBroadcast).thenThrows('CONFLICT');
});

it('is SENT when all recipients are settled, and SENDING again after a retry', () => {
  given(broadcast, [created, started])
    .when((state) => finishBroadcast(state, figures))
    .then([sent]);
  for (const event of [paused, cancelled, sent]) {
    given(broadcast, [created, started, event])
      .when((state) => finishBroadcast(state, figures))
      .then([]);
  }
  for (const events of [[started], [started, paused], [started, sent]]) {
    given(broadcast, [created, ...events])
      .when((state) => retryBroadcast(state, 'FAILED'))
      .then([retried]);
  }
  for (const events of [[], [cancelled]]) {
    given(broadcast, [created, ...events])
      .when((state) => retryBroadcast(state, 'FAILED'))
      .thenThrows('CONFLICT');
  }
  expect(stateAfter(created, started, sent)).toMatchObject({
    status: 'SENT',
    finishedAt: at,
    recipients: { total: 3, ...figures },
  });
  expect(stateAfter(created, started, sent, retried)).toMatchObject({ status: 'SENDING', finishedAt: null });
  expect(stateAfter(created, started, paused, retried)).toMatchObject({ status: 'PAUSED' });
});

it('can be deleted as a draft or after it was cancelled', () => {
  for (const events of [[], [cancelled]])
    given(broadcast, [created, ...events])
      .when(deleteBroadcast)
      .then([deleted]);
  given(broadcast, [created, deleted]).when(deleteBroadcast).then([]);
  for (const events of [[scheduled], [started], [started, sent]]) {
    given(broadcast, [created, ...events])
      .when(deleteBroadcast)
      .thenThrows('CONFLICT');
  }
});
