import { randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Files that survive a crash at any moment: they have either their old or their new content. */

/** Writes a file, replacing any existing one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await withDraft(file, text, (draft) => rename(draft, file));
}

/** Writes a file unless it exists. @returns whether it was created. */
export async function createFile(file: string, text: string): Promise<boolean> {
  try {
    await withDraft(file, text, (draft) => link(draft, file));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function withDraft(file: string, text: string, put: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    const handle = await open(draft, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await put(draft);
  } finally {
    await rm(draft, { force: true });
  }
  const directory = await open(dirname(file));
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
