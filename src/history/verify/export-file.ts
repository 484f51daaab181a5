import { isUtf8 } from 'node:buffer';
import { digestOf } from './digest.js';
import { type Found } from './verdict.js';

/** A line of an export: ARCHITECTURE.md, "Export". */
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
  data: unknown;
  personal: unknown;
  encryptedPersonal: string | null;
  subjectId: string | null;
  metadata: unknown;
  recordedAt: string;
  digest: string;
};

const FIELDS: readonly (keyof Line)[] = [
  ...(['position', 'previousPosition', 'organizationId', 'streamType', 'streamId', 'version'] as const),
  ...(['eventId', 'type', 'schema', 'data', 'personal', 'encryptedPersonal', 'subjectId'] as const),
  ...(['metadata', 'recordedAt', 'digest'] as const),
];

/** Far above any event (a request has 1 MiB at most), so that a file without line feeds fills no memory. */
const LONGEST_LINE = 16 * 1024 * 1024;

/** The events of an export in the file's order, each checked by itself and against the line before it. */
export async function* eventsOfExport(
  chunks: AsyncIterable<Buffer>,
  organizationId: string,
): AsyncGenerator<Found> {
  let before = { position: 0, previousPosition: -1 };
  let number = 0;
  for await (const bytes of linesOf(chunks)) {
    number += 1;
    // Where a line does not tell its position, an event is missing after the one before.
    const next = before.position + 1;
    const read = readLine(bytes);
    if (typeof read === 'string') {
      yield { position: next, mistake: `Line ${number} ${read}.` };
      return;
    }
    const wrong = wrongPlace(read, before) ?? wrongContent(read, organizationId);
    if (wrong) {
      yield { position: wrong.position, mistake: `Line ${number} ${wrong.mistake}.` };
      return;
    }
    yield { position: read.position, digest: Buffer.from(read.digest, 'hex') };
    before = read;
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      length = 0;
    }
    begun.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LONGEST_LINE) break;
  }
  if (length > 0) yield Buffer.concat(begun);
}

/** @returns the line, or what is wrong with it. */
function readLine(bytes: Buffer): Line | string {
  if (bytes.length > LONGEST_LINE) return `has more than ${LONGEST_LINE} bytes`;
  if (!isUtf8(bytes)) return 'is not UTF-8';
  const text = bytes.toString();
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return 'is not JSON';
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return 'is not a JSON object';
  const missing = FIELDS.find((field) => !Object.hasOwn(line, field));
  if (missing) return `has no ${missing}`;
  const unknown = Object.keys(line).find((name) => !(FIELDS as readonly string[]).includes(name));
  // Nothing would vouch for it.
  if (unknown !== undefined) return `has "${unknown}", which is no field of an event`;
  if (isDeeperThan(line, DEEPEST)) return `is nested deeper than ${DEEPEST} levels`;
  // Readers disagree about which of two counts (RFC 8259, section 4): a digest proves only what it was made of.
  if (colonsOf(text) !== membersOf(line)) return 'has a member twice';
  const { position, previousPosition } = line as Line;
  if (!Number.isSafeInteger(position) || position < 1) return 'has a position that is not a number from 1';
  if (!Number.isSafeInteger(previousPosition) || previousPosition < 0) {
    return 'has a previousPosition that is not a number from 0';
  }
  return line as Line;
}

type Wrong = { position: number; mistake: string };

/** Whether the line follows the one before it. */
function wrongPlace(
  { position, previousPosition }: Line,
  before: { position: number; previousPosition: number },
): Wrong | undefined {
  if (previousPosition !== before.position) {
    const names =
      previousPosition === 0
        ? 'says that it is the first'
        : `names ${previousPosition} as the position before`;
    const found = before.position === 0 ? 'no line is' : `that of the line before is ${before.position}`;
    // What the line before does not know of is missing; otherwise it is that line itself that was put in.
    const isMissing = previousPosition > before.previousPosition;
    return {
      position: isMissing ? previousPosition : before.position,
      mistake: `(position ${position}) ${names}, but ${found}`,
    };
  }
  if (position <= before.position) {
    return {
      position: before.position + 1,
      mistake: `has position ${position}, although it follows ${before.position}`,
    };
  }
  return undefined;
}

function wrongContent(line: Line, organizationId: string): Wrong | undefined {
  const { position, encryptedPersonal, personal } = line;
  const wrong = (mistake: string) => ({ position, mistake: `(position ${position}) ${mistake}` });
  if (line.organizationId !== organizationId) {
    return wrong(`belongs to organization ${line.organizationId}, the checkpoint to ${organizationId}`);
  }
  // The digest does not cover it, and without a ciphertext nobody ever said it.
  if (personal !== null && encryptedPersonal === null)
    return wrong('has personal data that were never stored');
  const recordedAt = millisecondsOf(line.recordedAt);
  if (recordedAt === undefined) {
    return wrong('has a recordedAt that is not like 2026-11-20T09:30:00.000Z');
  }
  const { data, eventId, metadata, schema, streamId, streamType, subjectId, type, version } = line;
  const content = { data, eventId, metadata, schema, streamId, streamType, subjectId, type, version };
  const digest = digestOf({ ...content, organizationId, personal: encryptedPersonal }, recordedAt);
  return digest.toString('hex') === line.digest ? undefined : wrong('has a digest that is not its content’s');
}

function millisecondsOf(recordedAt: unknown): number | undefined {
  const time = typeof recordedAt === 'string' ? Date.parse(recordedAt) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString() === recordedAt ? time : undefined;
}

/** Far beyond what the server takes (64 in `content`), far below any stack. */
const DEEPEST = 200;

function isDeeperThan(json: unknown, levels: number): boolean {
  if (typeof json !== 'object' || json === null) return false;
  return levels === 0 || Object.values(json).some((inner) => isDeeperThan(inner, levels - 1));
}

function membersOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0;
  const own = Object.values(json).map(membersOf);
  return own.reduce((sum, members) => sum + members, Array.isArray(json) ? 0 : own.length);
}

/** The colons outside strings, one for each member. By hand: a regular expression overflows on long strings. */
function colonsOf(json: string): number {
  let colons = 0;
  let isInString = false;
  for (let index = 0; index < json.length; index += 1) {
    switch (json.charCodeAt(index)) {
      case 0x22: // "
        isInString = !isInString;
        break;
      case 0x5c: // \
        index += 1;
        break;
      case 0x3a: // :
        if (!isInString) colons += 1;
        break;
    }
  }
  return colons;
}
