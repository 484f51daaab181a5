import { hash } from 'node:crypto';
import { HASH, sha256, writeInt64 } from './sha256.js';

/** What the digest covers beside data, metadata and time. */
export type Content = {
  eventId: string;
  organizationId: string;
  /** base64 */
  encryptedPersonal: string | null;
  schema: number;
  streamId: string;
  streamType: string;
  subjectId: string | null;
  type: string;
  version: number;
};

/** Writes a text or null as JSON. */
export type Quote = (text: string | null) => string;

/** Right for texts that need no escapes: as it does where JSON of the text was read and has no more characters. */
export const inQuotes: Quote = (text) => (text === null ? 'null' : `"${text}"`);

const timed = Buffer.alloc(HASH + 8);

/**
 * The digest of an event: docs/spec/audit-log.md, "Digest".
 *
 * @param data and `metadata`, in canonical form.
 * @param recordedAt milliseconds since 1970.
 * @returns hexadecimal.
 */
export function digestOf(
  content: Content,
  data: string,
  metadata: string,
  recordedAt: number,
  quote: Quote = JSON.stringify,
): string {
  const body =
    `{"data":${data},"eventId":${quote(content.eventId)},"metadata":${metadata},` +
    `"organizationId":${quote(content.organizationId)},"personal":${quote(content.encryptedPersonal)},` +
    `"schema":${content.schema},"streamId":${quote(content.streamId)},"streamType":${quote(content.streamType)},` +
    `"subjectId":${quote(content.subjectId)},"type":${quote(content.type)},"version":${content.version}}`;
  sha256(body, timed);
  writeInt64(recordedAt, timed, HASH);
  return hash('sha256', timed, 'hex');
}

/** Far beyond what the server takes (64 in `content`), far below any stack. */
const DEEPEST = 200;

/**
 * Whether the members of parsed JSON are in the order of RFC 8785, at every level: of their names' UTF-16 units, which is
 * how ECMAScript compares.
 *
 * @returns undefined where it is nested deeper than 200 levels.
 */
export function isSorted(json: unknown, level = 1): boolean | undefined {
  if (typeof json !== 'object' || json === null) return true;
  if (level > DEEPEST) return undefined;
  let sorted = true;
  if (Array.isArray(json)) {
    for (const element of json) {
      const own = isSorted(element, level + 1);
      if (own === undefined) return undefined;
      sorted &&= own;
    }
    return sorted;
  }
  const members = json as { [name: string]: unknown };
  let before: string | undefined;
  for (const name of Object.keys(members)) {
    if (before !== undefined && before > name) sorted = false;
    before = name;
    const own = isSorted(members[name], level + 1);
    if (own === undefined) return undefined;
    sorted &&= own;
  }
  return sorted;
}

/** RFC 8785 of parsed JSON. Its numbers and strings are those that ECMAScript writes, so JSON.stringify writes them. */
export function canonical(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonical).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = json as { [name: string]: unknown };
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(',')}}`;
}
