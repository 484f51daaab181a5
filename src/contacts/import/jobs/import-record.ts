import { type Actor } from '#libs/event-store';
import { type ErrorCode, recordSchema, textOrNull, timestamp } from '#libs/rpc';
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

/** An import as it is stored. */
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
};

/** An import as the API returns it. */
export type ImportRecord = ReturnType<typeof importRecordOf>;

export function importRecordOf({ plan, result, ...stored }: StoredImport) {
  const {
    created = 0,
    updated = 0,
    unchanged = 0,
    signed = 0,
    failed = [],
    failedCount = 0,
  } = result?.answer ?? {};
  const { linesDone, seconds } = stored;
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
    organizationId: stored.organizationId,
  };
}

const count = { type: 'integer' };

export const importSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  startedAt: { ...timestamp, type: ['string', 'null'] },
  finishedAt: { ...timestamp, type: ['string', 'null'] },
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
  organizationId: { type: 'string' },
});
