import { momentAsText } from '#libs/database';
import { type EventStore, wrappedKeyOf } from '#libs/event-store';
import { LINK_BYTES, LINK_DETAIL, type LinkRow, WIDEST_LINK } from '#libs/links';
import { type ListedTable } from '#libs/projections';
import { type CommentState } from './comment.js';
import { petitions } from './petitions.js';
import { type SignatureRecord } from './signature-record.js';
import { type Suspicion } from '../confirmations/index.js';

/** `wrapped_key`: encrypts the detail. */
export type SignatureRow = Pick<LinkRow, 'id' | 'record_id' | 'subject_id' | 'detail'> & {
  suspended_by: string | null;
  source: string | null;
  suspicion: string | null;
  language: string | null;
  comment_state: CommentState | null;
  created_at: string;
  signed_at: string | null;
  wrapped_key: Buffer | null;
};

const CONFIRMED: ListedTable = {
  table: petitions.linkTable!,
  columns: `id, ${momentAsText('page.created_at')} AS created_at,
    ${momentAsText('page.signed_at')} AS signed_at, record_id, subject_id, detail, suspended_by, source, suspicion,
    language, comment_state,
    CASE WHEN detail IS NOT NULL THEN ${wrappedKeyOf('page', 'subject_id')} END AS wrapped_key`,
  bytes: LINK_BYTES,
  widest: WIDEST_LINK,
  within: { sql: 'record_id = ? AND ended_at IS NULL', type: 'uuid' },
};

type ByStatus = { readonly [status in SignatureRecord['status']]: ListedTable };

/** Tables for `findRows`: the signatures of one petition. */
export const SIGNATURES: ByStatus = {
  CONFIRMED,
  PENDING: {
    ...CONFIRMED,
    table: petitions.otherLinkTable!,
    columns: CONFIRMED.columns!.replace('suspended_by', 'NULL::uuid AS suspended_by')
      .replace('comment_state', 'NULL AS comment_state')
      .replace('page.signed_at', 'NULL::timestamptz'),
  },
  INVALIDATED: { ...CONFIRMED, within: { sql: 'record_id = ? AND suspended_by IS NOT NULL', type: 'uuid' } },
};

/** The same without the condition that they are active now. */
export const PAST_SIGNATURES = {
  CONFIRMED: { ...SIGNATURES.CONFIRMED, within: { sql: 'record_id = ?', type: 'uuid' } },
  PENDING: { ...SIGNATURES.PENDING, within: { sql: 'record_id = ?', type: 'uuid' } },
} satisfies Partial<ByStatus>;

const withComment = (state: CommentState): ListedTable => ({
  ...CONFIRMED,
  within: {
    sql: `record_id = ? AND comment_state = '${state}' AND detail IS NOT NULL AND ended_at IS NULL`,
    type: 'uuid',
  },
});

/** The valid signatures of one petition with such a public comment. They have an index of their own. */
export const SIGNATURES_BY_COMMENT: { readonly [state in CommentState]: ListedTable } = {
  WAITING: withComment('WAITING'),
  SHOWN: withComment('SHOWN'),
  HIDDEN: withComment('HIDDEN'),
};

/** The signatures of one contact, which are few. */
export const SIGNATURES_OF_CONTACT: ByStatus = {
  CONFIRMED: { ...CONFIRMED, within: { sql: 'subject_id = ? AND ended_at IS NULL', type: 'uuid' } },
  PENDING: { ...SIGNATURES.PENDING, within: { sql: 'subject_id = ? AND ended_at IS NULL', type: 'uuid' } },
  INVALIDATED: { ...CONFIRMED, within: { sql: 'subject_id = ? AND suspended_by IS NOT NULL', type: 'uuid' } },
};

/** Converts a row to the API's format. */
export function signatureRecord(
  {
    id,
    created_at,
    signed_at,
    record_id,
    subject_id,
    detail,
    suspended_by,
    source,
    suspicion,
    language,
    comment_state,
    wrapped_key,
  }: SignatureRow,
  status: SignatureRecord['status'],
  store: EventStore,
): SignatureRecord {
  const comment =
    subject_id && detail && wrapped_key ? store.opener(subject_id, wrapped_key)(LINK_DETAIL, detail) : null;
  return {
    id,
    createdAt: created_at,
    signedAt: signed_at ?? created_at,
    petitionId: record_id,
    contactId: status === 'PENDING' ? null : subject_id,
    comment,
    commentState: comment === null ? null : comment_state,
    status,
    invalidationId: suspended_by,
    source,
    suspicion: suspicion === null ? [] : (suspicion.split(',') as Suspicion[]),
    language,
  };
}
