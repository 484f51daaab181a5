import { type DataSource } from 'typeorm';
import { traced } from '#libs/tracing';
import { type Sql } from './database.js';
import { FairGate } from './fair-gate.js';
import { type PooledSource } from './pooled-source.js';
import { ReadSource } from './read-source.js';
import { outcomeOf, run } from './statements.js';

/**
 * Statements whose cost the client decides: pages of lists, searches and the history; pages of exports, which are ten
 * times as long. How long one may run, and wait for its turn before.
 */
const LONGEST_MS = { page: 5_000, export: 15_000 };
export type WideQuery = keyof typeof LONGEST_MS;

/** Statements of one organization that may wait for a turn: as many as it may have requests under way. */
const MOST_WAITING = 400;

const gates = new WeakMap<DataSource, FairGate>();

/**
 * Of the connections, wide queries of one organization have 40 % and all together 60 %: what remains is for the short
 * statements of everybody, whatever some ask for.
 */
function gateOf(source: DataSource): FairGate {
  let gate = gates.get(source);
  if (!gate) {
    const { poolSize = 1 } = source.options as { poolSize?: number };
    const part = (share: number) => Math.max(1, Math.floor(share * poolSize));
    gate = new FairGate({ atOnce: part(0.6), ofOneGroup: part(0.4), waiting: MOST_WAITING });
    gates.set(source, gate);
  }
  return gate;
}

/** Of what runs SQL only the pool hands out connections. */
function isPool(sql: Sql): sql is DataSource {
  return 'createQueryRunner' in sql;
}

/** What the wide queries of this pool do now, and how many were turned away so far. */
export function wideQueries(source: DataSource): FairGate['use'] {
  return gateOf(source).use;
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
      gateOf(sql)
        .run(organizationId, LONGEST_MS[kind], () =>
          (sql as PooledSource).use(async (connection) => {
            connection.holdBack();
            // Where it does not begin, what comes behind it fails too, or is a statement that only reads.
            const begun = outcomeOf(
              connection,
              `BEGIN READ ONLY; SET LOCAL statement_timeout = ${LONGEST_MS[kind]}`,
            );
            const rows = run<Row[]>(connection, text, values);
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
 * part of the connections like `queryWide`, but in no transaction, so that it costs no round trip and has no limit of time.
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
  const run = () => sql.query<Row[]>(text, values);
  return isPool(sql) ? gateOf(sql).run(organizationId, LONGEST_MS.page, run) : run();
}
