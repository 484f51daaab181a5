import { type Request, type Response } from 'express';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** What browsers run, and where it is: our own is written in `browser/`, and compiled beside all else. */
const SCRIPTS = {
  htmx: 'htmx.org/dist/htmx.min.js',
  morph: 'idiomorph/dist/idiomorph-ext.min.js',
  comfort: '#browser/comfort',
  passkey: '#browser/passkey',
  verify: '#browser/verify',
  'verify-worker': '#browser/verify-worker',
  verifier: '#browser/verifier',
} as const;

export type ScriptName = keyof typeof SCRIPTS;

type Script = { text: Buffer; digest: string };
const read = new Map<ScriptName, Script>();

function scriptOf(name: ScriptName): Script {
  let script = read.get(name);
  if (!script) {
    const file = readFileSync(createRequire(import.meta.url).resolve(SCRIPTS[name]), 'utf8');
    const text = Buffer.from(file.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'));
    script = { text, digest: createHash('sha256').update(text).digest('base64url').slice(0, 16) };
    read.set(name, script);
  }
  return script;
}

/** With its digest: browsers keep it until it is another. */
export function pathOfScript(name: ScriptName): string {
  return `/dashboard/scripts/${name}.js?${scriptOf(name).digest}`;
}

/** @returns false where there is no such script. */
export function sendScript(name: string, request: Request, response: Response): boolean {
  const [, base = ''] = /^([a-z-]+)\.js$/.exec(name) ?? [];
  if (!Object.hasOwn(SCRIPTS, base)) return false;
  const { text, digest } = scriptOf(base as ScriptName);
  const isThis = request.url.endsWith(`?${digest}`);
  response
    .set({
      'Content-Type': 'text/javascript; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      // An instance of another version may be asked, while versions are replaced.
      'Cache-Control': isThis ? 'public, max-age=31536000, immutable' : 'no-cache',
      // Workers are pages of their own: what they may ask is said here.
      'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'",
    })
    .end(text);
  return true;
}
