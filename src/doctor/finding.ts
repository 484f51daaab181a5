/** The result of a check, and the fix if one is needed. */
export type Finding = {
  level: 'ok' | 'warning' | 'problem';
  message: string;
  advice?: string;
};

export const ok = (message: string): Finding => ({ level: 'ok', message });

/** It works, but will fail later, or could work better. */
export const warning = (message: string, advice: string): Finding => ({ level: 'warning', message, advice });

/** It does not work, or loses data. */
export const problem = (message: string, advice: string): Finding => ({ level: 'problem', message, advice });

export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export const number = (count: number): string => count.toLocaleString('en');

/** `1 instance`, `2 instances`. */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : several}`;
