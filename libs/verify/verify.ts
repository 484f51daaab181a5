import { type Checkpoint, openCheckpoint, openParts, openProof } from './checkpoint.js';
import { type Succession, successionsOfExport } from './checkpoint.js';
import { type Batch, type Event, eventsOfExport } from './export.js';
import { ALGORITHMS, cosignedBy, type Cosignature, NotAuthentic } from './note.js';
import { parseVerifierKey, readNote, verifierKeyOf } from './note.js';
import { REGISTER, RegisteredHistory, RegisterEntries } from './register.js';
import { MOST_WARNINGS, unproved, type Verdict } from './verdict.js';
import { type Step, verifyEvents } from './verify-events.js';

/** An export of the register, and its checkpoint. */
export type RegisterFiles = { chunks: () => AsyncIterable<Uint8Array>; checkpoint: string };

export type VerifyOptions = {
  /** The parts that the server sent with the checkpoint, as text. */
  parts?: string | undefined;
  /** The proof that the checkpoint is in the log of all organizations, as text (C2SP tlog-proof). */
  proof?: string | undefined;
  /** Verifier keys of witnesses. `quorum` of them must have cosigned the checkpoint; by default, all of them. */
  witnesses?: readonly string[] | undefined;
  quorum?: number | undefined;
  /** The register of checkpoints, which must cover the checkpoint and contain no other history. */
  register?: RegisterFiles | undefined;
  /** `events` read so far, and the completed `share` of the work, from 0 to 1. In a database, the seals are read first. */
  onProgress?: (progress: { events: number; share: number }) => void;
  /** Loads the key rotations in the history. Called only if the key did not sign the checkpoint. */
  successions?: () => Promise<readonly Succession[]>;
  /** Aborts the verification with the signal's reason. */
  signal?: AbortSignal;
};

/** Verifies an export of a whole history. @param share returns how much of it was read, from 0 to 1. */
export function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  checkpoint: string,
  key: string,
  options: VerifyOptions = {},
  share: () => number = () => 0,
): Promise<Verdict> {
  return withCheckpoint(checkpoint, key, options, (opened, register) => {
    const events = eventsOfExport(chunks, opened.organizationId);
    return verifyEvents(opened, events, { register, step: stepper(share, options) });
  });
}

/** Opens the checkpoint with what belongs to it, lets `work` verify a history against it, and adds them to the verdict. */
export async function withCheckpoint(
  note: string,
  key: string,
  { parts, proof, register, successions, ...options }: VerifyOptions,
  work: (checkpoint: Checkpoint, register: RegisteredHistory | undefined) => Promise<Verdict>,
): Promise<Verdict> {
  try {
    const opened = await openCheckpoint(note, key, successions);
    const cosigned = await witnessesOf(note, options);
    const inAll = proof !== undefined && { inAll: await openProof(proof, opened) };
    const registered = register && (await openRegister(register, key, opened.organizationId));
    const found = parts === undefined ? opened.parts : openParts(parts, opened);
    const verdict = await work(typeof found === 'string' ? opened : { ...opened, parts: found }, registered);
    if (typeof found === 'string') {
      const reason = `The parts do not belong to the checkpoint and were ignored: ${found}.`;
      verdict.warnings = [{ position: null, reason }, ...verdict.warnings].slice(0, MOST_WARNINGS);
      verdict.warningCount += 1;
    }
    return {
      ...verdict,
      checkpoint: verdict.checkpoint && { ...verdict.checkpoint, ...cosigned, ...inAll },
    };
  } catch (error) {
    if (error instanceof NotAuthentic) return unproved(error.code, error.message);
    throw error;
  }
}

/** Verifies a register. @throws NotAuthentic if it differs from its checkpoint or contradicts itself. */
async function openRegister(
  { chunks, checkpoint }: RegisterFiles,
  key: string,
  organizationId: string,
): Promise<RegisteredHistory> {
  const { name, bytes } = parseVerifierKey(key);
  // The key of one log signs that of the register under the register's name.
  const signer = verifierKeyOf(name.includes('/') ? `advocacy-api/${REGISTER}` : name, bytes);
  const opened = await openCheckpoint(checkpoint, signer, () => successionsOfExport(chunks()));
  if (opened.organizationId !== REGISTER) {
    const reason = `The checkpoint of the register belongs to organization ${opened.organizationId}.`;
    throw new NotAuthentic(reason, 'register');
  }
  const events: Event[] = [];
  async function* covered(batches: AsyncIterable<Batch>) {
    for await (const batch of batches) {
      events.push(...batch.events.filter(({ position }) => position <= opened.position));
      yield batch;
    }
  }
  const { ok, reason } = await verifyEvents(opened, covered(eventsOfExport(chunks(), REGISTER)));
  if (!ok) throw new NotAuthentic(`The register does not match its checkpoint. ${reason}`, 'register');
  const entries = new RegisterEntries();
  for (const event of events) entries.add(event);
  return new RegisteredHistory(organizationId, entries, opened);
}

/** The witnesses that have cosigned the checkpoint, if any were requested. @throws NotAuthentic if too few have. */
export async function witnessesOf(
  note: string,
  { witnesses, quorum }: VerifyOptions,
): Promise<{ witnesses?: Cosignature[] }> {
  // A repeated key is one witness.
  const keys = [...new Set(witnesses?.map((text) => text.trim()))];
  if (keys.length === 0) return {};
  const opened = readNote(note);
  const cosigned: Cosignature[] = [];
  for (const text of keys) {
    const cosignature = await cosignedBy(opened, parseVerifierKey(text, ALGORITHMS.cosignature));
    if (cosignature) cosigned.push(cosignature);
  }
  const demanded = quorum ?? keys.length;
  if (cosigned.length >= demanded) return { witnesses: cosigned };
  const found = cosigned.map(({ witness }) => witness).join(', ') || 'none of them';
  const reason = `The checkpoint must be cosigned by ${demanded} of the witnesses. Cosigned by: ${found}.`;
  throw new NotAuthentic(reason, 'cosignatures');
}

/** Counts completed work and reports progress. */
export function stepper(
  share: (done: { leaves: number; events: number }) => number,
  { onProgress, signal }: VerifyOptions,
): Step {
  const done = { leaves: 0, events: 0 };
  return ({ leaves = 0, events = 0 }) => {
    signal?.throwIfAborted();
    done.leaves += leaves;
    done.events += events;
    onProgress?.({ events: done.events, share: share(done) });
  };
}
