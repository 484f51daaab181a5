import { type FileHandle, mkdir, open, opendir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { newId } from '#libs/random';
import { isId } from '#libs/rpc';
import { type Composed } from './compose.js';
import { type MailOutcome } from './message.js';
import { type MailHead, type ReadMail, readHead, readMail } from './read-mail.js';

/** More than the headers of any of our messages. */
const HEAD_BYTES = 32_768;
/** More than any of our messages. Only the beginning of a longer file is read. */
const MOST_BYTES = 4_194_304;
/** The number of file names read from a directory at a time. */
const BATCH = 1_000;
/** Messages that a search reads. */
export const MOST_SEARCHED = 1_000;
/** Files open at the same time. */
const MOST_OPEN = 50;

/** An unreadable file is listed without its content. */
export type ListedMail = MailHead & { id: string };

/**
 * Writes messages to a directory instead of sending them, each as an `.eml` file, which any mail program can open. Each
 * organization has its own folder, so that it cannot read the messages of others. Messages without an organization, and those
 * of earlier versions, are next to the folders.
 */
export class MailFiles {
  readonly directory: string;

  /** @param onWritten called with the name of each file, including its folder. */
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
    if (signal.aborted)
      return { outcome: 'unreachable', detail: 'sending was stopped before the file was written' };
    const folder = organizationId === null ? this.directory : this.folderOf(organizationId);
    const name = nameOf(newId());
    const half = join(folder, `.${name}.half`);
    try {
      // Not readable by other users of the machine, because messages contain addresses and sign-in links.
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
   * The ids of an organization's messages, newest first, without reading the files.
   *
   * @param before only messages older than this one.
   */
  async newest(organizationId: string, most: number, before?: string): Promise<string[]> {
    const ids: string[] = [];
    try {
      for await (const { name } of await opendir(this.folderOf(organizationId), { bufferSize: BATCH })) {
        const id = idIn(name);
        if (id === undefined || (before !== undefined && id >= before)) continue;
        ids.push(id);
        if (ids.length >= most + BATCH) keepNewest(ids, most);
      }
    } catch (error) {
      // The folder is created with the first message.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    keepNewest(ids, most);
    return ids;
  }

  /**
   * An organization's messages, newest first.
   *
   * @param before only older ones than this. @param q part of a subject or recipient. Only the newest `MOST_SEARCHED` are searched.
   */
  async list(
    organizationId: string,
    limit: number,
    { before, q }: { before?: string | undefined; q: string },
  ): Promise<{ mails: ListedMail[]; hasMore: boolean }> {
    const text = q.trim().toLowerCase();
    const ids =
      text === ''
        ? await this.newest(organizationId, limit + 1, before)
        : (await this.newest(organizationId, MOST_SEARCHED)).filter(
            (id) => before === undefined || id < before,
          );
    const found: ListedMail[] = [];
    for (let n = 0; n < ids.length && found.length <= limit; n += MOST_OPEN) {
      const heads = ids.slice(n, n + MOST_OPEN).map(async (id) => {
        const unreadable = { from: '', to: '', subject: '' };
        return { id, ...((await this.head(organizationId, id)) ?? unreadable) };
      });
      const mails = await Promise.all(heads);
      found.push(...mails.filter(({ subject, to }) => `${subject}\n${to}`.toLowerCase().includes(text)));
    }
    return { mails: found.slice(0, limit), hasMore: found.length > limit };
  }

  /** Sender, recipient and subject; undefined if the organization has no such message, or the file is not a message. */
  async head(organizationId: string, id: string): Promise<MailHead | undefined> {
    const bytes = await this.read(organizationId, id, HEAD_BYTES);
    return bytes && readHead(bytes).catch(() => undefined);
  }

  /** A whole message, up to 4 MiB; undefined like `head`. */
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

/** The time at which a message was written. */
export function writtenAt(id: string): Date {
  return new Date(parseInt(id.replaceAll('-', '').slice(0, 12), 16));
}

/** The name begins with the time in the UUIDv7, so that sorting by name sorts by time, readable for people. */
function nameOf(id: string): string {
  return `${writtenAt(id).toISOString().replaceAll(':', '-')}-${id.toLowerCase()}.eml`;
}

/** Undefined if the file is not one of our messages. */
function idIn(name: string): string | undefined {
  const [, id = ''] = /^.{24}-(.{36})\.eml$/.exec(name) ?? [];
  return isId(id) && nameOf(id) === name ? id : undefined;
}

function keepNewest(ids: string[], most: number): void {
  ids.sort((one, other) => (one < other ? 1 : -1)).splice(most);
}
