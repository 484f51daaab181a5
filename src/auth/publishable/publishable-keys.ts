import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { ReservedConnections, TtlCache } from '#libs/database';
import { EventStore, readSignedIds, signIds } from '#libs/event-store';
import { Resource, Resources } from '#libs/resources';
import {
  Names,
  ORIGIN,
  ORIGIN_RULE,
  recordSchema,
  recordVersion,
  resourceSchema,
  textOrNull,
} from '#libs/rpc';
import { publishableKey } from './publishable-key.js';

/** What everyone with a publishable key may do: what anyone may do on the public site. */
export const PUBLISHABLE_SCOPES: readonly string[] = ['signature:request', 'form:submit'];

const PREFIX = 'adv_pub_';
const PURPOSE = 'publishable key';
const MAX_ORIGINS = 20;
/** A DNS name with its protocol and port. */
const LONGEST_ORIGIN = 267;
/** As for secret keys: half of the second after which every instance rejects a revoked key. */
const CACHE_MS = 500;
const MAX_CACHED = 20_000;

export const publishableKeySchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  origins: { type: 'array', items: { type: 'string' }, description: 'The websites on which it works.' },
  key: {
    ...textOrNull,
    description: 'The value to send as `Authorization: Bearer`. It is not secret, so it is always shown.',
  },
});

export const publishableKeyIdSchema = recordSchema({ publishableKeyId: { type: 'string' } });

export const publishableKeys = new Resource({
  object: 'publishable-key',
  decider: publishableKey,
  existing: (state) => (state.status === 'ACTIVE' ? state : undefined),
  answers: publishableKeySchema,
  version: 1,
  columns: { name: { type: 'text', index: true, search: true } },
  // Without the organization, which a preflight does not name.
  indexes: "CREATE INDEX publishable_keys_by_origin ON publishable_keys USING gin ((state -> 'origins'));",
});

/** Exported so that a test can EXPLAIN it. */
export const HAS_KEY_FOR = `SELECT FROM ${publishableKeys.table} WHERE state -> 'origins' ? $1 LIMIT 1`;

/** The field of create and update with the websites of a key. */
export function Origins(options: { optional?: true } = {}): PropertyDecorator {
  return Names({
    ...options,
    max: MAX_ORIGINS,
    longest: LONGEST_ORIGIN,
    pattern: ORIGIN,
    rule: ORIGIN_RULE,
    example: ['https://www.example.org'],
    description: `The websites on which it works. Each ${ORIGIN_RULE}.`,
  });
}

type Found = { organizationId: string; id: string; origins: readonly string[] };

/**
 * Keys that a page may contain. A key consists of the ids of its organization and itself, signed by this server. So nothing
 * about it has to be stored or kept secret, and invented keys cost no query.
 */
@Injectable()
export class PublishableKeys implements OnModuleInit {
  private readonly found = new TtlCache<Found | undefined>(CACHE_MS, MAX_CACHED);
  private readonly known = new TtlCache<boolean>(CACHE_MS, MAX_CACHED);

  constructor(
    private readonly resources: Resources,
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly reserved: ReservedConnections,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(publishableKeys, (organizationId, records) => {
      for (const record of records) record.key = this.keyOf(organizationId, record.id);
      return Promise.resolve();
    });
  }

  /**
   * @returns undefined if it does not exist or was revoked.
   * @throws NewerEvent or DamagedEvent if this version cannot tell.
   */
  async find(key: string): Promise<Found | undefined> {
    const [organizationId, id] =
      readSignedIds(this.store.keyring, PURPOSE, 2, key.slice(PREFIX.length)) ?? [];
    if (!organizationId || !id) return undefined;
    return this.found.get(key, async () => {
      const { state } = await this.records.load(publishableKey, organizationId, id);
      return state.status === 'ACTIVE' ? { organizationId, id, origins: state.origins } : undefined;
    });
  }

  /** Whether a publishable key of any organization works on this website. */
  hasKeyFor(origin: string): Promise<boolean> {
    return this.known.get(origin, async () => {
      const rows = await this.reserved.source.query<object[]>(HAS_KEY_FOR, [origin]);
      return rows.length > 0;
    });
  }

  private keyOf(organizationId: string, id: string): string {
    return PREFIX + signIds(this.store.keyring, PURPOSE, [organizationId, id]);
  }
}

/** The publishable key in an Authorization header; undefined for other keys. */
export function publishableKeyIn(header: string | undefined): string | undefined {
  const [, token] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  return token?.startsWith(PREFIX) ? token : undefined;
}
