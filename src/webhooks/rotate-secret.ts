import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Id, Input, Integer, Operation } from '#libs/rpc';
import { secretOf } from './signatures.js';
import { rotateSecret, existingWebhook, webhook } from './webhook.js';
import { newSecretSchema } from './webhooks.js';

/** A day is time enough to give the receiver the new one. */
const LONGEST_OVERLAP_SECONDS = 86_400;

@Operation({
  method: 'POST',
  name: 'webhook.rotate-secret',
  object: 'webhook',
  summary: 'Replace the secret of a webhook',
  description:
    'For `overlapSeconds` each request has a signature with the secret before, too, and with those before it whose own time is not over: ' +
    '0 ends them all. The new one is in the answer, this once: with the ' +
    'same `Idempotency-Key` the answer is `secret: null`, without one the secret is replaced once more.',
  answers: newSecretSchema,
})
export class RotateSecret extends Input {
  @Id()
  webhookId!: string;

  @Integer({
    min: 0,
    max: LONGEST_OVERLAP_SECONDS,
    default: 0,
    description: 'How long the secret before is good beside the new one, and those before it at most.',
  })
  overlapSeconds!: number;
}

@CommandHandler(RotateSecret)
export class RotateSecretHandler implements ICommandHandler<RotateSecret> {
  constructor(
    private readonly commands: Commands,
    private readonly store: EventStore,
  ) {}

  async execute(command: RotateSecret): Promise<{ webhookId: string; secret: string | null }> {
    const { webhookId, overlapSeconds } = command;
    let isDecided = false;
    const { state } = await this.commands.change(webhook, command, webhookId, (before) => {
      isDecided = true;
      return rotateSecret(before, overlapSeconds);
    });
    const { secretNumber } = existingWebhook(state);
    return { webhookId, secret: isDecided ? secretOf(this.store.keyring, webhookId, secretNumber) : null };
  }
}
