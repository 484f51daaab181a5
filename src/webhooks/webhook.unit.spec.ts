import { given } from '#libs/testing';
import {
  deleteWebhook,
  disableWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
  updateWebhook,
  webhook,
  type WebhookEvent,
} from './webhook.js';

const created: WebhookEvent = {
  type: 'WebhookCreated',
  data: { url: 'https://example.org/', description: null, eventTypes: null, personalData: true },
};
const paused: WebhookEvent = { type: 'WebhookPaused', data: {} };
const resumed: WebhookEvent = { type: 'WebhookResumed', data: {} };
const disabled: WebhookEvent = {
  type: 'WebhookDisabled',
  data: { failingSince: '2026-11-20T09:30:00.000Z' },
};
const deleted: WebhookEvent = { type: 'WebhookDeleted', data: {} };

it('pauses active webhooks, and resumes paused and disabled ones', () => {
  given(webhook, [created]).when(pauseWebhook).then([paused]);
  given(webhook, [created, paused]).when(pauseWebhook).then([]);
  given(webhook, [created, disabled]).when(pauseWebhook).then([]);
  given(webhook, [created]).when(resumeWebhook).then([]);
  given(webhook, [created, paused]).when(resumeWebhook).then([resumed]);
  given(webhook, [created, disabled]).when(resumeWebhook).then([resumed]);
  given(webhook, [created, deleted]).when(resumeWebhook).thenThrows('NOT_FOUND');
});

it('disables only active webhooks', () => {
  const disable = (state: Parameters<typeof disableWebhook>[0]) =>
    disableWebhook(state, new Date('2026-11-20T09:30:00.000Z'));
  given(webhook, [created]).when(disable).then([disabled]);
  given(webhook, [created, paused]).when(disable).then([]);
  given(webhook, [created, deleted]).when(disable).then([]);
});

it('ignores failures from before it was resumed', () => {
  const state = [created, disabled, resumed].reduce(
    (before, event) => webhook.evolve(before, event, new Date('2026-11-20T09:31:00.000Z')),
    webhook.initial,
  );
  expect(disableWebhook(state, new Date('2026-11-20T09:30:59.999Z'))).toEqual([]);
  expect(disableWebhook(state, new Date('2026-11-20T09:31:00.000Z'))).toHaveLength(1);
});

it('records only the changed fields of an update', () => {
  const update =
    (fields: Parameters<typeof updateWebhook>[1]) => (state: Parameters<typeof updateWebhook>[0]) =>
      updateWebhook(state, fields);
  given(webhook, [created])
    .when(update({ url: 'https://example.org/', eventTypes: null }))
    .then([]);
  given(webhook, [created])
    .when(update({ eventTypes: ['ContactErased'] }))
    .then([{ type: 'WebhookUpdated', data: { eventTypes: ['ContactErased'] } }]);
});

it('signs with the previous secret until the overlap ends', () => {
  const rotated: WebhookEvent = { type: 'WebhookSecretRotated', data: { overlapSeconds: 60 } };
  given(webhook, [created])
    .when((state) => rotateSecret(state, 60))
    .then([rotated]);
  const before = webhook.evolve(webhook.initial, created, new Date(0));
  expect(webhook.evolve(before, rotated, new Date(0))).toMatchObject({
    secretNumber: 2,
    earlierSecrets: [{ number: 1, until: '1970-01-01T00:01:00.000Z' }],
  });
});

it('signs with all secrets in their overlap, at most as long as the last rotation allows', () => {
  const rotated = (overlapSeconds: number, atSecond: number) => ({
    event: { type: 'WebhookSecretRotated', data: { overlapSeconds } } as WebhookEvent,
    at: new Date(atSecond * 1_000),
  });
  const after = (...rotations: ReturnType<typeof rotated>[]) =>
    rotations.reduce(
      (state, { event, at }) => webhook.evolve(state, event, at),
      webhook.evolve(webhook.initial, created, new Date(0)),
    );
  expect(after(rotated(60, 0), rotated(60, 10))).toMatchObject({
    secretNumber: 3,
    earlierSecrets: [
      { number: 2, until: '1970-01-01T00:01:10.000Z' },
      { number: 1, until: '1970-01-01T00:01:00.000Z' },
    ],
  });
  expect(after(rotated(60, 0), rotated(5, 10))).toMatchObject({
    earlierSecrets: [
      { number: 2, until: '1970-01-01T00:00:15.000Z' },
      { number: 1, until: '1970-01-01T00:00:15.000Z' },
    ],
  });
  expect(after(rotated(60, 0), rotated(0, 10))).toMatchObject({ secretNumber: 3, earlierSecrets: [] });
  expect(after(rotated(5, 0), rotated(60, 10))).toMatchObject({
    earlierSecrets: [{ number: 2, until: '1970-01-01T00:01:10.000Z' }],
  });
  // Even after many rotations.
  const many = after(...Array.from({ length: 20 }, (_, second) => rotated(86_400, second)));
  expect(many).toMatchObject({ secretNumber: 21, earlierSecrets: { length: 4 } });
});

it('deletes once', () => {
  given(webhook, [created]).when(deleteWebhook).then([deleted]);
  given(webhook, [created, deleted]).when(deleteWebhook).then([]);
  given(webhook, []).when(deleteWebhook).thenThrows('NOT_FOUND');
});
