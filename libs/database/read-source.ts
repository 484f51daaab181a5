import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { QueryFailedError } from 'typeorm/error/QueryFailedError.js';
import { failFast, type Sql } from './database.js';
import { FairGate, TooManyWaiting } from './fair-gate.js';
import { describeError } from './incidents.js';

/** How long a read waits for the replica to have replayed what the primary had written when it was asked. */
const LAG_MS = 100;
const LAG_PAUSE_MS = 5;
/** Before its statement, the replica answers within so long, or is taken for gone. */
const ANSWER_MS = 1_000;
/** Beyond the limit of time that PostgreSQL keeps by itself. */
const BEYOND_LIMIT_MS = 1_000;
/** How often the replica is looked at, and how often in a row it must be well before it serves again. */
const LOOK_EVERY_MS = 1_000;
const LOOKS_UNTIL_WELL = 2;
/** Statements of one organization that may wait for a turn, as on the primary. */
const MOST_WAITING = 400;
const NEVER_REACHED = 'it was not reached yet';

/**
 * How far the primary's log has been written, which is at least as far as any commit that was acknowledged; with
 * synchronous_commit off that may be further than it is on disk. The timeline, because after a failover the positions of
 * a replica that went another way could be higher.
 */
const MARK = `
  SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
              ELSE pg_current_wal_flush_lsn() END AS lsn,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline`;
const LSN = /^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/;
const TIMELINE = /^\d{1,10}$/;

/** Whose copy a database is. */
export const DATABASE_IDENTITY = `SELECT current_database() || ' ' || system_identifier AS identity FROM pg_control_system()`;

type Mark = { lsn: string; timeline: string };

type Statement = { longestMs: number; text: string; values: unknown[] };

/** What is used of pg's client. Its connection is destroyed when it is released with an error. */
type Client = {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] } | { rows: unknown[] }[]>;
};
type Pool = { obtainMasterConnection(): Promise<[Client, (error?: Error) => void]> };

export type ReplicaOptions = {
  /** Opens the pool; called again until it works. */
  open: () => Promise<DataSource>;
  /** Connections that the primary has free for short questions. */
  primary: DataSource;
  /** Told when the replica can no longer serve, and why, and without a reason when it can again. */
  onChange?: (trouble: string | undefined) => void;
};

/** The replica does not answer. */
class Silent extends Error {}

/**
 * Where reads go that a streaming replica may answer: what lists, searches, exports and pasts read. All of them show what
 * was acknowledged before they began, on whichever instance: each is preceded by a question to the primary how far its log
 * is (one for all reads that begin at the same time), and the replica must have replayed it, which the connection is
 * asked on which the statement then runs. Where it has not within `LAG_MS`, does not answer, or cancels the statement
 * because replaying needed its place, the primary is asked.
 *
 * `query` is for everything else, and asks the primary.
 */
export class ReadSource implements Sql {
  /** Statements that either answered, of those that the replica may. */
  readonly answered = { replica: 0, primary: 0 };
  private replica: DataSource | undefined;
  private opening: Promise<void> | undefined;
  private gate: FairGate | undefined;
  private identity: string | undefined;
  private looks = 0;
  private problem: string | undefined = NEVER_REACHED;
  private readonly marks: Shared<Mark>;
  private readonly stopping = new AbortController();
  private watching: Promise<void> | undefined;
  /** Of statements under way on the replica: to give them up. */
  private readonly underWay = new Set<() => void>();

  /** @param options none: there is no replica. */
  constructor(
    readonly primary: DataSource,
    private readonly options?: ReplicaOptions,
  ) {
    this.marks = new Shared(() => this.askPrimary());
  }

  /** Why the replica serves nothing; null where there is none, undefined while it serves. */
  get trouble(): string | undefined | null {
    return this.options ? this.problem : null;
  }

  /** Has looked for the replica once when it resolves, and goes on looking after it. */
  async start(): Promise<void> {
    if (!this.options) return;
    await this.look();
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

  /** @returns undefined where the replica cannot answer. @throws TooManyWaiting, or what `isTimedOut` knows. */
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
        if (!rows) this.note('it lags behind');
        return rows;
      });
    } catch (error) {
      if (error instanceof TooManyWaiting) throw error;
      // Asked again, it would take the primary as long.
      if (isCode(error, '57014'))
        throw new QueryFailedError(statement.text, statement.values, error as Error);
      if (error instanceof Silent) this.note(error.message);
      // Whatever else it is: if it is the statement's fault, the primary says so.
      return undefined;
    }
  }

  private async askPrimary(): Promise<Mark> {
    const [mark] = await this.options!.primary.query<Mark[]>(MARK);
    if (!mark || !LSN.test(mark.lsn) || !TIMELINE.test(mark.timeline)) throw new Error('no mark');
    return mark;
  }

  /** Begins a transaction that sees all that the mark is of. @returns false if it does not in time. */
  private async begin(connection: Client, { lsn, timeline }: Mark, longestMs: number): Promise<boolean> {
    // In one round trip, for which there are no parameters; both were looked at.
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
      // Whenever it comes after all.
      void obtained.then(([, releaseLate]) => releaseLate()).catch(() => undefined);
      throw error instanceof Silent ? error : new Silent(describeError(error));
    });
    try {
      const result = await work(connection);
      // With the answer given already.
      this.within(ANSWER_MS, connection.query('ROLLBACK')).then(
        () => release(),
        (error: Error) => release(error),
      );
      return result;
    } catch (error) {
      // Nobody knows what it is still busy with.
      release(error as Error);
      throw error;
    }
  }

  /** @throws Silent when it takes longer, or when the replica was found to be gone meanwhile. */
  private async within<Result>(ms: number, answer: Promise<Result>): Promise<Result> {
    let giveUp: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const given = new Promise<never>((_, reject) => {
      giveUp = () => reject(new Silent('it does not answer'));
      timer = setTimeout(giveUp, ms);
      this.underWay.add(giveUp);
    });
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, given]);
    } finally {
      clearTimeout(timer);
      this.underWay.delete(giveUp!);
    }
  }

  private note(trouble: string | undefined): void {
    if (trouble !== undefined) this.looks = 0;
    if (trouble === this.problem) return;
    const before = this.problem;
    this.problem = trouble;
    // From one trouble into another is no news.
    if (before === undefined || trouble === undefined) this.options!.onChange?.(trouble);
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }

  private async look(): Promise<void> {
    let mark: Mark;
    try {
      mark = await this.marks.next();
      this.identity ??= await identityOf(this.options!.primary);
    } catch {
      // Without the primary nothing can be said of the replica, and nothing is read.
      return;
    }
    let trouble: string | undefined;
    try {
      if (!this.replica) await this.within(ANSWER_MS, this.open());
      trouble = await this.onConnection(this.replica!, (connection) => this.examine(connection, mark));
    } catch (error) {
      trouble = error instanceof Silent ? error.message : describeError(error);
      for (const giveUp of this.underWay) giveUp();
    }
    if (trouble !== undefined || this.problem === undefined) return this.note(trouble);
    this.looks += 1;
    if (this.looks >= LOOKS_UNTIL_WELL || this.problem === NEVER_REACHED) this.note(undefined);
  }

  /** One at a time, however long it takes. */
  private open(): Promise<void> {
    this.opening ??= this.options!.open()
      .then(async (replica) => {
        const { poolSize = 1 } = replica.options as { poolSize?: number };
        // One is left for looking at it.
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
    if (!row!.standby) return 'it is no standby';
    if (row!.timeline !== Number(mark.timeline)) return 'it follows another timeline than the primary';
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

/** An answer that is asked for once for everybody who wants it at the same time, but never before they did. */
class Shared<Answer> {
  private underWay: Promise<unknown> = Promise.resolve();
  private following: Promise<Answer> | undefined;

  constructor(private readonly ask: () => Promise<Answer>) {}

  /** Of a question that is asked after this call: one under way may have been answered already. */
  next(): Promise<Answer> {
    this.following ??= this.askAfter(this.underWay);
    return this.following;
  }

  private async askAfter(before: Promise<unknown>): Promise<Answer> {
    // All that this turn of the event loop brings.
    await Promise.all([before.catch(() => undefined), new Promise(setImmediate)]);
    this.following = undefined;
    const answer = this.ask();
    this.underWay = answer;
    return answer;
  }
}
