import { webCrypto } from './crypto.js';
import { ConfigurationError, WebhookVerificationError } from './errors.js';
import { type Contact, type Event, type EventData, type Petition } from './generated.js';

/** Signatures of older requests are rejected, in seconds. */
const TOLERANCE = 300;
const PREFIX = 'whsec_';
/** Standard Webhooks allows no shorter secret. Placeholders, such as `changeme`, are shorter. */
const SHORTEST_SECRET_BYTES = 24;

/** An event of the history, as a webhook delivers it. Its `type` decides what `data` contains. */
export type WebhookEvent = {
  [Type in keyof EventData]: Omit<Event, 'type' | 'data'> & {
    type: Type;
    data: EventData[Type];
    organizationId: string;
    /** Only with `expand`. null: the event names none, or it no longer exists. */
    contact?: Contact | null;
    petition?: Petition | null;
  };
}[keyof EventData];

/** The headers of a request in any framework. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks the signature of a webhook's request (Standard Webhooks), and that it was sent within the last five minutes.
 *
 * @param body the raw body, before it is parsed
 * @param secret of the webhook, `whsec_…`
 * @throws WebhookVerificationError, and ConfigurationError if the secret is not one of a webhook
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookEvent> {
  const secretBytes = bytesOf(String(secret).replace(PREFIX, ''));
  if (!secretBytes || secretBytes.length < SHORTEST_SECRET_BYTES)
    throw new ConfigurationError('The secret is not the `secret` of a webhook, which starts with `whsec_`.');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const id = valueOf(headers, 'webhook-id');
  const timestamp = valueOf(headers, 'webhook-timestamp');
  const signatures = valueOf(headers, 'webhook-signature').split(' ');
  const age = Date.now() / 1_000 - Number(timestamp);
  // Also if the timestamp is not a number.
  if (!(Math.abs(age) <= TOLERANCE))
    throw new WebhookVerificationError('The timestamp is older than five minutes.');
  const { subtle } = await webCrypto();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', secretBytes, algorithm, false, ['verify']);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const signature of signatures.filter((one) => one.startsWith('v1,'))) {
    const bytes = bytesOf(signature.slice('v1,'.length));
    if (bytes && (await subtle.verify('HMAC', key, bytes, signed))) return JSON.parse(text) as WebhookEvent;
  }
  throw new WebhookVerificationError('No signature matches the secret.');
}

function valueOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === 'string') return value;
  throw new WebhookVerificationError(`The header ${name} is missing.`);
}

/** Decodes Base64. Anything else is undefined. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
