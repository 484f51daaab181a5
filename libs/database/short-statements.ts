import { type Connection } from './connection.js';
import { type FairGate, TooManyWaiting } from './fair-gate.js';
import { type PooledSource } from './pooled-source.js';
import { runAlone } from './statements.js';

/** The maximum number of statements per turn, which run one after another on the same connection. */
const STATEMENTS_PER_TURN = 16;

type Waiting = {
  text: string;
  values: unknown[];
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Runs short statements, up to hundreds in parallel. The waiting statements of an organization share a connection
 * and are sent in one write. So PostgreSQL does not wake up for each of them. They are not in a transaction:
 * one that fails does not affect the others.
 */
export class ShortStatements {
  private readonly waitingOf = new Map<string, Waiting[]>();
  private readonly turnsOf = new Map<string, number>();

  /** @param gate limits each organization's share of the connections. */
  constructor(
    private readonly source: PooledSource,
    private readonly gate: FairGate,
    private readonly limits: { waiting: number; longestWaitMs: number },
  ) {}

  /** @throws TooManyWaiting */
  query<Row>(organizationId: string, text: string, values: unknown[]): Promise<Row[]> {
    return new Promise<Row[]>((resolve, reject) => {
      const waiting = this.waitingOf.get(organizationId) ?? [];
      this.waitingOf.set(organizationId, waiting);
      if (waiting.length >= this.limits.waiting) return reject(new TooManyWaiting());
      waiting.push({ text, values, resolve: resolve as Waiting['resolve'], reject });
      const turns = this.turnsOf.get(organizationId) ?? 0;
      if (turns * STATEMENTS_PER_TURN >= waiting.length) return;
      this.turnsOf.set(organizationId, turns + 1);
      // Deferred, so that other statements of this turn of the event loop are included.
      setImmediate(() => void this.takeTurn(organizationId));
    });
  }

  private async takeTurn(organizationId: string): Promise<void> {
    let taken: Waiting[] = [];
    const take = () => {
      taken = this.waitingOf.get(organizationId)!.splice(0, STATEMENTS_PER_TURN);
      this.endTurn(organizationId);
      return taken;
    };
    const { gate, limits, source } = this;
    try {
      await gate.run(organizationId, limits.longestWaitMs, () =>
        source.use((connection) => sendAll(connection, take())),
      );
    } catch (error) {
      // They got neither a turn nor a connection.
      if (taken.length === 0) take();
      for (const { reject } of taken) reject(error);
    }
  }

  private endTurn(organizationId: string): void {
    const left = this.turnsOf.get(organizationId)! - 1;
    if (left > 0) this.turnsOf.set(organizationId, left);
    else {
      this.turnsOf.delete(organizationId);
      if (this.waitingOf.get(organizationId)!.length === 0) this.waitingOf.delete(organizationId);
    }
  }
}

async function sendAll(connection: Connection, statements: readonly Waiting[]): Promise<void> {
  connection.holdBack();
  await Promise.all(
    statements.map(({ text, values, resolve, reject }) =>
      runAlone<unknown[]>(connection, text, values).then(resolve, reject),
    ),
  );
}
