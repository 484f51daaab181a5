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
  /** The last position that was given out. */
  last: string;
};

const PAGE = 1_000;

/** The stored events of an organization in the order of their positions, each checked by itself. */
export async function* eventsOfTable(sql: Sql, organizationId: string): AsyncGenerator<Found> {
  // From the lowest of all on: whoever puts an event in may number it as they like.
  for (let after: string | null = null; ;) {
    const rows: Row[] = await sql.query(
      `SELECT position, organization_id, stream_type, stream_id, version, event_id, type, schema, data, personal,
              subject_id, metadata, recorded_at, digest, (SELECT last_position()) AS last
       FROM events WHERE organization_id = $1 ${after === null ? '' : 'AND position > $2'} ORDER BY position LIMIT ${PAGE}`,
      after === null ? [organizationId] : [organizationId, after],
    );
    for (const row of rows) yield check(row);
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.position;
  }
}

function check(row: Row): Found {
  const position = Number(row.position);
  if (position < 1) {
    return { position, mistake: `The event at position ${row.position} was put in: positions begin with 1.` };
  }
  if (BigInt(row.position) > BigInt(row.last)) {
    const given = `position ${row.last} is the last that was given to any`;
    return { position, mistake: `The event at position ${row.position} was put in: ${given}.` };
  }
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
