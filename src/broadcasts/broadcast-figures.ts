import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type ResourceRecord, Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { DataSource } from 'typeorm';
import { type BroadcastStatus } from './broadcast.js';
import { broadcasts } from './broadcasts.js';
import { Clicks } from './clicks.js';
import { Recipients, type SendingFigures } from './recipients.js';

/** A broadcast as operators see it. */
export type BroadcastStatusRecord = {
  broadcastId: string;
  organizationId: string;
  name: string;
  status: BroadcastStatus;
  recipients: Omit<SendingFigures, 'waitsFor'> | null;
  waitsFor: string | null;
};

/** Adds the current results of the recipients to records. The history does not have them. */
@Injectable()
export class BroadcastFigures implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly source: DataSource,
    private readonly recipients: Recipients,
    private readonly clicks: Clicks,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(broadcasts, (organizationId, records, past) =>
      past ? undefined : this.complete(organizationId, records),
    );
  }

  /**
   * The status of a broadcast, for operators, who have no organization. Undefined if the broadcast does not
   * exist.
   */
  async status(id: string): Promise<BroadcastStatusRecord | undefined> {
    if (!isId(id)) return undefined;
    const [row] = await this.source.query<
      { organizationId: string; name: string; status: BroadcastStatus; sendingId: string | null }[]
    >(
      `SELECT organization_id AS "organizationId", name, status, state->>'sendingId' AS "sendingId"
       FROM ${broadcasts.table} WHERE id = $1`,
      [id],
    );
    if (!row) return undefined;
    const { sendingId, ...record } = row;
    const figures =
      sendingId === null
        ? undefined
        : (await this.recipients.figures(row.organizationId, [sendingId])).get(sendingId);
    if (!figures) return { broadcastId: id, ...record, recipients: null, waitsFor: null };
    const { waitsFor, ...recipients } = figures;
    return { broadcastId: id, ...record, recipients, waitsFor };
  }

  private async complete(organizationId: string, records: readonly ResourceRecord[]): Promise<void> {
    const started = records.filter(({ recipients }) => recipients !== null);
    const sendings = await this.sendingsOf(started);
    const figures = await this.recipients.figures(organizationId, [...sendings.values()]);
    const counting = started.filter(({ countClicks }) => countClicks === true).map(({ id }) => id);
    const clicks = counting.length > 0 ? await this.clicks.of(organizationId, counting) : undefined;
    for (const record of started) {
      const found = figures.get(sendings.get(record.id) ?? '');
      if (!found) continue;
      const { waitsFor: _, ...recipients } = found;
      Object.assign(record, { recipients, clicks: clicks?.get(record.id) ?? null });
    }
  }

  /** The ids of their sendings, by broadcast id. */
  private async sendingsOf(
    records: readonly Pick<ResourceRecord, 'organizationId' | 'id'>[],
  ): Promise<ReadonlyMap<string, string>> {
    if (records.length === 0) return new Map();
    const rows = await this.source.query<{ id: string; sendingId: string | null }[]>(
      `SELECT b.id, b.state->>'sendingId' AS "sendingId"
       FROM unnest($1::uuid[], $2::uuid[]) AS given(organization_id, id)
       JOIN ${broadcasts.table} b ON b.organization_id = given.organization_id AND b.id = given.id`,
      [records.map(({ organizationId }) => organizationId), records.map(({ id }) => id)],
    );
    return new Map(rows.flatMap(({ id, sendingId }) => (sendingId === null ? [] : [[id, sendingId]])));
  }
}
