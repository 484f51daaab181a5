import { type Code, NotAuthentic } from './note.js';
import { decoder, HASH, hexSha256, joined, sha256, timeOf, writeInt64 } from './platform.js';

/** Reads an export: docs/spec/history-format.md, "Export". */

/** An event that is valid on its own. Ids are UUIDs in lower case. */
export type Event = Pick<Line, 'position' | 'streamId' | 'version' | 'type' | 'subjectId' | 'digest'> & {
  data?: object;
  /** Milliseconds since 1970. */
  time: number;
  /** Its personal data cannot be decrypted, or it is readable and no digest covers it. */
  personal: 'unreadable' | 'unproved' | null;
};

/** Events in the order of their positions, and the mistake in the next one, which ends them. */
export type Batch = { events: readonly Event[]; mistake?: Mistake | undefined };
export type Mistake = { position: number; code: Code; reason: string };

/** A line is invalid. The message does not contain its number. */
export class WrongLine extends NotAuthentic {
  constructor(what: string, code: Code = 'line') {
    super(what, code);
  }
}
/** The last line has no end. */
export class Truncated extends WrongLine {}

type Text = 'organizationId' | 'streamType' | 'streamId' | 'eventId' | 'type' | 'recordedAt' | 'digest';
type Whole = 'position' | 'previousPosition' | 'version' | 'schema';
type Optional = { personal: object | null; encryptedPersonal: string | null; subjectId: string | null };
/** A line as it is written. */
export type Line = Record<Text, string> &
  Record<Whole, number> &
  Record<'data' | 'metadata', object> &
  Optional;

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const isId = (value: unknown): value is string => isText(value) && ID.test(value as string);
const isWithin = (least: number, most: number, value: unknown) =>
  Number.isInteger(value) && least <= Number(value) && Number(value) <= most;

/** The members of a line in their order. */
const CHECKS: Record<keyof Line, Check> = {
  position: (value) => isWithin(1, Number.MAX_SAFE_INTEGER, value),
  previousPosition: (value) => isWithin(0, Number.MAX_SAFE_INTEGER, value),
  organizationId: isText,
  streamType: isText,
  streamId: isId,
  version: (value) => isWithin(1, 2 ** 31 - 1, value),
  eventId: isText,
  type: isText,
  schema: (value) => isWithin(1, 2 ** 15 - 1, value),
  data: isObject,
  personal: (value) => value === null || isObject(value),
  encryptedPersonal: (value) => value === null || isText(value),
  subjectId: (value) => value === null || isId(value),
  metadata: isObject,
  recordedAt: isText,
  digest: isText,
};
const MEMBERS = Object.keys(CHECKS) as (keyof Line)[];

/** Bytes. A file without line feeds does not fill the memory. */
const LONGEST_LINE = 16 * 1024 * 1024;

/** The events of an export in the file's order. Each is checked on its own and against the line before. */
export async function* eventsOfExport(
  chunks: AsyncIterable<Uint8Array>,
  organizationId: string,
): AsyncGenerator<Batch> {
  let [number, last, beforeLast] = [1, 0, -1];
  let events: Event[] = [];
  let line: Line | undefined;
  try {
    for await (const lines of linesOf(chunks)) {
      for (const text of lines) {
        line = parseLine(text);
        const mistake = orderOf(line, number, last, beforeLast);
        if (mistake) {
          yield { events, mistake };
          return;
        }
        events.push(eventOf(line, organizationId));
        [number, last, beforeLast] = [number + 1, line.position, last];
        line = undefined;
      }
      yield { events };
      events = [];
    }
  } catch (error) {
    if (!(error instanceof WrongLine)) throw error;
    const where = line ? `Line ${number} (position ${line.position})` : `Line ${number}`;
    // If the line is not an event, one is missing after the last.
    const mistake = { position: line?.position ?? last + 1, reason: `${where} ${error.message}.` };
    yield { events, mistake: { ...mistake, code: error.code } };
  }
}

/**
 * Checks that a line follows the line at position `last`, which followed the one at `beforeLast`.
 *
 * @returns the mistake, if any.
 */
function orderOf(line: Line, number: number, last: number, beforeLast: number): Mistake | undefined {
  const { position, previousPosition } = line;
  if (previousPosition === last && position > last) return undefined;
  if (previousPosition === last) {
    const reason = `Line ${number} has position ${position}, although it follows ${last}.`;
    return { position: last + 1, code: 'order', reason };
  }
  const names = `names ${previousPosition} as the previous position`;
  const states = previousPosition === 0 ? 'claims to be the first event' : names;
  const found = last === 0 ? 'no line precedes it' : `the previous line has position ${last}`;
  const reason = `Line ${number} (position ${position}) ${states}, but ${found}.`;
  // If the previous line names an earlier one, the event between them is missing. Otherwise, the previous line was inserted.
  return { position: previousPosition > beforeLast ? previousPosition : last, code: 'order', reason };
}

/** The lines of each chunk, without their line feeds. @throws WrongLine after those before a line that is not complete UTF-8. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  let rest = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = joined(rest, chunk);
    const lines: string[] = [];
    let start = 0;
    try {
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
        if (end - start > LONGEST_LINE) break;
        lines.push(decoder.decode(bytes.subarray(start, end)));
        start = end + 1;
      }
    } catch {
      yield lines;
      throw new WrongLine('is not UTF-8');
    }
    yield lines;
    rest = bytes.subarray(start);
    if (rest.length > LONGEST_LINE) throw new WrongLine(`has more than ${LONGEST_LINE} bytes`);
  }
  if (rest.length > 0) throw new Truncated('does not end with a line feed. The file is truncated');
}

/** Checks that a line is an event, and its spelling. @throws WrongLine */
export function parseLine(text: string): Line {
  let line: Line;
  try {
    line = JSON.parse(text) as Line;
  } catch {
    throw new WrongLine('is not JSON');
  }
  if (!isObject(line)) throw new WrongLine('is not a JSON object');
  const invalid = MEMBERS.find((name) => !CHECKS[name](line[name]));
  if (invalid !== undefined)
    throw new WrongLine(`has ${Object.hasOwn(line, invalid) ? 'an invalid' : 'no'} ${invalid}`);
  if ([line.data, line.personal, line.metadata].some((value) => isSorted(value) === undefined))
    throw new WrongLine('is nested too deeply');
  if (isSpelled(text, line)) return line;
  const unknown = Object.keys(line).find((name) => !Object.hasOwn(CHECKS, name));
  if (unknown !== undefined)
    throw new WrongLine(`has "${unknown}", which is not a member of an event`, 'spelling');
  const causes =
    'white space, another notation of a number or text, another order of members, or duplicate members';
  throw new WrongLine(`is not written as an export writes it: check for ${causes}`, 'spelling');
}

/**
 * Whether the text is the one spelling of the line: its members in order, as ECMAScript writes them. The three objects may also
 * be in canonical form, which differs if names are integers.
 */
function isSpelled(text: string, line: Line): boolean {
  const names = Object.keys(line);
  if (names.length !== MEMBERS.length) return false;
  if (text === JSON.stringify(line)) return names.every((name, n) => name === MEMBERS[n]);
  let spellings = [''];
  for (const name of MEMBERS) {
    const forms = new Set([JSON.stringify(line[name]), canonical(line[name])]);
    spellings = spellings.flatMap((begun) => [...forms].map((form) => `${begun},"${name}":${form}`));
  }
  return spellings.some((spelling) => text === `{${spelling.slice(1)}}`);
}

/** Checks what an event states about itself. @throws WrongLine */
export function eventOf(line: Line, organizationId: string): Event {
  const { data, personal, encryptedPersonal, metadata } = line;
  const { position, eventId, schema, streamId, streamType, subjectId, type, version, digest } = line;
  if (line.organizationId !== organizationId) {
    const both = `belongs to organization ${line.organizationId}, the checkpoint to ${organizationId}`;
    throw new WrongLine(both, 'foreign');
  }
  // The digest does not cover it, and without a ciphertext nothing proves it.
  if (personal !== null && encryptedPersonal === null)
    throw new WrongLine('has readable personal data, although no encrypted data was stored', 'personal');
  // The digest covers this one. Events of versions up to 0.7.0 have none.
  const { personalDigest } = metadata as { personalDigest?: unknown };
  const isDisputed = personal !== null && personalDigest !== undefined;
  if (isDisputed && hexSha256(canonical(personal)) !== personalDigest)
    throw new WrongLine('has readable personal data that does not match its personalDigest', 'personal');
  const time = timeOf(line.recordedAt);
  if (time === undefined)
    throw new WrongLine('has a recordedAt that is not a valid UTC time with milliseconds');
  if (
    digestOf(
      {
        data,
        eventId,
        metadata,
        organizationId,
        personal: encryptedPersonal,
        schema,
        streamId,
        streamType,
        subjectId,
        type,
        version,
      },
      time,
    ) !== digest
  )
    throw new WrongLine('has a digest that does not match its content', 'digest');
  const isUnreadable = encryptedPersonal !== null && personal === null;
  const isUnproved = personalDigest === undefined && personal !== null && Object.keys(personal).length > 0;
  const known = isUnreadable ? 'unreadable' : isUnproved ? 'unproved' : null;
  return { position, streamId, version, type, subjectId, digest, data, time, personal: known };
}

/** The members that the digest covers in addition to the time. `personal`: base64 of the stored bytes. */
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
