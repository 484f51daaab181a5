import { type DataSource } from 'typeorm';

/** Counters of pg's pool. */
type Pool = { totalCount: number; idleCount: number; waitingCount: number; options: { max: number } };

/** A pool's connections: the maximum, the busy and the idle ones, and the callers waiting for one. */
export function poolUse(source: DataSource): { most: number; busy: number; idle: number; waiting: number } {
  // TypeORM does not expose its pool.
  const { master } = source.driver as unknown as { master?: Pool };
  if (!master) return { most: 0, busy: 0, idle: 0, waiting: 0 };
  const { totalCount, idleCount, waitingCount, options } = master;
  return { most: options.max, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}
