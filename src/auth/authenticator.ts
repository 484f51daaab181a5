import { Injectable } from '@nestjs/common';
import { EventStore } from '#libs/event-store';
import { type ReasonOf } from '#libs/rpc';
import { ApiKeysTable, type StoredKey } from './api-keys-table.js';
import { isSameHash, readKey, type ShownKey } from './secret.js';

/** A revoked key must be refused within a second on every instance: half of it for the rest of the way. */
const CACHE_MS = 500;
/** Keys that are remembered at most, of each kind: random ones must not fill the memory. */
const LARGEST_MEMORY = 20_000;
/** One statement over all keys in so long, whoever asks: of 100,000 keys their public ids are some megabytes. */
const LIVE_MS = 60_000;
const MOST_LIVE = 100_000;

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
/** Said of the unknown and of the ended alike: whether a key ever was is nobody's business. */
const UNKNOWN: Refusal = { reason: 'KEY_INVALID', message: 'The API key is invalid or has been revoked.' };
const EXPIRED: Refusal = { reason: 'KEY_EXPIRED', message: 'The API key has expired. Request a new one.' };

/**
 * Finds out whose key a request carries. Keys that nobody can have invented are looked up in the database; so are
 * those of a version before checksums: if a live key has their public id, or else within the budget of whoever shows
 * them.
 */
@Injectable()
export class Authenticator {
  /** Found a moment ago, or being looked up. */
  private readonly found = new Map<string, { until: number; keys: Promise<StoredKey[]> }>();
  /** Public ids that were not found a moment ago. */
  private readonly missed = new Map<string, number>();
  /** Good keys without a checksum, by public id: their hashes. However long ago, one look-up is all that it grants. */
  private readonly known = new Map<string, Buffer>();
  /** Public ids of live keys, or their being asked for: an instance that has just started knows no good key. */
  private live?: { until: number; publicIds: Promise<ReadonlySet<string>> } | undefined;

  constructor(
    private readonly table: ApiKeysTable,
    private readonly store: EventStore,
  ) {}

  /**
   * @param header the Authorization header.
   * @param beforeGuess called before a key is looked up that anybody may have invented; what it throws is thrown.
   * @throws when the database cannot be reached; NewerEvent or DamagedEvent where nobody here can tell whether the key has ended.
   */
  async authenticate(header: string | undefined, beforeGuess: () => Promise<void>): Promise<Authentication> {
    if (header === undefined) return { refusal: NO_KEY };
    const [, token] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
    if (token === undefined) return { refusal: MALFORMED };
    const shown = readKey(this.store.keyring, token);
    if (!shown) return { refusal: UNKNOWN };

    let remembered = this.remembered(shown.publicId);
    if (remembered === undefined) {
      if (shown.isMadeHere?.() === false) return { refusal: UNKNOWN };
      if (!shown.isMadeHere && !this.isKnown(shown)) {
        // Otherwise whoever floods an address with junk would lock out the good keys behind it.
        if (!(await this.isOfLiveKey(shown.publicId))) await beforeGuess();
        // Of many at once the first looks it up.
        remembered = this.remembered(shown.publicId);
      }
    }
    const stored = await (remembered ?? this.lookUp(shown.publicId));
    const key = stored.find(({ secretHash }) => isSameHash(secretHash, shown.secretHash));
    if (!key || key.ended) return { refusal: UNKNOWN };
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

  /** A key like it was live within the last minute. False where that cannot be found out: then its sender pays. */
  private async isOfLiveKey(publicId: string): Promise<boolean> {
    const now = performance.now();
    if (!this.live || now >= this.live.until) {
      const live = { until: now + LIVE_MS, publicIds: this.table.livePublicIds(MOST_LIVE) };
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

  /** What was found less than half a second ago; undefined if nobody looked. */
  private remembered(publicId: string): Promise<StoredKey[]> | StoredKey[] | undefined {
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
      // What ends sooner is asked for again then, by this process's monotonic clock.
      for (const { endsIn } of found) {
        if (endsIn !== null && endsIn > 0) entry.until = Math.min(entry.until, now + endsIn);
      }
      if (found.length > 0) return;
      // Apart, so that misses push nothing good out. No longer: another instance may have made it meanwhile.
      forget();
      makeRoom(this.missed);
      this.missed.delete(publicId);
      this.missed.set(publicId, now + CACHE_MS);
    }, forget);
    return keys;
  }
}

/** Drops the oldest half of what has grown too large. */
function makeRoom(memory: Map<string, unknown>): void {
  if (memory.size < LARGEST_MEMORY) return;
  for (const publicId of [...memory.keys()].slice(0, LARGEST_MEMORY / 2)) memory.delete(publicId);
}
