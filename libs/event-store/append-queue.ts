import { type DataSource, QueryFailedError } from 'typeorm';
import { NIL } from 'uuid';
import { inTransaction, isCollision, isUnavailable } from '#libs/database';
import { Distribution, SECONDS } from '#libs/measures';
import { traced } from '#libs/tracing';
import { appendBatch, type AppendCommand, type AppendResult, GivenUp } from './append.js';
import { takeBatch } from './batch.js';
import { type Metadata } from './event.js';
import { type Keyring } from './keyring.js';
import { type Upcasters } from './upcasting.js';

/** Calls under way at once: while one waits for the disk, the next is being planned. */
const MOST_CALLS_IN_FLIGHT = 2;
/** A command that lost only to commands which failed themselves wins within a few rounds. */
const MOST_RETRIES = 10;

/** For a probe: an append that takes longer waits for something. */
const PROBE_MS = 2_000;
/** SQLSTATE: the disk of the database is full. */
const DISK_FULL = '53100';

/** What became of the calls of append_events: for whoever watches whether writing works. */
export type AppendTraffic = {
  underWay: number;
  /** By the database, whatever it answered to each command. */
  answered: number;
  failed: number;
};

/** SQLSTATE: a trigger rejected a key wrapped with a master key that has been replaced since. */
const MASTER_REPLACED = 'KR001';

/** Deadlocks of one call: after each it is repeated at once, for it was undone. */
const MOST_COLLISIONS = 3;

type Waiting = {
  command: AppendCommand;
  retries: number;
  resolve: (result: AppendResult) => void;
  reject: (error: unknown) => void;
};

/** Commands on their way into the log: those that wait at the same moment share one call (group append). */
export class AppendQueue {
  private readonly waiting: Waiting[] = [];
  private calls = 0;
  /** What `append` does, for who watches it: commands of a call, and seconds that it took. */
  readonly batches = new Distribution([1, 2, 5, 10, 25, 50, 100, 200]);
  readonly callSeconds = new Distribution(SECONDS);
  private answered = 0;
  private failed = 0;
  private isDiskFull = false;

  /** @param given told of each command that was appended, and its position. */
  constructor(
    private readonly source: DataSource,
    private readonly keyring: Keyring,
    private readonly upcasters: Upcasters,
    private readonly given: (position: number, command: AppendCommand) => void,
  ) {}

  /**
   * Appends what one command decided, whole or not at all; it is durable when the promise resolves.
   *
   * @throws when the database cannot be reached: whether the command was stored is then unknown, and
   *   repeating the request is safe because of its idempotency. GivenUp: it was not stored.
   */
  append(command: AppendCommand): Promise<AppendResult> {
    const wait = () =>
      new Promise<AppendResult>((resolve, reject) => {
        this.waiting.push({ command, retries: 0, resolve, reject });
        // Not at once: the other requests that this turn of the event loop brings join the call.
        if (this.waiting.length === 1) setImmediate(() => this.callNext());
      });
    return traced('append', { streams: command.writes.length }, wait);
  }

  /** Commands that wait for a call, and calls under way. */
  get load(): { waiting: number; calls: number } {
    return { waiting: this.waiting.length, calls: this.calls };
  }

  get traffic(): AppendTraffic {
    return { underWay: this.calls, answered: this.answered, failed: this.failed };
  }

  /**
   * Does what an append does, but stores nothing: takes its locks, needs its rights, and a database that can be written.
   *
   * @throws what an append would; waits for two seconds at most.
   */
  async probe(): Promise<void> {
    await inTransaction(this.source, { statement: PROBE_MS }, async (transaction) => {
      const nothing = { organizationId: NIL, metadata: PROBE_METADATA, writes: [] };
      await appendBatch(transaction, this.keyring, [nothing], this.upcasters);
      // Nothing finds room on a full disk as well. A sort beyond its memory takes some and gives it back.
      if (this.isDiskFull) for (const statement of TAKE_ROOM) await transaction.query(statement);
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
      // Stored late, it would undo what its caller has done in the meantime, having been told of a failure.
      if (command.isGivenUp?.() !== true) return true;
      reject(new GivenUp());
      return false;
    });
    if (batch.length === 0) return;
    const started = performance.now();
    try {
      const results = await appendBatch(
        this.source,
        this.keyring,
        batch.map((waiting) => waiting.command),
        this.upcasters,
      );
      this.answered += 1;
      this.isDiskFull = false;
      results.forEach((result, index) => {
        if (result.status === 'appended') this.given(result.position ?? 0, batch[index]!.command);
        this.answer(batch[index]!, result);
      });
    } catch (error) {
      this.failed += 1;
      this.isDiskFull ||= codeOf(error) === DISK_FULL;
      // Locks are taken in one order, but others than appends (an operator's, a migration's) may not keep to it.
      if ((isCollision(error) || (await this.hasNextMaster(error))) && collisions < MOST_COLLISIONS) {
        return this.call(batch, collisions + 1);
      }
      // The call was rolled back as a whole. One by one, so that a bad command cannot hurt its neighbours;
      // not when the connection broke, for then nobody knows whether it was committed.
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

  /** Whether a call failed because the master was replaced, and the next one is known here. */
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
const TAKE_ROOM = [
  `SET LOCAL work_mem = '64kB'`,
  `SELECT count(*) FROM (SELECT md5(n::text) AS text FROM generate_series(1, 30000) n ORDER BY text OFFSET 0) sorted`,
];

function codeOf(error: unknown): string | undefined {
  return error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
}

/** Two processes made the same new stream at once: the unique index let one through. */
function isStreamRace(error: unknown): boolean {
  return (
    error instanceof Error &&
    'driverError' in error &&
    error.driverError instanceof Error &&
    'code' in error.driverError &&
    error.driverError.code === '23505'
  );
}
