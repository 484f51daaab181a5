import { createHmac } from 'node:crypto';
import { type Keyring } from '#libs/event-store';
import { type ExistingWebhook } from './webhook.js';

const PREFIX = 'whsec_';

/**
 * A secret of a webhook. It follows from the keyring, as what keys are checked by does: so it lies nowhere, in no event, no backup
 * and no export, and stays the same when the master key is replaced.
 *
 * @param number 1 for its first one.
 */
export function secretOf(keyring: Keyring, webhookId: string, number: number): string {
  return PREFIX + keyring.hash('webhook.secret', webhookId, String(number)).toString('base64');
}

/** The secrets that a webhook signs with at a time: more than one while one takes the other's place. */
export function secretsAt(
  keyring: Keyring,
  webhookId: string,
  { secretNumber, earlierSecrets }: Pick<ExistingWebhook, 'secretNumber' | 'earlierSecrets'>,
  now: Date,
): string[] {
  const earlier = earlierSecrets.filter(({ until }) => now < new Date(until));
  return [secretNumber, ...earlier.map(({ number }) => number)].map((number) =>
    secretOf(keyring, webhookId, number),
  );
}

/** What `webhook-signature` says (Standard Webhooks, version 1): one signature for each secret. */
export function signatureOf(
  secrets: readonly string[],
  message: { id: string; timestamp: number; body: string },
): string {
  const { id, timestamp, body } = message;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
