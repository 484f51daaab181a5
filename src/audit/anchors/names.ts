import { logIdOf } from '#libs/sealing';
import { isId } from '#libs/verify';

/** Padded to this width, names sort by size. */
const DIGITS = 15;
const NAME = new RegExp(`^(\\d{${DIGITS}})\\.checkpoint$`);

/** The file name of a checkpoint of this size, the same in every store. */
export function checkpointName(size: number): string {
  return `${String(size).padStart(DIGITS, '0')}.checkpoint`;
}

/** Undefined if it is not a checkpoint's name. */
export function sizeOf(name: string): number | undefined {
  const [, size] = NAME.exec(name) ?? [];
  return size === undefined ? undefined : Number(size);
}

/** Whether it names an organization or the log of all organizations. */
export function isLogName(name: string): boolean {
  return isId(logIdOf(name));
}
