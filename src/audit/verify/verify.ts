import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { type Sql } from '#libs/database';
import { type AllVerdict, compareAll } from './all.js';
import { type Batch } from './batch.js';
import { CheckThreads, type Work } from './check-threads.js';
import { type Checkpoint, openCheckpoint, openParts } from './checkpoint.js';
import { compareByEvents, type Comparison } from './compare.js';
import { type CheckStored, EventsTable } from './events-table.js';
import { eventsOfExport } from './export-file.js';
import { type Succession, successionsOfDatabase, successionsOfExport } from './key-chain.js';
import { checkLines } from './lines.js';
import {
  ALGORITHMS,
  ALL,
  cosignedBy,
  type Cosignature,
  NotAuthentic,
  parseVerifierKey,
  readNote,
} from './note.js';
import { openProof } from './proof.js';
import { checkSeals } from './seal-tables.js';
import { checkStored } from './stored-events.js';
import { MOST_WARNINGS, type Verdict } from './verdict.js';
import { verifyEvents } from './verify-events.js';

/**
 * The auditor's verification of a history, written from docs/spec/audit-log.md: it shares no
 * code with what writes the history, so that a mistake there is not made here again.
 */

type Progress = {
  /** Events read so far; the database’s seals are read before them. */
  events: number;
  /** From 0 to 1, how much of the work is done. */
  share: number;
};

export type VerifyOptions = {
  /** The parts that the server told beside the checkpoint, as text. */
  parts?: string | undefined;
  /** That the checkpoint is in the log of all organizations, as text (C2SP tlog-proof). */
  proof?: string | undefined;
  /** Verifier keys of witnesses, of which `quorum` must have cosigned the checkpoint; left out, all of them. */
  witnesses?: readonly string[] | undefined;
  quorum?: number | undefined;
  onProgress?: (progress: Progress) => void;
  /** What the history says of keys that took the place of others; asked for where the key has not signed the checkpoint. */
  successions?: () => Promise<readonly Succession[]>;
  /** Ends the verification with the signal's reason. */
  signal?: AbortSignal;
  /** That check events beside this one; 0 for none. Left out, what the machine has, for large histories. */
  threads?: number;
};

type AllOptions = { organizations?: string | undefined; onlySeals?: boolean };

/** What a leaf of seal_tiles takes of an event’s time. */
const LEAF_COST = 0.1;
/** Large reads: a line is found in 1 MiB as quickly as in 64 KiB, and is cut less often. */
const READ_BYTES = 1024 * 1024;
/** A thread takes a tenth of a second to start, in which some thousand events are verified. */
const SMALL_FILE = 16 * 1024 * 1024;
const SMALL_HISTORY = 20_000;
/** What follows the events in order keeps up with so many. */
const MOST_THREADS = 6;
const THREADS = Math.min(availableParallelism(), MOST_THREADS);

/** Verifies an export of a whole history. @throws when the file cannot be read. */
export async function verifyFile(
  file: string,
  checkpoint: string,
  key: string,
  options: VerifyOptions = {},
): Promise<Verdict> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const stream = handle.createReadStream({ highWaterMark: READ_BYTES });
    const share = () => (size === 0 ? 0 : Math.min(1, stream.bytesRead / size));
    const threads = size < SMALL_FILE ? 0 : THREADS;
    const successions = () => successionsOfFile(file);
    return await verifyExport(stream, checkpoint, key, share, { threads, successions, ...options });
  } finally {
    await handle.close();
  }
}

/** What an export says of keys that have taken the place of others. */
export function successionsOfFile(file: string): Promise<Succession[]> {
  return successionsOfExport(createReadStream(file, { highWaterMark: READ_BYTES }));
}

/** Verifies an export that comes in pieces. @param share how much of it was read, from 0 to 1. */
export function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  checkpoint: string,
  key: string,
  share: () => number = () => 0,
  options: VerifyOptions = {},
): Promise<Verdict> {
  return withCheckpoint(checkpoint, key, options, async (opened) => {
    const { organizationId } = opened;
    const step = stepper(share, options);
    const { threads = 0 } = options;
    return withThreads(threads, { of: 'lines', organizationId }, (pool) => {
      const check = pool
        ? (lines: Uint8Array) => pool.checkLines(lines)
        : (lines: Uint8Array) => checkLines(lines, organizationId);
      return verifyEvents(opened, counted(eventsOfExport(chunks, check, ahead(threads)), step));
    });
  });
}

/**
 * Compares two checkpoints of one organization by an export of its history.
 *
 * @param older has as many events as the newer one at most.
 * @returns `unproved` with what is wrong with the export, where something is. @throws when the file cannot be read.
 */
export async function compareByFile(
  older: Checkpoint,
  newer: Checkpoint,
  file: string,
): Promise<{ outcome: Comparison; mistake?: string }> {
  const handle = await open(file);
  try {
    const check = (lines: Uint8Array) => checkLines(lines, newer.organizationId);
    const stream = handle.createReadStream({ highWaterMark: READ_BYTES });
    return await compareByEvents(older, newer, eventsOfExport(stream, check, 1));
  } finally {
    await handle.close();
  }
}

/** Verifies the stored history of an organization, and what the database keeps of its seals. */
export function verifyDatabase(
  sql: Sql,
  organizationId: string,
  checkpoint: string,
  key: string,
  options: VerifyOptions = {},
): Promise<Verdict> {
  const successions = () => successionsOfDatabase(sql, organizationId);
  return withCheckpoint(checkpoint, key, { successions, ...options }, async (opened) => {
    if (opened.organizationId !== organizationId) {
      return unproved(
        `The checkpoint belongs to organization ${opened.organizationId}. Use the one of ${organizationId}.`,
      );
    }
    const all = opened.size * (1 + LEAF_COST);
    const step = stepper(({ leaves, events }) => Math.min(1, (leaves * LEAF_COST + events) / all), options);
    const seals = await checkSeals(sql, opened, (leaves) => step({ leaves }));
    const table = await EventsTable.of(sql, organizationId);
    const endedLater = (subjectIds: readonly string[]) => table.endedLater(subjectIds);
    const { threads = opened.size < SMALL_HISTORY ? 0 : THREADS } = options;
    return withThreads(threads, { of: 'stored' }, (pool) => {
      const check = storedBy(pool);
      const batches = table.batches(check, ahead(threads));
      return verifyEvents(opened, counted(batches, step), { seals, endedLater });
    });
  });
}

/**
 * Verifies the stored log of all organizations, and that each one that is in it has the history that the log says.
 *
 * @param options with `organizations`, what was kept beside the checkpoint, as text; with `onlySeals` events are left to
 *   whoever verifies each history: it is enough that there are seals as far as the log goes.
 */
export async function verifyAll(
  sql: Sql,
  checkpoint: string,
  key: string,
  { organizations: kept, onlySeals, ...options }: VerifyOptions & AllOptions = {},
): Promise<AllVerdict> {
  try {
    const opened = await openCheckpoint(checkpoint, key);
    if (opened.organizationId !== ALL.name) {
      throw new NotAuthentic(
        `The checkpoint belongs to organization ${opened.organizationId}, not to the log of all organizations.`,
      );
    }
    const cosigned = witnessesOf(checkpoint, options);
    const onProgress = stepper(() => 0, options);
    const { threads = THREADS } = options;
    const verdict = await withThreads(onlySeals ? 0 : threads, { of: 'stored' }, (pool) => {
      const check = onlySeals ? undefined : storedBy(pool);
      return compareAll(sql, opened, { check, ahead: ahead(threads), kept, onProgress });
    });
    return { ...verdict, checkpoint: verdict.checkpoint && { ...verdict.checkpoint, ...cosigned } };
  } catch (error) {
    if (!(error instanceof NotAuthentic)) throw error;
    return {
      ...{ ok: false, leaves: 0, organizations: 0, reason: error.message },
      ...{ wrong: [], wrongCount: 0, checkpoint: null },
    };
  }
}

function storedBy(pool: CheckThreads | undefined): CheckStored {
  return pool ? (events) => pool.checkStored(events) : checkStored;
}

/** Pieces that are under way at once: each thread has the next one there when it has done one. */
function ahead(threads: number): number {
  return Math.max(1, 2 * threads);
}

async function withThreads<Found>(
  count: number,
  of: Work,
  work: (threads: CheckThreads | undefined) => Promise<Found>,
): Promise<Found> {
  if (count === 0) return work(undefined);
  const threads = new CheckThreads(count, of);
  try {
    return await work(threads);
  } finally {
    await threads.end();
  }
}

async function withCheckpoint(
  note: string,
  key: string,
  { parts, proof, successions = () => Promise.resolve([]), ...options }: VerifyOptions,
  work: (checkpoint: Checkpoint) => Promise<Verdict>,
): Promise<Verdict> {
  try {
    const checkpoint = await openCheckpoint(note, key, successions);
    const cosigned = witnessesOf(note, options);
    const inAll = proof !== undefined && { inAll: openProof(proof, checkpoint) };
    const verdict = await withParts(parts, checkpoint, work);
    return {
      ...verdict,
      checkpoint: verdict.checkpoint && { ...verdict.checkpoint, ...cosigned, ...inAll },
    };
  } catch (error) {
    if (error instanceof NotAuthentic) return unproved(error.message);
    throw error;
  }
}

/** The witnesses that have cosigned the checkpoint, where some were asked for. @throws NotAuthentic where too few have. */
function witnessesOf(note: string, { witnesses, quorum }: VerifyOptions): { witnesses?: Cosignature[] } {
  // A key that was given twice is one witness.
  const keys = [...new Set(witnesses?.map((text) => text.trim()))];
  if (keys.length === 0) return {};
  const opened = readNote(note);
  const cosigned = keys.flatMap(
    (text) => cosignedBy(opened, parseVerifierKey(text, ALGORITHMS.cosignature)) ?? [],
  );
  const demanded = quorum ?? keys.length;
  if (cosigned.length >= demanded) return { witnesses: cosigned };
  const found = cosigned.map(({ witness }) => witness).join(', ') || 'none of them';
  throw new NotAuthentic(
    `The checkpoint must be cosigned by ${demanded} of the witnesses. Cosigned by: ${found}.`,
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

function unproved(reason: string): Verdict {
  return {
    ...{ ok: false, events: 0, provedEvents: 0, newerEvents: 0, firstWrongPosition: null, reason },
    ...{ warnings: [], warningCount: 0, checkpoint: null },
  };
}

type Done = { leaves: number; events: number };
type Step = (more: Partial<Done>) => void;

/** Counts what was done, and tells of it. */
function stepper(share: (done: Done) => number, { onProgress, signal }: VerifyOptions): Step {
  const done = { leaves: 0, events: 0 };
  return ({ leaves = 0, events = 0 }) => {
    signal?.throwIfAborted();
    done.leaves += leaves;
    done.events += events;
    onProgress?.({ events: done.events, share: share(done) });
  };
}

async function* counted(batches: AsyncIterable<Batch>, step: Step): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    step({ events: batch.count });
    yield batch;
  }
}
