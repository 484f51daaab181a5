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

/** The most live keys of an organization; the operator can create more. */
export const MOST_LIVE_KEYS = 100;

/** The most requests per second for a person's key, as documented in create-api-key. */
const FASTEST = 1_000;

/** The keys of an organization at one moment of the database's clock. */
export type KeysNow = {
  now: Date;
  origins: readonly KeyOrigin[];
  live: number;
  /**
   * For whoever changes keys: at most one change follows on a moment, also when others decide on the same one at
   * the same time, on whichever instance. So 100 keys are never 101, and no key is made while its maker's are being
   * ended. Who was late decides again.
   */
  claim: (decide: () => Promise<Decision>) => Claim;
};

/** The keys of an organization as one, for decisions that rest on all of them. */
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
        // For ever, and by no record: what a key holds is released when it ends.
        streamId: newId(),
        taken: decide,
      }),
    };
  }

  /** What whoever asks may give away: the key, or the role of a person; undefined for the operator, whom nothing bounds. */
  async ownOf({ organizationId, actor, scopes }: RequestContext): Promise<Grant | undefined> {
    if (actor.type === 'user') return { scopes: [...scopes], rateLimit: FASTEST, expiresAt: null };
    if (actor.type !== 'api-key') return undefined;
    return knownApiKey((await this.records.load(apiKey, organizationId, actor.id!)).state);
  }

  /**
   * What a new key rests on: that the key which makes it, and with which it will end, has not ended itself.
   *
   * @throws RpcError UNAUTHORIZED when it has.
   */
  async guardOf({ organizationId, actor }: RequestContext, { origins }: KeysNow): Promise<Guard[]> {
    if (actor.type !== 'api-key') return [];
    if (!mayMakeKeys(origins, actor.id!)) {
      throw new RpcError(
        'UNAUTHORIZED',
        'This API key or its successor has ended and cannot create other keys.',
        { reason: 'KEY_INVALID' },
      );
    }
    // Instances of earlier versions end keys without a claim, which moves the stream.
    const { version } = await this.records.load(apiKey, organizationId, actor.id!);
    return [{ streamId: actor.id!, version }];
  }
}

export function tooManyKeys({ live }: KeysNow): RpcError {
  return new RpcError(
    'CONFLICT',
    `An organization can have up to ${MOST_LIVE_KEYS} live API keys, and yours has ${live}. Revoke one that you ` +
      'no longer use.',
    { reason: 'KEY_LIMIT_REACHED' },
  );
}

// The versions of all keys together: how many changes of keys there were.
const READ = `
  SELECT k.id, k.line_id AS "lineId", k.maker_id AS "makerId", k.successor_id AS "successorId",
         NOT ${HAS_ENDED} AND coalesce(k.expires_at > statement_timestamp(), true) AS "isLive",
         k.version AS changes,
         statement_timestamp() AS now
  FROM (VALUES (1)) AS one LEFT JOIN ${API_KEYS_TABLE} k ON k.organization_id = $1`;
