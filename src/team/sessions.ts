import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TtlCache } from '#libs/database';
import { newId, randomBytes } from '#libs/random';
import { type DatedMembership, type Membership, membershipsOf } from './membership.js';

/** Days for which somebody stays signed in. */
export const SESSION_DAYS = 30;
/** `seen_at` is for people: not every page writes it. */
const SEEN_MINUTES = 5;
/** What has ended is refused within a second on every instance: half of it for the rest of the way, as with API keys. */
const KEPT_MS = 500;
const MOST_KEPT = 10_000;
/** Of one person; the oldest give way. */
const MOST_SESSIONS = 50;

/** Who is signed in, and where they may work with it; `outdated`: where they came in, or their role was changed, since. */
export type Session = { id: string; userId: string; memberships: Membership[]; outdated: Membership[] };
export type ListedSession = { id: string; madeAt: Date; seenAt: Date; browser: string };

/** Who is signed in, and where: of what a cookie holds only its hash is kept. */
@Injectable()
export class Sessions {
  private readonly kept = new TtlCache<Session | undefined>(KEPT_MS, MOST_KEPT);

  constructor(private readonly source: DataSource) {}

  /** @returns what the cookie holds: 256 bits, which nobody guesses. */
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
      [userId, MOST_SESSIONS],
    );
    return token;
  }

  /** As it was within the last half second: for pages that only show. Undefined where it has ended. */
  async findForReading(token: string): Promise<Session | undefined> {
    const key = keyOf(hashOf(token));
    const session = await this.kept.get(key, () => this.find(token));
    // Whoever makes cookies up must push no good ones out.
    if (!session) this.kept.forget(key);
    return session;
  }

  /** As it is: what was ended does nothing more from that moment on, whichever instance is asked. */
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
    this.kept.forget(keyOf(hashOf(token)));
  }

  /** The newest first. */
  async list(userId: string): Promise<ListedSession[]> {
    return this.source.query(
      `SELECT id, made_at AS "madeAt", seen_at AS "seenAt", browser FROM sessions
       WHERE user_id = $1 AND expires_at > clock_timestamp() ORDER BY made_at DESC`,
      [userId],
    );
  }

  /** One of a person's own. */
  async endOne(userId: string, id: string): Promise<void> {
    const [ended] = await this.source.query<[{ token: Buffer }[], number]>(
      'DELETE FROM sessions WHERE user_id = $1 AND id = $2 RETURNING token',
      [userId, id],
    );
    for (const { token } of ended) this.kept.forget(keyOf(token));
  }
}

/** Tokens are random: nothing need slow down whoever tries them all. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** @param hash of a token: it itself is not kept here, either. */
function keyOf(hash: Buffer): string {
  return hash.toString('base64');
}
