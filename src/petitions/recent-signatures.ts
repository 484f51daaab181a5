import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { petitions } from './petitions.js';

/** When petitions were signed, for emails to the team. */
@Injectable()
export class RecentSignatures {
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

  /** The valid signatures of each petition that were recorded between two moments, the later one excluded. */
  async between(
    organizationId: string,
    petitionIds: readonly string[],
    from: Date,
    to: Date,
  ): Promise<Map<string, number>> {
    const rows = await this.source.query<{ id: string; count: number }[]>(
      `SELECT p.id, (SELECT count(*)::int FROM ${petitions.linkTable!} s
         WHERE s.organization_id = $1 AND s.record_id = p.id AND s.created_at >= $3 AND s.created_at < $4
           AND s.ended_at IS NULL AND s.suspended_by IS NULL) AS count
       FROM unnest($2::uuid[]) AS p(id)`,
      [organizationId, petitionIds, from, to],
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }
}
