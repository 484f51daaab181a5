import { type Batch, type Code, digestOf, type Event, type Mistake } from '#libs/verify';

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
 * The database encodes rows as JSON, so that positions and times keep their precision.
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

export function checkStored(rows: readonly string[]): Batch {
  const events: Event[] = [];
  for (const text of rows) {
    const checked = check(JSON.parse(text) as Stored);
    if ('reason' in checked) return { events, mistake: checked };
    events.push(checked);
  }
  return { events };
}

function check(stored: Stored): Event | Mistake {
  const [written, organizationId, streamType, streamId, version, eventId, type, schema, ...rest] = stored;
  const [data, personal, subjectId, metadata, time, digest, isUnreadable] = rest;
  const position = Number(written);
  const wrong = (code: Code, what: string) => {
    return { position, code, reason: `The event at position ${written} ${what}.` };
  };
  if (position < 1) return wrong('order', 'was inserted: positions start at 1');
  if (time === null || !Number.isSafeInteger(time)) return wrong('line', 'has no time');
  const names = { schema, streamId, streamType, subjectId, type, version };
  if (digestOf({ data, eventId, metadata, organizationId, personal, ...names }, time) !== digest)
    return wrong('digest', 'has a digest that does not match its content');
  return {
    position,
    streamId,
    version,
    type,
    subjectId,
    digest,
    time,
    personal: isUnreadable ? 'unreadable' : null,
  };
}
