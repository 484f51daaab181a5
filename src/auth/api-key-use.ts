import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { describeError, IncidentLog } from '#libs/database';

/** Each interval, an instance writes at most one row per key, however many requests the key sends. */
const WRITE_INTERVAL_MS = 5_000;

type Use = { organization_id: string; api_key_id: string; last_used_at: Date };

/**
 * Records when keys were last used. This is not part of the history: an event per request would bury the
 * events that matter. Each instance collects uses in memory and writes them periodically. Uses lost in a
 * crash are corrected by the next one.
 */
@Injectable()
export class ApiKeyUse implements OnApplicationShutdown {
  private readonly logger = new Logger('ApiKeyUse');
  /** Uses that are not written yet, by key. */
  private uses = new Map<string, Use>();
  private timer?: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private isFailing = false;

  constructor(
    private readonly source: DataSource,
    private readonly incidents: IncidentLog,
  ) {}

  /** Records a use. Never blocks and never fails. */
  record(organizationId: string, apiKeyId: string): void {
    const use = { organization_id: organizationId, api_key_id: apiKeyId, last_used_at: new Date() };
    this.uses.set(apiKeyId, use);
    this.schedule();
  }

  /** Writes the collected uses, after a write in progress. Never rejects. */
  write(): Promise<void> {
    clearTimeout(this.timer);
    this.writing = this.writing.then(() => this.writeCollected());
    return this.writing;
  }

  /** When these keys of an organization were last used. Unused keys are left out. */
  async find(organizationId: string, apiKeyIds: readonly string[]): Promise<Map<string, Date>> {
    const rows = await this.source.query<Use[]>(
      `SELECT api_key_id, last_used_at FROM api_key_use
       WHERE organization_id = $1 AND api_key_id = ANY ($2::uuid[])`,
      [organizationId, apiKeyIds],
    );
    return new Map(rows.map(({ api_key_id, last_used_at }) => [api_key_id, last_used_at]));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.write();
  }

  private async writeCollected(): Promise<void> {
    const uses = this.uses;
    this.uses = new Map();
    try {
      if (uses.size > 0) await this.source.query(WRITE, [JSON.stringify([...uses.values()])]);
      this.isFailing = false;
    } catch (error) {
      this.uses = new Map([...uses, ...this.uses]);
      const isReported = this.incidents.report(error);
      if (!this.isFailing && !isReported) {
        this.logger.warn({
          message: 'recording the last use of API keys failed',
          reason: describeError(error),
        });
      }
      this.isFailing = true;
    }
    // The timer starts only now: if a write hangs, the next one must not take another connection.
    this.timer = undefined;
    if (this.uses.size > 0) this.schedule();
  }

  private schedule(): void {
    // An idle instance writes nothing, and the timer does not keep the process alive.
    this.timer ??= setTimeout(() => void this.write(), WRITE_INTERVAL_MS).unref();
  }
}

// Instances write the same keys: the latest use wins, and rows are locked in one order to avoid deadlocks.
const WRITE = `
  INSERT INTO api_key_use AS stored (organization_id, api_key_id, last_used_at)
  SELECT organization_id, api_key_id, last_used_at
  FROM jsonb_to_recordset($1::jsonb) AS use(organization_id uuid, api_key_id uuid, last_used_at timestamptz)
  ORDER BY organization_id, api_key_id
  ON CONFLICT (organization_id, api_key_id) DO UPDATE SET last_used_at = excluded.last_used_at
  WHERE stored.last_used_at < excluded.last_used_at`;
