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
}
