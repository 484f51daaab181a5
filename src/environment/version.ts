import { readFileSync } from 'node:fs';

/** Of this program, as its package says, which is above `src/environment`, `dist/src/environment` and `dist/bundle`. */
export function programVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
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
