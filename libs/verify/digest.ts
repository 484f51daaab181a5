import { HASH, hexSha256, sha256, writeInt64 } from './platform.js';

/** The fields that the digest covers in addition to data, metadata and time. */
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

/** Encodes a string or null as JSON. */
export type Quote = (text: string | null) => string;

/** For strings without characters to escape: the JSON they were read from has the same length. */
export const inQuotes: Quote = (text) => (text === null ? 'null' : `"${text}"`);

const timed = new Uint8Array(HASH + 8);

/**
 * The digest of an event: docs/spec/history-format.md, "Digest".
 *
 * @param data in canonical form, like `metadata`.
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
  return hexSha256(timed);
}

/** Far above the server's limit (64 in `content`), and far below any stack limit. */
const DEEPEST = 200;

/**
 * Whether the members of parsed JSON are sorted as in RFC 8785 at every level: by the UTF-16 units of their
 * names, which is how ECMAScript compares strings.
 *
 * @returns undefined if it is nested deeper than 200 levels.
 */
export function isSorted(json: unknown, level = 1): boolean | undefined {
  if (typeof json !== 'object' || json === null) return true;
  if (level > DEEPEST) return undefined;
  let sorted = true;
  if (!Array.isArray(json)) {
    let before: string | undefined;
    for (const name of Object.keys(json)) {
      if (before !== undefined && before > name) sorted = false;
      before = name;
    }
  }
  for (const value of Object.values(json)) {
    const own = isSorted(value, level + 1);
    if (own === undefined) return undefined;
    sorted &&= own;
  }
  return sorted;
}

/**
 * The canonical form of parsed JSON (RFC 8785). RFC 8785 formats numbers and strings like ECMAScript, so
 * JSON.stringify suffices.
 */
export function canonical(json: unknown): string {
  return isSorted(json) ? JSON.stringify(json) : inOrder(json);
}

function inOrder(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(inOrder).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = json as { [name: string]: unknown };
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${inOrder(members[name])}`).join(',')}}`;
}
