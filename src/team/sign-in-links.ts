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

/** Minutes for which a link signs in. */
export const LINK_MINUTES = 15;
/** Links that a person gets within an hour, and that one network may ask for them: whoever means harm takes few of them from others. */
const [MOST_AN_HOUR, MOST_FROM_NETWORK] = [20, 5];
const HOUR_MS = 3_600_000;
const PATIENCE_MS = 60_000;
/** A server that is away for a moment is asked again: whoever waits for a link waits for minutes, not longer. */
const PAUSES_MS = [0, 2_000, 10_000, 30_000];

/** The links by which people sign in: each once, and for a quarter of an hour. */
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

  /** What a browser is given by which the person has signed in: then nobody who asks for links in their name takes theirs from them. */
  knownAs(userId: string): string {
    return this.store.keyring.hash('known browser', userId).toString('base64url');
  }

  /**
   * @param isCounted whether it is one of those that everybody may ask for.
   * @returns the address that signs the person in; undefined where they have had as many as they get within an hour.
   */
  async make(userId: string, isCounted = true): Promise<string | undefined> {
    const token = randomBytes(32).toString('base64url');
    const isMade = await this.source.transaction(async (transaction) => {
      // Many at once are counted one after the other.
      await transaction.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
      const rows = await transaction.query<unknown[]>(
        `INSERT INTO sign_in_links (token, user_id, expires_at)
         SELECT $1, $2, clock_timestamp() + make_interval(mins => $3)
         WHERE NOT $5 OR (SELECT count(*) FROM sign_in_links
                WHERE user_id = $2 AND made_at > clock_timestamp() - interval '1 hour') < $4
         RETURNING made_at`,
        [hashOf(token), userId, LINK_MINUTES, MOST_AN_HOUR, isCounted],
      );
      return rows.length > 0;
    });
    return isMade ? `${this.address.url}/dashboard/sign-in/${token}` : undefined;
  }

  /**
   * Sends one to whoever is a member anywhere. It happens behind the back of who asks: neither answer nor time tells.
   *
   * @param address of who asks. @param known what their browser was given when somebody signed in there.
   * @returns resolves when it is sent, or will never be: no answer waits for that.
   */
  send(email: string, language: string, address: string | undefined, known?: string): Promise<void> {
    return this.sendNow(email, language, address, known).catch((error: unknown) =>
      this.logger.error({ message: 'sending a sign-in link failed', reason: describeError(error) }),
    );
  }

  /** Who it signs in; undefined where it is none, was used, or is too old. Nobody else is signed in by it. */
  async use(token: string): Promise<string | undefined> {
    const [rows] = await this.source.query<[{ user_id: string }[], number]>(
      `UPDATE sign_in_links SET expires_at = 'epoch' WHERE token = $1 AND expires_at > clock_timestamp()
       RETURNING user_id`,
      [hashOf(token)],
    );
    return rows[0]?.user_id;
  }

  /** Whether it still signs in. */
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
    const [asked] = await this.storage.accept([{ key, limit: MOST_FROM_NETWORK }], HOUR_MS);
    if (asked!.isBlocked) return;
    const [membership] = userId === undefined ? [] : await this.team.membershipsOf(userId);
    if (userId === undefined || !membership) return;
    // What was typed may only be compared like their address, and be somebody else's.
    const to = (await this.team.addressesOf(membership.organizationId, [userId])).get(userId);
    if (to === undefined) return;
    const url = await this.make(userId, !isKnown);
    if (url === undefined) return;
    const link = { id: newId(), userId, to, url, minutes: LINK_MINUTES, language };
    for (const pause of PAUSES_MS) {
      await sleep(pause, undefined, { ref: false });
      const { outcome, detail } = await this.mails.letIn(link, AbortSignal.timeout(PATIENCE_MS));
      if (outcome === 'sent') return;
      this.logger.warn({ message: 'sign-in link not sent', outcome, detail });
      if (outcome !== 'unreachable') return;
    }
  }
}
