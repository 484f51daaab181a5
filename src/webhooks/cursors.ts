import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ResourceRecord } from '#libs/resources';
import { type DeliveryOutcome } from './deliveries.js';

/** Maximum events counted to show how far a webhook lags. */
const MAX_COUNTED = 10_000;

type NowRow = {
  webhook_id: string;
  position: string;
  is_failing: boolean;
  lag: number;
  event_id: string | null;
  created_at: Date;
  outcome: DeliveryOutcome;
  status_code: number | null;
  ms: number;
};

const NOW = `
  SELECT c.webhook_id, c.position, c.failing_since IS NOT NULL AS is_failing,
    (SELECT count(*)::int FROM (
       SELECT FROM events e WHERE e.organization_id = c.organization_id AND e.position > c.position LIMIT ${MAX_COUNTED}
     ) ahead) AS lag,
    d.event_id, d.created_at, d.outcome, d.status_code, d.ms
  FROM webhook_cursors c LEFT JOIN LATERAL (
    SELECT * FROM webhook_deliveries d WHERE d.organization_id = c.organization_id AND d.webhook_id = c.webhook_id
    ORDER BY d.created_at DESC, d.id DESC LIMIT 1
  ) d ON true
  WHERE c.organization_id = $1 AND c.webhook_id = ANY ($2::uuid[])`;

/** The progress of webhooks, which is not in the history. */
@Injectable()
export class WebhookCursors {
  constructor(private readonly source: DataSource) {}

  /** Adds the current progress to the records. */
  async complete(organizationId: string, records: readonly ResourceRecord[]): Promise<ResourceRecord[]> {
    if (records.length === 0) return [];
    const rows = await this.source.query<NowRow[]>(NOW, [organizationId, records.map(({ id }) => id)]);
    const byId = new Map(rows.map((row) => [row.webhook_id, row]));
    return records.map((record) => {
      const row = byId.get(record.id);
      if (!row) return record;
      const { position, lag, is_failing, event_id: eventId } = row;
      const isFailing = is_failing && record.status === 'ACTIVE';
      const lastDelivery = eventId && {
        eventId,
        at: row.created_at,
        outcome: row.outcome,
        statusCode: row.status_code,
        ms: row.ms,
      };
      return {
        ...record,
        status: isFailing ? 'FAILING' : record.status,
        position: Number(position),
        lag,
        lastDelivery,
      };
    });
  }
}
