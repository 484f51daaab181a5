import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TtlCache } from '#libs/database';
import { newId, randomBytes } from '#libs/random';
import { type DatedMembership, type Membership, membershipsOf } from './membership.js';

/** Days until a session expires. */
export const SESSION_DAYS = 30;
/** `seen_at` is only displayed, so it need not be exact. */
const SEEN_MINUTES = 5;
/**
 * Ended sessions are rejected within a second on every instance. Half of that is left for everything else, as
 * with API keys.
 */
const CACHE_MS = 500;
const MAX_CACHED = 10_000;
/** Sessions per person. Signing in again ends the oldest. */
const MAX_SESSIONS = 50;

/**
 * The user, and the memberships the session is valid for. `outdated`: memberships that began, or changed
 * their role, after it.
 */
export type Session = { id: string; userId: string; memberships: Membership[]; outdated: Membership[] };
export type ListedSession = { id: string; seenAt: Date; browser: string };

/** Sessions of the dashboard. Only the hash of a cookie is stored. */
@Injectable()
export class Sessions {
  private readonly cache = new TtlCache<Session | undefined>(CACHE_MS, MAX_CACHED);

  constructor(private readonly source: DataSource) {}

  /** @returns the value of the cookie: 256 random bits. */
  async begin(userId: string, browser: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    await this.source.query(
      `INSERT INTO sessions (token, id, user_id, expires_at, browser)
       VALUES ($1, $2, $3, clock_timestamp() + make_interval(days => $4), $5)`,
      [hashOf(token), newId(), userId, SESSION_DAYS, browser],
    );
    await this.source.query(
      `DELETE FROM sessions WHERE expires_at < clock_timestamp() OR id IN (
         SELECT id FROM sessions WHERE user_id = $1 ORDER BY made_at DESC OFFSET $2)`,
      [userId, MAX_SESSIONS],
    );
    return token;
  }

  /** Up to half a second old, for pages that only display data. Undefined if the session has ended. */
  async findForReading(token: string): Promise<Session | undefined> {
    const key = keyOf(hashOf(token));
    const session = await this.cache.get(key, () => this.find(token));
    // Invalid cookies must not push valid ones out of the cache.
    if (!session) this.cache.forget(key);
    return session;
  }

  /**
   * The current session, for pages that change data. Ended sessions are rejected immediately on all
   * instances.
   */
  async find(token: string): Promise<Session | undefined> {
    const [row] = await this.source.query<
      { id: string; user_id: string; memberships: DatedMembership[]; is_stale: boolean }[]
    >(
      `SELECT id, user_id, seen_at < clock_timestamp() - make_interval(mins => $2) AS is_stale,
         ${membershipsOf('sessions.user_id', 'sessions.made_at')} AS memberships
       FROM sessions WHERE token = $1 AND expires_at > clock_timestamp()`,
      [hashOf(token), SEEN_MINUTES],
    );
    if (!row) return undefined;
    if (row.is_stale)
      await this.source.query('UPDATE sessions SET seen_at = clock_timestamp() WHERE id = $1', [row.id]);
    const [memberships, outdated] = [true, false].map((is) =>
      row.memberships.filter((one) => one.isCurrent === is),
    );
    return { id: row.id, userId: row.user_id, memberships: memberships!, outdated: outdated! };
  }

  async end(token: string): Promise<void> {
    await this.source.query('DELETE FROM sessions WHERE token = $1', [hashOf(token)]);
    this.cache.forget(keyOf(hashOf(token)));
  }

  /** Newest first. */
  async list(userId: string): Promise<ListedSession[]> {
    return this.source.query(
      `SELECT id, seen_at AS "seenAt", browser FROM sessions
       WHERE user_id = $1 AND expires_at > clock_timestamp() ORDER BY made_at DESC`,
      [userId],
    );
  }

  async endOne(userId: string, id: string): Promise<void> {
    const [ended] = await this.source.query<[{ token: Buffer }[], number]>(
      'DELETE FROM sessions WHERE user_id = $1 AND id = $2 RETURNING token',
      [userId, id],
    );
    for (const { token } of ended) this.cache.forget(keyOf(token));
  }
}

/** A fast hash is enough, because tokens are random. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** @param hash of a token. The cache does not store the token itself either. */
function keyOf(hash: Buffer): string {
  return hash.toString('base64');
}
