import { Injectable } from '@nestjs/common';
import { type ReasonOf } from '#libs/rpc';
import { ApiKeysTable, type StoredKey } from './api-keys.projection.js';
import { isSameHash, readKey } from './secret.js';

/** A revoked key must be refused within a second on every instance: half of it for the rest of the way. */
const CACHE_MS = 500;
/** Then the oldest half is dropped: random keys must not fill the memory. */
const LARGEST_CACHE = 20_000;

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
const EXPIRED: Refusal = { reason: 'KEY_EXPIRED', message: 'The API key has expired. Ask for a new one.' };

/** Finds out whose key a request carries. */
@Injectable()
export class Authenticator {
  private readonly cache = new Map<string, { until: number; keys: Promise<StoredKey[]> }>();

  constructor(private readonly table: ApiKeysTable) {}

  /** @param header the Authorization header. @throws when the database cannot be reached. */
  async authenticate(header: string | undefined): Promise<Authentication> {
    if (header === undefined) return { refusal: NO_KEY };
    const [, token] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
    if (token === undefined) return { refusal: MALFORMED };
    const parts = readKey(token);
    if (!parts) return { refusal: UNKNOWN };

    const stored = await this.lookUp(parts.publicId);
    const key = stored.find(({ secretHash }) => isSameHash(secretHash, parts.secretHash));
    if (!key || key.ended) return { refusal: UNKNOWN };
    if (key.expired) return { refusal: EXPIRED };
    return { key };
  }

  private async lookUp(publicId: string): Promise<StoredKey[]> {
    const now = performance.now();
    const cached = this.cache.get(publicId);
    if (cached && now < cached.until) return cached.keys;

    if (this.cache.size >= LARGEST_CACHE) this.dropOldest();
    const keys = this.table.findByPublicId(publicId);
    this.cache.delete(publicId);
    const entry = { until: now + CACHE_MS, keys };
    this.cache.set(publicId, entry);
    // An unknown key is asked for again: it may have been made a moment ago by another instance.
    const forget = () => this.cache.delete(publicId);
    keys.then((found) => {
      if (found.length === 0) forget();
      // What ends sooner is asked for again then, by this process's monotonic clock.
      for (const { endsIn } of found)
        if (endsIn !== null && endsIn > 0) entry.until = Math.min(entry.until, now + endsIn);
    }, forget);
    return keys;
  }

  private dropOldest(): void {
    for (const publicId of [...this.cache.keys()].slice(0, LARGEST_CACHE / 2)) this.cache.delete(publicId);
  }
}
