import { Injectable } from '@nestjs/common';
import { EventStore } from '#libs/event-store';
import { type ReasonOf } from '#libs/rpc';
import { ApiKeysTable, type StoredKey } from './api-keys-table.js';
import { isSameHash, readKey, type ShownKey } from './secret.js';

/** Revoked keys are rejected within a second on every instance. Half of that is left for everything else. */
const CACHE_MS = 500;
/** Maximum keys in each cache, so that random keys cannot fill it. */
const MAX_CACHED = 20_000;
/** The interval between queries for all live keys. 100,000 public ids take a few megabytes. */
const LIVE_MS = 60_000;
const MAX_LIVE = 100_000;

export type Authentication = { key: StoredKey } | { refusal: Refusal };
export type Refusal = { reason: ReasonOf<'UNAUTHORIZED'>; message: string };

export const NO_KEY: Refusal = {
  reason: 'KEY_MISSING',
  message: 'The Authorization header is missing. Send: Authorization: Bearer <API_KEY>',
};
const MALFORMED: Refusal = {
  reason: 'KEY_MALFORMED',
  message: 'The Authorization header is malformed. Send: Authorization: Bearer <API_KEY>',
};
/** The same for unknown and ended keys: the response must not reveal whether a key ever existed. */
export const UNKNOWN_KEY: Refusal = {
  reason: 'KEY_INVALID',
  message: 'The API key is invalid or has been revoked.',
};
const EXPIRED: Refusal = { reason: 'KEY_EXPIRED', message: 'The API key has expired. Request a new one.' };

/**
 * Authenticates the API key of a request. Keys with a valid checksum are looked up in the database. Keys from
 * before checksums are looked up if a live key has their public id; otherwise the lookup counts against the
 * client's budget.
 */
@Injectable()
export class Authenticator {
  /** Found within the last half second, or being looked up. */
  private readonly found = new Map<string, { until: number; keys: Promise<StoredKey[]> }>();
  /** Public ids that were not found within the last half second. */
  private readonly missed = new Map<string, number>();
  /**
   * Hashes of valid keys without a checksum, by public id. An entry never expires: all it allows is a free
   * lookup.
   */
  private readonly known = new Map<string, Buffer>();
  /** Public ids of live keys, or the query for them. A new instance does not know any valid key. */
  private live?: { until: number; publicIds: Promise<ReadonlySet<string>> } | undefined;

  constructor(
    private readonly table: ApiKeysTable,
    private readonly store: EventStore,
  ) {}

  /**
   * @param header the Authorization header.
   * @param beforeGuess called before looking up a key that the client may have invented; its errors are
   * passed on.
   * @throws Error if the database is unreachable; NewerEvent or DamagedEvent if this version cannot tell
   * whether the key has ended.
   */
  async authenticate(header: string | undefined, beforeGuess: () => Promise<void>): Promise<Authentication> {
    if (header === undefined) return { refusal: NO_KEY };
    const [, token] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
    if (token === undefined) return { refusal: MALFORMED };
    const shown = readKey(this.store.keyring, token);
    if (!shown) return { refusal: UNKNOWN_KEY };

    let cached = this.cached(shown.publicId);
    if (cached === undefined) {
      if (shown.isMadeHere?.() === false) return { refusal: UNKNOWN_KEY };
      if (!shown.isMadeHere && !this.isKnown(shown)) {
        // Otherwise, junk from an address would lock out the valid keys behind it.
        if (!(await this.isOfLiveKey(shown.publicId))) await beforeGuess();
        // Of concurrent requests, the first looks it up.
        cached = this.cached(shown.publicId);
      }
    }
    const stored = await (cached ?? this.lookUp(shown.publicId));
    const key = stored.find(({ secretHash }) => isSameHash(secretHash, shown.secretHash));
    if (!key || key.ended) return { refusal: UNKNOWN_KEY };
    if (key.expired) return { refusal: EXPIRED };
    if (key.unknown) throw key.unknown;
    if (!shown.isMadeHere && !this.isKnown(shown)) {
      makeRoom(this.known);
      this.known.set(shown.publicId, shown.secretHash);
    }
    return { key };
  }

  private isKnown({ publicId, secretHash }: ShownKey): boolean {
    const known = this.known.get(publicId);
    return known !== undefined && isSameHash(known, secretHash);
  }

  /**
   * Whether a key with this public id was live within the last minute. False if unknown: then the client is
   * charged.
   */
  private async isOfLiveKey(publicId: string): Promise<boolean> {
    const now = performance.now();
    if (!this.live || now >= this.live.until) {
      const live = { until: now + LIVE_MS, publicIds: this.table.livePublicIds(MAX_LIVE) };
      this.live = live;
      live.publicIds.catch(() => {
        if (this.live === live) this.live = undefined;
      });
    }
    try {
      return (await this.live.publicIds).has(publicId);
    } catch {
      return false;
    }
  }

  /** The keys found within the last half second; undefined if they were not looked up. */
  private cached(publicId: string): Promise<StoredKey[]> | StoredKey[] | undefined {
    const now = performance.now();
    const found = this.found.get(publicId);
    if (found && now < found.until) return found.keys;
    const missedUntil = this.missed.get(publicId);
    return missedUntil !== undefined && now < missedUntil ? [] : undefined;
  }

  private lookUp(publicId: string): Promise<StoredKey[]> {
    const now = performance.now();
    const keys = this.table.findByPublicId(publicId);
    const entry = { until: now + CACHE_MS, keys };
    makeRoom(this.found);
    this.found.delete(publicId);
    this.found.set(publicId, entry);
    const forget = () => this.found.get(publicId) === entry && this.found.delete(publicId);
    keys.then((found) => {
      // Keys that end sooner are read again at that time, by this process's monotonic clock.
      for (const { endsIn } of found) {
        if (endsIn !== null && endsIn > 0) entry.until = Math.min(entry.until, now + endsIn);
      }
      if (found.length > 0) return;
      // A separate cache, so that misses push no valid keys out. Another instance may have created the key
      // since the last query.
      forget();
      makeRoom(this.missed);
      this.missed.delete(publicId);
      this.missed.set(publicId, now + CACHE_MS);
    }, forget);
    return keys;
  }
}

/** Drops the oldest half of a full cache. */
function makeRoom(cache: Map<string, unknown>): void {
  if (cache.size < MAX_CACHED) return;
  for (const publicId of [...cache.keys()].slice(0, MAX_CACHED / 2)) cache.delete(publicId);
}
