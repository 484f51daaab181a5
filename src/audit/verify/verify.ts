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
 * The auditor's verification of a history, written from docs/spec/history-format.md. It shares no code with the part
 * that writes the history, so that a bug there is not repeated here.
 */

type Progress = {
  /** Events read so far. In a database, the seals are read first. */
  events: number;
  /** The completed share of the work, from 0 to 1. */
  share: number;
};

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
  onProgress?: (progress: Progress) => void;
  /** Loads the key rotations in the history. Called only if the key did not sign the checkpoint. */
  successions?: () => Promise<readonly Succession[]>;
  /** Aborts the verification with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Additional threads that check events; 0 for none. By default, as many as the machine supports, for large
   * histories only.
   */
  threads?: number;
};

type AllOptions = { organizations?: string | undefined; onlySeals?: boolean };

/** The cost of a leaf in seal_tiles, relative to an event. */
const LEAF_COST = 0.1;
/** Large reads: finding a line in 1 MiB is as fast as in 64 KiB, and fewer lines are split. */
const READ_BYTES = 1024 * 1024;
/** A thread starts in a tenth of a second. In that time, about a thousand events are verified. */
const SMALL_FILE = 16 * 1024 * 1024;
const SMALL_HISTORY = 20_000;
/** The sequential part of the work keeps up with this many threads. */
const MOST_THREADS = 6;
const THREADS = Math.min(availableParallelism(), MOST_THREADS);

/** Verifies an export of a whole history. @throws Error if the file cannot be read. */
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

/** The key rotations in an export. */
export function successionsOfFile(file: string): Promise<Succession[]> {
  return successionsOfExport(createReadStream(file, { highWaterMark: READ_BYTES }));
}

/** Verifies an export from a stream. @param share returns how much of it was read, from 0 to 1. */
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
 * @param older has at most as many events as the newer one.
 * @returns `unproved` with the mistake if the export is invalid.
 * @throws Error if the file cannot be read.
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

/** Verifies an organization's stored history, and its seals in the database. */
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
    const firstWithKey = (subjectIds: readonly string[]) => table.firstWithKey(subjectIds);
    const { threads = opened.size < SMALL_HISTORY ? 0 : THREADS } = options;
    return withThreads(threads, { of: 'stored' }, (pool) => {
      const check = storedBy(pool);
      const batches = table.batches(check, ahead(threads));
      return verifyEvents(opened, counted(batches, step), { seals, endedLater, firstWithKey });
    });
  });
}

/**
 * Verifies the stored log of all organizations, and the history of every organization in it.
 *
 * @param options `organizations`: the text stored next to the checkpoint. `onlySeals`: events are verified
 *   elsewhere, so it is enough that the seals reach as far as the log.
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

/** Chunks in progress at the same time: each thread has its next one ready when it finishes one. */
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

/**
 * The witnesses that have cosigned the checkpoint, if any were requested.
 *
 * @throws NotAuthentic if too few have.
 */
function witnessesOf(note: string, { witnesses, quorum }: VerifyOptions): { witnesses?: Cosignature[] } {
  // A repeated key is one witness.
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
    ...{ unprovedPersonal: 0, warnings: [], warningCount: 0, checkpoint: null },
  };
}

type Done = { leaves: number; events: number };
type Step = (more: Partial<Done>) => void;

/** Counts completed work and reports progress. */
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
