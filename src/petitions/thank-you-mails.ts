import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Seconds after which a claim without an outcome is in doubt: twice as long as an attempt may take. */
const DOUBTED_AFTER = 60;

/** SKIPPED: the signer is suppressed or erased, or the mailbox has received its emails for the day. */
const THANK_YOU_STATUSES = ['SENT', 'SKIPPED', 'FAILED', 'IN_DOUBT', 'WAITING'] as const;
export type ThankYouStatus = (typeof THANK_YOU_STATUSES)[number];

/** CLAIMED: the caller sends it. BUSY: another attempt may still do so. DONE: it has an outcome. */
type Claim = 'CLAIMED' | 'BUSY' | 'DONE' | 'DOUBTED';

/**
 * The outcomes of the emails that thank signers. A claim is committed before its email leaves, and never taken over: if
 * its process dies, the email is in doubt and is not sent again.
 */
@Injectable()
export class ThankYouMails {
  constructor(private readonly source: DataSource) {}

  /** Claims the email of a signature. */
  async claim(organizationId: string, petitionId: string, signatureId: string): Promise<Claim> {
    const claimed = await this.source.query<unknown[]>(
      `INSERT INTO thank_you_mails AS m (organization_id, petition_id, signature_id) VALUES ($1, $2, $3)
       ON CONFLICT (organization_id, signature_id) DO UPDATE
         SET status = 'CLAIMED', attempts = m.attempts + 1, claimed_at = clock_timestamp()
         WHERE m.status = 'WAITING'
       RETURNING signature_id`,
      [organizationId, petitionId, signatureId],
    );
    if (claimed.length > 0) return 'CLAIMED';
    const [row] = await this.source.query<{ claim: Claim }[]>(
      `WITH doubted AS (
         UPDATE thank_you_mails SET status = 'IN_DOUBT'
         WHERE organization_id = $1 AND signature_id = $2 AND status = 'CLAIMED'
           AND claimed_at < clock_timestamp() - make_interval(secs => $3)
         RETURNING status
       )
       SELECT CASE WHEN EXISTS (SELECT FROM doubted) THEN 'DOUBTED' WHEN status = 'CLAIMED' THEN 'BUSY' ELSE 'DONE' END AS claim
       FROM thank_you_mails WHERE organization_id = $1 AND signature_id = $2`,
      [organizationId, signatureId, DOUBTED_AFTER],
    );
    return row?.claim ?? 'BUSY';
  }

  /**
   * Stores the outcome of a claimed email. WAITING becomes FAILED after `mostAttempts`, and if the claim is in doubt by now,
   * because no one attempts it again.
   *
   * @returns the stored outcome.
   */
  async settle(
    organizationId: string,
    signatureId: string,
    status: ThankYouStatus,
    mostAttempts: number | null = null,
  ): Promise<ThankYouStatus> {
    // TypeORM returns the rows of an UPDATE with their number.
    const [rows] = await this.source.query<[{ status: ThankYouStatus }[], number]>(
      `UPDATE thank_you_mails
       SET status = CASE WHEN $3::text = 'WAITING' AND (status = 'IN_DOUBT' OR attempts >= $4::int) THEN 'FAILED' ELSE $3::text END
       WHERE organization_id = $1 AND signature_id = $2 AND status IN ('CLAIMED', 'IN_DOUBT')
       RETURNING status`,
      [organizationId, signatureId, status, mostAttempts],
    );
    return rows[0]?.status ?? status;
  }

  /** The number of a petition's emails by outcome. Those that are being sent count as waiting. Undefined if there are none. */
  async count(
    organizationId: string,
    petitionId: string,
  ): Promise<Record<ThankYouStatus, number> | undefined> {
    const rows = await this.source.query<{ status: ThankYouStatus; emails: number }[]>(
      `SELECT CASE status WHEN 'CLAIMED' THEN 'WAITING' ELSE status END AS status, count(*)::int AS emails
       FROM thank_you_mails WHERE organization_id = $1 AND petition_id = $2 GROUP BY 1`,
      [organizationId, petitionId],
    );
    if (rows.length === 0) return undefined;
    const counts = new Map(rows.map(({ status, emails }) => [status, emails]));
    return Object.fromEntries(
      THANK_YOU_STATUSES.map((status) => [status, counts.get(status) ?? 0]),
    ) as Record<ThankYouStatus, number>;
  }
}
