import { type Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeError } from '#libs/database';
import { invokedFrom } from '../environment/index.js';
import { type Session, type SessionOptions } from './open-session.js';

export { UsageError } from './usage-error.js';
export { type Session };

/** Exit status for "ended by Ctrl-C". */
export const INTERRUPTED = 130;

/**
 * Opens the database, runs the work and prints its result, if any.
 *
 * The modules that work on the database take a second to load. They are loaded here and by the work, so that help and usage
 * errors appear immediately.
 */
export async function withSession(
  program: Command,
  work: (session: Session) => Promise<unknown>,
  options: SessionOptions = {},
): Promise<void> {
  try {
    const { inSession } = await import('./open-session.js');
    await inSession(async (session) => {
      const answer = await work(session);
      if (answer === undefined) return;
      const indent = program.opts<{ json?: true }>().json ? 0 : 2;
      process.stdout.write(`${JSON.stringify(answer, null, indent)}\n`);
    }, options);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

/** Aborted by Ctrl-C. The signal can arrive twice: from the terminal, and from npm, which passes it on. */
export function interruptible(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

/** Writes to standard output until the reader closes it, as `| head` does. */
export async function print(chunks: AsyncIterable<string | Uint8Array>, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(chunks, process.stdout, { signal, end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** Reads a signed checkpoint. The file may also contain the whole response of history.get-checkpoint. */
export async function readCheckpoint(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  if (!text.trimStart().startsWith('{')) return text;
  try {
    const { data } = JSON.parse(text) as { data?: { checkpoint?: unknown } };
    if (typeof data?.checkpoint === 'string') return data.checkpoint;
  } catch {
    // The file contains no response. Verification reports what is wrong with its text.
  }
  return text;
}

/** Resolves a path against the user's directory, because npm runs commands in the checkout. */
export function path(name: string): string {
  return name === '-' ? name : resolve(invokedFrom(), name);
}
