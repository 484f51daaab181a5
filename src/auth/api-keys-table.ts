import { Injectable } from '@nestjs/common';
import { ReservedConnections } from '#libs/database';
import { DamagedEvent, EventStore, NewerEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { currentScope } from '#libs/rpc';
import { type ApiKey, apiKey, knownApiKey, type RateLimit } from './api-key.js';
import { API_KEYS_TABLE, apiKeysProjection } from './api-keys.projection.js';

/**
 * SQL: whether a key has ended. Keys revoked or rotated without overlap have ended, whatever the time: the
 * clock may have been set back, and an event's time is never before the previous one's.
 */
export const HAS_ENDED = `coalesce(
  state->>'status' = 'revoked' OR state->>'overlapSeconds' = '0' OR revoked_at <= statement_timestamp(), false)`;

/**
 * The query for each request. The database's clock, which also recorded when a key was revoked, decides
 * whether it has ended or expired. Instances with different clocks would disagree.
 */
const FIND = `
  SELECT id, k.organization_id, coalesce(line_id, id) AS line_id, state, by_operator, k.version,
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
  ) unknown ON true`;
export const FIND_BY_PUBLIC_ID = `${FIND}
  WHERE public_id = $1`;
const FIND_BY_ID = `${FIND}
  WHERE k.id = $1 AND k.organization_id = $4`;

/** Oldest first: keys without a checksum are older than all others. */
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
  version: number;
  ended: boolean;
  expired: boolean;
  ends_in: number | null;
  type: string | null;
  schema: number | null;
  position: string | null;
  damaged: boolean | null;
};

/** A key as requests are checked against it. */
export type StoredKey = {
  id: string;
  organizationId: string;
  /** The id of the first key of the line: a key and its successors share a line. */
  lineId: string;
  secretHash: Buffer;
  scopes: string[];
  rateLimit: RateLimit;
  /** The operator set its rate limit. Otherwise it also shares the organization's. */
  byOperator: boolean;
  /** Of its stream. */
  version: number;
  /** Revoked, or rotated and past its overlap. */
  ended: boolean;
  expired: boolean;
  /** Milliseconds until it ends or expires, from when it was read; negative once it has. */
  endsIn: number | null;
  /** An event of the key that this version cannot read. It may have ended the key. */
  unknown: NewerEvent | DamagedEvent | undefined;
};

function unknownOf({ type, schema, position, damaged }: FoundKey): StoredKey['unknown'] {
  if (type === null) return undefined;
  return damaged ? new DamagedEvent({ type, position: position! }) : new NewerEvent(type, schema!);
}

/** Reads the projection. */
@Injectable()
export class ApiKeysTable {
  constructor(
    private readonly reserved: ReservedConnections,
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  /** Public ids of valid keys of all organizations; the oldest if more than `limit`. */
  async livePublicIds(limit: number): Promise<Set<string>> {
    const rows = await this.reserved.source.query<{ public_id: string }[]>(LIVE_PUBLIC_IDS, [limit]);
    return new Set(rows.map(({ public_id }) => public_id));
  }

  /** All keys with this public id: usually one. Two share an id with a chance of 1 in 10^14. */
  async findByPublicId(publicId: string): Promise<StoredKey[]> {
    return this.find(FIND_BY_PUBLIC_ID, [publicId]);
  }

  /**
   * For work in the background on behalf of a key.
   *
   * @returns the key, if it can still be used.
   * @throws NewerEvent or DamagedEvent if this version cannot tell.
   */
  async findUsable(organizationId: string, id: string): Promise<StoredKey | undefined> {
    const [key] = await this.find(FIND_BY_ID, [id], [organizationId]);
    if (!key || key.ended || key.expired) return undefined;
    if (key.unknown) throw key.unknown;
    return key;
  }

  private async find(statement: string, [id]: [string], more: string[] = []): Promise<StoredKey[]> {
    // Created or ended a moment ago, by an instance of another version.
    await this.projections.catchUpWithOthers(apiKeysProjection.name);
    const rows = await this.reserved.source.query<FoundKey[]>(statement, [
      id,
      TYPES,
      TYPES.map((type) => this.store.rows.readSchema(type)),
      ...more,
    ]);
    return rows.map((row) => {
      const { id, organization_id, line_id, state, by_operator, version, ended, expired, ends_in } = row;
      const { secretHash, scopes, rateLimit } = knownApiKey(state);
      return {
        id,
        organizationId: organization_id,
        lineId: line_id,
        secretHash: Buffer.from(secretHash, 'hex'),
        scopes: scopes.map(currentScope),
        rateLimit,
        byOperator: by_operator,
        version,
        ended,
        expired,
        endsIn: ends_in,
        unknown: unknownOf(row),
      };
    });
  }
}
