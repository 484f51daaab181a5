import { type Sql } from '#libs/database';
import { type RecordedEvent } from '#libs/event-store';
import { type Projection, RecordTable, schemaOf } from '#libs/projections';
import { apiKey, type ApiKeyEvent } from './api-key.js';

const table = new RecordTable(
  apiKey,
  'api_keys',
  {
    name: { type: 'text', index: true, search: true },
    public_id: { type: 'text' },
    expires_at: { type: 'timestamptz' },
    revoked_at: { type: 'timestamptz' },
    successor_id: { type: 'uuid', index: true },
  },
  (state) =>
    state.status === 'unknown'
      ? undefined
      : {
          name: state.name,
          public_id: state.publicId,
          expires_at: state.expiresAt,
          revoked_at: state.revokedAt,
          successor_id: 'successorId' in state ? state.successorId : null,
        },
  {
    ownColumns: [
      // The key that created it; null if the operator or the server did.
      'maker_id uuid',
      // A key and its successors form a line, identified by the id of its first key.
      'line_id uuid',
      // Whether the operator created the first key of the line.
      'by_operator boolean NOT NULL DEFAULT false',
    ],
  },
);

export const apiKeysProjection: Projection<ApiKeyEvent> = {
  name: 'api-keys',
  version: 4,
  handles: ['ApiKeyCreated', 'ApiKeyRotated', 'ApiKeyRevoked'],
  tables: `
    ${table.definition}
    -- Without the organization, which this lookup finds out.
    CREATE INDEX api_keys_by_public_id ON api_keys (public_id);
  `,
  async apply(events, transaction) {
    await table.apply(events, transaction);
    await noteOrigins(events, transaction);
  },
  get snapshots() {
    return table.snapshots(this);
  },
};

/** The origin of new keys: the actor of their first event created them, in events of all ages. */
async function noteOrigins(events: readonly RecordedEvent<ApiKeyEvent>[], transaction: Sql): Promise<void> {
  const made = events.filter(({ type }) => type === 'ApiKeyCreated');
  if (made.length === 0) return;
  // A key is stored as rotated right before its successor is stored as created, so the predecessors exist.
  const predecessors = await transaction.query<
    { id: string; predecessor_id: string; line_id: string | null; by_operator: boolean }[]
  >(
    `SELECT p.successor_id AS id, p.id AS predecessor_id, p.line_id, p.by_operator FROM api_keys p
     JOIN unnest($1::uuid[], $2::uuid[]) AS k(organization_id, id)
       ON p.organization_id = k.organization_id AND p.successor_id = k.id`,
    [made.map(({ organizationId }) => organizationId), made.map(({ streamId }) => streamId)],
  );
  const predecessorOf = new Map(predecessors.map((row) => [row.id, row]));
  const origins = new Map<string, { line_id: string; by_operator: boolean }>();
  const rows = made.map(({ organizationId, streamId: id, metadata: { actor } }) => {
    const before = predecessorOf.get(id);
    const origin =
      before === undefined
        ? { line_id: id, by_operator: actor.type === 'system' }
        : // A predecessor on this page has no line in the table yet.
          (origins.get(before.predecessor_id) ?? {
            line_id: before.line_id!,
            by_operator: before.by_operator,
          });
    origins.set(id, origin);
    return {
      organization_id: organizationId,
      id,
      maker_id: actor.type === 'api-key' ? actor.id : null,
      ...origin,
    };
  });
  await transaction.query(
    `UPDATE api_keys k SET maker_id = o.maker_id, line_id = o.line_id, by_operator = o.by_operator
     FROM jsonb_to_recordset($1::jsonb)
       AS o(organization_id uuid, id uuid, maker_id uuid, line_id uuid, by_operator boolean)
     WHERE k.organization_id = o.organization_id AND k.id = o.id`,
    [JSON.stringify(rows)],
  );
}

export const API_KEYS_TABLE = `${schemaOf(apiKeysProjection)}.api_keys`;
