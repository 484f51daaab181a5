import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { getStorageToken } from '@nestjs/throttler';
import { DataSource } from 'typeorm';
import { newId, randomBytes } from '#libs/random';
import { describeError } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { networkOf, type WindowStorage } from '#libs/rate-limit';
import { PublicAddress } from '../config/index.js';
import { hashOf } from './sessions.js';
import { Team } from './team.js';
import { TeamMails } from './team-mails.js';
import { Users } from './users.js';

/** Minutes until a sign-in link expires. */
export const LINK_MINUTES = 15;
/**
 * Links per person and hour, and those that one network may request for them. An attacker can use up only a
 * few of them.
 */
const [MAX_PER_HOUR, MAX_FROM_NETWORK] = [20, 5];
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 60_000;
/** Pauses between retries if the mail server is unreachable: no one waits for a link longer than minutes. */
const PAUSES_MS = [0, 2_000, 10_000, 30_000];

/** Sign-in links. Each is valid once, for a quarter of an hour. */
@Injectable()
export class SignInLinks {
  private readonly logger = new Logger('team');

  constructor(
    private readonly source: DataSource,
    private readonly users: Users,
    private readonly team: Team,
    private readonly mails: TeamMails,
    private readonly address: PublicAddress,
    private readonly store: EventStore,
    @Inject(getStorageToken()) private readonly storage: WindowStorage,
  ) {}

  /**
   * A value stored in browsers where the user has signed in. Their requests have a limit of their own, so no
   * one can use it up.
   */
  knownAs(userId: string): string {
    return this.store.keyring.hash('known browser', userId).toString('base64url');
  }

  /**
   * @param isCounted whether the link counts towards the hourly limit.
   * @returns the URL that signs the user in; undefined if the hourly limit is reached.
   */
  async make(userId: string, isCounted = true): Promise<string | undefined> {
    const token = randomBytes(32).toString('base64url');
    const isCreated = await this.source.transaction(async (transaction) => {
      // Concurrent requests are counted one after another.
      await transaction.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
      const rows = await transaction.query<unknown[]>(
        `INSERT INTO sign_in_links (token, user_id, expires_at)
         SELECT $1, $2, clock_timestamp() + make_interval(mins => $3)
         WHERE NOT $5 OR (SELECT count(*) FROM sign_in_links
                WHERE user_id = $2 AND made_at > clock_timestamp() - interval '1 hour') < $4
         RETURNING made_at`,
        [hashOf(token), userId, LINK_MINUTES, MAX_PER_HOUR, isCounted],
      );
      return rows.length > 0;
    });
    return isCreated ? `${this.address.url}/dashboard/sign-in/${token}` : undefined;
  }

  /**
   * Sends a link if the address belongs to a member of any organization. Runs in the background, so neither
   * the response nor its timing reveals whether it does.
   *
   * @param address of the client. @param known the value stored in their browser at an earlier sign-in.
   * @returns resolves when the email was sent or will never be. No response waits for it.
   */
  send(email: string, language: string, address: string | undefined, known?: string): Promise<void> {
    return this.sendNow(email, language, address, known).catch((error: unknown) =>
      this.logger.error({ message: 'sending a sign-in link failed', reason: describeError(error) }),
    );
  }

  /** The user the link signs in; undefined if it is unknown, used or expired. Each link works once. */
  async use(token: string): Promise<string | undefined> {
    const [rows] = await this.source.query<[{ user_id: string }[], number]>(
      `UPDATE sign_in_links SET expires_at = 'epoch' WHERE token = $1 AND expires_at > clock_timestamp()
       RETURNING user_id`,
      [hashOf(token)],
    );
    return rows[0]?.user_id;
  }

  /** Whether the link is still valid, without using it. */
  async isGood(token: string): Promise<boolean> {
    const rows = await this.source.query<unknown[]>(
      'SELECT FROM sign_in_links WHERE token = $1 AND expires_at > clock_timestamp()',
      [hashOf(token)],
    );
    return rows.length > 0;
  }

  private async sendNow(
    email: string,
    language: string,
    address: string | undefined,
    known: string | undefined,
  ): Promise<void> {
    await this.source.query(
      `DELETE FROM sign_in_links WHERE made_at < clock_timestamp() - interval '1 hour'`,
    );
    const userId = await this.users.find(email);
    const isKnown = userId !== undefined && known === this.knownAs(userId);
    const key = `sign-in:${this.users.nameOf(email)}:${isKnown ? 'known' : networkOf(address)}`;
    const [limit] = await this.storage.accept([{ key, limit: MAX_FROM_NETWORK }], HOUR_MS);
    if (limit!.isBlocked) return;
    const [membership] = userId === undefined ? [] : await this.team.membershipsOf(userId);
    if (userId === undefined || !membership) return;
    // Send to the stored address: one that merely compares as equal may be someone else's.
    const to = (await this.team.addressesOf(membership.organizationId, [userId])).get(userId);
    if (to === undefined) return;
    const url = await this.make(userId, !isKnown);
    if (url === undefined) return;
    const link = { id: newId(), userId, to, url, minutes: LINK_MINUTES, language };
    for (const pause of PAUSES_MS) {
      await sleep(pause, undefined, { ref: false });
      const { outcome, detail } = await this.mails.letIn(link, AbortSignal.timeout(TIMEOUT_MS));
      if (outcome === 'sent') return;
      this.logger.warn({ message: 'sign-in link not sent', outcome, detail });
      if (outcome !== 'unreachable') return;
    }
  }
}
