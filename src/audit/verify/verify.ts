import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { type Sql } from '#libs/database';
import {
  ALL,
  checkLines,
  type Checkpoint,
  compareByEvents,
  type Comparison,
  eventsOfExport,
  NotAuthentic,
  openCheckpoint,
  stepper,
  type Succession,
  successionsOfExport,
  unproved,
  type Verdict,
  verifyEvents,
  verifyExport,
  type VerifyOptions,
  withCheckpoint,
  witnessesOf,
} from '#libs/verify';
import { type AllVerdict, compareAll } from './all.js';
import { CheckThreads } from './check-threads.js';
import { type CheckStored, EventsTable, successionsOfDatabase } from './events-table.js';
import { checkSeals } from './seal-tables.js';
import { checkStored } from './stored-events.js';

/**
 * `threads`: additional threads that check events; 0 for none. By default, as many as the machine supports, for large
 * histories only.
 */
type Options = VerifyOptions & { threads?: number };
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
  options: Options = {},
): Promise<Verdict> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const stream = handle.createReadStream({ highWaterMark: READ_BYTES });
    const share = () => (size === 0 ? 0 : Math.min(1, stream.bytesRead / size));
    const threads = size < SMALL_FILE ? 0 : THREADS;
    const successions = () => successionsOfFile(file);
    return await verifyStream(stream, checkpoint, key, { threads, successions, ...options }, share);
  } finally {
    await handle.close();
  }
}

/** Verifies an export from a stream. @param share returns how much of it was read, from 0 to 1. */
export function verifyStream(
  chunks: AsyncIterable<Uint8Array>,
  checkpoint: string,
  key: string,
  { threads = 0, ...options }: Options = {},
  share?: () => number,
): Promise<Verdict> {
  return withThreads(threads, (pool) => {
    const check = (organizationId: string) => (lines: Uint8Array) =>
      pool ? pool.checkLines(lines, organizationId) : checkLines(lines, organizationId);
    return verifyExport(chunks, checkpoint, key, share, options, { check, ahead: ahead(threads) });
  });
}

/** The key rotations in an export. */
export function successionsOfFile(file: string): Promise<Succession[]> {
  return successionsOfExport(chunksOf(file));
}

/** A file in large chunks. */
export function chunksOf(file: string): AsyncIterable<Uint8Array> {
  return createReadStream(file, { highWaterMark: READ_BYTES });
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
  options: Options = {},
): Promise<Verdict> {
  const successions = () => successionsOfDatabase(sql, organizationId);
  return withCheckpoint(checkpoint, key, { successions, ...options }, async (opened, register) => {
    if (opened.organizationId !== organizationId) {
      return unproved(
        'foreign',
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
    return withThreads(threads, (pool) => {
      const check = storedBy(pool);
      const batches = table.batches(check, ahead(threads));
      return verifyEvents(opened, batches, { register, seals, endedLater, firstWithKey, step });
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
  { organizations: kept, onlySeals, ...options }: Options & AllOptions = {},
): Promise<AllVerdict> {
  try {
    const opened = await openCheckpoint(checkpoint, key);
    if (opened.organizationId !== ALL.name) {
      throw new NotAuthentic(
        `The checkpoint belongs to organization ${opened.organizationId}, not to the log of all organizations.`,
      );
    }
    const cosigned = await witnessesOf(checkpoint, options);
    const onProgress = stepper(() => 0, options);
    const { threads = THREADS } = options;
    const verdict = await withThreads(onlySeals ? 0 : threads, (pool) => {
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
  work: (threads: CheckThreads | undefined) => Promise<Found>,
): Promise<Found> {
  if (count === 0) return work(undefined);
  const threads = new CheckThreads(count);
  try {
    return await work(threads);
  } finally {
    await threads.end();
  }
}
