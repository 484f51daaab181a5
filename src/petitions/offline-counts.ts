import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RecordReader } from '#libs/commands';
import { type Past } from '#libs/event-store';
import { Resource, Resources } from '#libs/resources';
import { resourceSchema, RpcError, textOrNull } from '#libs/rpc';
import { OFFLINE_STATUSES, offlineCount } from './offline-count.js';
import { petitions } from './petitions.js';

/** Counts per petition, including withdrawn ones. Each response with the petition adds them up. */
const MAX_COUNTS = 2_000;

export const offlineCountSchema = resourceSchema({
  petitionId: { type: 'string' },
  count: { type: 'integer', description: 'The number of signatures.' },
  collectedOn: { type: 'string', format: 'date' },
  note: textOrNull,
  status: { type: 'string', enum: OFFLINE_STATUSES, description: 'WITHDRAWN: they no longer count.' },
});

export const offlineCounts = new Resource({
  object: 'offline-count',
  decider: offlineCount,
  existing: (state) => (state.status === 'UNKNOWN' ? undefined : { ...state, petition: state.petitionId }),
  answers: offlineCountSchema,
  version: 1,
  columns: {
    petition: { type: 'uuid', index: true },
    count: { type: 'integer' },
    status: { type: 'text' },
  },
});

/** Adds up the signatures on paper of petitions. */
@Injectable()
export class OfflineSignatures implements OnModuleInit {
  constructor(
    private readonly source: DataSource,
    private readonly resources: Resources,
    private readonly records: RecordReader,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(petitions, async (organizationId, records, past) => {
      const ids = records.map(({ id }) => id);
      const totals = await this.totals(organizationId, ids, past);
      for (const record of records) record.offlineSignatures = totals.get(record.id) ?? 0;
    });
  }

  async total(organizationId: string, petitionId: string, past?: Past): Promise<number> {
    return (await this.totals(organizationId, [petitionId], past)).get(petitionId) ?? 0;
  }

  private async totals(
    organizationId: string,
    petitionIds: readonly string[],
    past?: Past,
  ): Promise<Map<string, number>> {
    if (!past) {
      const rows = await this.source.query<{ id: string; total: number }[]>(
        `SELECT petition AS id, sum(count)::float8 AS total FROM ${offlineCounts.table}
         WHERE organization_id = $1 AND petition = ANY ($2::uuid[]) AND status = 'COUNTED' GROUP BY petition`,
        [organizationId, petitionIds],
      );
      return new Map(rows.map(({ id, total }) => [id, total]));
    }
    const rows = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${offlineCounts.table} WHERE organization_id = $1 AND petition = ANY ($2::uuid[])`,
      [organizationId, petitionIds],
    );
    const ids = rows.map(({ id }) => id);
    const totals = new Map<string, number>();
    for (const { state } of (await this.records.lookMany(offlineCount, organizationId, ids, past)).values()) {
      if (state.status === 'COUNTED')
        totals.set(state.petitionId, (totals.get(state.petitionId) ?? 0) + state.count);
    }
    return totals;
  }

  /** Whether the petition can have another count. */
  async hasRoom(organizationId: string, petitionId: string): Promise<boolean> {
    const [row] = await this.source.query<{ counts: number }[]>(
      `SELECT count(*)::int AS counts FROM ${offlineCounts.table} WHERE organization_id = $1 AND petition = $2`,
      [organizationId, petitionId],
    );
    return row!.counts < MAX_COUNTS;
  }
}

export function tooManyCounts(): RpcError {
  return new RpcError(
    'CONFLICT',
    `The petition already has ${MAX_COUNTS} counts, including withdrawn ones. It can have no more.`,
    { reason: 'TOO_MANY_OFFLINE_COUNTS' },
  );
}
