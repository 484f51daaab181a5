import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { newId } from '#libs/random';
import { Commands } from '#libs/commands';
import { describeError, IncidentLog } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { type Input } from '#libs/rpc';
import {
  type CollectedRead,
  historyAccess,
  type HistoryAccessEvent,
  historyReads,
  type HistoryReadsEvent,
  questionOf,
} from './access.js';

/** The first and last position that a request covered. */
export type Range = readonly [first: number, last: number];

const RECORD_INTERVAL_MS = 60_000;
/** Different requests per event. If a key sends more in an hour, several events record them. */
const MAX_READS = 500;

type Taken = { organization_id: string; api_key_id: string; hour: Date; reads: CollectedRead[] };

/**
 * Records in the history who reads the history. With one event per request, a client that polls would only read the
 * events of its own polls. So the first read of an hour by a key is recorded immediately (`HistoryRead`). Its other
 * reads of that hour are collected in a table before the response, and recorded after the hour
 * (`HistoryReadsCollected`).
 */
@Injectable()
export class HistoryReads implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('HistoryReads');
  private timer?: NodeJS.Timeout;
  /** The keys whose first read of this hour is already recorded, as far as this instance knows. */
  private recorded = { hour: 0, keys: new Set<string>() };

  constructor(
    private readonly commands: Commands,
    private readonly store: EventStore,
    private readonly source: DataSource,
    private readonly incidents: IncidentLog,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.recordHours(), RECORD_INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Records a read in its own event. Await it before the response; pages wait for it just before they are sent. */
  async record(input: Input): Promise<void> {
    const recording = this.append(input, newId(), () => false);
    const { beforeAnswer } = input.context;
    if (beforeAnswer) beforeAnswer(recording);
    else await recording;
  }

  /**
   * Collects a read by an API key for the event of its hour. Records any other read like {@link HistoryReads.record}.
   * Await it before the response.
   *
   * @param range the positions covered, or undefined if there were none.
   */
  async collect(input: Input, range: Range | undefined): Promise<void> {
    const { actor } = input.context;
    if (actor.type !== 'api-key' || actor.id === null) return this.record(input);
    const hour = await this.keep(input, actor.id, range);
    if (this.recorded.hour !== hour.getTime()) this.recorded = { hour: hour.getTime(), keys: new Set() };
    const { keys } = this.recorded;
    if (keys.has(actor.id)) return;
    const streamId = this.streamOf(actor.id, hour);
    await this.append(input, streamId, async () => {
      const there = await this.store.findStreams(input.organizationId, historyAccess.streamType, [streamId]);
      return there.size > 0;
    });
    keys.add(actor.id);
  }

  private async keep(input: Input, apiKeyId: string, range: Range | undefined): Promise<Date> {
    const { operation, asked } = questionOf(input, this.store.keyring);
    // These are not stored, because the positions cover them.
    const { after, limit, eventId, ...filters } = asked;
    const positions = range && range[0] <= range[1] ? `{[${range[0]},${range[1]}]}` : '{}';
    const [row] = await this.source.query<{ hour: Date }[]>(KEEP, [
      input.organizationId,
      apiKeyId,
      operation,
      filters,
      positions,
    ]);
    return row!.hour;
  }

  /** Appends once per stream. If another instance was faster, it has recorded the same. */
  private async append(
    input: Input,
    streamId: string,
    isRecorded: () => Promise<boolean> | boolean,
  ): Promise<void> {
    const { streamType } = historyAccess;
    const event: HistoryAccessEvent = { type: 'HistoryRead', data: questionOf(input, this.store.keyring) };
    await this.commands.run(input, async () => {
      const write = { streamType, streamId };
      const writes = (await isRecorded())
        ? [{ ...write, expectedVersion: 1, events: [] }]
        : [{ ...write, expectedVersion: 0, events: [event] }];
      return { recordId: streamId, writes };
    });
  }

  /** The same id on every instance for a key and hour, in the format of all other ids. */
  private streamOf(apiKeyId: string, hour: Date): string {
    const hash = this.store.keyring.hash(historyAccess.streamType, apiKeyId, hour.toISOString());
    return uuidv7({ msecs: hour.getTime(), random: hash.subarray(0, 16), seq: hash.readUInt32BE(16) });
  }

  /** Records the reads of past hours. Never rejects. */
  async recordHours(): Promise<void> {
    try {
      while (await this.recordHour());
    } catch (error) {
      if (this.incidents.report(error)) return;
      const message = 'recording which API keys read the history failed: it will be retried in a minute';
      this.logger.warn({ message, reason: describeError(error) });
    }
  }

  /**
   * After a crash, claimed reads are recorded a minute later. They are recorded twice if the event was already
   * appended.
   */
  private async recordHour(): Promise<boolean> {
    const [taken] = await this.source.query<Taken[]>(TAKE, [MAX_READS]);
    if (!taken) return false;
    const { organization_id: organizationId, api_key_id: apiKeyId, hour, reads } = taken;
    const event: HistoryReadsEvent = {
      type: 'HistoryReadsCollected',
      data: { apiKeyId, hour: hour.toISOString(), reads },
    };
    const { streamType } = historyReads;
    const metadata = { actor: { type: 'system', id: 'history-reads' }, requestId: newId() } as const;
    const writes = [{ streamType, streamId: newId(), expectedVersion: 0, events: [event] }];
    await this.store.append({ organizationId, metadata, writes });
    await this.source.query(DROP, [organizationId, apiKeyId, hour, JSON.stringify(reads)]);
    return true;
  }
}

const KEEP = `
  INSERT INTO history_reads AS kept (organization_id, api_key_id, hour, operation, asked, positions)
  VALUES ($1, $2, date_trunc('hour', clock_timestamp(), 'UTC'), $3, $4, $5)
  ON CONFLICT (organization_id, api_key_id, hour, operation, asked)
  DO UPDATE SET positions = kept.positions + excluded.positions, times = kept.times + 1
  RETURNING hour`;

// Reads at the very end of the hour are stored by then. The condition is repeated, because claims by others become
// visible only once the row is locked. Another instance waits for these locks instead of skipping the rows: otherwise
// each would take a part of the hour, and record it in an event of its own.
const TAKE = `
  WITH one AS (
    SELECT organization_id, api_key_id, hour FROM history_reads
    WHERE hour < clock_timestamp() - interval '1 hour 10 seconds'
      AND (taken_at IS NULL OR taken_at < clock_timestamp() - interval '1 minute')
    ORDER BY hour LIMIT 1
  ), those AS (
    SELECT organization_id, api_key_id, hour, operation, asked
    FROM history_reads JOIN one USING (organization_id, api_key_id, hour)
    WHERE taken_at IS NULL OR taken_at < clock_timestamp() - interval '1 minute'
    ORDER BY operation, asked LIMIT $1
    FOR UPDATE OF history_reads
  ), taken AS (
    UPDATE history_reads kept SET taken_at = clock_timestamp() FROM those
    WHERE (kept.organization_id, kept.api_key_id, kept.hour, kept.operation, kept.asked) =
          (those.organization_id, those.api_key_id, those.hour, those.operation, those.asked)
    RETURNING kept.*
  )
  SELECT organization_id, api_key_id, hour, json_agg(json_build_object(
    'operation', operation, 'asked', asked, 'times', times, 'positions',
    (SELECT coalesce(json_agg(json_build_array(lower(part), upper(part) - 1)), '[]') FROM unnest(positions) part)
  ) ORDER BY operation, asked) AS reads
  FROM taken GROUP BY 1, 2, 3`;

// Reads that were counted in the meantime stay.
const DROP = `
  DELETE FROM history_reads kept
  USING jsonb_to_recordset($4::jsonb) AS recorded(operation text, asked jsonb, times bigint)
  WHERE organization_id = $1 AND api_key_id = $2 AND hour = $3
    AND kept.operation = recorded.operation AND kept.asked = recorded.asked AND kept.times = recorded.times`;
