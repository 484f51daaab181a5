import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Sql } from '#libs/database';
import {
  ALL,
  NotAuthentic,
  openCheckpoint,
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
import { EventsTable, successionsOfDatabase } from './events-table.js';
import { checkSeals } from './seal-tables.js';
import { SealedEvents } from './sealed-events.js';

type Options = Omit<VerifyOptions, 'onProgress'> & {
  /** `share`: the completed part of the work, from 0 to 1. In a database, the seals are read first. */
  onProgress?: (progress: { events: number; share: number }) => void;
  /** Aborts the verification with the signal's reason. */
  signal?: AbortSignal;
};
type AllOptions = { organizations?: string | undefined; onlySeals?: boolean };

/** The cost of a leaf in seal_tiles, relative to an event. */
const LEAF_COST = 0.1;
/** Large reads: finding a line in 1 MiB is as fast as in 64 KiB, and fewer lines are split. */
const READ_BYTES = 1024 * 1024;

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
    const successions = () => successionsOfFile(file);
    return await verifyExport(stream, checkpoint, key, { successions, ...reporting(share, options) });
  } finally {
    await handle.close();
  }
}

/** The key rotations in an export. */
export function successionsOfFile(file: string): Promise<Succession[]> {
  return successionsOfExport(chunksOf(file));
}

/** A file in large chunks. */
export function chunksOf(file: string): AsyncIterable<Uint8Array> {
  return createReadStream(file, { highWaterMark: READ_BYTES });
}

/** Verifies an organization's stored history, and its seals in the database. */
export function verifyDatabase(
  sql: Sql,
  organizationId: string,
  checkpoint: string,
  key: string,
  options: Options = {},
): Promise<Verdict> {
  let leaves = 0;
  let size = 1;
  const share = (events: number) => Math.min(1, (leaves * LEAF_COST + events) / (size * (1 + LEAF_COST)));
  const { onProgress, ...rest } = reporting(share, options);
  const successions = () => successionsOfDatabase(sql, organizationId);
  return withCheckpoint(checkpoint, key, { successions, ...rest }, async (opened, register) => {
    if (opened.organizationId !== organizationId) {
      return unproved(
        'foreign',
        `The checkpoint belongs to organization ${opened.organizationId}. Use the one of ${organizationId}.`,
      );
    }
    ({ size } = opened);
    const onLeaves = (more: number) => {
      leaves += more;
      onProgress(0);
    };
    const sealed = new SealedEvents(opened, await checkSeals(sql, opened, onLeaves));
    const table = await EventsTable.of(sql, organizationId);
    const endedLater = (subjectIds: Iterable<string>) => table.endedLater(subjectIds);
    const firstWithKey = (subjectIds: Iterable<string>) => table.firstWithKey(subjectIds);
    const batches = sealed.compare(table.batches());
    const beside = { register, endedLater, firstWithKey, onProgress };
    return sealed.judge(await verifyEvents(opened, batches, beside));
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
  { organizations: kept, onlySeals = false, ...options }: Options & AllOptions = {},
): Promise<AllVerdict> {
  try {
    const opened = await openCheckpoint(checkpoint, key);
    if (opened.organizationId !== ALL.name) {
      throw new NotAuthentic(
        `The checkpoint belongs to organization ${opened.organizationId}, not to the log of all organizations.`,
      );
    }
    const { onProgress, ...rest } = reporting(() => 0, options);
    const cosigned = await witnessesOf(checkpoint, rest);
    let read = 0;
    const onEvents = (more: number) => onProgress((read += more));
    const verdict = await compareAll(sql, opened, { onlySeals, kept, onEvents });
    return { ...verdict, checkpoint: verdict.checkpoint && { ...verdict.checkpoint, ...cosigned } };
  } catch (error) {
    if (!(error instanceof NotAuthentic)) throw error;
    return {
      ...{ ok: false, leaves: 0, organizations: 0, reason: error.message },
      ...{ wrong: [], wrongCount: 0, checkpoint: null },
    };
  }
}

/** Adds the share of the work to the progress, and stops it if it was aborted. */
function reporting(share: (events: number) => number, { onProgress, signal, ...options }: Options) {
  const report = (events: number) => {
    signal?.throwIfAborted();
    onProgress?.({ events, share: share(events) });
  };
  return { ...options, onProgress: report };
}
