import { type DataSource } from 'typeorm';
import { RpcError } from '#libs/rpc';
import { RUNNING } from './import-table.js';

/** Seconds after which another instance takes over the work of one that has died. */
export const LEASE_SECONDS = 30;
/** Delay before a retry after an internal error. */
const AGAIN_SECONDS = 30;
const RENEW_MS = 1_000;

/** The reason why a cancelled import ends. */
class Cancelled extends Error {}

/** Another instance continues the work. */
export class LeaseLost extends Error {}

/** SQL of what an instance may do with an import: whether it is doing so, and whether it must stop. */
const WORK = {
  import: { isWorking: `status IN (${RUNNING})`, isCancelled: 'is_cancelled' },
  undo: { isWorking: `undo_status = 'RUNNING'`, isCancelled: 'false' },
};

/** An instance's lease on an import, while it imports or undoes it. */
export class ImportLease {
  /** Whether another instance has the lease. */
  isLost = false;
  private reason: Error | undefined;
  private endsAt = Infinity;
  constructor(
    private readonly source: DataSource,
    private readonly id: string,
    private readonly lease: string,
    private readonly work: keyof typeof WORK,
  ) {}

  /** Why the work must end. */
  get ending(): Error | undefined {
    return this.reason;
  }

  /** Whether nothing more may be stored. A process that was suspended finds its lease expired. */
  get isGivenUp(): boolean {
    return this.isLost || this.reason !== undefined || performance.now() > this.endsAt;
  }

  endWith(reason: Error): void {
    this.reason ??= reason;
  }

  /**
   * Renews the lease while `work` runs.
   *
   * @returns undefined if the work was interrupted, and is continued later or by another instance. Otherwise why it failed
   *   for good, if it did.
   * @throws other errors of `work`, after which it is continued later.
   */
  async renewDuring(
    work: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<{ failure: Error | undefined } | undefined> {
    const timer = setInterval(() => void this.renew().catch(() => undefined), RENEW_MS);
    try {
      await this.renew();
      await work();
      return { failure: undefined };
    } catch (error) {
      // Another instance continues, or this one once the database is available again.
      if (this.isLost || signal.aborted) {
        await this.release();
        return undefined;
      }
      if (error instanceof Cancelled || (error instanceof RpcError && error.status < 500))
        return { failure: error };
      await this.release(AGAIN_SECONDS);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  private renew(): Promise<void> {
    return this.update(RENEWED);
  }

  /**
   * Changes the import's row if the lease is held.
   *
   * @param set SQL with parameters from $3 on. @param more SQL of further parts of the statement's WITH.
   */
  protected async update(set: string, values: readonly unknown[] = [], more = ''): Promise<void> {
    const { isWorking, isCancelled } = WORK[this.work];
    const asked = performance.now();
    const [found] = await this.source.query<{ is_cancelled: boolean }[]>(
      `WITH updated AS (
         UPDATE contact_imports SET ${set} WHERE id = $1 AND lease = $2 AND ${isWorking}
         RETURNING id, ${isCancelled} AS is_cancelled)${more}
       SELECT is_cancelled FROM updated`,
      [this.id, this.lease, ...values],
    );
    if (!found) this.isLost = true;
    else this.endsAt = asked + LEASE_SECONDS * 1_000;
    if (found?.is_cancelled) this.endWith(new Cancelled());
  }

  /** @param seconds after which an instance may lease it again. */
  private async release(seconds = 0): Promise<void> {
    await this.source
      .query(
        `UPDATE contact_imports SET lease_expires_at = clock_timestamp() + make_interval(secs => $3)
         WHERE id = $1 AND lease = $2`,
        [this.id, this.lease, seconds],
      )
      .catch(() => undefined);
  }
}

/** SQL that renews the lease. */
export const RENEWED = `lease_expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`;
