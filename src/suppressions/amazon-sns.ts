import { createPublicKey, createVerify, type KeyObject } from 'node:crypto';
import { RpcError } from '#libs/rpc';

/**
 * Hosts of Amazon SNS, in any region. Only region names end with a number, as in `us-gov-east-1`; hosts of
 * other services do not.
 */
const HOST = /^sns\.[a-z]{2}(-[a-z]{2,12}){1,2}-\d{1,2}\.amazonaws\.com(\.cn)?$/;
const CERTIFICATE = /^\/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$/;

const TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** One exists per region and year. */
const MAX_CERTIFICATES = 20;

/** The signed fields in order (Amazon SNS Developer Guide, "Verifying the signatures of Amazon SNS messages"). */
const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: [
    'Message',
    'MessageId',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ],
};
const ALGORITHMS: { [version: string]: string } = { 1: 'RSA-SHA1', 2: 'RSA-SHA256' };

export type SnsEnvelope = { Type: string; [field: string]: unknown };

/** Verifies and unwraps Amazon SNS messages: nothing is trusted without Amazon's signature. */
export class AmazonSns {
  private readonly keys = new Map<string, Promise<KeyObject>>();

  /** @param fetchText fetches from Amazon; replaced only in tests. */
  constructor(private readonly fetchText: (url: URL) => Promise<string> = fetchFromAmazon) {}

  /**
   * The content of a message, and its id; undefined without content. Confirms subscriptions.
   *
   * @throws RpcError BAD_REQUEST if Amazon did not sign it, SERVICE_UNAVAILABLE if Amazon does not respond.
   */
  async open(envelope: SnsEnvelope): Promise<{ id: string; message: unknown } | undefined> {
    const { Type } = envelope;
    // Someone ended the subscription, so we do not confirm it again.
    if (!isSigned(Type)) return undefined;
    await this.requireSignature(envelope, Type);
    if (Type === 'SubscriptionConfirmation') {
      const url = amazonUrl(envelope.SubscribeURL, 'SubscribeURL');
      if (url.searchParams.get('Action') !== 'ConfirmSubscription')
        throw refused('SubscribeURL', 'does not confirm a subscription');
      await this.ask(url);
      return undefined;
    }
    return { id: envelope.MessageId as string, message: parsed(envelope.Message as string) };
  }

  private async requireSignature(envelope: SnsEnvelope, type: keyof typeof SIGNED): Promise<void> {
    const fields = SIGNED[type].filter((field) => field !== 'Subject' || envelope.Subject != null);
    const missing = [...fields, 'Signature'].find((field) => typeof envelope[field] !== 'string');
    if (missing !== undefined) throw refused(missing, 'is missing');
    const algorithm = ALGORITHMS[String(envelope.SignatureVersion)];
    if (algorithm === undefined) throw refused('SignatureVersion', 'must be 1 or 2');
    const url = amazonUrl(envelope.SigningCertURL, 'SigningCertURL');
    if (!CERTIFICATE.test(url.pathname) || url.search !== '') {
      throw refused('SigningCertURL', 'must be the URL of an Amazon SNS certificate');
    }
    const text = fields.map((field) => `${field}\n${envelope[field] as string}\n`).join('');
    const key = await this.keyAt(url);
    if (
      !createVerify(algorithm)
        .update(text, 'utf8')
        .verify(key, envelope.Signature as string, 'base64')
    ) {
      throw refused('Signature', 'is not a valid signature by Amazon for this message');
    }
  }

  private keyAt(url: URL): Promise<KeyObject> {
    const known = this.keys.get(url.href);
    if (known) return known;
    const key = this.ask(url).then((pem) => createPublicKey(pem));
    // Failures are retried.
    key.catch(() => this.keys.delete(url.href));
    this.keys.set(url.href, key);
    if (this.keys.size > MAX_CERTIFICATES) this.keys.delete(this.keys.keys().next().value!);
    return key;
  }

  private async ask(url: URL): Promise<string> {
    try {
      return await this.fetchText(url);
    } catch (cause) {
      throw new RpcError(
        'SERVICE_UNAVAILABLE',
        'Amazon SNS did not respond in time. Send the message again.',
        { reason: 'DEADLINE_EXCEEDED', headers: { 'Retry-After': '5' } },
        { cause },
      );
    }
  }
}

function isSigned(type: string): type is keyof typeof SIGNED {
  return Object.hasOwn(SIGNED, type);
}

function amazonUrl(given: unknown, field: string): URL {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isAmazons =
    url?.protocol === 'https:' && url.port === '' && url.username === '' && HOST.test(url.hostname);
  if (!isAmazons)
    throw refused(field, 'must be an https address of Amazon SNS, at sns.<region>.amazonaws.com');
  return url;
}

function refused(field: string, problem: string): RpcError {
  return new RpcError('BAD_REQUEST', `This is not a valid Amazon SNS message: ${field} ${problem}.`, {
    issues: [{ path: field, message: problem }],
  });
}

/** JSON. SES also reports in plain text that it found the topic. */
function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}

async function fetchFromAmazon(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`Amazon SNS returned status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error('The response of Amazon SNS is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
