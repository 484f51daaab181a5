import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { NIL } from 'uuid';
import { inTransaction, isTransient, type Sql } from '#libs/database';
import { type KeyCheck, type Keyring, type KeyringFault } from './keyring.js';

/** Keys per statement. The erasure of one of these people waits for the statement. */
const PAGE = 500;
/** Writers queue behind a transaction that waits for the table lock. */
const LOCK_TIMEOUT_MS = 1_000;
const PAUSE_MS = 500;
const MOST_TRIES = 60;

type Row = { organization_id: string; subject_id: string; wrapped_key: Buffer };
type Page = { rewrapped: number; unreadable: number };

/**
 * Replaces the master key in use by the configured one while instances serve. It can be interrupted at any point and
 * started again, because a key's prefix shows whether it has been rewrapped.
 *
 * First the database switches to the configured master key and rejects keys wrapped with any other. Then every key is
 * rewrapped.
 */
export class Rewrapping {
  constructor(
    private readonly source: DataSource,
    private readonly keyring: Keyring,
  ) {}

  /** The number of all subject keys, whatever they are wrapped with. */
  async count(): Promise<number> {
    const [row] = await this.source.query<{ count: string }[]>('SELECT count(*) FROM subject_keys');
    return Number(row!.count);
  }

  /**
   * Makes the configured master key the one in use.
   *
   * @param permit throws if a serving instance does not have the configured master key. Instances that start without it
   *   during the call will not serve.
   * @returns why nothing was done, or undefined. A fault other than `first` means that another rewrapping intervened.
   */
  async takeOver(permit: (transaction: Sql) => Promise<void>): Promise<KeyringFault | undefined> {
    const fault = await persistently(() =>
      inTransaction(this.source, {}, async (transaction) => {
        await transaction.query(`SELECT set_config('lock_timeout', $1, true)`, [String(LOCK_TIMEOUT_MS)]);
        const [row] = await transaction.query<KeyCheck[]>('SELECT * FROM key_check FOR UPDATE');
        const found = this.keyring.open(row!);
        if (found !== undefined || this.keyring.state !== 'ahead') return found;
        // Keys are still wrapped with an older master key, which no keyring would contain after this step.
        if (row!.replaces !== null) return 'unfinished';
        await permit(transaction);
        // Waits for appends that were checked against the previous master key, so that the first page includes their keys.
        await transaction.query('LOCK TABLE subject_keys IN SHARE ROW EXCLUSIVE MODE');
        const { check_value, secrets, replaces } = this.keyring.nextCheck;
        await transaction.query('UPDATE key_check SET check_value = $1, secrets = $2, replaces = $3', [
          check_value,
          secrets,
          replaces,
        ]);
        return undefined;
      }),
    );
    if (fault !== undefined) return fault;
    const [row] = await this.source.query<KeyCheck[]>('SELECT * FROM key_check');
    return this.keyring.open(row!);
  }

  /**
   * Rewraps every key with the configured master key, which must be in use.
   *
   * @returns per page, the number of rewrapped keys and of unreadable ones, which neither master key opens because someone
   *   altered them.
   */
  async *pages(): AsyncGenerator<Page> {
    let last: Pick<Row, 'organization_id' | 'subject_id'> = { organization_id: NIL, subject_id: NIL };
    for (let isLast = false; !isLast;) {
      const rows = await this.source.query<Row[]>(
        `SELECT organization_id, subject_id, wrapped_key FROM subject_keys
         WHERE (organization_id, subject_id) > ($1, $2) AND substr(wrapped_key, 1, length($3::bytea)) <> $3
         ORDER BY organization_id, subject_id LIMIT $4`,
        [last.organization_id, last.subject_id, this.keyring.mark, PAGE],
      );
      yield await this.rewrap(rows);
      isLast = rows.length < PAGE;
      last = rows.at(-1) ?? last;
    }
  }

  /** Records that no key is still wrapped with the previous master key. */
  async finish(): Promise<void> {
    await this.source.query('UPDATE key_check SET replaces = NULL WHERE check_value = $1', [
      this.keyring.ids[0],
    ]);
  }

  private async rewrap(rows: readonly Row[]): Promise<Page> {
    const readable: (Row & { next: Buffer })[] = [];
    for (const row of rows) {
      try {
        readable.push({ ...row, next: this.keyring.rewrap(row.wrapped_key, row.subject_id) });
      } catch {
        // Counted as unreadable.
      }
    }
    const [, rewrapped] = await persistently(() =>
      this.source.query<[unknown, number]>(
        // A person erased in the meantime stays erased.
        `UPDATE subject_keys k SET wrapped_key = r.next
         FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[]) AS r(organization, subject, before, next)
         WHERE k.organization_id = r.organization AND k.subject_id = r.subject AND k.wrapped_key = r.before`,
        [
          readable.map(({ organization_id }) => organization_id),
          readable.map(({ subject_id }) => subject_id),
          readable.map(({ wrapped_key }) => wrapped_key),
          readable.map(({ next }) => next),
        ],
      ),
    );
    return { rewrapped, unreadable: rows.length - readable.length };
  }
}

/** Retries after collisions and timeouts. */
async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || tries === MOST_TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
