/** The result of a check, and the fix if one is needed. */
export type Finding = {
  level: 'ok' | 'warning' | 'problem';
  message: string;
  advice?: string;
};

export const ok = (message: string): Finding => ({ level: 'ok', message });

/** It does not work, or loses data. */
export const problem = (message: string, advice: string): Finding => ({ level: 'problem', message, advice });

/** What a check has found. Its methods return undefined, so that a check can return them. */
export class Findings {
  readonly all: Finding[] = [];

  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  ok(message: string): undefined {
    this.add(ok(message));
  }

  /** It works, but will fail later, or could work better. */
  warning(message: string, advice: string): undefined {
    this.add({ level: 'warning', message, advice });
  }

  /** See `problem`. */
  problem(message: string, advice: string): undefined {
    this.add(problem(message, advice));
  }

  add(finding: Finding): undefined {
    this.all.push(finding);
  }
}

export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export const number = (count: number): string => count.toLocaleString('en');

/** `1 instance`, `2 instances`. */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : several}`;
