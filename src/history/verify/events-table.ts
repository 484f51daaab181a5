import { type Sql } from '#libs/database';
import { digestOf } from './digest.js';
import { type Found } from './verdict.js';

type Row = {
  position: string;
  organization_id: string;
  stream_type: string;
  stream_id: string;
  version: number;
  event_id: string;
  type: string;
  schema: number;
  data: unknown;
  personal: Buffer | null;
  subject_id: string | null;
  metadata: unknown;
  /** A number where it is infinite. */
  recorded_at: Date | number;
  digest: Buffer;
};

const PAGE = 1_000;
/** The lowest bigint: whoever puts an event in may number it as they like. */
const BEFORE_ALL = '-9223372036854775808';

/** The stored events of an organization in the order of their positions, each checked by itself. */
export async function* eventsOfTable(sql: Sql, organizationId: string): AsyncGenerator<Found> {
  let after = BEFORE_ALL;
  for (;;) {
    const rows = await sql.query<Row[]>(
      `SELECT position, organization_id, stream_type, stream_id, version, event_id, type, schema, data, personal,
              subject_id, metadata, recorded_at, digest
       FROM events WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT ${PAGE}`,
      [organizationId, after],
    );
    for (const row of rows) yield check(row);
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.position;
  }
}

function check(row: Row): Found {
  const position = Number(row.position);
  const recordedAt = Number(row.recorded_at);
  if (!Number.isSafeInteger(recordedAt)) {
    return { position, mistake: `The event at position ${position} has no time.` };
  }
  const content = {
    data: row.data,
    eventId: row.event_id,
    metadata: row.metadata,
    organizationId: row.organization_id,
    personal: row.personal?.toString('base64') ?? null,
    schema: row.schema,
    streamId: row.stream_id,
    streamType: row.stream_type,
    subjectId: row.subject_id,
    type: row.type,
    version: row.version,
  };
  const digest = digestOf(content, recordedAt);
  if (digest.equals(row.digest)) return { position, digest };
  return { position, mistake: `The event at position ${position} has a digest that is not its content’s.` };
}
