import { hash } from 'node:crypto';

/** What the digest covers, but the time. `personal` is the ciphertext in base64, or null. */
export type Content = {
  data: unknown;
  eventId: unknown;
  metadata: unknown;
  organizationId: unknown;
  personal: string | null;
  schema: unknown;
  streamId: unknown;
  streamType: unknown;
  subjectId: unknown;
  type: unknown;
  version: unknown;
};

/** The digest of an event: ARCHITECTURE.md, "Digest". @param recordedAt milliseconds since 1970. */
export function digestOf(content: Content, recordedAt: number): Buffer {
  const body = hash('sha256', canonical(content), 'buffer');
  const time = Buffer.alloc(8);
  time.writeBigInt64BE(BigInt(recordedAt));
  return hash('sha256', Buffer.concat([body, time]), 'buffer');
}

/**
 * RFC 8785 of parsed JSON. Its numbers and strings are those that ECMAScript writes, so JSON.stringify writes
 * them; its members are in the order of their names' UTF-16 units, which is how `sort` compares.
 */
export function canonical(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonical).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = json as Record<string, unknown>;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(',')}}`;
}
