import { type FileHandle, mkdir, open, opendir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { newId } from '#libs/random';
import { isId } from '#libs/rpc';
import { type Composed } from './compose.js';
import { type MailOutcome } from './message.js';
import { type MailHead, type ReadMail, readHead, readMail } from './read-mail.js';

/** Longer than the headers that any message of ours has. */
const HEAD_BYTES = 32_768;
/** More than any message of ours has: of a longer file, which somebody else has put there, its beginning is read. */
const MOST_BYTES = 4_194_304;
/** Names of files that are asked for and kept at once, however many there are. */
const AT_ONCE = 1_000;

/**
 * Writes messages into a directory, in place of a server: an `.eml` file each, which any mail program opens. Those of an organization
 * stand in a folder named like it, so that nobody comes upon another's; those of nobody's, and all of versions before, beside the folders.
 */
export class MailFiles {
  readonly directory: string;

  /** @param onWritten is told the name of each file, with its folder. */
  constructor(
    directory: string,
    private readonly onWritten: (file: string) => void,
  ) {
    this.directory = resolve(directory);
  }

  async send(
    { organizationId, raw }: Composed,
    signal: AbortSignal,
    _: AbortSignal,
    onTurn: () => Promise<void>,
  ): Promise<MailOutcome> {
    await onTurn();
    if (signal.aborted) return { outcome: 'unreachable', detail: 'it was stopped before it was written' };
    const folder = organizationId === null ? this.directory : this.folderOf(organizationId);
    const name = nameOf(newId());
    const half = join(folder, `.${name}.half`);
    try {
      // Nobody else on the machine reads them: there are addresses in them, and links that let people in.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(half, raw, { mode: 0o600, flag: 'wx' });
      await rename(half, join(folder, name));
    } catch (error) {
      await rm(half, { force: true }).catch(() => undefined);
      const { code, message } = error as NodeJS.ErrnoException;
      return {
        outcome: 'unreachable',
        detail: `the message could not be written to a file in DATA_DIR/mail: ${code ?? message}`,
      };
    }
    const file = organizationId === null ? name : `${organizationId}/${name}`;
    this.onWritten(file);
    return { outcome: 'sent', detail: file };
  }

  /**
   * The ids of an organization's messages, the newest first. Of the files themselves nothing is read.
   *
   * @param before only older ones than this.
   */
  async newest(organizationId: string, most: number, before?: string): Promise<string[]> {
    const ids: string[] = [];
    try {
      for await (const { name } of await opendir(this.folderOf(organizationId), { bufferSize: AT_ONCE })) {
        const id = idIn(name);
        if (id === undefined || (before !== undefined && id >= before)) continue;
        ids.push(id);
        if (ids.length >= most + AT_ONCE) keepNewest(ids, most);
      }
    } catch (error) {
      // It is made for the first message.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    keepNewest(ids, most);
    return ids;
  }

  /** From whom, to whom, about what; undefined where the organization has no such message, or the file is none. */
  async head(organizationId: string, id: string): Promise<MailHead | undefined> {
    const bytes = await this.read(organizationId, id, HEAD_BYTES);
    return bytes && readHead(bytes).catch(() => undefined);
  }

  /** All of a message, up to 4 MiB; undefined as of `head`. */
  async find(organizationId: string, id: string): Promise<ReadMail | undefined> {
    const bytes = await this.read(organizationId, id, MOST_BYTES);
    return bytes && readMail(bytes).catch(() => undefined);
  }

  private async read(organizationId: string, id: string, most: number): Promise<Buffer | undefined> {
    if (!isId(id)) return undefined;
    let file: FileHandle | undefined;
    try {
      file = await open(join(this.folderOf(organizationId), nameOf(id)));
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, most)));
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      if (/^(ENOENT|EISDIR|EACCES)$/.test((error as NodeJS.ErrnoException).code ?? '')) return undefined;
      throw error;
    } finally {
      await file?.close();
    }
  }

  private folderOf(organizationId: string): string {
    if (!isId(organizationId)) throw new Error('The organization id is invalid, so it cannot name a folder.');
    return join(this.directory, organizationId.toLowerCase());
  }
}

/** When a message was written. */
export function writtenAt(id: string): Date {
  return new Date(parseInt(id.replaceAll('-', '').slice(0, 12), 16));
}

/** By name files are in the order of time, and people see of which: it begins with the moment that a UUIDv7 begins with, too. */
function nameOf(id: string): string {
  return `${writtenAt(id).toISOString().replaceAll(':', '-')}-${id.toLowerCase()}.eml`;
}

/** Undefined where no message of ours is called so. */
function idIn(name: string): string | undefined {
  const [, id = ''] = /^.{24}-(.{36})\.eml$/.exec(name) ?? [];
  return isId(id) && nameOf(id) === name ? id : undefined;
}

function keepNewest(ids: string[], most: number): void {
  ids.sort((one, other) => (one < other ? 1 : -1)).splice(most);
}
