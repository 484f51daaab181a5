import { addEvent, type Batch, canonical, type Code, digestOf, newBatch, UNREADABLE } from '#libs/verify';

/** A row of `events` as JSON, in the order of `STORED_EVENT`. */
type Stored = [
  /** Decimal, because it can exceed the range of a double. */
  position: string,
  organizationId: string,
  streamType: string,
  streamId: string,
  version: number,
  eventId: string,
  type: string,
  schema: number,
  data: unknown,
  encryptedPersonal: string | null,
  subjectId: string | null,
  metadata: unknown,
  /** Milliseconds since 1970; null if it is infinite. */
  recordedAt: number | null,
  digest: string,
  isUnreadable: boolean,
];

/**
 * The database encodes rows as JSON, so that the threads parse them, which is most of the work.
 *
 * The key is found by a scalar subquery: for NOT EXISTS, PostgreSQL reads all keys for every page.
 */
export const STORED_EVENT = `
  json_build_array(
    e.position::text, e.organization_id, e.stream_type, e.stream_id, e.version, e.event_id, e.type, e.schema, e.data,
    translate(encode(e.personal, 'base64'), E'\\n', ''), e.subject_id, e.metadata,
    CASE WHEN isfinite(e.recorded_at) THEN (extract(epoch FROM e.recorded_at) * 1000)::float8 END,
    encode(e.digest, 'hex'),
    e.personal IS NOT NULL AND (
      SELECT true FROM subject_keys k WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id) IS NULL
  )::text`;

/** Checks stored events one by one. @returns those before the first invalid one. */
export function checkStored(events: readonly string[]): Batch {
  const batch = newBatch(events.length);
  for (const text of events) {
    batch.mistake = check(JSON.parse(text) as Stored, batch);
    if (batch.mistake) break;
  }
  return batch;
}

function check(stored: Stored, batch: Batch): Batch['mistake'] {
  const [written, organizationId, streamType, streamId, version, eventId, type, schema, ...rest] = stored;
  const [data, encryptedPersonal, subjectId, metadata, recordedAt, digest, isUnreadable] = rest;
  const position = Number(written);
  const wrong = (code: Code, what: string) => ({
    position,
    code,
    reason: `The event at position ${written} ${what}.`,
  });
  if (position < 1) return wrong('order', 'was inserted: positions start at 1');
  if (recordedAt === null || !Number.isSafeInteger(recordedAt)) return wrong('line', 'has no time');
  const ids = { organizationId, streamType, streamId, eventId, subjectId };
  const content = { ...ids, version, type, schema, encryptedPersonal };
  if (digestOf(content, canonical(data), canonical(metadata), recordedAt) !== digest) {
    return wrong('digest', 'has a digest that does not match its content');
  }
  const event = { position, previousPosition: 0, streamId, subjectId, version, type, digest };
  addEvent(batch, event, recordedAt, isUnreadable ? UNREADABLE : 0);
  return null;
}
