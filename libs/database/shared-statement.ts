import { type Sql } from './database.js';
import { TooManyWaiting } from './fair-gate.js';
import { BatchLoader } from './batch-loader.js';
import { isUnavailable } from './incidents.js';
import { isShared, LONGEST_MS, queryInTurn, queryWide } from './wide-query.js';

/** How many are asked in one statement: at first, and once it is known that they are small. */
const FEW = 4;
const MOST = 16;
/** Rows of one statement are all in memory before the first is answered: beyond so many, fewer are asked for next time. */
const MANY_BYTES = 2 * 1024 * 1024;

type Asked = { values: readonly string[]; since: number };

/** That what failed together is to be asked for alone: who asked for something else may be to blame. */
const ALONE = Symbol('alone');

type Loading<Row> = BatchLoader<Asked, Row[] | typeof ALONE>;

/**
 * A statement that an organization asks for with many values at the same moment, such as the pages of a list: they are asked
 * for in one, which PostgreSQL reads and plans once. Nobody is answered by one that began before they asked (see `BatchLoader`);
 * each waits as long as for a turn of its own, and where a shared one fails, it fails for nobody who would succeed alone.
 */
export class SharedStatement<Row extends { bytes: number }> {
  private readonly loaders = new WeakMap<Sql, Map<string, Loading<Row>>>();
  private most = FEW;

  /**
   * @param alone SQL: $1 is the organization, $2 what all who share a statement have in common, $3 and so on what each asks.
   * @param together SQL that has a list in place of each value from $3 on. Its rows say in `asked` whose they are, from 1 on.
   * @param isWide whether it costs what the client decides: see `queryWide`, else `queryInTurn`.
   */
  constructor(
    private readonly alone: string,
    private readonly together: string,
    private readonly isWide: boolean,
  ) {}

  /** @throws TooManyWaiting, or an error that `isTimedOut` knows. */
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

  /** Leaves out who has waited too long. */
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
