import { type Checkpoint, openCheckpoint, openParts } from './checkpoint.js';
import { type CheckLines, eventsOfExport, wholeLines } from './export-file.js';
import { type Succession, successionsOfExport } from './key-chain.js';
import { checkLines } from './lines.js';
import {
  ALGORITHMS,
  type Code,
  cosignedBy,
  type Cosignature,
  keyName,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  verifierKeyOf,
} from './note.js';
import { toBase64 } from './platform.js';
import { openProof } from './proof.js';
import { REGISTER, RegisteredHistory, RegisterEntries } from './register.js';
import { MOST_WARNINGS, type Verdict } from './verdict.js';
import { type Step, verifyEvents } from './verify-events.js';

type Progress = {
  /** Events read so far. In a database, the seals are read first. */
  events: number;
  /** The completed share of the work, from 0 to 1. */
  share: number;
};

/** An export of the register, which is read twice, and its checkpoint. */
export type RegisterFiles = { chunks: () => AsyncIterable<Uint8Array>; checkpoint: string };

export type VerifyOptions = {
  /** The parts that the server sent with the checkpoint, as text. */
  parts?: string | undefined;
  /** The proof that the checkpoint is in the log of all organizations, as text (C2SP tlog-proof). */
  proof?: string | undefined;
  /**
   * Verifier keys of witnesses. `quorum` of them must have cosigned the checkpoint; by default, all of them.
   */
  witnesses?: readonly string[] | undefined;
  quorum?: number | undefined;
  /** The register of checkpoints, which must cover the checkpoint and contain no other history. */
  register?: RegisterFiles | undefined;
  onProgress?: (progress: Progress) => void;
  /** Loads the key rotations in the history. Called only if the key did not sign the checkpoint. */
  successions?: () => Promise<readonly Succession[]>;
  /** Aborts the verification with the signal's reason. */
  signal?: AbortSignal;
};

/** Who checks lines one by one, and how many chunks of lines are in progress at the same time. */
export type LineWork = { check: (organizationId: string) => CheckLines; ahead: number };

const HERE: LineWork = {
  check: (organizationId) => (lines) => checkLines(lines, organizationId),
  ahead: 1,
};

/** Verifies an export of a whole history. @param share returns how much of it was read, from 0 to 1. */
export function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  checkpoint: string,
  key: string,
  share: () => number = () => 0,
  options: VerifyOptions = {},
  { check, ahead }: LineWork = HERE,
): Promise<Verdict> {
  return withCheckpoint(checkpoint, key, options, (opened, register) => {
    const events = eventsOfExport(chunks, check(opened.organizationId), ahead);
    return verifyEvents(opened, events, { register, step: stepper(share, options) });
  });
}

/** Verifies a history against an opened checkpoint, and against the register if there is one. */
type Work = (checkpoint: Checkpoint, register: RegisteredHistory | undefined) => Promise<Verdict>;

/** Opens the checkpoint with its proof, its cosignatures and the register, and adds them to the verdict of `work`. */
export async function withCheckpoint(
  note: string,
  key: string,
  { parts, proof, register, successions = () => Promise.resolve([]), ...options }: VerifyOptions,
  work: Work,
): Promise<Verdict> {
  try {
    const checkpoint = await openCheckpoint(note, key, successions);
    const cosigned = await witnessesOf(note, options);
    const inAll = proof !== undefined && { inAll: await openProof(proof, checkpoint) };
    const registered = register && (await openRegister(register, key, checkpoint.organizationId));
    const verdict = await withParts(parts, checkpoint, (opened) => work(opened, registered));
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
  const own = name.includes('/') ? `advocacy-api/${REGISTER}` : name;
  const signer = `${keyName(verifierKeyOf(own, bytes))}+${toBase64(bytes)}`;
  const opened = await openCheckpoint(checkpoint, signer, () => successionsOfExport(chunks()));
  if (opened.organizationId !== REGISTER) {
    const reason = `The checkpoint of the register belongs to organization ${opened.organizationId}.`;
    throw new NotAuthentic(reason, 'register');
  }
  const events = eventsOfExport(chunks(), (lines) => checkLines(lines, REGISTER), 1);
  const { ok, reason } = await verifyEvents(opened, events);
  if (!ok) throw new NotAuthentic(`The register does not match its checkpoint. ${reason}`, 'register');
  const entries = new RegisterEntries();
  for await (const lines of wholeLines(chunks()))
    if (typeof lines !== 'string') entries.add(lines, opened.position);
  return new RegisteredHistory(organizationId, entries, opened);
}

/**
 * The witnesses that have cosigned the checkpoint, if any were requested.
 *
 * @throws NotAuthentic if too few have.
 */
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
  throw new NotAuthentic(
    `The checkpoint must be cosigned by ${demanded} of the witnesses. Cosigned by: ${found}.`,
    'cosignatures',
  );
}

async function withParts(
  parts: string | undefined,
  checkpoint: Checkpoint,
  work: (checkpoint: Checkpoint) => Promise<Verdict>,
): Promise<Verdict> {
  if (parts === undefined) return work(checkpoint);
  const opened = openParts(parts, checkpoint);
  if (typeof opened !== 'string') return work({ ...checkpoint, parts: opened });
  const reason = `The parts do not belong to the checkpoint and were ignored: ${opened}.`;
  const verdict = await work(checkpoint);
  const warnings = [{ position: null, reason }, ...verdict.warnings].slice(0, MOST_WARNINGS);
  return { ...verdict, warnings, warningCount: verdict.warningCount + 1 };
}

/** The verdict if nothing could be compared. */
export function unproved(code: Code, reason: string): Verdict {
  return {
    ...{ ok: false, events: 0, provedEvents: 0, newerEvents: 0, firstWrongPosition: null, code, reason },
    ...{ unprovedPersonal: 0, warnings: [], warningCount: 0, checkpoint: null },
  };
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
