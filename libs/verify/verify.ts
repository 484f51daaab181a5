import { type Checkpoint, openCheckpoint, openParts, openProof } from './checkpoint.js';
import { type Succession, successionsOfExport } from './checkpoint.js';
import { type Batch, eventsOfExport } from './export.js';
import { ALGORITHMS, cosignedBy, type Cosignature, NotAuthentic } from './note.js';
import { parseVerifierKey, printable, readNote, verifierKeyOf } from './note.js';
import { REGISTER, RegisteredHistory, RegisterEntries } from './register.js';
import { MOST_WARNINGS, unproved, type Verdict } from './verdict.js';
import { verifyEvents } from './verify-events.js';

export type RegisterFiles = { chunks: () => AsyncIterable<Uint8Array>; checkpoint: string };

/** What was given with a checkpoint, each as text. */
export type VerifyOptions = {
  parts?: string | undefined;
  proof?: string | undefined;
  /** Verifier keys of witnesses. `quorum` of them must have cosigned the checkpoint; by default, all of them. */
  witnesses?: readonly string[] | undefined;
  quorum?: number | undefined;
  register?: RegisterFiles | undefined;
  /** Called with the number of events read so far. */
  onProgress?: (events: number) => void;
  /** Loads the key rotations in the history. Called only if the key did not sign the checkpoint. */
  successions?: () => Promise<readonly Succession[]>;
};

export function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  checkpoint: string,
  key: string,
  { onProgress, ...options }: VerifyOptions = {},
): Promise<Verdict> {
  return withCheckpoint(checkpoint, key, options, (opened, register) =>
    verifyEvents(opened, eventsOfExport(chunks, opened.organizationId), { register, onProgress }),
  );
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
      const reason = `The parts do not belong to the checkpoint and were ignored: ${printable(found)}.`;
      verdict.warnings = [{ position: null, reason }, ...verdict.warnings].slice(0, MOST_WARNINGS);
      verdict.warningCount += 1;
    }
    return { ...verdict, checkpoint: verdict.checkpoint && { ...verdict.checkpoint, ...cosigned, ...inAll } };
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
  const foreign = `The checkpoint of the register belongs to organization ${opened.organizationId}.`;
  if (opened.organizationId !== REGISTER) throw new NotAuthentic(foreign, 'register');
  const batches: Batch[] = [];
  for await (const batch of eventsOfExport(chunks(), REGISTER)) batches.push(batch);
  const { ok, reason } = await verifyEvents(opened, batches);
  if (!ok) throw new NotAuthentic(`The register does not match its checkpoint. ${reason}`, 'register');
  const entries = new RegisterEntries();
  for (const { events } of batches)
    for (const event of events) if (event.position <= opened.position) entries.add(event);
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
