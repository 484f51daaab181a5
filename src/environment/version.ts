import { readFileSync } from 'node:fs';

/**
 * Reads the version from this program's package.json, which is above `src/environment`, `dist/src/environment`
 * and `dist/bundle`.
 */
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
