import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordSchema } from '#libs/rpc';

/** Seconds after which a claim without an outcome is in doubt: twice as long as an attempt may take. */
const DOUBTED_AFTER = 60;

/** SKIPPED: the signer is suppressed or erased, or the mailbox has received its emails for the day. */
/** What can be sent again. */
export const RETRIED_STATUSES = ['FAILED', 'IN_DOUBT'] as const;
export type ThankYouStatus = 'SENT' | 'SKIPPED' | 'FAILED' | 'IN_DOUBT' | 'WAITING';

/** CLAIMED: the caller sends it. BUSY: another attempt may still do so. DONE: it has an outcome. */
type Claim = 'CLAIMED' | 'BUSY' | 'DONE' | 'DOUBTED';

export type ThankYouCounts = {
  sent: number;
  waiting: number;
  skipped: number;
  failed: number;
  inDoubt: number;
};

export const thankYouCounts = {
  ...recordSchema({
    sent: { type: 'integer' },
    waiting: { type: 'integer', description: 'To be sent or retried.' },
    skipped: {
      type: 'integer',
      description: 'The address is suppressed, or its mailbox has received its emails for the day.',
    },
    failed: { type: 'integer' },
    inDoubt: {
      type: 'integer',
      description: 'May have been sent. They are only sent again by `petition.retry-thank-you-mails`.',
    },
  }),
  type: ['object', 'null'],
};

/**
 * The outcomes of the emails that thank signers. A claim is committed before its email leaves, and never taken over: if
 * its process dies, the email is in doubt and is only sent again on request.
 */
@Injectable()
export class ThankYouMails {
  constructor(private readonly source: DataSource) {}

  /**
   * Claims the email of a signature.
   *
   * @param retried the attempts before its retry was requested. If there were more since, the retry has been carried out.
   */
  async claim(
    organizationId: string,
    petitionId: string,
    signatureId: string,
    retried: number | null,
  ): Promise<Claim> {
    const claimed = await this.source.query<unknown[]>(
      `INSERT INTO thank_you_mails AS m (organization_id, petition_id, signature_id) VALUES ($1, $2, $3)
       ON CONFLICT (organization_id, signature_id) DO UPDATE
         SET status = 'CLAIMED', attempts = m.attempts + 1, claimed_at = clock_timestamp()
         WHERE m.status = 'WAITING' OR (m.status IN ('FAILED', 'IN_DOUBT') AND m.attempts = $4::int)
       RETURNING signature_id`,
      [organizationId, petitionId, signatureId, retried],
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

  /** Emails of a petition with this outcome, and how often they were attempted. */
  find(
    organizationId: string,
    petitionId: string,
    status: (typeof RETRIED_STATUSES)[number],
    most: number,
  ): Promise<{ signatureId: string; attempts: number }[]> {
    return this.source.query(
      `SELECT signature_id AS "signatureId", attempts FROM thank_you_mails
       WHERE organization_id = $1 AND petition_id = $2 AND status = $3 LIMIT $4`,
      [organizationId, petitionId, status, most],
    );
  }

  /** Shows emails that will be retried as waiting, unless they have been retried by now. */
  async await(
    organizationId: string,
    emails: readonly { signatureId: string; attempts: number }[],
  ): Promise<void> {
    await this.source.query(
      `UPDATE thank_you_mails m SET status = 'WAITING'
       FROM unnest($2::uuid[], $3::int[]) AS r(signature_id, attempts)
       WHERE m.organization_id = $1 AND m.signature_id = r.signature_id AND m.attempts = r.attempts
         AND m.status IN ('FAILED', 'IN_DOUBT')`,
      [organizationId, emails.map(({ signatureId }) => signatureId), emails.map(({ attempts }) => attempts)],
    );
  }

  /** The number of a petition's emails by outcome. Those that are being sent count as waiting. Null if there are none. */
  async count(organizationId: string, petitionId: string): Promise<ThankYouCounts | null> {
    const rows = await this.source.query<{ status: string; emails: number }[]>(
      `SELECT status, count(*)::int AS emails
       FROM thank_you_mails WHERE organization_id = $1 AND petition_id = $2 GROUP BY 1`,
      [organizationId, petitionId],
    );
    if (rows.length === 0) return null;
    const of = (status: string) => rows.find((row) => row.status === status)?.emails ?? 0;
    return {
      sent: of('SENT'),
      waiting: of('WAITING') + of('CLAIMED'),
      skipped: of('SKIPPED'),
      failed: of('FAILED'),
      inDoubt: of('IN_DOUBT'),
    };
  }
}
