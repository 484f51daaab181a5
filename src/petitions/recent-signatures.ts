import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TtlCache } from '#libs/database';
import { petitions } from './petitions.js';

const DAY_MS = 86_400_000;
/** Days in which suspicious signatures need attention, because no one marks them as reviewed. */
const SUSPICIOUS_DAYS = 7;
/** The newest signatures of a petition among which they are counted. */
const SEARCHED = 10_000;
const MOST_PETITIONS = 20;
const CACHE_MS = 60_000;

type SuspiciousOfPetition = { petitionId: string; title: string; signatures: number };

/** When petitions were signed, and by whom lately, for emails to the team and the dashboard. */
@Injectable()
export class RecentSignatures {
  private readonly suspicious = new TtlCache<SuspiciousOfPetition[]>(CACHE_MS);

  constructor(private readonly source: DataSource) {}

  /** Whether someone had signed before this moment, even if the signature no longer counts. */
  async hadBefore(organizationId: string, petitionId: string, moment: Date): Promise<boolean> {
    const rows = await this.source.query<unknown[]>(
      `SELECT FROM ${petitions.linkTable!}
       WHERE organization_id = $1 AND record_id = $2 AND created_at < $3 ORDER BY created_at LIMIT 1`,
      [organizationId, petitionId, moment],
    );
    return rows.length > 0;
  }

  /** The open petitions with suspicious signatures of the last seven days that count, those with the most first. Cached for a minute. */
  suspiciousLately(organizationId: string): Promise<SuspiciousOfPetition[]> {
    return this.suspicious.get(organizationId, () =>
      this.source.query<SuspiciousOfPetition[]>(
        `SELECT p.id AS "petitionId", p.state->>'title' AS title, lately.signatures
         FROM ${petitions.table} p CROSS JOIN LATERAL (
           SELECT count(suspicion)::int AS signatures FROM (
             SELECT suspicion FROM ${petitions.linkTable!}
             WHERE organization_id = $1 AND record_id = p.id AND ended_at IS NULL AND created_at > $2
             ORDER BY created_at DESC LIMIT $3
           ) recent
         ) lately
         WHERE p.organization_id = $1 AND p.state->>'status' = 'PUBLISHED' AND lately.signatures > 0
         ORDER BY lately.signatures DESC, p.id LIMIT $4`,
        [organizationId, new Date(Date.now() - SUSPICIOUS_DAYS * DAY_MS), SEARCHED, MOST_PETITIONS],
      ),
    );
  }
}
