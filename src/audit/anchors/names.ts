import { logIdOf } from '#libs/sealing';
import { isId } from '../verify/batch.js';

/** So wide that names sort as sizes do. */
const DIGITS = 15;
const NAME = new RegExp(`^(\\d{${DIGITS}})\\.checkpoint$`);

/** What the checkpoint of so many events is called, in every store. */
export function checkpointName(size: number): string {
  return `${String(size).padStart(DIGITS, '0')}.checkpoint`;
}

/** Undefined where it is the name of something else. */
export function sizeOf(name: string): number | undefined {
  const [, size] = NAME.exec(name) ?? [];
  return size === undefined ? undefined : Number(size);
}

/** Of an organization, or of the log of all of them. */
export function isLogName(name: string): boolean {
  return isId(logIdOf(name));
}
