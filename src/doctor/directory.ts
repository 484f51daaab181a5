import { access, constants } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The error code if a directory, or the one it would be created in, cannot be written. Writes nothing. */
export async function unwritable(directory: string): Promise<string | undefined> {
  try {
    await access(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(resolve(directory));
    return code === 'ENOENT' && parent !== directory ? unwritable(parent) : code;
  }
}
