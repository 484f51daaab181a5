import { constants, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '#libs/random';
import { type ByteRange, Storage, type StoredFile, StorageUnreachable } from './storage.js';

/** Stores files in a directory that all instances share. */
export class DirectoryStorage extends Storage {
  constructor(private readonly directory: string) {
    super();
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(this.directory, name);
    const folder = dirname(path);
    const unfinished = join(folder, `.${newId()}`);
    try {
      await mkdir(folder, { recursive: true });
      const file = await open(unfinished, 'wx');
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, path);
      // Also sync the names of the file and of its folder, which may be new.
      for (const parent of [folder, dirname(folder)]) await sync(parent);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => undefined);
      throw unreachable(error);
    }
  }

  async read(name: string, range?: ByteRange): Promise<StoredFile | undefined> {
    let file: FileHandle;
    try {
      file = await open(join(this.directory, name), constants.O_RDONLY);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unreachable(error);
    }
    try {
      const { size } = await file.stat();
      const stream = file.createReadStream(range ? { start: range.first, end: range.last } : {});
      return { stream, size };
    } catch (error) {
      await file.close();
      throw unreachable(error);
    }
  }

  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return (await stat(join(this.directory, name))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unreachable(error);
    }
  }

  async removeFolder(name: string): Promise<void> {
    try {
      await rm(join(this.directory, name), { recursive: true, force: true });
    } catch (error) {
      throw unreachable(error);
    }
  }
}

async function sync(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function unreachable(error: unknown): StorageUnreachable {
  const { code, message } = error as NodeJS.ErrnoException;
  return new StorageUnreachable(`The image directory is unavailable: ${code ?? message}.`, {
    cause: error,
  });
}
