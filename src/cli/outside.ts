import { InvalidArgumentError } from 'commander';
import { readFile } from 'node:fs/promises';
import { describeError } from '#libs/database';
import { path } from './session.js';

/** Shared by the commands that check a server from outside. */

/** Returns a key, or reads it from a file. A key starts with its name and "+". Any other text is a file name. */
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
    throw new InvalidArgumentError('Enter the address of a server, such as https://api.example.org.');
  }
  return text;
}

/** Parses the seconds between two checks. */
export function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 86_400) {
    throw new InvalidArgumentError('Enter a whole number of seconds, from 1 to 86400.');
  }
  return seconds;
}

/** Prints the reason, and sets the exit status. */
export function nothingCompared(error: unknown): void {
  process.stderr.write(`Nothing was compared: ${describeError(error)}\n`);
  process.exitCode = 2;
}
