import { type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';

/** How often connections are looked at while there are any. */
const LOOK_MS = 500;
/** An answer that has not begun by then makes us ask whether the connections still live. */
const QUIET_MS = 2_000;
/** The witness answers within so long, or the established connections are in doubt. */
const ANSWER_MS = 1_500;
/** Once a new connection works, an old one may take so much longer. */
const LAST_CHANCE_MS = 500;
/** Where neither old nor new connections are answered, nobody waits longer for an answer. */
const NOBODY_ANSWERS_MS = 6_000;
/** Where the server stays read-only, all connections are made anew once in so long, and not for each write. */
const ASTRAY_MS = 1_000;
/** Between two attempts to have a witness. */
const PAUSE_MS = 5_000;

/** A connection as it is watched: see connection.ts. */
export type WatchedConnection = {
  /** The server's number for it; a pooler in between makes one up. */
  readonly backend: number;
  /** Bytes that came: more than before mean that it lives. */
  readonly heard: number;
  /** Waits as long as somebody else works, even where nobody answers at all; see `exclusively`. */
  readonly patient: boolean;
  /** Its backend was found to wait for us while we wait for it. */
  suspected: boolean;
  /** For how long an answer has been owed without a byte of it, as far as the last look at it knows. */
  quietFor(now: number): number;
  look(now: number): void;
  /** Ends it at once; the statement under way fails, and the pool makes a new one. */
  giveUp(): void;
  /** Ends it as soon as it is in no transaction. */
  retire(): void;
};

/** Which of these backends wait for us. Others than those of one's own role show no state. */
const IDLE_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1) AND state LIKE 'idle%'";

/**
 * Notices when the connections to one server have gone silent: its host was lost, or its address has moved. TCP tells
 * that after 5 to 16 minutes, and a limit of time for each statement cannot tell it from a long statement. So there is a
 * witness, a connection of as long standing as the others that does nothing else: when one has waited for its answer
 * for two seconds, the witness is asked.
 *
 * - It answers: the network is well and the statement is slow, unless its backend says that it waits for us.
 * - It does not, and a new connection works: all that have not been heard of since are given up, idle ones too.
 * - Neither: the database is frozen or unreachable. Those that wait are given up after six seconds, so that their callers
 *   hear it; what is long on purpose waits on, and is given up when new connections work and the witness still does not.
 */
export class ConnectionWatchdog {
  private readonly connections = new Set<WatchedConnection>();
  private timer: NodeJS.Timeout | undefined;
  private witness: Witness | undefined;
  private opening: Promise<void> | undefined;
  private openAgainAt = 0;
  private judging = false;
  private askAgainAt = 0;
  private config: ClientConfig = {};
  private astrayUntil = 0;
  /** While a program starts it may have to wait for others, behind PgBouncer in its queue. */
  patient = true;

  add(connection: WatchedConnection, config: ClientConfig): void {
    this.config = config;
    this.connections.add(connection);
    this.timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
    this.keepWitness();
  }

  remove(connection: WatchedConnection): void {
    this.connections.delete(connection);
    if (this.connections.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.witness?.close();
    this.witness = undefined;
    this.openAgainAt = 0;
  }

  /**
   * One of the connections was told that its server takes no writes: it was the primary, or the address led to a standby
   * when the connection was made, and the others are no better. New ones go to where the address leads now; a pool under
   * load would keep the old ones for ever, and answer reads from a server that falls behind.
   */
  leadsAstray(): void {
    if (performance.now() < this.astrayUntil) return;
    this.astrayUntil = performance.now() + ASTRAY_MS;
    for (const connection of this.connections) connection.retire();
  }

  private async look(): Promise<void> {
    this.keepWitness();
    if (this.judging || performance.now() < this.askAgainAt || this.quiet(QUIET_MS).length === 0) return;
    this.judging = true;
    try {
      // What has arrived while this very process hung is read before anybody is suspected.
      await turn();
      const quiet = this.quiet(QUIET_MS);
      if (quiet.length > 0) await this.judge(quiet);
    } finally {
      this.judging = false;
    }
  }

  private quiet(ms: number): WatchedConnection[] {
    const now = performance.now();
    for (const connection of this.connections) connection.look(now);
    return [...this.connections].filter((connection) => connection.quietFor(now) >= ms);
  }

  private async judge(quiet: readonly WatchedConnection[]): Promise<void> {
    const { witness } = this;
    const before = new Map([...this.connections].map((connection) => [connection, connection.heard]));
    const unheard = () =>
      [...before].filter(([one, heard]) => one.heard === heard && this.connections.has(one));
    const answer = witness?.idle(quiet.map(({ backend }) => backend));
    if (answer && (await answer.within(ANSWER_MS))) {
      this.giveUpForgotten(quiet, answer.value ?? []);
      return;
    }
    while (unheard().length > 0) {
      const fresh = await Witness.open(this.config, ANSWER_MS);
      if (answer && (await answer.within(fresh ? LAST_CHANCE_MS : 0))) {
        fresh?.close();
        return;
      }
      if (fresh) {
        // Without a witness of before it proves nothing of the others; from now on it is one.
        if (witness) for (const [connection] of unheard()) connection.giveUp();
        this.witness?.close();
        this.witness = fresh;
        return;
      }
      for (const connection of this.patient ? [] : this.quiet(NOBODY_ANSWERS_MS)) {
        if (!connection.patient) connection.giveUp();
      }
      await sleep(LOOK_MS, undefined, { ref: false });
    }
  }

  /** Twice, because the answer, or what we asked, may have been on its way. */
  private giveUpForgotten(quiet: readonly WatchedConnection[], idle: readonly number[]): void {
    const found = quiet.filter(({ backend }) => idle.includes(backend));
    for (const connection of found) {
      if (connection.suspected) connection.giveUp();
      connection.suspected = true;
    }
    this.askAgainAt = performance.now() + (found.length > 0 ? 0 : QUIET_MS);
  }

  private keepWitness(): void {
    if (this.judging || this.opening || performance.now() < this.openAgainAt) return;
    if (this.witness?.isOpen) return;
    this.openAgainAt = performance.now() + PAUSE_MS;
    this.opening = Witness.open(this.config, ANSWER_MS)
      .then((witness) => {
        if (this.connections.size > 0 && !this.witness?.isOpen) this.witness = witness;
        else witness?.close();
      })
      .finally(() => (this.opening = undefined));
  }
}

/** A promise that is waited for several times, each time for so long. */
class Answer<Value> {
  value: Value | undefined;
  private settled = false;
  private readonly done: Promise<void>;

  constructor(promise: Promise<Value>) {
    this.done = promise.then(
      (value) => {
        this.value = value;
        this.settled = true;
      },
      // A connection that breaks answers nothing.
      () => undefined,
    );
  }

  async within(ms: number): Promise<boolean> {
    const late = new AbortController();
    const { signal } = late;
    await Promise.race([this.done, sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)]);
    late.abort();
    // Where this process itself was late, the answer may lie there unread.
    if (!this.settled) await turn();
    return this.settled;
  }
}

/** A connection that is only ever asked whether it lives. */
class Witness {
  isOpen = true;

  private constructor(private readonly client: Client) {
    client.once('end', () => (this.isOpen = false));
  }

  /** @returns undefined where none can be had in this time. */
  static async open(config: ClientConfig, ms: number): Promise<Witness | undefined> {
    const client = new Client({ ...config, connectionTimeoutMillis: ms });
    client.on('error', () => undefined);
    const witness = new Witness(client);
    const asked = new Answer(client.connect().then(() => client.query('SELECT 1')));
    if (await asked.within(ms)) {
      // Nobody's reason to go on.
      (client.connection.stream as Socket).unref();
      return witness;
    }
    witness.close();
    return undefined;
  }

  /** Of these backends those that wait for their client. */
  idle(backends: readonly number[]): Answer<number[]> {
    const asked = this.client.query<{ pid: number }>(IDLE_BACKENDS, [backends]);
    return new Answer(asked.then(({ rows }) => rows.map(({ pid }) => pid)));
  }

  close(): void {
    const { stream } = this.client.connection;
    if (!this.isOpen) return;
    this.isOpen = false;
    void this.client.end().catch(() => undefined);
    setTimeout(() => stream.destroy(), 1_000).unref();
  }
}
