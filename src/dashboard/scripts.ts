import { type Request, type Response } from 'express';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The scripts that browsers run, and their location. Our own are in `browser/`. */
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

/** Contains a digest, so that browsers can cache the script until it changes. */
export function pathOfScript(name: ScriptName): string {
  return `/dashboard/scripts/${name}.js?${scriptOf(name).digest}`;
}

/** @returns false if the script does not exist. */
export function sendScript(name: string, request: Request, response: Response): boolean {
  const [, base = ''] = /^([a-z-]+)\.js$/.exec(name) ?? [];
  if (!Object.hasOwn(SCRIPTS, base)) return false;
  const { text, digest } = scriptOf(base as ScriptName);
  const isThis = request.url.endsWith(`?${digest}`);
  response
    .set({
      'Content-Type': 'text/javascript; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      // During a deployment, the request may reach an instance of another version.
      'Cache-Control': isThis ? 'public, max-age=31536000, immutable' : 'no-cache',
      // Workers have their own policy, which comes with their script.
      'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'",
    })
    .end(text);
  return true;
}
