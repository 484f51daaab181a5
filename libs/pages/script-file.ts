import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A script for browsers. `digest` identifies its text. */
export type ScriptFile = { text: Buffer; digest: string };

const read = new Map<string, ScriptFile>();

/** @param name of a file in a package, or in the `imports` of package.json. Our own are compiled from the folders `browser`. */
export function scriptFile(name: string): ScriptFile {
  let script = read.get(name);
  if (!script) {
    const file = readFileSync(createRequire(import.meta.url).resolve(name), 'utf8');
    const text = Buffer.from(file.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'));
    script = { text, digest: createHash('sha256').update(text).digest('base64url').slice(0, 16) };
    read.set(name, script);
  }
  return script;
}
