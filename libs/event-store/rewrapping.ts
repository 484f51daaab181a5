import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { NIL } from 'uuid';
import { inTransaction, isTransient, type Sql } from '#libs/database';
import { type KeyCheck, type Keyring, type KeyringFault } from './keyring.js';

/** Keys wrapped anew at a time: whoever erases one of these persons waits for so many. */
const PAGE = 500;
/** Writers wait behind whoever waits for the table. */
const LOCK_TIMEOUT_MS = 1_000;
const PAUSE_MS = 500;
const MOST_TRIES = 60;

type Row = { organization_id: string; subject_id: string; wrapped_key: Buffer };
type Page = { rewrapped: number; unreadable: number };

/**
 * Puts the keyring's present master in the place of the one in use, while instances serve. It may be interrupted anywhere
 * and begun again: what is wrapped already says so itself.
 *
 * First the database goes by the present master, and takes keys of no other from then on; then every key is wrapped anew.
 */
export class Rewrapping {
  constructor(
    private readonly source: DataSource,
    private readonly keyring: Keyring,
  ) {}

  /** All keys of subjects, whatever they are wrapped with. */
  async count(): Promise<number> {
    const [row] = await this.source.query<{ count: string }[]>('SELECT count(*) FROM subject_keys');
    return Number(row!.count);
  }

  /**
   * Lets the present master take over.
   *
   * @param permit throws where an instance that serves does not have it; none that starts meanwhile without it will serve.
   * @returns why nothing was done; other than `first` where another rewrapping came between.
   */
  async takeOver(permit: (transaction: Sql) => Promise<void>): Promise<KeyringFault | undefined> {
    const fault = await persistently(() =>
      inTransaction(this.source, {}, async (transaction) => {
        await transaction.query(`SELECT set_config('lock_timeout', $1, true)`, [String(LOCK_TIMEOUT_MS)]);
        const [row] = await transaction.query<KeyCheck[]>('SELECT * FROM key_check FOR UPDATE');
        const found = this.keyring.open(row!);
        if (found !== undefined || this.keyring.state !== 'ahead') return found;
        // Keys of a master before that: with the next one nobody would know it any more.
        if (row!.replaces !== null) return 'unfinished';
        await permit(transaction);
        // What is being stored was compared with the master before: it is there when the first page is read.
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
   * Wraps every key with the present master, which must be the one in use.
   *
   * @returns page by page how many it was; and how many opened with neither master: somebody changed them.
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

  /** Says that nothing is wrapped with the master before any more. */
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
        // The caller tells how many.
      }
    }
    const [, rewrapped] = await persistently(() =>
      this.source.query<[unknown, number]>(
        // Erased meanwhile, a person stays so.
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

/** Again where it collided with others, or waited for them too long. */
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
