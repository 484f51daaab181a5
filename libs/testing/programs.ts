import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where administrators' programs lie, which an ordinary user's PATH may leave out. */
const SYSTEM = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

/**
 * The path of a program that some tests need and `npm test` installs where it can; undefined where it is missing, which
 * is printed, because what needs it is then left out.
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
