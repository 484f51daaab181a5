import { availableParallelism } from 'node:os';

const MOST_PROCESSES = 64;

/**
 * Parses WEB_CONCURRENCY, the number of processes: a number, or `auto` for one per core. Undefined for any
 * other text.
 */
export function readConcurrency(text: string | undefined): number | undefined {
  const wanted = text?.trim() ?? '';
  if (wanted === '') return 1;
  if (wanted === 'auto') return Math.min(availableParallelism(), MOST_PROCESSES);
  const processes = /^\d{1,3}$/.test(wanted) ? Number(wanted) : 0;
  return processes >= 1 && processes <= MOST_PROCESSES ? processes : undefined;
}
