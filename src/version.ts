import { readFileSync } from 'node:fs';

/** Of this program, as its package says, which lies above `src`, `dist/src` and `dist/bundle`. */
export function programVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Record<
        string,
        string
      >;
      if (name === 'advocacy-api') return version!;
    } catch {
      continue;
    }
  }
  return 'unknown';
}
