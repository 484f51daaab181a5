import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile } from '../durable-file.js';
import { type AnchorStore } from './anchors.js';
import { isLogName, checkpointName, sizeOf } from './names.js';

/** `<directory>/<organizationId>/<size>.checkpoint`. Missing directories are created. */
export class AnchorDirectory implements AnchorStore {
  constructor(private readonly directory: string) {}

  async organizations(): Promise<string[]> {
    await mkdir(this.directory, { recursive: true });
    return (await readdir(this.directory)).filter(isLogName);
  }

  async largest(organizationId: string): Promise<number | undefined> {
    const own = join(this.directory, organizationId);
    await mkdir(own, { recursive: true });
    let largest: number | undefined;
    for (const name of await readdir(own)) {
      const size = sizeOf(name);
      if (size !== undefined && size >= (largest ?? 0)) largest = size;
    }
    return largest;
  }

  read(organizationId: string, size: number): Promise<string> {
    return readFile(this.fileOf(organizationId, size), 'utf8');
  }

  create(organizationId: string, size: number, note: string): Promise<boolean> {
    return createFile(this.fileOf(organizationId, size), note);
  }

  private fileOf(organizationId: string, size: number): string {
    return join(this.directory, organizationId, checkpointName(size));
  }
}
