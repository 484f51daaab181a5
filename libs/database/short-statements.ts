import { type Connection } from './connection.js';
import { type FairGate, TooManyWaiting } from './fair-gate.js';
import { type PooledSource } from './pooled-source.js';
import { runAlone } from './statements.js';

/** Statements that share a turn. Each waits for those before it, and keeps the connection that they have. */
const MOST_OF_A_TURN = 16;

type Waiting = {
  text: string;
  values: unknown[];
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Statements that are short, of which hundreds may be asked for at once: those of one organization that wait at the same
 * moment go over one connection in one write, and PostgreSQL comes to the next without being woken. They are in no
 * transaction, and one that fails leaves the others alone.
 */
export class ShortStatements {
  private readonly waitingOf = new Map<string, Waiting[]>();
  private readonly turnsOf = new Map<string, number>();

  /** @param gate whose turns they take: an organization's part of the connections. */
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
      if (turns * MOST_OF_A_TURN >= waiting.length) return;
      this.turnsOf.set(organizationId, turns + 1);
      // Not at once: what this turn of the event loop brings besides goes along.
      setImmediate(() => void this.takeTurn(organizationId));
    });
  }

  private async takeTurn(organizationId: string): Promise<void> {
    let taken: Waiting[] = [];
    const take = () => {
      taken = this.waitingOf.get(organizationId)!.splice(0, MOST_OF_A_TURN);
      this.endTurn(organizationId);
      return taken;
    };
    const { gate, limits, source } = this;
    try {
      await gate.run(organizationId, limits.longestWaitMs, () =>
        source.use((connection) => sendAll(connection, take())),
      );
    } catch (error) {
      // Neither had they a turn, nor a connection.
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
