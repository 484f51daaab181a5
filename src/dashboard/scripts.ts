import { type Request, type Response } from 'express';
import { scriptFile } from '#libs/pages';
import { shared } from '#libs/rpc';

/** The scripts that browsers run, and their location. Our own are in `browser/`. */
const SCRIPTS = {
  htmx: 'htmx.org/dist/htmx.min.js',
  morph: 'idiomorph/dist/idiomorph-ext.min.js',
  comfort: '#dashboard-browser/comfort',
  editor: '#dashboard-browser/editor',
  'mail-preview': '#dashboard-browser/mail-preview',
  picker: '#dashboard-browser/picker',
  passkey: '#dashboard-browser/passkey',
  verify: '#dashboard-browser/verify',
  'verify-worker': '#dashboard-browser/verify-worker',
  verifier: '#advocacy-verify',
} as const;

export type ScriptName = keyof typeof SCRIPTS;

/** Contains a digest, so that browsers can cache the script until it changes. */
export function pathOfScript(name: ScriptName): string {
  return `/dashboard/scripts/${name}.js?${scriptFile(SCRIPTS[name]).digest}`;
}

/** @returns false if the script does not exist. */
export function sendScript(name: string, request: Request, response: Response): boolean {
  const [, base = ''] = /^([a-z-]+)\.js$/.exec(name) ?? [];
  if (!Object.hasOwn(SCRIPTS, base)) return false;
  const { text, digest } = scriptFile(SCRIPTS[base as ScriptName]);
  const isThis = request.url.endsWith(`?${digest}`);
  const own = {
    'Content-Type': 'text/javascript; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    // During a deployment, the request may reach an instance of another version.
    'Cache-Control': isThis ? 'public, max-age=31536000, immutable' : 'no-cache',
    // Workers have their own policy, which comes with their script.
    'Content-Security-Policy': "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'",
  };
  const { headers, body } = shared(request, own, text);
  response.set(headers).end(body);
  return true;
}
