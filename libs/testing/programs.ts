import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Directories of system programs, which may be missing from an ordinary user's PATH. */
const SYSTEM = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

/**
 * The path of a program that some tests need and `npm test` installs if possible. If it is missing, prints that its tests are
 * skipped, and returns undefined.
 */
export function findProgram(name: string): string | undefined {
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM];
  const found = directories.map((directory) => join(directory, name)).find(isExecutable);
  if (found === undefined) process.stderr.write(`${name} is not installed: tests that need it are skipped\n`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
