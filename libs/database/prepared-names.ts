import { createHash } from 'node:crypto';

/** A statement that repeats this often is prepared. */
const OFTEN = 5;
/** For each process. PostgreSQL keeps the plan of each in every connection that ran it: mostly 10 to 30 KB. */
const MOST = 200;
/** Texts whose repetitions are counted at one time. */
const MOST_COUNTED = 2_000;

const repetitions = new Map<string, number>();
const names = new Map<string, string>();
const neverPrepared = new Set<string>();

/**
 * The name under which PostgreSQL keeps a statement, so that a connection parses and plans it only once.
 *
 * It is a digest of the text: should another process's statement with this name ever be met, it is the same one.
 *
 * @returns undefined for a statement that is not repeated often enough.
 */
export function preparedName(text: string): string | undefined {
  const name = names.get(text);
  if (name !== undefined || names.size >= MOST || neverPrepared.has(text)) return name;
  const count = (repetitions.get(text) ?? 0) + 1;
  if (count < OFTEN) {
    if (repetitions.size >= MOST_COUNTED) repetitions.clear();
    repetitions.set(text, count);
    return undefined;
  }
  repetitions.delete(text);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  names.set(text, digest);
  return digest;
}

/** From now on the statement is parsed each time. */
export function neverPrepare(text: string): void {
  names.delete(text);
  if (neverPrepared.size < MOST_COUNTED) neverPrepared.add(text);
}
