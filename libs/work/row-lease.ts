import { type Sql } from '#libs/database';
import { newId } from '#libs/random';

/** If the owner does not renew its lease for this long, it has died or hangs. */
const LEASE_SECONDS = 6;
const RENEW_EVERY_MS = 2_000;

/** `key`: the column that identifies a row. `returning`: SQL of the columns that the owner needs. */
type LeasedTable = { table: string; key: string; returning: string };

/** `owner`: the value of `holder`. Statements that name it change nothing once the lease is lost. */
export type RowLease<Row> = {
  owner: string;
  row: Row;
  /** @param restSeconds during which no instance may take the lease. */
  release(restSeconds?: number): Promise<void>;
};

/**
 * Takes the lease on a row, works, and renews it until the work ends. The table has the columns `holder` (UUID) and `held_until`.
 * At most one instance works on a row. If it dies or hangs, another one takes over. Unlike a row's lock, the lease needs
 * no open transaction: the work may take long, and use the only connection.
 *
 * @param work releases the lease when it succeeds, if only in its last transaction. If it fails, the lease is released.
 * @returns undefined if another instance has the lease.
 */
export async function withRowLease<Row, Result>(
  source: Sql,
  { table, key, returning }: LeasedTable,
  id: string,
  work: (lease: RowLease<Row>) => Promise<Result>,
): Promise<Result | undefined> {
  const owner = newId();
  const [[row]] = await source.query<[Row[], number]>(
    `UPDATE ${table} SET holder = $2, held_until = clock_timestamp() + make_interval(secs => $3)
     WHERE ${key} = (
       SELECT ${key} FROM ${table}
       WHERE ${key} = $1 AND (held_until IS NULL OR held_until < clock_timestamp()) FOR UPDATE SKIP LOCKED
     ) RETURNING ${returning}`,
    [id, owner, LEASE_SECONDS],
  );
  if (!row) return undefined;
  /** If it fails, another instance takes the lease, and the result of the work is not stored. */
  const hold = async (seconds: number, holder: string | null) => {
    await source
      .query(
        `UPDATE ${table} SET holder = $4,
           held_until = CASE WHEN $3::float8 > 0 THEN clock_timestamp() + make_interval(secs => $3) END
         WHERE ${key} = $1 AND holder = $2`,
        [id, owner, seconds, holder],
      )
      .catch(() => undefined);
  };
  const release = (restSeconds = 0) => hold(restSeconds, null);
  const renewing = setInterval(() => void hold(LEASE_SECONDS, owner), RENEW_EVERY_MS);
  try {
    return await work({ owner, row, release });
  } catch (error) {
    await release();
    throw error;
  } finally {
    clearInterval(renewing);
  }
}
