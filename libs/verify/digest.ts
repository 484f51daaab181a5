import { HASH, hexSha256, sha256, writeInt64 } from './platform.js';

/** What the digest covers in addition to the time. `personal`: base64 of the stored bytes. */
export type Content = {
  data: unknown;
  eventId: string;
  metadata: unknown;
  organizationId: string;
  personal: string | null;
  schema: number;
  streamId: string;
  streamType: string;
  subjectId: string | null;
  type: string;
  version: number;
};

const timed = new Uint8Array(HASH + 8);

/** The digest of an event, in hexadecimal. @param content its members in this order. @param recordedAt ms since 1970. */
export function digestOf(content: Content, recordedAt: number): string {
  sha256(canonical(content), timed);
  writeInt64(recordedAt, timed, HASH);
  return hexSha256(timed);
}

/** Far above the server's limit (64 in `content`), and far below any stack limit. */
const DEEPEST = 200;

/**
 * Whether the members of parsed JSON are sorted as in RFC 8785 at every level: by the UTF-16 units of their names, which is how
 * ECMAScript compares strings. Undefined if it is nested deeper than 200 levels.
 */
export function isSorted(json: unknown, level = 1): boolean | undefined {
  if (typeof json !== 'object' || json === null) return true;
  if (level > DEEPEST) return undefined;
  const names = Array.isArray(json) ? [] : Object.keys(json);
  let sorted = names.every((name, n) => n === 0 || names[n - 1]! <= name);
  for (const value of Object.values(json)) {
    const own = isSorted(value, level + 1);
    if (own === undefined) return undefined;
    sorted &&= own;
  }
  return sorted;
}

/** The canonical form of parsed JSON (RFC 8785), which formats numbers and strings as ECMAScript does. */
export function canonical(json: unknown): string {
  return isSorted(json) ? JSON.stringify(json) : inOrder(json);
}

/** Not an object with sorted members, because ECMAScript puts names that are integers first. */
function inOrder(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(inOrder).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = Object.entries(json).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${inOrder(value)}`).join(',')}}`;
}
