import { momentAsText } from '#libs/database';
import { type EventStore, wrappedKeyOf } from '#libs/event-store';
import { LINK_BYTES, LINK_DETAIL, type LinkRow, WIDEST_LINK } from '#libs/links';
import { type ListedTable } from '#libs/projections';
import { petitions } from './petitions.js';
import { type SignatureRecord } from './signature-record.js';

/** `wrapped_key`: to the detail. */
export type SignatureRow = Pick<LinkRow, 'id' | 'subject_id' | 'detail'> & {
  suspended_by: string | null;
  created_at: string;
  wrapped_key: Buffer | null;
};

const CONFIRMED: ListedTable = {
  table: petitions.linkTable!,
  columns: `id, ${momentAsText('page.created_at')} AS created_at, subject_id, detail, suspended_by,
    CASE WHEN detail IS NOT NULL THEN ${wrappedKeyOf('page', 'subject_id')} END AS wrapped_key`,
  bytes: LINK_BYTES,
  widest: WIDEST_LINK,
  within: { sql: 'record_id = ? AND ended_at IS NULL', type: 'uuid' },
};

/** For `findRows`: the signatures of one petition. */
export const SIGNATURES: { readonly [status in SignatureRecord['status']]: ListedTable } = {
  CONFIRMED,
  INVALIDATED: { ...CONFIRMED, within: { sql: 'record_id = ? AND suspended_by IS NOT NULL', type: 'uuid' } },
};

/** A row as the API answers it. */
export function signatureRecord(
  { id, created_at, subject_id, detail, suspended_by, wrapped_key }: SignatureRow,
  petitionId: string,
  store: EventStore,
): SignatureRecord {
  const comment =
    subject_id && detail && wrapped_key ? store.opener(subject_id, wrapped_key)(LINK_DETAIL, detail) : null;
  return {
    id,
    createdAt: created_at,
    petitionId,
    contactId: subject_id,
    comment,
    status: suspended_by === null ? 'CONFIRMED' : 'INVALIDATED',
    invalidationId: suspended_by,
  };
}
