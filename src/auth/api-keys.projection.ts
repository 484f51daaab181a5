import { Injectable } from '@nestjs/common';
import { ReservedConnections, type Sql } from '#libs/database';
import { DamagedEvent, EventStore, NewerEvent, type RecordedEvent } from '#libs/event-store';
import { type Projection, Projections, RecordTable, schemaOf } from '#libs/projections';
import { type ApiKey, apiKey, type ApiKeyEvent, knownApiKey, type RateLimit } from './api-key.js';

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
      // The key that made it; null: the operator did, or the program itself.
      'maker_id uuid',
      // A key and all that replaced it, one after another, are one line; its id is that of its first key.
      'line_id uuid',
      // Whether the operator made the first key of the line.
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
    -- Not by organization first: which one it is, is what the lookup finds out.
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

/** Where new keys come from: who made them is told by their first event's actor, also of events of long ago. */
async function noteOrigins(events: readonly RecordedEvent<ApiKeyEvent>[], transaction: Sql): Promise<void> {
  const made = events.filter(({ type }) => type === 'ApiKeyCreated');
  if (made.length === 0) return;
  // A key is stored as rotated right before its successor is stored as created: the predecessors are there.
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
        : // One of this page has no line in the table yet.
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

/**
 * SQL: whether a key has ended. Revoked it has, and replaced at once, whatever the time: the clock may have been set
 * back, and what is recorded then is not before what the key did last.
 */
export const HAS_ENDED = `coalesce(
  state->>'status' = 'revoked' OR state->>'overlapSeconds' = '0' OR revoked_at <= statement_timestamp(), false)`;

/**
 * What every request asks. Whether a key has ended or expired is told by the database's clock, which also recorded
 * when it was revoked: instances whose own clocks differ would take or refuse it each as they see fit.
 */
export const FIND_BY_PUBLIC_ID = `
  SELECT id, k.organization_id, coalesce(line_id, id) AS line_id, state, by_operator,
         unknown.type, unknown.schema, unknown.position, unknown.damaged,
         ${HAS_ENDED} AS ended,
         coalesce(expires_at <= statement_timestamp(), false) AS expired,
         (extract(epoch FROM least(revoked_at, expires_at) - statement_timestamp()) * 1000)::float8 AS ends_in
  FROM ${API_KEYS_TABLE} k LEFT JOIN LATERAL (
    SELECT e.type, e.schema, e.position, jsonb_typeof(e.data) <> 'object' AS damaged FROM public.events e
    WHERE e.organization_id = k.organization_id AND e.stream_id = k.id AND e.version > k.version
      AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::int[]) AS known(type, schema)
                      WHERE known.type = e.type AND known.schema >= e.schema AND jsonb_typeof(e.data) = 'object')
    LIMIT 1
  ) unknown ON true
  WHERE public_id = $1`;

/** The oldest first: those without a checksum were made before all others. */
const LIVE_PUBLIC_IDS = `
  SELECT public_id FROM ${API_KEYS_TABLE}
  WHERE NOT ${HAS_ENDED} AND coalesce(expires_at > statement_timestamp(), true)
  ORDER BY created_at LIMIT $1`;

const TYPES = Object.keys(apiKey.events);

type FoundKey = {
  id: string;
  organization_id: string;
  line_id: string;
  state: ApiKey;
  by_operator: boolean;
  ended: boolean;
  expired: boolean;
  ends_in: number | null;
  type: string | null;
  schema: number | null;
  position: string | null;
  damaged: boolean | null;
};

/** A key as requests are compared with it. */
export type StoredKey = {
  id: string;
  organizationId: string;
  /** Of the first key of the line: of a key and all that replaced it. */
  lineId: string;
  secretHash: Buffer;
  scopes: string[];
  rateLimit: RateLimit;
  /** The operator gave it its limit; otherwise it shares the organization's besides. */
  byOperator: boolean;
  /** Revoked, or rotated and its overlap over. */
  ended: boolean;
  expired: boolean;
  /** In milliseconds, from when it was asked for: it ends or expires then; negative where it has. */
  endsIn: number | null;
  /** What this version of the program does not know of the key, or cannot read: it may have ended it. */
  unknown: NewerEvent | DamagedEvent | undefined;
};

function unknownOf({ type, schema, position, damaged }: FoundKey): StoredKey['unknown'] {
  if (type === null) return undefined;
  return damaged ? new DamagedEvent({ type, position: position! }) : new NewerEvent(type, schema!);
}

@Injectable()
export class ApiKeysTable {
  constructor(
    private readonly reserved: ReservedConnections,
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  /** Public ids of keys that are good now, of all organizations; the oldest if there are more than `limit`. */
  async livePublicIds(limit: number): Promise<Set<string>> {
    const rows = await this.reserved.source.query<{ public_id: string }[]>(LIVE_PUBLIC_IDS, [limit]);
    return new Set(rows.map(({ public_id }) => public_id));
  }

  /** All keys with this public id: one, but for a chance of 1 in 10^14. */
  async findByPublicId(publicId: string): Promise<StoredKey[]> {
    // Made or ended a moment ago, by an instance of another version.
    await this.projections.catchUpWithOthers(apiKeysProjection.name);
    const rows = await this.reserved.source.query<FoundKey[]>(FIND_BY_PUBLIC_ID, [
      publicId,
      TYPES,
      TYPES.map((type) => this.store.rows.readSchema(type)),
    ]);
    return rows.map((row) => {
      const { id, organization_id, line_id, state, by_operator, ended, expired, ends_in } = row;
      const { secretHash, scopes, rateLimit } = knownApiKey(state);
      return {
        id,
        organizationId: organization_id,
        lineId: line_id,
        secretHash: Buffer.from(secretHash, 'hex'),
        scopes,
        rateLimit,
        byOperator: by_operator,
        ended,
        expired,
        endsIn: ends_in,
        unknown: unknownOf(row),
      };
    });
  }
}
