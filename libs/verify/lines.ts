import { addEvent, type Batch, isId, newBatch, UNPROVED, UNREADABLE } from './batch.js';
import { canonical, digestOf, inQuotes, isSorted, type Quote } from './digest.js';
import { type Code } from './note.js';
import { decode, hexSha256, timeOf } from './platform.js';

/** A line of an export: docs/spec/history-format.md, "Export". */
type Line = {
  position: number;
  previousPosition: number;
  organizationId: string;
  streamType: string;
  streamId: string;
  version: number;
  eventId: string;
  type: string;
  schema: number;
  data: object;
  personal: object | null;
  encryptedPersonal: string | null;
  subjectId: string | null;
  metadata: { personalDigest?: unknown };
  recordedAt: string;
  digest: string;
};

const isNumber = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isText = (value: unknown) => typeof value === 'string';
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first member that is missing or invalid. Written out, because a loop over the names takes three times as long. */
function invalidMember(line: Line): keyof Line | undefined {
  if (!isNumber(line.position, 1, Number.MAX_SAFE_INTEGER)) return 'position';
  if (!isNumber(line.previousPosition, 0, Number.MAX_SAFE_INTEGER)) return 'previousPosition';
  if (!isText(line.organizationId)) return 'organizationId';
  if (!isText(line.streamType)) return 'streamType';
  if (!isId(line.streamId)) return 'streamId';
  if (!isNumber(line.version, 1, 2 ** 31 - 1)) return 'version';
  if (!isText(line.eventId)) return 'eventId';
  if (!isText(line.type)) return 'type';
  if (!isNumber(line.schema, 1, 2 ** 15 - 1)) return 'schema';
  if (!isObject(line.data)) return 'data';
  if (line.personal !== null && !isObject(line.personal)) return 'personal';
  if (line.encryptedPersonal !== null && !isText(line.encryptedPersonal)) return 'encryptedPersonal';
  if (line.subjectId !== null && !isId(line.subjectId)) return 'subjectId';
  if (!isObject(line.metadata)) return 'metadata';
  if (!isText(line.recordedAt)) return 'recordedAt';
  return isText(line.digest) ? undefined : 'digest';
}

/** The checked lines of an export. */
export type CheckedLines = Batch & {
  /** The problem with the line after these events, which is the last one checked. */
  wrong: WrongLine | null;
};

/** Without positions if the line has none, so it is not an event. */
export type WrongLine = { position?: number; previousPosition?: number; code: Code; what: string };

/**
 * Far above any event, because a request has at most 1 MiB. So a file without line feeds does not fill the
 * memory.
 */
export const LONGEST_LINE = 16 * 1024 * 1024;
export const TOO_LONG = `has more than ${LONGEST_LINE} bytes`;

/** Bytes of the shortest line: the names of its fields, an id, a time and a digest. */
const SHORTEST_LINE = 300;

/** Checks lines one by one. @param lines complete, each with its line feed. */
export function checkLines(lines: Uint8Array, organizationId: string): CheckedLines {
  const checked = { ...newBatch(Math.ceil(lines.length / SHORTEST_LINE)), wrong: null as WrongLine | null };
  for (let start = 0, end; !checked.wrong && (end = lines.indexOf(10, start)) >= 0; start = end + 1) {
    const text = decode(lines.subarray(start, end));
    if (end - start > LONGEST_LINE) checked.wrong = { code: 'line', what: TOO_LONG };
    else if (text === undefined) checked.wrong = { code: 'line', what: 'is not UTF-8' };
    else checked.wrong = checkLine(text, organizationId, checked);
  }
  return checked;
}

/** Adds a line's event to the batch. @returns what is wrong with it. */
export function checkLine(text: string, organizationId: string, batch: Batch): WrongLine | null {
  let line: Line;
  try {
    line = JSON.parse(text) as Line;
  } catch {
    return { code: 'line', what: 'is not JSON' };
  }
  if (!isObject(line)) return { code: 'line', what: 'is not a JSON object' };
  const invalid = invalidMember(line);
  if (invalid !== undefined)
    return { code: 'line', what: `has ${Object.hasOwn(line, invalid) ? 'an invalid' : 'no'} ${invalid}` };
  const data = formsOf(line.data);
  const personal = formsOf(line.personal);
  const metadata = formsOf(line.metadata);
  if (!data || !personal || !metadata) return { code: 'line', what: 'is nested too deeply' };
  const quote = spellingOf(text, line, [data, personal, metadata]);
  if (!quote) return { code: 'spelling', what: whatElse(line) };

  const { position, previousPosition, encryptedPersonal } = line;
  const wrong = (code: Code, what: string) => ({ position, previousPosition, code, what });
  if (line.organizationId !== organizationId) {
    return wrong(
      'foreign',
      `belongs to organization ${line.organizationId}, the checkpoint to ${organizationId}`,
    );
  }
  // The digest does not cover it, and without a ciphertext nothing proves it.
  if (line.personal !== null && encryptedPersonal === null)
    return wrong('personal', 'has readable personal data, although no encrypted data was stored');
  // The digest covers this one. Events of versions up to 0.7.0 have none.
  const { personalDigest } = line.metadata;
  const isDisputed = line.personal !== null && personalDigest !== undefined;
  if (isDisputed && hexSha256(personal.canonical) !== personalDigest)
    return wrong('personal', 'has readable personal data that does not match its personalDigest');
  const recordedAt = timeOf(line.recordedAt);
  if (recordedAt === undefined)
    return wrong('line', 'has a recordedAt that is not a valid UTC time with milliseconds');
  if (digestOf(line, data.canonical, metadata.canonical, recordedAt, quote) !== line.digest) {
    return wrong('digest', 'has a digest that does not match its content');
  }
  const isUnreadable = encryptedPersonal !== null && line.personal === null;
  const isUnproved =
    personalDigest === undefined && line.personal !== null && Object.keys(line.personal).length > 0;
  addEvent(batch, line, recordedAt, isUnreadable ? UNREADABLE : isUnproved ? UNPROVED : 0);
  return null;
}

/**
 * The accepted spellings of a value: as ECMAScript formats it, or in canonical form. They are usually the same.
 */
type Forms = { written: string; canonical: string };

const NULL: Forms = { written: 'null', canonical: 'null' };

function formsOf(json: object | null): Forms | undefined {
  if (json === null) return NULL;
  const sorted = isSorted(json);
  if (sorted === undefined) return undefined;
  const written = JSON.stringify(json);
  return { written, canonical: sorted ? written : canonical(json) };
}

/**
 * Whether the text is the only valid spelling of the line, or the one that versions up to 0.3.0 wrote.
 *
 * @returns the function that encodes its strings. Most lines need no escapes and have sorted members, so they
 *   are compared as a whole.
 */
function spellingOf(text: string, line: Line, values: readonly [Forms, Forms, Forms]): Quote | undefined {
  const [data, personal, metadata] = values;
  if (text === spell(line, [data.written, personal.written, metadata.written], inQuotes)) return inQuotes;
  for (const one of [data.written, data.canonical])
    for (const other of [personal.written, personal.canonical])
      for (const third of [metadata.written, metadata.canonical])
        if (text === spell(line, [one, other, third], JSON.stringify)) return JSON.stringify;
  return undefined;
}

function spell(line: Line, [data, personal, metadata]: readonly string[], quote: Quote): string {
  return (
    `{"position":${line.position},"previousPosition":${line.previousPosition},` +
    `"organizationId":${quote(line.organizationId)},"streamType":${quote(line.streamType)},` +
    `"streamId":${quote(line.streamId)},"version":${line.version},"eventId":${quote(line.eventId)},` +
    `"type":${quote(line.type)},"schema":${line.schema},"data":${data},"personal":${personal},` +
    `"encryptedPersonal":${quote(line.encryptedPersonal)},"subjectId":${quote(line.subjectId)},` +
    `"metadata":${metadata},"recordedAt":${quote(line.recordedAt)},"digest":${quote(line.digest)}}`
  );
}

const MEMBERS = new Set(
  (
    'position previousPosition organizationId streamType streamId version eventId type schema data personal ' +
    'encryptedPersonal subjectId metadata recordedAt digest'
  ).split(' '),
);

/** Why the spelling of a complete line is invalid. */
function whatElse(line: object): string {
  const unknown = Object.keys(line).find((name) => !MEMBERS.has(name));
  // The digest would not cover it.
  if (unknown !== undefined) return `has "${unknown}", which is not a member of an event`;
  return (
    'is not written as an export writes it: check for white space, another notation of a number or text, ' +
    'another order of members, or duplicate members'
  );
}
