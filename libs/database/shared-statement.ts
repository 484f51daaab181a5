import { type Sql } from './database.js';
import { TooManyWaiting } from './fair-gate.js';
import { BatchLoader } from './batch-loader.js';
import { isUnavailable } from './incidents.js';
import { isShared, LONGEST_MS, queryInTurn, queryWide } from './wide-query.js';

/** How many requests share a statement: at first, and once their results have proved small. */
const FEW = 4;
const MOST = 16;
/** If the rows of a statement exceed this size in memory, fewer requests share the next statement. */
const MANY_BYTES = 2 * 1024 * 1024;

type Asked = { values: readonly string[]; since: number };

/** The shared statement failed, and the request is retried on its own, because another request may be the cause. */
const ALONE = Symbol('alone');

type Loading<Row> = BatchLoader<Asked, Row[] | typeof ALONE>;

/**
 * Combines an organization's concurrent requests for the same statement with different values, such as the
 * pages of a list. So PostgreSQL parses and plans it once. A request never gets results of a statement that
 * started before it (see `BatchLoader`), and waits no longer than it would on its own. If a shared statement
 * fails, its requests are retried individually.
 */
export class SharedStatement<Row extends { bytes: number }> {
  private readonly loaders = new WeakMap<Sql, Map<string, Loading<Row>>>();
  private most = FEW;

  /**
   * @param alone SQL for one request. $1 is the organization, $2 the value that shared requests have in common, and $3
   *   onward the request's own values.
   * @param together SQL for several requests, with an array in place of each value from $3 onward. The `asked` column of
   *   its rows is the number of the request, from 1.
   * @param isWide runs the statement by `queryWide`, because the client determines its cost. Otherwise by `queryInTurn`.
   */
  constructor(
    private readonly alone: string,
    private readonly together: string,
    private readonly isWide: boolean,
  ) {}

  /** @throws TooManyWaiting, or an error that `isTimedOut` recognizes. */
  async query(
    sql: Sql,
    organizationId: string,
    common: number,
    values: readonly string[],
  ): Promise<readonly Row[]> {
    const askAlone = () => this.ask(sql, organizationId, this.alone, [organizationId, common, ...values]);
    if (!isShared(sql)) return askAlone();
    const rows = await this.load(sql, organizationId, common, values);
    if (rows === undefined) throw new TooManyWaiting();
    return rows === ALONE ? askAlone() : rows;
  }

  private async load(sql: Sql, organizationId: string, common: number, values: readonly string[]) {
    let loaders = this.loaders.get(sql);
    if (!loaders) this.loaders.set(sql, (loaders = new Map<string, Loading<Row>>()));
    const name = `${organizationId} ${common}`;
    let loader = loaders.get(name);
    if (!loader) {
      const ask = (keys: readonly Asked[]) => this.askFor(sql, organizationId, common, keys);
      loaders.set(name, (loader = new BatchLoader(ask, nameOf, () => this.most)));
    }
    try {
      return await loader.load({ values, since: performance.now() });
    } finally {
      if (loader.isIdle && loaders.get(name) === loader) loaders.delete(name);
    }
  }

  /** Requests that have waited too long are missing from the result. */
  private async askFor(
    sql: Sql,
    organizationId: string,
    common: number,
    asked: readonly Asked[],
  ): Promise<ReadonlyMap<string, Row[] | typeof ALONE>> {
    const earliest = performance.now() - LONGEST_MS.page;
    const keys = asked.filter(({ since }) => since >= earliest);
    const answers = new Map<string, Row[] | typeof ALONE>();
    if (keys.length === 0) return answers;
    if (keys.length === 1) {
      const [key] = keys as [Asked];
      const values = [organizationId, common, ...key.values];
      return answers.set(nameOf(key), await this.ask(sql, organizationId, this.alone, values));
    }
    const lists = keys[0]!.values.map((_, n) => keys.map(({ values }) => values[n]));
    try {
      const rows = await this.ask<Row & { asked: number }>(sql, organizationId, this.together, [
        organizationId,
        common,
        ...lists,
      ]);
      const pages: Row[][] = keys.map(() => []);
      let bytes = 0;
      for (const row of rows) {
        pages[row.asked - 1]!.push(row);
        bytes += row.bytes;
      }
      if (bytes > MANY_BYTES) this.halve();
      else if (keys.length === this.most) this.most = Math.min(MOST, 2 * this.most);
      keys.forEach((key, n) => answers.set(nameOf(key), pages[n]!));
    } catch (error) {
      if (error instanceof TooManyWaiting || isUnavailable(error)) throw error;
      this.halve();
      for (const key of keys) answers.set(nameOf(key), ALONE);
    }
    return answers;
  }

  private ask<Answered = Row>(sql: Sql, organizationId: string, text: string, values: unknown[]) {
    return this.isWide
      ? queryWide<Answered>(sql, organizationId, 'page', text, values)
      : queryInTurn<Answered>(sql, organizationId, text, values);
  }

  private halve(): void {
    this.most = Math.max(2, this.most >> 1);
  }
}

function nameOf({ values }: Asked): string {
  return JSON.stringify(values);
}
