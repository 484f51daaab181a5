import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { failFast, type Sql } from './database.js';
import { FairGate, TooManyWaiting } from './fair-gate.js';
import { describeError } from './incidents.js';

/** How long a read waits for the replica to catch up with the primary. */
const LAG_MS = 100;
const LAG_PAUSE_MS = 5;
/** If the replica takes longer than this to respond before a read's statement, it counts as unavailable. */
const ANSWER_MS = 1_000;
/** How much longer than the statement_timeout a read waits for its result. */
const BEYOND_LIMIT_MS = 1_000;
/** How often the replica is checked, and how many checks in a row must succeed before it serves again. */
const CHECK_EVERY_MS = 1_000;
const CHECKS_UNTIL_WELL = 2;
/** The maximum number of waiting statements per organization, as on the primary. */
const MOST_WAITING = 400;
const NEVER_REACHED = 'it has not been reached yet';

/**
 * The end of the primary's log, at or after every acknowledged commit. With synchronous_commit off, commits are
 * acknowledged before they are flushed, so the insert position counts. The timeline is compared too: after a failover, a
 * replica on another timeline could be at a higher position.
 */
const MARK = `
  SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
              ELSE pg_current_wal_flush_lsn() END AS lsn,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline`;
const LSN = /^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/;
const TIMELINE = /^\d{1,10}$/;

/** SQL that identifies a database and its copies: name and system identifier. */
export const DATABASE_IDENTITY = `SELECT current_database() || ' ' || system_identifier AS identity FROM pg_control_system()`;

type Mark = { lsn: string; timeline: string };

type Statement = { longestMs: number; text: string; values: unknown[] };

/** The part of pg's client that is used here. Releasing it with an error destroys the connection. */
type Client = {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] } | { rows: unknown[] }[]>;
};
type Pool = { obtainMasterConnection(): Promise<[Client, (error?: Error) => void]> };

export type ReplicaOptions = {
  /** Opens the pool. Called again until it succeeds. */
  open: () => Promise<DataSource>;
  /** Connections to the primary that are free for short statements. */
  primary: DataSource;
  /** Called with the reason when the replica stops serving, and with undefined when it serves again. */
  onChange?: (problem: string | undefined) => void;
};

/** The replica does not respond. */
class Silent extends Error {}

/**
 * Reads from a streaming replica: lists, searches, exports and past states. A read shows everything that any
 * instance acknowledged before the read started. It first gets the primary's log position, once for all reads
 * that start together. Then it waits on the statement's own connection until the replica has replayed that
 * position. The primary serves the read if the replica is not there within `LAG_MS`, does not respond, or
 * cancels the statement because of a replay conflict.
 *
 * `query` is for everything else and uses the primary.
 */
export class ReadSource implements Sql {
  /** How many replica reads each server has served. */
  readonly answered = { replica: 0, primary: 0 };
  private replica: DataSource | undefined;
  private opening: Promise<void> | undefined;
  private gate: FairGate | undefined;
  private identity: string | undefined;
  private checks = 0;
  private lastProblem: string | undefined = NEVER_REACHED;
  private readonly marks: Shared<Mark>;
  private readonly stopping = new AbortController();
  private watching: Promise<void> | undefined;
  /** Abort the running statements on the replica. */
  private readonly aborts = new Set<() => void>();

  /** @param options undefined if there is no replica. */
  constructor(
    readonly primary: DataSource,
    private readonly options?: ReplicaOptions,
  ) {
    this.marks = new Shared(() => this.askPrimary());
  }

  /** Why the replica does not serve. Undefined while it serves, null if there is no replica. */
  get problem(): string | undefined | null {
    return this.options ? this.lastProblem : null;
  }

  /** Checks the replica once, then keeps checking it in the background. */
  async start(): Promise<void> {
    if (!this.options) return;
    await this.check();
    this.watching = this.watch();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await this.replica?.destroy();
  }

  query<Result>(text: string, values?: unknown[]): Promise<Result> {
    return this.primary.query<Result>(text, values);
  }

  /**
   * @returns undefined if the replica cannot serve the read.
   * @throws TooManyWaiting, or an error that `isTimedOut` recognizes.
   */
  async askReplica<Row>(organizationId: string, statement: Statement): Promise<Row[] | undefined> {
    const rows = await this.tryReplica<Row>(organizationId, statement);
    this.answered[rows ? 'replica' : 'primary'] += 1;
    return rows;
  }

  private async tryReplica<Row>(organizationId: string, statement: Statement): Promise<Row[] | undefined> {
    const { replica, gate } = this;
    if (!replica || !gate || this.problem !== undefined) return undefined;
    try {
      return await gate.run(organizationId, statement.longestMs, async () => {
        const mark = await this.marks.next();
        const rows = await this.onConnection(replica, async (connection) => {
          if (!(await this.begin(connection, mark, statement.longestMs))) return undefined;
          const { text, values, longestMs } = statement;
          const answer = await this.within(longestMs + BEYOND_LIMIT_MS, connection.query(text, values));
          return (answer as { rows: Row[] }).rows;
        });
        if (!rows) this.report('it lags behind');
        return rows;
      });
    } catch (error) {
      if (error instanceof TooManyWaiting) throw error;
      // The primary would take as long.
      if (isCode(error, '57014'))
        throw new QueryFailedError(statement.text, statement.values, error as Error);
      if (error instanceof Silent) this.report(error.message);
      // If the statement is at fault, the primary reports that.
      return undefined;
    }
  }

  private async askPrimary(): Promise<Mark> {
    const [mark] = await this.options!.primary.query<Mark[]>(MARK);
    if (!mark || !LSN.test(mark.lsn) || !TIMELINE.test(mark.timeline)) throw new Error('no mark');
    return mark;
  }

  /** Begins a transaction that sees everything up to the mark. @returns false if the replica does not catch up in time. */
  private async begin(connection: Client, { lsn, timeline }: Mark, longestMs: number): Promise<boolean> {
    // Several statements in one round trip cannot have parameters. `askPrimary` has validated both values.
    const check = `SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn
        AND (SELECT timeline_id FROM pg_control_checkpoint()) = ${timeline} AS there`;
    let text = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${longestMs}; ${check}`;
    for (const giveUpAt = performance.now() + LAG_MS; ; text = check) {
      const answer = await this.within(ANSWER_MS, connection.query(text));
      const [row] = [answer].flat().at(-1)!.rows as { there: boolean }[];
      if (row!.there) return true;
      if (performance.now() >= giveUpAt) return false;
      await sleep(LAG_PAUSE_MS);
    }
  }

  private async onConnection<Result>(
    replica: DataSource,
    work: (connection: Client) => Promise<Result>,
  ): Promise<Result> {
    const obtained = (replica.driver as unknown as Pool).obtainMasterConnection();
    const [connection, release] = await this.within(ANSWER_MS, obtained).catch((error: unknown) => {
      // Returns a connection that arrives too late.
      void obtained.then(([, releaseLate]) => releaseLate()).catch(() => undefined);
      throw error instanceof Silent ? error : new Silent(describeError(error));
    });
    try {
      const result = await work(connection);
      // Not awaited: the caller already has the result.
      this.within(ANSWER_MS, connection.query('ROLLBACK')).then(
        () => release(),
        (error: Error) => release(error),
      );
      return result;
    } catch (error) {
      // The connection may still be busy.
      release(error as Error);
      throw error;
    }
  }

  /** @throws Silent if the response takes longer, or if a check finds the replica unavailable in the meantime. */
  private async within<Result>(ms: number, answer: Promise<Result>): Promise<Result> {
    let abort: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(new Silent('it does not respond'));
      timer = setTimeout(abort, ms);
      this.aborts.add(abort);
    });
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, aborted]);
    } finally {
      clearTimeout(timer);
      this.aborts.delete(abort!);
    }
  }

  private report(problem: string | undefined): void {
    if (problem !== undefined) this.checks = 0;
    if (problem === this.lastProblem) return;
    const before = this.lastProblem;
    this.lastProblem = problem;
    // A change from one problem to another is not reported.
    if (before === undefined || problem === undefined) this.options!.onChange?.(problem);
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(CHECK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.check();
    }
  }

  private async check(): Promise<void> {
    let mark: Mark;
    try {
      mark = await this.marks.next();
      this.identity ??= await identityOf(this.options!.primary);
    } catch {
      // Without the primary, the replica cannot be judged, and it serves no reads.
      return;
    }
    let problem: string | undefined;
    try {
      if (!this.replica) await this.within(ANSWER_MS, this.open());
      problem = await this.onConnection(this.replica!, (connection) => this.examine(connection, mark));
    } catch (error) {
      problem = error instanceof Silent ? error.message : describeError(error);
      for (const abort of this.aborts) abort();
    }
    if (problem !== undefined || this.problem === undefined) return this.report(problem);
    this.checks += 1;
    if (this.checks >= CHECKS_UNTIL_WELL || this.problem === NEVER_REACHED) this.report(undefined);
  }

  /** One attempt at a time, however long it takes. */
  private open(): Promise<void> {
    this.opening ??= this.options!.open()
      .then(async (replica) => {
        const { poolSize = 1 } = replica.options as { poolSize?: number };
        // One connection is reserved for the checks.
        const atOnce = Math.max(1, poolSize - 1);
        const ofOneGroup = Math.max(1, Math.floor(0.5 * poolSize));
        this.gate = new FairGate({ atOnce, ofOneGroup, waiting: MOST_WAITING });
        failFast(replica);
        this.replica = replica;
        if (this.stopping.signal.aborted) await replica.destroy();
      })
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  private async examine(connection: Client, mark: Mark): Promise<string | undefined> {
    const answer = await this.within(
      ANSWER_MS,
      connection.query(
        `SELECT pg_is_in_recovery() AS standby, (${DATABASE_IDENTITY}) AS identity,
           (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline`,
      ),
    );
    const [row] = (answer as { rows: { standby: boolean; identity: string; timeline: number }[] }).rows;
    if (row!.identity !== this.identity) return 'it is a copy of another database';
    if (!row!.standby) return 'it is not a standby';
    if (row!.timeline !== Number(mark.timeline)) return 'it is not on the timeline of the primary';
    return (await this.begin(connection, mark, ANSWER_MS)) ? undefined : 'it lags behind';
  }
}

async function identityOf(source: DataSource): Promise<string> {
  const [row] = await source.query<{ identity: string }[]>(DATABASE_IDENTITY);
  return row!.identity;
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** Shares one result among concurrent callers. The work never starts before a caller's request. */
class Shared<Answer> {
  private running: Promise<unknown> = Promise.resolve();
  private following: Promise<Answer> | undefined;

  constructor(private readonly ask: () => Promise<Answer>) {}

  /** The result of work that starts after this call. Work that is already running may have read older data. */
  next(): Promise<Answer> {
    this.following ??= this.askAfter(this.running);
    return this.following;
  }

  private async askAfter(before: Promise<unknown>): Promise<Answer> {
    // Waits for all callers of this turn of the event loop.
    await Promise.all([before.catch(() => undefined), new Promise(setImmediate)]);
    this.following = undefined;
    const answer = this.ask();
    this.running = answer;
    return answer;
  }
}
