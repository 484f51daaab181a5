import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile } from '../history/verify/index.js';
import { type AnchorStore } from './anchors.js';

/** So wide that names sort as sizes do. */
const DIGITS = 15;
/** An organization, or the log of all of them. */
const ORGANIZATION = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|all)$/;
const NAME = new RegExp(`^(\\d{${DIGITS}})\\.checkpoint$`);

/** `<directory>/<organizationId>/<size>.checkpoint`; directories are made. */
export class AnchorDirectory implements AnchorStore {
  constructor(private readonly directory: string) {}

  async organizations(): Promise<string[]> {
    await mkdir(this.directory, { recursive: true });
    return (await readdir(this.directory)).filter((name) => ORGANIZATION.test(name));
  }

  async sizes(organizationId: string): Promise<number[]> {
    const own = join(this.directory, organizationId);
    await mkdir(own, { recursive: true });
    return (await readdir(own)).flatMap((name) => {
      const [, size] = NAME.exec(name) ?? [];
      return size === undefined ? [] : Number(size);
    });
  }

  read(organizationId: string, size: number): Promise<string> {
    return readFile(this.fileOf(organizationId, size), 'utf8');
  }

  create(organizationId: string, size: number, note: string): Promise<boolean> {
    return createFile(this.fileOf(organizationId, size), note);
  }

  private fileOf(organizationId: string, size: number): string {
    return join(this.directory, organizationId, `${String(size).padStart(DIGITS, '0')}.checkpoint`);
  }
}
