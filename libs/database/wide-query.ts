import { type DataSource } from 'typeorm';
import { traced } from '#libs/tracing';
import { type Sql } from './database.js';
import { FairGate } from './fair-gate.js';
import { type PooledSource } from './pooled-source.js';
import { ReadSource } from './read-source.js';
import { ShortStatements } from './short-statements.js';
import { answerOf, outcomeOf } from './statements.js';

/**
 * How long a statement may run, and how long it may wait for its turn. The client determines the cost of these
 * statements: pages of lists, searches and the history, and pages of exports, which are ten times as long.
 */
export const LONGEST_MS = { page: 5_000, export: 15_000 };
export type WideQuery = keyof typeof LONGEST_MS;

/** The maximum number of waiting statements per organization, equal to its limit of concurrent requests. */
const MOST_WAITING = 400;

/** How a pool is shared. */
type Shares = { gate: FairGate; short: ShortStatements };
const shared = new WeakMap<DataSource, Shares>();

/**
 * Wide queries of one organization may use 40 % of the connections, and those of all organizations 60 %. The rest is for
 * short statements.
 */
function sharesOf(source: DataSource): Shares {
  let shares = shared.get(source);
  if (!shares) {
    const { poolSize = 1 } = source.options as { poolSize?: number };
    const part = (share: number) => Math.max(1, Math.floor(share * poolSize));
    const gate = new FairGate({ atOnce: part(0.6), ofOneGroup: part(0.4), waiting: MOST_WAITING });
    const limits = { waiting: MOST_WAITING, longestWaitMs: LONGEST_MS.page };
    shares = { gate, short: new ShortStatements(source as PooledSource, gate, limits) };
    shared.set(source, shares);
  }
  return shares;
}

/** Whether this is a pool and not a transaction. Only pools create query runners. */
function isPool(sql: Sql): sql is DataSource {
  return 'createQueryRunner' in sql;
}

/** Whether concurrent requests use it, unlike a transaction. */
export function isShared(sql: Sql): boolean {
  return sql instanceof ReadSource || isPool(sql);
}

/** The wide queries running and waiting on this pool now, and the number rejected since the start. */
export function wideQueries(source: DataSource): FairGate['use'] {
  return sharesOf(source).gate.use;
}

/**
 * Runs a read whose cost the client determines, within the organization's share of the connections. PostgreSQL ends it
 * after `LONGEST_MS`, including waits for locks.
 *
 * The timeout belongs to a transaction, because PgBouncer in transaction mode supports nothing else. The statements that
 * begin and end the transaction are sent together with the read.
 *
 * @param sql a ReadSource or a pool. Inside a transaction, the statement runs without these limits.
 * @throws TooManyWaiting, or an error that `isTimedOut` recognizes.
 */
export async function queryWide<Row>(
  sql: Sql,
  organizationId: string,
  kind: WideQuery,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  if (sql instanceof ReadSource) {
    const rows = await sql.askReplica<Row>(organizationId, { longestMs: LONGEST_MS[kind], text, values });
    return rows ?? queryWide(sql.primary, organizationId, kind, text, values);
  }
  if (!isPool(sql)) return sql.query<Row[]>(text, values);
  const turn = () =>
    new Promise<Row[]>((resolve, reject) => {
      sharesOf(sql)
        .gate.run(organizationId, LONGEST_MS[kind], () =>
          (sql as PooledSource).use(async (connection) => {
            connection.holdBack();
            // Not awaited: if BEGIN fails, the statements after it fail too or only read.
            const begun = outcomeOf(
              connection,
              `BEGIN READ ONLY; SET LOCAL statement_timeout = ${LONGEST_MS[kind]}`,
            );
            // Not prepared: the best plan depends on the values.
            const rows = outcomeOf(connection, text, values, false).then(answerOf) as Promise<Row[]>;
            const ended = outcomeOf(connection, 'ROLLBACK');
            rows.then(resolve, reject);
            // The organization's share is in use until the connection is free.
            await Promise.allSettled([begun, rows, ended]);
          }),
        )
        .catch(reject);
    });
  return traced('wide query', { kind }, turn);
}

/**
 * Runs a cheap, frequent read within the organization's share of the connections.
 * Unlike `queryWide`, it uses no transaction and so has no timeout; see `ShortStatements`.
 *
 * @param sql a ReadSource or a pool. Inside a transaction, the statement runs without these limits.
 * @throws TooManyWaiting
 */
export async function queryInTurn<Row>(
  sql: Sql,
  organizationId: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  if (sql instanceof ReadSource) {
    const rows = await sql.askReplica<Row>(organizationId, { longestMs: LONGEST_MS.page, text, values });
    return rows ?? queryInTurn(sql.primary, organizationId, text, values);
  }
  return isPool(sql)
    ? sharesOf(sql).short.query<Row>(organizationId, text, values)
    : sql.query<Row[]>(text, values);
}
