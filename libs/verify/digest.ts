import { HASH, hexSha256, sha256, writeInt64 } from './platform.js';

/** What the digest covers in addition to the time. `personal`: base64 of the stored bytes. */
export type Content = Record<'data' | 'metadata', unknown> &
  Record<'eventId' | 'organizationId' | 'streamId' | 'streamType' | 'type', string> &
  Record<'personal' | 'subjectId', string | null> &
  Record<'schema' | 'version', number>;

const timed = new Uint8Array(HASH + 8);

/** The digest of an event, in hexadecimal. @param content its members in any order. @param recordedAt ms since 1970. */
export function digestOf(content: Content, recordedAt: number): string {
  timed.set(sha256(canonical(content)));
  writeInt64(recordedAt, timed, HASH);
  return hexSha256(timed);
}

const DEEPEST = 200;

/** Whether the members of parsed JSON are sorted as in RFC 8785 at every level. Undefined if it is nested deeper than 200. */
export function isSorted(json: unknown, level = 1): boolean | undefined {
  if (typeof json !== 'object' || json === null) return true;
  if (level > DEEPEST) return undefined;
  let [sorted, before] = [true, ''];
  const isList = Array.isArray(json);
  for (const name in json) {
    if (!isList && before > name) sorted = false;
    before = name;
    const own = isSorted((json as Record<string, unknown>)[name], level + 1);
    if (own === undefined) return undefined;
    sorted &&= own;
  }
  return sorted;
}

/** The canonical form of parsed JSON (RFC 8785), which formats numbers and strings as ECMAScript does. */
export function canonical(json: unknown): string {
  if (isSorted(json)) return JSON.stringify(json);
  // Not an object with sorted members, because ECMAScript puts names that are integers first.
  const inOrder = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(inOrder).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${members.map(([name, own]) => `${JSON.stringify(name)}:${inOrder(own)}`).join(',')}}`;
  };
  return inOrder(json);
}
