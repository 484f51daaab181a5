import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { newId } from '#libs/random';
import { type Claim, type Decision, RecordReader } from '#libs/commands';
import { Projections } from '#libs/projections';
import { type RequestContext, RpcError } from '#libs/rpc';
import { type Guard } from '#libs/event-store';
import { apiKey, knownApiKey } from './api-key.js';
import { type Grant } from './delegation.js';
import { HAS_ENDED } from './api-keys-table.js';
import { API_KEYS_TABLE } from './api-keys.projection.js';
import { type KeyOrigin, mayMakeKeys } from './lines.js';

/** Maximum live keys of an organization. The operator can create more. */
export const MAX_LIVE_KEYS = 100;

/** Maximum requests per second for a person's key, as documented in create-api-key. */
const MAX_RATE = 1_000;

/** An organization's keys at one moment of the database's clock. */
export type KeysNow = {
  now: Date;
  origins: readonly KeyOrigin[];
  live: number;
  /**
   * Serializes changes of keys: of concurrent changes decided on the same state, on any instance, only one is
   * stored, and the others decide again. So 100 keys never become 101, and no key is created while its
   * creator's keys are being ended.
   */
  claim: (decide: () => Promise<Decision>) => Claim;
};

/** Reads all keys of an organization, for decisions that depend on all of them. */
@Injectable()
export class OrganizationKeys {
  constructor(
    private readonly records: RecordReader,
    private readonly projections: Projections,
    private readonly source: DataSource,
  ) {}

  /** The keys after everything stored before this call. */
  async read(organizationId: string): Promise<KeysNow> {
    await this.projections.catchUpWithLog();
    const rows = await this.source.query<(KeyOrigin & { now: Date; changes: number })[]>(READ, [
      organizationId,
    ]);
    const origins = rows.filter(({ id }) => id !== null);
    const changes = origins.reduce((sum, key) => sum + key.changes, 0);
    return {
      now: rows[0]!.now,
      origins,
      live: origins.filter(({ isLive }) => isLive).length,
      claim: (decide) => ({
        value: ['api-key.change', String(changes)],
        // Owned by no record, so it is never released: a record's claims are released when it ends.
        streamId: newId(),
        taken: decide,
      }),
    };
  }

  /**
   * What the caller can grant: the rights of their key or role; undefined for the operator, who has no
   * limits.
   */
  async ownOf({ organizationId, actor, scopes }: RequestContext): Promise<Grant | undefined> {
    if (actor.type === 'user') return { scopes: [...scopes], rateLimit: MAX_RATE, expiresAt: null };
    if (actor.type !== 'api-key') return undefined;
    return knownApiKey((await this.records.load(apiKey, organizationId, actor.id!)).state);
  }

  /**
   * Guards that the key that creates another one has not ended, because the new key ends with it.
   *
   * @throws RpcError UNAUTHORIZED if it has.
   */
  async guardOf({ organizationId, actor }: RequestContext, { origins }: KeysNow): Promise<Guard[]> {
    if (actor.type !== 'api-key') return [];
    if (!mayMakeKeys(origins, actor.id!)) {
      throw new RpcError(
        'UNAUTHORIZED',
        'This API key or its successor is no longer valid, so it cannot create other keys.',
        { reason: 'KEY_INVALID' },
      );
    }
    // Instances of earlier versions end keys without a claim, but their events change the stream's version.
    const { version } = await this.records.load(apiKey, organizationId, actor.id!);
    return [{ streamId: actor.id!, version }];
  }
}

export function tooManyKeys({ live }: KeysNow): RpcError {
  return new RpcError(
    'CONFLICT',
    `An organization can have up to ${MAX_LIVE_KEYS} live API keys, and yours has ${live}. Revoke one that you ` +
      'no longer use.',
    { reason: 'KEY_LIMIT_REACHED' },
  );
}

// The sum of all stream versions: the number of changes so far.
const READ = `
  SELECT k.id, k.line_id AS "lineId", k.maker_id AS "makerId", k.successor_id AS "successorId",
         NOT ${HAS_ENDED} AND coalesce(k.expires_at > statement_timestamp(), true) AS "isLive",
         k.version AS changes,
         statement_timestamp() AS now
  FROM (VALUES (1)) AS one LEFT JOIN ${API_KEYS_TABLE} k ON k.organization_id = $1`;
