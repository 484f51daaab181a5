import { Commands } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { handlerOf, Integer, Operation, RecordInput } from '#libs/rpc';
import { secretOf } from './signatures.js';
import { rotateSecret, existingWebhook, webhook } from './webhook.js';
import { newSecretSchema } from './webhooks.js';

/** A day is enough time to give the new secret to the receiver. */
const MAX_OVERLAP_SECONDS = 86_400;

@Operation({
  name: 'webhook.rotate-secret',
  object: 'webhook',
  summary: 'Rotate the secret of a webhook',
  description:
    'For `overlapSeconds`, each request is also signed with the previous secret, and with older secrets that ' +
    'have not expired. 0 ends them all. The response contains the new secret only once. Repeating the request ' +
    'with the same `Idempotency-Key` returns `secret: null`; without a key, it rotates the secret again.',
  answers: newSecretSchema,
})
export class RotateSecret extends RecordInput('webhookId') {
  @Integer({
    min: 0,
    max: MAX_OVERLAP_SECONDS,
    default: 0,
    description:
      'How long the previous secret remains valid next to the new one. Also the maximum for older secrets.',
  })
  overlapSeconds!: number;
}

export const RotateSecretHandler = handlerOf(
  RotateSecret,
  [Commands, EventStore],
  async (command, commands, store) => {
    const { webhookId, overlapSeconds } = command;
    let isDecided = false;
    const { state } = await commands.change(webhook, command, webhookId, (before) => {
      isDecided = true;
      return rotateSecret(before, overlapSeconds);
    });
    const { secretNumber } = existingWebhook(state);
    return { webhookId, secret: isDecided ? secretOf(store.keyring, webhookId, secretNumber) : null };
  },
);
