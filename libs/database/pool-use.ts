import { type DataSource } from 'typeorm';

/** As pg's pool tells it. */
type Pool = { totalCount: number; idleCount: number; waitingCount: number; options: { max: number } };

/** Connections of a pool: how many it may open, how many work, how many wait for work, and who waits for one. */
export function poolUse(source: DataSource): { most: number; busy: number; idle: number; waiting: number } {
  // TypeORM has no public way to its pool.
  const { master } = source.driver as unknown as { master?: Pool };
  if (!master) return { most: 0, busy: 0, idle: 0, waiting: 0 };
  const { totalCount, idleCount, waitingCount, options } = master;
  return { most: options.max, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}
