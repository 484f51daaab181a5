import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { describeError, IncidentLog } from '#libs/database';
import { type Decider, EventStore } from '#libs/event-store';
import { newId } from '#libs/random';
import { REGISTER } from '#libs/sealing';

/** Hexadecimal SHA-256 each: docs/spec/history-format.md, "The register of checkpoints". */
type Entry = { previous: string; size: string; root: string };

export type RegisterEvent = {
  type: 'CheckpointsRegistered';
  data: {
    /** One entry for each organization with a new checkpoint. */
    checkpoints: Entry[];
    /** The next event continues after this leaf of the log of all organizations. */
    upTo: number;
  };
};

/** Not a record, so it has no state. */
export const register = {
  streamType: 'register',
  events: { CheckpointsRegistered: true },
  isInternal: true,
} as const satisfies Pick<Decider<never, RegisterEvent>, 'streamType' | 'events' | 'isInternal'>;

/** A reader downloads the whole register, so it does not contain every checkpoint. */
const REGISTER_INTERVAL_MS = 60_000;
/** Leaves per event, which then has at most 230 KB. */
const MAX_LEAVES = 1_000;

type Row = { up_to: string; organization_id: string; previous: string; size: string; root: string };

/**
 * Registers the last checkpoint of each organization in the history of the reserved organization `REGISTER`, so that two
 * histories of one organization are visible to all of its readers.
 */
@Injectable()
export class Register implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Register');
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly store: EventStore,
    private readonly source: DataSource,
    private readonly incidents: IncidentLog,
  ) {}

  onModuleInit(): void {
    const run = () =>
      this.run().catch((error: unknown) => {
        if (this.incidents.report(error)) return;
        const message = 'registering checkpoints failed: it will be retried in a minute';
        this.logger.warn({ message, reason: describeError(error) });
      });
    this.timer = setInterval(() => void run(), REGISTER_INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Registers all checkpoints that are in the log of all organizations. */
  async run(): Promise<void> {
    while (await this.append());
  }

  /** @returns false if there was nothing to register, or another instance was faster. */
  private async append(): Promise<boolean> {
    const [last] = await this.source.query<{ version: number; up_to: string }[]>(LAST, [
      REGISTER,
      register.streamType,
    ]);
    const rows = await this.source.query<Row[]>(NEW, [last?.up_to ?? 0, MAX_LEAVES, REGISTER]);
    if (rows.length === 0) return false;
    const checkpoints = rows.map(entryOf).sort((a, b) => (a.previous < b.previous ? -1 : 1));
    const event: RegisterEvent = {
      type: 'CheckpointsRegistered',
      data: { checkpoints, upTo: Number(rows[0]!.up_to) },
    };
    const write = {
      streamType: register.streamType,
      streamId: REGISTER,
      expectedVersion: last?.version ?? 0,
    };
    const metadata = { actor: { type: 'system', id: 'register' }, requestId: newId() } as const;
    const writes = [{ ...write, events: [event] }];
    return (await this.store.append({ organizationId: REGISTER, metadata, writes })).status === 'appended';
  }
}

function entryOf({ organization_id: organizationId, previous, size, root }: Row): Entry {
  const hashOf = (field: string, value: string) =>
    createHash('sha256')
      .update(`advocacy-api register ${field}\n${organizationId}\n${value}\n`)
      .digest('hex');
  return { previous: hashOf('previous', previous), size: hashOf('size', size), root: hashOf('root', root) };
}

const LAST = `
  SELECT version, data->>'upTo' AS up_to FROM events
  WHERE organization_id = $1 AND stream_id = $1 AND stream_type = $2 ORDER BY version DESC LIMIT 1`;

// The last leaf of an organization up to the last event's `upTo` is the one that was registered.
const NEW = `
  WITH page AS (
    SELECT position, organization_id, size, root FROM checkpoint_leaves
    WHERE position > $1 AND organization_id <> $3 ORDER BY position LIMIT $2
  ), latest AS (
    SELECT DISTINCT ON (organization_id) organization_id, size, root FROM page ORDER BY organization_id, size DESC
  )
  SELECT (SELECT max(position) FROM page) AS up_to, l.organization_id, l.size, encode(l.root, 'base64') AS root,
    coalesce((
      SELECT p.size FROM checkpoint_leaves p
      WHERE p.organization_id = l.organization_id AND p.position <= $1 ORDER BY p.size DESC LIMIT 1
    ), 0) AS previous
  FROM latest l`;
