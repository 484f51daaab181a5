import { type DataSource } from 'typeorm';
import { type Actor, type Keyring, openBytes, sealBytes } from '#libs/event-store';
import { type ListedTable } from '#libs/projections';
import { isId, noSuch } from '#libs/rpc';
import { type ImportPlan } from './import-plan.js';
import { type ImportResult, type StoredImport, type StoredStatus, type UndoStatus } from './import-record.js';

export type ImportRow = {
  id: string;
  organization_id: string;
  user_id: string | null;
  api_key_id: string | null;
  wrapped_key: Buffer;
  about: Buffer;
  status: StoredStatus;
  lines: number;
  lines_done: number;
  bytes: string;
  bytes_done: string;
  last_line: number;
  pages: number;
  attempts: number;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  seconds: number | null;
  result: Buffer | null;
  undo_status: UndoStatus | null;
  undo_user_id: string | null;
  undo_api_key_id: string | null;
  undo_position: string;
  undo_deleted: number;
  undo_kept: number;
  undo_failure: string | null;
  undo_started_at: Date | null;
  undo_finished_at: Date | null;
  is_recent: boolean;
};

/** SQL: whether the import ended less than 24 hours ago, so that it can be undone. */
export const IS_RECENT = `status IN ('DONE', 'FAILED', 'CANCELLED')
  AND finished_at > clock_timestamp() - interval '24 hours'`;

export const COLUMNS = `id, organization_id, user_id, api_key_id, wrapped_key, about, status, lines, lines_done, bytes,
  bytes_done, last_line, pages, attempts, created_at, started_at, finished_at, result,
  undo_status, undo_user_id, undo_api_key_id, undo_position, undo_deleted, undo_kept, undo_failure,
  undo_started_at, undo_finished_at, coalesce(${IS_RECENT}, false) AS is_recent,
  extract(epoch FROM coalesce(finished_at, clock_timestamp()) - started_at)::float8 AS seconds`;

export const LIST: ListedTable = {
  table: 'contact_imports',
  columns: COLUMNS,
  bytes: 'octet_length(about) + coalesce(octet_length(result), 0)',
};

/** SQL: the statuses of imports that wait, of those that run, and of both. */
export const QUEUED = `'QUEUED', 'WAITING', 'TO_SIGN'`;
export const RUNNING = `'RUNNING', 'WORKING', 'SIGNING'`;
export const UNFINISHED = `${QUEUED}, ${RUNNING}`;
const SHOWN: { [stored in StoredStatus]?: StoredStatus } = {
  WAITING: 'QUEUED',
  WORKING: 'RUNNING',
  TO_SIGN: 'QUEUED',
  SIGNING: 'RUNNING',
};

/** @throws RpcError NOT_FOUND if it does not exist, is not stored yet or has expired. */
export async function findRow(source: DataSource, organizationId: string, id: string): Promise<ImportRow> {
  const [row] = isId(id)
    ? await source.query<ImportRow[]>(
        `SELECT ${COLUMNS} FROM contact_imports WHERE organization_id = $1 AND id = $2 AND status <> 'UPLOADING'`,
        [organizationId, id],
      )
    : [];
  if (!row) throw noSuch('import');
  return row;
}

/** An import that was started, or is waiting to be. @throws RpcError NOT_FOUND also if its table waits for decisions. */
export async function findStarted(
  source: DataSource,
  organizationId: string,
  id: string,
): Promise<ImportRow> {
  const row = await findRow(source, organizationId, id);
  if (row.status === 'KEPT') throw noSuch('import');
  return row;
}

export function isUnfinished({ status }: Pick<ImportRow, 'status'>): boolean {
  return UNFINISHED.includes(`'${status}'`);
}

export function openImport(keyring: Keyring, row: ImportRow): StoredImport {
  const { id } = row;
  const key = keyring.unwrap(row.wrapped_key, id);
  return {
    id,
    organizationId: row.organization_id,
    actor: actorOf(row.user_id, row.api_key_id),
    status: SHOWN[row.status] ?? row.status,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    lines: row.lines,
    linesDone: row.lines_done,
    bytes: Number(row.bytes),
    bytesDone: Number(row.bytes_done),
    seconds: row.seconds,
    plan: openJson<ImportPlan>(key, id, 'about', row.about),
    result: row.result && openJson<ImportResult>(key, id, 'result', row.result),
    isRecent: row.is_recent,
    undo: row.undo_status && {
      status: row.undo_status,
      deleted: row.undo_deleted,
      kept: row.undo_kept,
      startedAt: row.undo_started_at,
      finishedAt: row.undo_finished_at,
      failure: row.undo_failure,
    },
  };
}

export function actorOf(userId: string | null, apiKeyId: string | null): Actor {
  return userId === null ? { type: 'api-key', id: apiKeyId } : { type: 'user', id: userId };
}

/** The inverse of `actorOf`: the user's id and that of the API key. */
export function idsOf({ type, id }: Actor): [userId: string | null, apiKeyId: string | null] {
  return type === 'user' ? [id, null] : [null, id];
}

export function sealJson(key: Buffer, id: string, name: string, value: object): Buffer {
  return sealBytes(key, Buffer.from(JSON.stringify(value)), `${id} ${name}`);
}

function openJson<Value>(key: Buffer, id: string, name: string, sealed: Buffer): Value {
  return JSON.parse(openBytes(key, sealed, `${id} ${name}`).toString('utf8')) as Value;
}
