import { InvalidArgumentError } from 'commander';
import { readFile } from 'node:fs/promises';
import { describeError } from '#libs/database';
import { path } from './session.js';

/** What commands have in common that look at a server from outside. */

/** A key has a "+" behind its name; everything else is a file. */
export async function keyOf(text: string): Promise<string> {
  return /^[^+\s]+\+[0-9a-f]{8}\+/.test(text) ? text : readFile(path(text), 'utf8');
}

export async function apiKeyOf(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : (await readFile(file, 'utf8')).trim();
}

export function urlOf(text: string): string {
  const url = URL.parse(text);
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== '' ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new InvalidArgumentError('It is the address of a server, such as https://api.example.org.');
  }
  return text;
}

/** Seconds from one look to the next. */
export function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 86_400) {
    throw new InvalidArgumentError('It is a whole number of seconds, from 1 to 86400.');
  }
  return seconds;
}

/** Says why, and ends with the status for it. */
export function nothingCompared(error: unknown): void {
  process.stderr.write(`Nothing was compared: ${describeError(error)}\n`);
  process.exitCode = 2;
}
