import { type Actor } from '#libs/event-store';
import { type ErrorCode, recordSchema, textOrNull, timestamp, timestampOrNull } from '#libs/rpc';
import { type ImportPlan } from './import-plan.js';

const STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] as const;
/**
 * `UPLOADING`: not yet stored. `KEPT`: waits for the decisions of a user. `TO_SIGN` and `SIGNING`: queued and running
 * imports of signatures, and updates of segments, which instances of 0.7.0 must not take. `WAITING` and `WORKING`: as 0.7.0 stores some others.
 */
export type StoredStatus =
  | (typeof STATUSES)[number]
  | ('UPLOADING' | 'KEPT' | 'WAITING' | 'WORKING' | 'TO_SIGN' | 'SIGNING');

/** A row that was not imported, by its line in the file. Earlier versions stored no address. */
type FailedRow = { line: number; address?: string; message: string };

/** The counts so far, and the first failed rows. */
export type ImportCounts = {
  created: number;
  updated: number;
  unchanged: number;
  /** Earlier versions stored none. */
  signed?: number;
  failed: FailedRow[];
  failedCount: number;
};

/** `answer`: null if no row was processed. `code`: the error code of the failure. Earlier versions stored none. */
export type ImportResult = {
  answer: ImportCounts | null;
  failure: string | null;
  code?: ErrorCode | undefined;
};

const UNDO_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED'] as const;
export type UndoStatus = (typeof UNDO_STATUSES)[number];

type StoredUndo = {
  status: UndoStatus;
  deleted: number;
  kept: number;
  startedAt: Date | null;
  finishedAt: Date | null;
  failure: string | null;
};

export type StoredImport = {
  id: string;
  organizationId: string;
  actor: Actor;
  status: StoredStatus;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  lines: number;
  linesDone: number;
  bytes: number;
  bytesDone: number;
  /** Seconds since it started, until it finished. */
  seconds: number | null;
  plan: ImportPlan;
  result: ImportResult | null;
  /** Whether it ended less than 24 hours ago. */
  isRecent: boolean;
  undo: StoredUndo | null;
};

/** An import as the API returns it. */
export function importRecordOf({ plan, result, ...stored }: StoredImport) {
  const {
    created = 0,
    updated = 0,
    unchanged = 0,
    signed = 0,
    failed = [],
    failedCount = 0,
  } = result?.answer ?? {};
  const { linesDone, seconds, undo } = stored;
  return {
    id: stored.id,
    createdAt: stored.createdAt.toISOString(),
    startedAt: stored.startedAt?.toISOString() ?? null,
    finishedAt: stored.finishedAt?.toISOString() ?? null,
    status: stored.status,
    name: plan.file === '' ? null : plan.file,
    dryRun: plan.isDryRun === true,
    onConflict: plan.onConflict,
    listId: plan.listId,
    petitionId: plan.petitionId ?? null,
    bytes: stored.bytes,
    bytesDone: stored.status === 'DONE' ? stored.bytes : Math.min(stored.bytesDone, stored.bytes),
    rows: linesDone,
    created,
    updated,
    unchanged,
    signed,
    failed: failedCount,
    rate: seconds === null || seconds === 0 ? null : Math.round(linesDone / seconds),
    problems: failed.map(({ line, message }) => ({ line, message })),
    failure: result?.failure ?? null,
    undo: undo && {
      ...undo,
      startedAt: undo.startedAt?.toISOString() ?? null,
      finishedAt: undo.finishedAt?.toISOString() ?? null,
    },
    organizationId: stored.organizationId,
  };
}

const count = { type: 'integer' };

export const importSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  startedAt: timestampOrNull,
  finishedAt: timestampOrNull,
  status: { type: 'string', enum: STATUSES },
  name: { ...textOrNull, description: 'As sent, or the name of the uploaded file.' },
  dryRun: { type: 'boolean' },
  onConflict: {
    type: 'string',
    enum: ['fail', 'update', 'keep'],
    description: '`keep` works only in imports of signatures.',
  },
  listId: textOrNull,
  petitionId: { ...textOrNull, description: 'The petition whose signatures are imported.' },
  bytes: { type: 'integer', description: 'Size of the file, uncompressed.' },
  bytesDone: count,
  rows: { type: 'integer', description: 'Rows processed so far.' },
  created: count,
  updated: count,
  unchanged: count,
  signed: { type: 'integer', description: 'Signatures added.' },
  failed: count,
  rate: { type: ['integer', 'null'], description: 'Rows per second.' },
  problems: {
    type: 'array',
    description: 'The first 100 rows that failed. `line`: the first line of the row in the file.',
    items: recordSchema({ line: count, message: { type: 'string' } }),
    maxItems: 100,
  },
  failure: { ...textOrNull, description: 'Why the whole import has the status `FAILED`.' },
  undo: {
    ...recordSchema({
      status: { type: 'string', enum: UNDO_STATUSES },
      deleted: { ...count, description: 'Contacts deleted so far.' },
      kept: { ...count, description: 'Contacts that have changed since, or were already deleted.' },
      startedAt: timestampOrNull,
      finishedAt: timestampOrNull,
      failure: {
        ...textOrNull,
        description: 'Why the undo has the status `FAILED`. To continue it, undo the import again.',
      },
    }),
    type: ['object', 'null'],
    description: 'null if no one has undone the import.',
  },
  organizationId: { type: 'string' },
});
