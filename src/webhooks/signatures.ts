import { createHmac } from 'node:crypto';
import { type Keyring } from '#libs/event-store';
import { type ExistingWebhook } from './webhook.js';

const PREFIX = 'whsec_';

/**
 * Derives a secret of a webhook from the keyring. It is not stored in any event, backup or export, and stays
 * the same when the master key is replaced.
 *
 * @param number 1 for the first secret.
 */
export function secretOf(keyring: Keyring, webhookId: string, number: number): string {
  return PREFIX + keyring.hash('webhook.secret', webhookId, String(number)).toString('base64');
}

/** The secrets that sign requests at a time: several while a rotated one is still valid. */
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

/** The value of `webhook-signature` (Standard Webhooks, version 1): one signature per secret. */
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
