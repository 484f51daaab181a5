import { wholeLines } from './export-file.js';
import { keyName, NotAuthentic, parseVerifierKey, type VerifierKey, verifierKeyOf } from './note.js';
import { areSame, decode, fromBase64, isEd25519 } from './platform.js';

/** A key rotation in the history: a key was replaced by another, and has signed that. */
export type Succession = { position: number; from: unknown; to: unknown; signature: unknown };

/** The history contains a successor that the key has not signed. */
export class FalseSuccession extends NotAuthentic {}

export const SUCCESSIONS_OF = 'signing-key';
export const SUCCESSION = 'SigningKeyRotated';
/** Every line with a rotation contains this, because member names have only one spelling. */
const MARK = `"type":"${SUCCESSION}"`;
/** More key rotations than any organization has. */
export const MOST_SUCCESSIONS = 1_000;

/**
 * The keys that replaced this one, one after another, under its name.
 *
 * @param successions in the order of their positions.
 * @throws FalseSuccession if one was not signed by the key it replaces.
 */
export async function successorsOf(
  key: VerifierKey,
  organizationId: string,
  successions: readonly Succession[],
): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = [];
  let last = key;
  for (const { position, from, to, signature } of successions) {
    if (typeof from !== 'string' || typeof to !== 'string' || typeof signature !== 'string') continue;
    if (!isRecordedKey(from, last)) continue;
    const bytes = fromBase64(signature);
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    if (!bytes || !(await isEd25519(last.publicKey, statement, bytes))) {
      throw new FalseSuccession(
        `The event at position ${position} states that another key replaced ${keyName(last)}, but that key has not signed this. ` +
          'Someone inserted the event.',
        'successor',
      );
    }
    last = verifierKeyOf(key.name, recordedKey(to).bytes);
    keys.push(last);
  }
  return keys;
}

/** Unlike a key that an auditor pastes, a key in an event has one spelling: verifiers must agree on it. */
function recordedKey(text: string): VerifierKey {
  if (text === text.trim()) return parseVerifierKey(text);
  throw new NotAuthentic('A verifier key in the history has white space around it.', 'key');
}

function isRecordedKey(text: string, { bytes }: VerifierKey): boolean {
  try {
    return areSame(recordedKey(text).bytes, bytes);
  } catch (error) {
    if (error instanceof NotAuthentic) return false;
    throw error;
  }
}

/** The key rotations in an export. Lines that are not events are ignored here; verification reports them. */
export async function successionsOfExport(chunks: AsyncIterable<Uint8Array>): Promise<Succession[]> {
  const found: Succession[] = [];
  for await (const piece of wholeLines(chunks)) {
    if (typeof piece === 'string') break;
    // Bytes that are not UTF-8 are reported by the verification.
    for (const line of (decode(piece) ?? '').split('\n')) {
      const succession = line.includes(MARK) ? successionOf(line) : undefined;
      if (succession && found.length < MOST_SUCCESSIONS) found.push(succession);
    }
  }
  return found;
}

type Line = { position?: unknown; streamType?: unknown; type?: unknown; data?: unknown };

function successionOf(text: string): Succession | undefined {
  let line: Line | null;
  try {
    line = JSON.parse(text) as Line | null;
  } catch {
    return undefined;
  }
  const { position, streamType, type, data } = line ?? {};
  if (typeof position !== 'number' || streamType !== SUCCESSIONS_OF || type !== SUCCESSION) return undefined;
  const { from, to, signature } = (data ?? {}) as Partial<Succession>;
  return { position, from, to, signature };
}
