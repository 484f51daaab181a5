import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Composed } from './compose.js';
import { type MailOutcome } from './message.js';

/** Writes messages into a directory, in place of a server: an `.eml` file each, which any mail program opens. */
export class MailFiles {
  private written = 0;

  /** @param onWritten is told the name of each file. */
  constructor(
    private readonly directory: string,
    private readonly onWritten: (file: string) => void,
  ) {}

  async send(
    { raw }: Composed,
    signal: AbortSignal,
    _: AbortSignal,
    onTurn: () => Promise<void>,
  ): Promise<MailOutcome> {
    await onTurn();
    if (signal.aborted) return { outcome: 'unreachable', detail: 'it was stopped before it was written' };
    // By name they are in the order of time; the number keeps those of one millisecond in theirs.
    this.written += 1;
    const time = new Date().toISOString().replaceAll(':', '-');
    const name = `${time}-${String(this.written).padStart(6, '0')}-${randomUUID().slice(0, 8)}.eml`;
    const half = join(this.directory, `.${name}.half`);
    try {
      // Nobody else on the machine reads them: there are addresses in them, and links that let people in.
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
      await writeFile(half, raw, { mode: 0o600, flag: 'wx' });
      await rename(half, join(this.directory, name));
    } catch (error) {
      await rm(half, { force: true }).catch(() => undefined);
      const { code, message } = error as NodeJS.ErrnoException;
      return {
        outcome: 'unreachable',
        detail: `the message could not be written to a file: ${code ?? message}`,
      };
    }
    this.onWritten(name);
    return { outcome: 'sent', detail: name };
  }
}
