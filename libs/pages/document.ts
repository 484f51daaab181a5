import { type Response } from 'express';
import { html, type Html, trusted } from './html.js';
import { type Style } from './style.js';

/** A page that is ready to be sent. */
export type Page = { status: number; headers: Readonly<Record<string, string>>; body: Buffer };

/** Resources that a page may load from this server, in addition to its own style. */
type Loaded = 'img' | 'script' | 'connect' | 'worker' | 'frame';

type HeaderOptions = {
  language: string;
  style?: Style;
  /** Default: nothing. */
  loads?: readonly Loaded[];
  /** How long shared caches may keep the page; undefined if it is personal. */
  seconds?: number | undefined;
  /** Whether other sites may embed the page. */
  isFramed?: boolean;
};

/**
 * Pages load only resources from this server, run only its scripts, and send forms only to it. By default a page is personal: it is not
 * cached, not indexed, and its address, which may contain a token, does not leak to other sites.
 */
export function headersOf({ language, style, loads = [], seconds, isFramed = false }: HeaderOptions) {
  const policy = [
    "default-src 'none'",
    ...(style ? [`style-src 'sha256-${style.hash}'`] : []),
    ...loads.map((kind) => `${kind}-src 'self'`),
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${isFramed ? '*' : "'none'"}`,
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    ...(isFramed ? {} : { 'X-Frame-Options': 'DENY' }),
    ...(seconds === undefined
      ? { 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'private, no-store', 'X-Robots-Tag': 'noindex' }
      : {
          'Referrer-Policy': 'strict-origin-when-cross-origin',
          'Cache-Control': `public, max-age=${seconds}`,
        }),
    'Content-Language': language,
  };
}

type DocumentOptions = HeaderOptions & {
  style: Style;
  title: string;
  /** Metadata. */
  head?: Html | null;
  scripts?: readonly (Html | null)[];
  body: Html;
  status?: number;
};

export function documentOf(options: DocumentOptions): Page {
  const { language, style, title, head, scripts, body, status = 200, isFramed } = options;
  const document = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${title}</title>
        ${head}
        <style>${trusted(style.text)}</style>
        ${scripts}
      </head>
      <body${isFramed ? trusted(' class="embed"') : null}>
        ${body}
      </body>
    </html>
`;
  return { status, headers: headersOf(options), body: Buffer.from(String(document)) };
}

export function sendPage(response: Response, { status, headers, body }: Page): void {
  response.status(status).set(headers).end(body);
}
