import { type DataSource, QueryFailedError } from 'typeorm';
import { NIL } from 'uuid';
import { inTransaction, isCollision, isUnavailable, type Sql } from '#libs/database';
import { Distribution, SECONDS } from '#libs/measures';
import { traced } from '#libs/tracing';
import {
  appendBatch,
  appendCall,
  type AppendCommand,
  type AppendResult,
  type AppendRow,
  GivenUp,
  lockStreams,
  rowOf,
  type WrittenEvent,
} from './append.js';
import { takeBatch } from './batch.js';
import { type EventRow } from './event-rows.js';
import { type Metadata } from './event.js';
import { JustWritten } from './just-written.js';
import { type Keyring } from './keyring.js';
import { type Upcasters } from './upcasting.js';

/** Concurrent calls. While one waits for the disk, the next one is planned. */
const MOST_CALLS_IN_FLIGHT = 2;
/** A command that lost only to commands that failed themselves succeeds within a few retries. */
const MOST_RETRIES = 10;

/** The timeout of a probe. An append that takes longer is blocked. */
const PROBE_MS = 2_000;
/** SQLSTATE: the database's disk is full. */
const DISK_FULL = '53100';

/** Calls of append_events, for health checks. */
export type AppendTraffic = {
  underWay: number;
  /** The database returned a result, whatever it was for each command. */
  answered: number;
  failed: number;
};

/** SQLSTATE: a trigger rejected a key wrapped with a master key that has been replaced since. */
const MASTER_REPLACED = 'KR001';

/** How often a call is retried after a deadlock, which rolled it back. */
const MOST_COLLISIONS = 3;

/** Projections read fewer events in one statement with their page, and those of other instances with them. */
const MANY_EVENTS = 32;
/** The approximate size of an event without its data. */
const ROW_BYTES = 1_000;

type Waiting = {
  command: AppendCommand;
  retries: number;
  resolve: (result: AppendResult) => void;
  reject: (error: unknown) => void;
};

/** The queue of commands to append to the log. Commands that wait together share one call (group append). */
export class AppendQueue {
  private readonly waiting: Waiting[] = [];
  private calls = 0;
  /** Metrics: commands per call, and seconds per call. */
  readonly batches = new Distribution([1, 2, 5, 10, 25, 50, 100, 200]);
  readonly callSeconds = new Distribution(SECONDS);
  private answered = 0;
  private failed = 0;
  private isDiskFull = false;
  /** Events of large calls, by id, for the projections, which read them next. */
  readonly justWritten = new JustWritten<Omit<EventRow, 'position'>>();

  /** @param onAppended called with each appended command and the position of its last event. */
  constructor(
    private readonly source: DataSource,
    private readonly keyring: Keyring,
    private readonly upcasters: Upcasters,
    private readonly onAppended: (position: number, command: AppendCommand) => void,
  ) {}

  /**
   * Appends a command's writes, all or nothing. They are durable when the promise resolves.
   *
   * @throws GivenUp if the caller gave up; nothing was stored. Any other error may mean that the database was lost, so
   *   that the command may or may not have been stored. Idempotency makes it safe to repeat the request.
   */
  append(command: AppendCommand): Promise<AppendResult> {
    const wait = () =>
      new Promise<AppendResult>((resolve, reject) => {
        this.waiting.push({ command, retries: 0, resolve, reject });
        // Deferred, so that other requests of this turn of the event loop join the call.
        if (this.waiting.length === 1) setImmediate(() => this.callNext());
      });
    return traced('append', { streams: command.writes.length }, wait);
  }

  /**
   * Appends those commands that `check` allows while no one else can write to their streams, or about the people whose own
   * streams they are. For background work whose decisions depend on more than versions: it does not share calls with other
   * commands.
   *
   * @param check runs in the transaction that appends, and returns whether each command may be appended.
   * @returns undefined for each command that was not appended.
   * @throws GivenUp, and the errors of `check` and of the database. Then it is unknown whether they were stored only if the
   *   connection broke.
   */
  async appendIf(
    commands: readonly AppendCommand[],
    check: (sql: Sql) => Promise<readonly boolean[]>,
    collisions = 0,
  ): Promise<(AppendResult | undefined)[]> {
    try {
      const sent = await inTransaction(this.source, {}, async (transaction) => {
        await lockStreams(transaction, commands);
        const isAllowed = await check(transaction);
        const allowed = commands.filter((_, index) => isAllowed[index]);
        if (allowed.some(({ isGivenUp }) => isGivenUp?.())) throw new GivenUp();
        if (allowed.length === 0) return undefined;
        const { text, values, read } = await appendCall(transaction, this.keyring, allowed, this.upcasters);
        // Sent together with the COMMIT, because readers of the log wait for the end of each append.
        return { allowed, read, rows: transaction.send<AppendRow[]>(text, values) };
      });
      const results = sent ? sent.read(await sent.rows) : [];
      const found = new Map(results.map((result, index) => [sent!.allowed[index]!, result]));
      for (const [command, result] of found)
        if (result.status === 'appended') this.onAppended(result.position ?? 0, command);
      return commands.map((command) => found.get(command));
    } catch (error) {
      if (isCollision(error) && collisions < MOST_COLLISIONS)
        return this.appendIf(commands, check, collisions + 1);
      throw error;
    }
  }

  get load(): { waiting: number; calls: number } {
    return { waiting: this.waiting.length, calls: this.calls };
  }

  get traffic(): AppendTraffic {
    return { underWay: this.calls, answered: this.answered, failed: this.failed };
  }

  /**
   * Appends nothing, with the same locks and privileges as a real append, to check that the database can be written.
   *
   * @throws the errors of an append, after two seconds at most.
   */
  async probe(): Promise<void> {
    await inTransaction(this.source, { statement: PROBE_MS }, async (transaction) => {
      const nothing = { organizationId: NIL, metadata: PROBE_METADATA, writes: [] };
      await appendBatch(transaction, this.keyring, [nothing], this.upcasters);
      // An empty append succeeds even on a full disk. A sort that exceeds its memory allocates disk space and frees it.
      if (this.isDiskFull) for (const statement of ALLOCATE_DISK) await transaction.query(statement);
    });
    this.isDiskFull = false;
  }

  private callNext(): void {
    while (this.calls < MOST_CALLS_IN_FLIGHT && this.waiting.length > 0) {
      const batch = takeBatch(this.waiting);
      this.calls += 1;
      void this.call(batch).finally(() => {
        this.calls -= 1;
        this.callNext();
      });
    }
  }

  private async call(taken: readonly Waiting[], collisions = 0): Promise<void> {
    const batch = taken.filter(({ command, reject }) => {
      // The caller already got an error for this command. Storing it now could undo what the caller did afterwards.
      if (command.isGivenUp?.() !== true) return true;
      reject(new GivenUp());
      return false;
    });
    if (batch.length === 0) return;
    const started = performance.now();
    try {
      const commands = batch.map((waiting) => waiting.command);
      const call = await appendCall(this.source, this.keyring, commands, this.upcasters);
      const results = call.read(await this.source.query<AppendRow[]>(call.text, call.values));
      this.answered += 1;
      this.isDiskFull = false;
      this.keep(call.written, results);
      results.forEach((result, index) => {
        if (result.status === 'appended') this.onAppended(result.position ?? 0, batch[index]!.command);
        this.answer(batch[index]!, result);
      });
    } catch (error) {
      this.failed += 1;
      this.isDiskFull ||= codeOf(error) === DISK_FULL;
      // Appends take their locks in one order, but an operator's statement or a migration may not.
      if ((isCollision(error) || (await this.hasNextMaster(error))) && collisions < MOST_COLLISIONS) {
        return this.call(batch, collisions + 1);
      }
      // The whole call was rolled back. Retry the commands one by one, so that a bad one does not affect the others. Not
      // after a broken connection, because the call may have been committed.
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const waiting of batch) await this.call([waiting]);
      } else if (batch.length === 1 && isStreamRace(error)) {
        batch[0]!.resolve({ status: 'version' });
      } else {
        for (const waiting of batch) waiting.reject(error);
      }
    } finally {
      this.batches.add(batch.length);
      this.callSeconds.add((performance.now() - started) / 1_000);
    }
  }

  /** Keeps the events of a large call for the projections. */
  private keep(written: readonly (readonly WrittenEvent[])[], results: readonly AppendResult[]): void {
    if (written.reduce((sum, { length }) => sum + length, 0) < MANY_EVENTS) return;
    results.forEach((result, index) => {
      if (result.status !== 'appended') return;
      for (const event of written[index]!) {
        const bytes = event.data.length + (event.event.personal?.length ?? 0) + ROW_BYTES;
        this.justWritten.put(event.event.eventId, rowOf(event, result.recordedAt), bytes);
      }
    });
  }

  /** Whether a call failed because the master key was replaced, and this process has the new one. */
  private async hasNextMaster(error: unknown): Promise<boolean> {
    if (codeOf(error) !== MASTER_REPLACED) return false;
    const fault = await this.keyring.openFor(this.source).catch(() => 'unknown');
    return fault === undefined;
  }

  private answer(waiting: Waiting, result: AppendResult): void {
    if (result.status === 'retry' && waiting.retries < MOST_RETRIES) {
      waiting.retries += 1;
      this.waiting.push(waiting);
    } else {
      waiting.resolve(result);
    }
  }
}

const PROBE_METADATA: Metadata = { actor: { type: 'system', id: null }, requestId: 'probe' };
const ALLOCATE_DISK = [
  `SET LOCAL work_mem = '64kB'`,
  `SELECT count(*) FROM (SELECT md5(n::text) AS text FROM generate_series(1, 30000) n ORDER BY text OFFSET 0) sorted`,
];

function codeOf(error: unknown): string | undefined {
  return error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
}

/** Whether two processes created the same stream concurrently. The unique index admits one. */
function isStreamRace(error: unknown): boolean {
  return (
    error instanceof Error &&
    'driverError' in error &&
    error.driverError instanceof Error &&
    'code' in error.driverError &&
    error.driverError.code === '23505'
  );
}
