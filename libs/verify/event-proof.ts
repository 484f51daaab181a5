import { openCheckpoint } from './checkpoint.js';
import { eventOf, type Line, parseLine, WrongLine } from './export.js';
import { NotAuthentic, printable } from './note.js';
import { areSame, hashOf } from './platform.js';
import { leafHash, rootOfPath } from './tree.js';
import { againstOf, type Against, count as formatted, signedBy } from './verdict.js';

/** The proof of one event: docs/spec/history-format.md, "Proofs". */

/** The result of verifying the proof of an event. If it proves nothing, `reason` says why, and all others are null. */
export type EventVerdict = {
  ok: boolean;
  event: Pick<Line, 'organizationId' | 'eventId' | 'type' | 'position' | 'recordedAt'> | null;
  reason: string | null;
  checkpoint: Against | null;
};

/** @param text the response of `history.get-proof`, or its `data`. */
export async function verifyEvent(text: string, key: string): Promise<EventVerdict> {
  try {
    const { event, index, path, checkpoint: note } = partsOf(text);
    const checkpoint = await openCheckpoint(note, key);
    const line = parseLine(textOf(event));
    const { position, digest } = eventOf(line, checkpoint.organizationId);
    const root = rootOfPath(leafHash(position, digest), index, checkpoint.size, path);
    if (!root || !areSame(root, checkpoint.root))
      throw new NotAuthentic('The path does not lead from the event to the root of the checkpoint.');
    const { organizationId, eventId, type, recordedAt } = line;
    const proved = { organizationId, eventId, type, position, recordedAt };
    return { ok: true, event: proved, reason: null, checkpoint: againstOf(checkpoint) };
  } catch (error) {
    if (!(error instanceof NotAuthentic)) throw error;
    const { message } = error;
    const reason = error instanceof WrongLine ? `The event ${message}.` : message;
    return { ok: false, event: null, reason, checkpoint: null };
  }
}

/** What to say of a file that contains an error response; undefined for any other file. */
export function errorIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return `contains an error of the server. ${printable(`${error.code}: ${error.message}`)}`;
  } catch {
    return undefined;
  }
}

/** @throws WrongLine */
function textOf(event: object): string {
  try {
    return JSON.stringify(event);
  } catch {
    throw new WrongLine('is nested too deeply');
  }
}

/** No tree has more levels: positions have 53 bits. */
const LONGEST_PATH = 64;

function partsOf(text: string): { event: object; index: number; path: Uint8Array[]; checkpoint: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new NotAuthentic('The file is not JSON. It must contain the response of history.get-proof.');
  }
  const { data } = Object(answer) as { data?: unknown };
  const { event, index, path, checkpoint } = Object(data ?? answer) as Record<string, unknown>;
  const hashes = (Array.isArray(path) && path.length <= LONGEST_PATH ? path : [null]).map((hash) =>
    typeof hash === 'string' ? hashOf(hash) : undefined,
  );
  const isNumbered = Number.isSafeInteger(index) && Number(index) >= 0;
  const isRead = hashes.every((hash) => hash !== undefined);
  const error = errorIn(text);
  if (error !== undefined) throw new NotAuthentic(`The file ${error}`);
  if (!isNumbered || typeof checkpoint !== 'string' || !isRead)
    throw new NotAuthentic('The file does not contain the response of history.get-proof.');
  return { event: Object(event) as object, index: Number(index), path: hashes, checkpoint };
}

/** A statement to quote. */
export function eventStatement({ event, reason, checkpoint }: EventVerdict): string {
  if (!event || !checkpoint) return `The proof proves nothing: ${reason}`;
  const { organizationId, eventId, type, position, recordedAt } = event;
  return (
    `The history of organization ${organizationId} contains the event ${printable(eventId)} (${printable(type)}) at position ` +
    `${formatted(position)}, recorded at ${recordedAt}. The checkpoint of ${formatted(checkpoint.size)} events, ` +
    `${signedBy(checkpoint)}, covers it.`
  );
}
