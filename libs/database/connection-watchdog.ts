import { type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';

/** How often connections are checked while any exist. */
const LOOK_MS = 500;
/** If a reply has not begun by then, we check whether the connections still work. */
const QUIET_MS = 2_000;
/** If the probe does not reply within this time, the established connections are in doubt. */
const ANSWER_MS = 1_500;
/** Once a new connection works, the probe may take this much longer. */
const LAST_CHANCE_MS = 500;
/** If neither old nor new connections get a reply, statements wait no longer than this. */
const NO_RESPONSE_MS = 6_000;
/** If the server stays read-only, all connections are replaced once in this time, not for each write. */
const REPLACE_MS = 1_000;
/** Between two attempts to open a probe. */
const PAUSE_MS = 5_000;

/** The part of a connection that the watchdog uses (connection.ts). */
export type WatchedConnection = {
  /** The process id of its backend. A pooler in between invents one. */
  readonly backend: number;
  /** Received bytes. If they grow, the connection works. */
  readonly heard: number;
  /** Waits as long as another session works, even if nothing replies at all; see `exclusively`. */
  readonly patient: boolean;
  /** Its backend waited for us while we waited for it. */
  suspected: boolean;
  /** Milliseconds for which a reply has been due and none of its bytes has arrived, as of the last `look`. */
  quietFor(now: number): number;
  look(now: number): void;
  /** Closes it immediately. The statement in flight fails, and the pool opens a new connection. */
  giveUp(): void;
  /** Closes it as soon as it is in no transaction. */
  retire(): void;
};

/** Which of these backends wait for us. Only backends of the same role show their state. */
const IDLE_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1) AND state LIKE 'idle%'";

/**
 * Detects that the connections to a server have gone silent because its host was lost or its address has moved. TCP reports
 * this after 5 to 16 minutes, and a timeout per statement cannot distinguish it from a long statement. So one extra
 * connection, the probe, is as old as the others and runs no other statements. When a connection has waited two seconds for a
 * reply, the watchdog queries the probe.
 *
 * - The probe replies: the network is fine and the statement is slow, unless its backend waits for us.
 * - It does not, and a new connection works: every connection not heard from since is given up, idle ones too.
 * - Neither replies: the database is frozen or unreachable. Waiting statements are given up after six seconds, so that their
 *   callers get an error. Patient ones wait until new connections work and the probe still does not.
 */
export class ConnectionWatchdog {
  private readonly connections = new Set<WatchedConnection>();
  private timer: NodeJS.Timeout | undefined;
  private probe: Probe | undefined;
  private opening: Promise<void> | undefined;
  private openAgainAt = 0;
  private judging = false;
  private askAgainAt = 0;
  private config: ClientConfig = {};
  private replaceAgainAt = 0;
  /** While a program starts it may have to wait for others, behind PgBouncer in its queue. */
  patient = true;

  add(connection: WatchedConnection, config: ClientConfig): void {
    this.config = config;
    this.connections.add(connection);
    this.timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
    this.keepProbe();
  }

  remove(connection: WatchedConnection): void {
    this.connections.delete(connection);
    if (this.connections.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.probe?.close();
    this.probe = undefined;
    this.openAgainAt = 0;
  }

  /**
   * Call this when a server rejects a write as read-only. It was the primary, or the address led to a standby when the
   * connection was opened, and the others are the same. New connections follow the address. Without this, a pool under load
   * would keep the old ones forever and serve reads from a server that falls behind.
   */
  replaceAll(): void {
    if (performance.now() < this.replaceAgainAt) return;
    this.replaceAgainAt = performance.now() + REPLACE_MS;
    for (const connection of this.connections) connection.retire();
  }

  private async look(): Promise<void> {
    this.keepProbe();
    if (this.judging || performance.now() < this.askAgainAt || this.quiet(QUIET_MS).length === 0) return;
    this.judging = true;
    try {
      // First read what arrived while this process hung.
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
    const { probe } = this;
    const before = new Map([...this.connections].map((connection) => [connection, connection.heard]));
    const unheard = () =>
      [...before].filter(([one, heard]) => one.heard === heard && this.connections.has(one));
    const answer = probe?.idle(quiet.map(({ backend }) => backend));
    if (answer && (await answer.within(ANSWER_MS))) {
      this.giveUpForgotten(quiet, answer.value ?? []);
      return;
    }
    while (unheard().length > 0) {
      const fresh = await Probe.open(this.config);
      if (answer && (await answer.within(fresh ? LAST_CHANCE_MS : 0))) {
        fresh?.close();
        return;
      }
      if (fresh) {
        // Without an older probe, a new connection proves nothing about the others. From now on it is the probe.
        if (probe) for (const [connection] of unheard()) connection.giveUp();
        this.probe?.close();
        this.probe = fresh;
        return;
      }
      for (const connection of this.patient ? [] : this.quiet(NO_RESPONSE_MS)) {
        if (!connection.patient) connection.giveUp();
      }
      await sleep(LOOK_MS, undefined, { ref: false });
    }
  }

  /** Only the second time: the reply or the statement may have been in transit. */
  private giveUpForgotten(quiet: readonly WatchedConnection[], idle: readonly number[]): void {
    const found = quiet.filter(({ backend }) => idle.includes(backend));
    for (const connection of found) {
      if (connection.suspected) connection.giveUp();
      connection.suspected = true;
    }
    this.askAgainAt = performance.now() + (found.length > 0 ? 0 : QUIET_MS);
  }

  private keepProbe(): void {
    if (this.judging || this.opening || performance.now() < this.openAgainAt) return;
    if (this.probe?.isOpen) return;
    this.openAgainAt = performance.now() + PAUSE_MS;
    this.opening = Probe.open(this.config)
      .then((probe) => {
        if (this.connections.size > 0 && !this.probe?.isOpen) this.probe = probe;
        else probe?.close();
      })
      .finally(() => (this.opening = undefined));
  }
}

/** A promise that can be awaited several times, each with its own timeout. */
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
      // A broken connection never replies.
      () => undefined,
    );
  }

  async within(ms: number): Promise<boolean> {
    const late = new AbortController();
    const { signal } = late;
    await Promise.race([this.done, sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)]);
    late.abort();
    // If this process itself was late, the reply may have arrived unread.
    if (!this.settled) await turn();
    return this.settled;
  }
}

/** A connection that only answers whether it works. */
class Probe {
  isOpen = true;

  private constructor(private readonly client: Client) {
    client.once('end', () => (this.isOpen = false));
  }

  /** @returns undefined if none opens in `ANSWER_MS`. */
  static async open(config: ClientConfig): Promise<Probe | undefined> {
    const client = new Client({ ...config, connectionTimeoutMillis: ANSWER_MS });
    client.on('error', () => undefined);
    const probe = new Probe(client);
    const result = new Answer(client.connect().then(() => client.query('SELECT 1')));
    if (await result.within(ANSWER_MS)) {
      // It must not keep the process running.
      (client.connection.stream as Socket).unref();
      return probe;
    }
    probe.close();
    return undefined;
  }

  /** Those of the given backends that wait for their client. */
  idle(backends: readonly number[]): Answer<number[]> {
    const result = this.client.query<{ pid: number }>(IDLE_BACKENDS, [backends]);
    return new Answer(result.then(({ rows }) => rows.map(({ pid }) => pid)));
  }

  close(): void {
    const { stream } = this.client.connection;
    if (!this.isOpen) return;
    this.isOpen = false;
    void this.client.end().catch(() => undefined);
    setTimeout(() => stream.destroy(), 1_000).unref();
  }
}
