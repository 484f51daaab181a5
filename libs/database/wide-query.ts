import { type DataSource } from 'typeorm';
import { traced } from '#libs/tracing';
import { type Sql } from './database.js';
import { FairGate } from './fair-gate.js';
import { type PooledSource } from './pooled-source.js';
import { ReadSource } from './read-source.js';
import { ShortStatements } from './short-statements.js';
import { answerOf, outcomeOf } from './statements.js';

/**
 * Statements whose cost the client decides: pages of lists, searches and the history; pages of exports, which are ten
 * times as long. How long one may run, and wait for its turn before.
 */
export const LONGEST_MS = { page: 5_000, export: 15_000 };
export type WideQuery = keyof typeof LONGEST_MS;

/** Statements of one organization that may wait for a turn: as many as it may have requests under way. */
const MOST_WAITING = 400;

/** How a pool is shared. */
type Shares = { gate: FairGate; short: ShortStatements };
const shared = new WeakMap<DataSource, Shares>();

/**
 * Of the connections, wide queries of one organization have 40 % and all together 60 %: what remains is for the short
 * statements of everybody, whatever some ask for.
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

/** Of what runs SQL only the pool hands out connections. */
function isPool(sql: Sql): sql is DataSource {
  return 'createQueryRunner' in sql;
}

/** Whether others ask it besides: not within a transaction. */
export function isShared(sql: Sql): boolean {
  return sql instanceof ReadSource || isPool(sql);
}

/** What the wide queries of this pool do now, and how many were turned away so far. */
export function wideQueries(source: DataSource): FairGate['use'] {
  return sharesOf(source).gate.use;
}

/**
 * Runs a statement that reads, and whose cost the client decides: within the organization's part of the connections, and
 * ended by PostgreSQL after `LONGEST_MS`, waiting for locks included.
 *
 * The limit of time is the transaction's, because nothing else passes PgBouncer in transaction mode. What begins and ends
 * it is sent with the statement.
 *
 * @param sql where reads go, or the pool; inside a transaction the statement runs as it is.
 * @throws TooManyWaiting, or an error that `isTimedOut` knows.
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
            // Where it does not begin, what comes behind it fails too, or is a statement that only reads.
            const begun = outcomeOf(
              connection,
              `BEGIN READ ONLY; SET LOCAL statement_timeout = ${LONGEST_MS[kind]}`,
            );
            // Not prepared: the best plan depends on the values.
            const rows = outcomeOf(connection, text, values, false).then(answerOf) as Promise<Row[]>;
            const ended = outcomeOf(connection, 'ROLLBACK');
            rows.then(resolve, reject);
            // The organization's part is free when the connection is.
            await Promise.allSettled([begun, rows, ended]);
          }),
        )
        .catch(reject);
    });
  return traced('wide query', { kind }, turn);
}

/**
 * Runs a statement that reads, and costs little but may be asked for hundreds of times at once: within the organization's
 * part of the connections like `queryWide`, but in no transaction, so that it has no limit of time; see `ShortStatements`.
 *
 * @param sql where reads go, or the pool; inside a transaction the statement runs as it is.
 * @throws TooManyWaiting.
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
