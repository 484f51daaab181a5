import { createHash } from 'node:crypto';
import { accentsOf, html, type Html, styleOf, trusted } from '#libs/pages';
import { type SiteWords } from '#locales';
import { PictureOf } from './parts.js';
import { type SharedAnswer } from './quick-pages.js';
import { type Picture, type SiteOrganization } from './site-types.js';

/** A page that is ready to be sent. `isShared`: whether it is the same for everyone. */
export type Page = SharedAnswer & { status: number; isShared: boolean };

/** Metadata for sites that link to the page. */
type Shared = {
  url: string;
  description: string | null;
  image: Picture | null;
  type: 'website' | 'article';
};

type PageOptions = {
  organization: SiteOrganization | null;
  words: SiteWords;
  title: string;
  content: Html;
  status?: number;
  shared?: Shared;
  /** How long shared caches may keep the page; undefined if it is personal. */
  seconds?: number;
  /** Paths on this server. */
  scripts?: readonly string[];
  /** Whether the page is embedded in another page. */
  isFramed?: boolean;
};

const styles = new Map<string, { style: string; hash: string }>();
/** At this number, the cache is cleared. Organizations can choose any color. */
const MAX_STYLES = 1_000;

function styleFor(colour: string | null): { style: string; hash: string } {
  const key = colour ?? '';
  let made = styles.get(key);
  if (!made) {
    const style = styleOf(colour);
    made = { style, hash: createHash('sha256').update(style).digest('base64') };
    if (styles.size >= MAX_STYLES) styles.clear();
    styles.set(key, made);
  }
  return made;
}

/** The document and its headers. Pages load only resources from this server, and run only our own scripts. */
export function pageOf(options: PageOptions): Page {
  const { organization, words, status = 200, seconds, isFramed = false } = options;
  const { style, hash } = styleFor(organization?.colour ?? null);
  return {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy':
        `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; script-src 'self'; connect-src 'self'; ` +
        `form-action 'self'; base-uri 'none'; frame-ancestors ${isFramed ? '*' : "'none'"}`,
      ...(isFramed ? {} : { 'X-Frame-Options': 'DENY' }),
      // An address with a token must not leak to other sites.
      'Referrer-Policy': seconds === undefined ? 'no-referrer' : 'strict-origin-when-cross-origin',
      'Cache-Control': seconds === undefined ? 'no-store' : `public, max-age=${seconds}`,
      'Content-Language': words.locale,
      ...(seconds === undefined ? { 'X-Robots-Tag': 'noindex' } : {}),
    },
    body: Buffer.from(String(documentOf(options, style))),
    isShared: seconds !== undefined && status === 200,
    madeAt: performance.now(),
  };
}

function documentOf(
  { organization, words, title, content, shared, scripts = [], isFramed = false }: PageOptions,
  style: string,
): Html {
  return html`<!doctype html>
    <html lang="${words.locale}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="theme-color" content="${accentsOf(organization?.colour ?? null).light.accent}" />
        <title>${organization ? `${title} – ${organization.name}` : title}</title>
        <link rel="icon" href="/site/icon.svg" type="image/svg+xml" />
        ${shared ? headOf(shared, title, organization!) : null}
        <style>${trusted(style)}</style>
        ${scripts.map((script) => html`<script src="${script}" defer></script>`)}
      </head>
      <body${isFramed ? trusted(' class="embed"') : null}>
        ${isFramed ? content : around(organization, words, content)}
      </body>
    </html>`;
}

function around(organization: SiteOrganization | null, words: SiteWords, content: Html): Html {
  return html`<a class="skip" href="#content">${words.skip}</a>
    ${
      organization
        ? html`<header class="wide top">
          <a href="${organization.path}"
            >${organization.logo ? PictureOf({ picture: organization.logo, sizes: '40px', alt: '' }) : null}<span
              >${organization.name}</span
            ></a
          >
        </header>`
        : null
    }
    <main id="content">${content}</main>
    ${organization ? footOf(organization, words) : null}`;
}

function footOf({ name, path, website, privacyUrl }: SiteOrganization, words: SiteWords): Html {
  const links = [
    { href: path, text: name },
    ...(website !== null && /^https?:\/\//i.test(website) ? [{ href: website, text: words.website }] : []),
    ...(privacyUrl === null ? [] : [{ href: privacyUrl, text: words.privacy }]),
    { href: `${path}/feed.xml`, text: words.feed },
  ];
  return html`<footer class="foot" aria-label="${words.footer}">
    <div class="wide">
      <ul>
        ${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>`)}
      </ul>
    </div>
  </footer>`;
}

/** Open Graph and similar tags, and the feeds of the organization. */
function headOf(
  { url, description, image, type }: Shared,
  title: string,
  organization: SiteOrganization,
): Html {
  const short = description === null ? null : shortened(description);
  const meta = (property: string, content: string | null) =>
    content === null ? null : html`<meta property="${property}" content="${content}" />`;
  return html`<link rel="canonical" href="${url}" />
    ${short === null ? null : html`<meta name="description" content="${short}" />`}
    ${meta('og:type', type)} ${meta('og:title', title)} ${meta('og:description', short)} ${meta('og:url', url)}
    ${meta('og:site_name', organization.name)} ${meta('og:locale', OPEN_GRAPH[organization.language] ?? 'en_GB')}
    ${
      image
        ? html`${meta('og:image', image.url)} ${meta('og:image:width', String(image.width))}
        ${meta('og:image:height', String(image.height))} ${meta('og:image:alt', image.alt)}`
        : null
    }
    <meta name="twitter:card" content="${image ? 'summary_large_image' : 'summary'}" />
    <link rel="alternate" type="application/rss+xml" title="${organization.name}" href="${organization.path}/feed.xml" />
    <link
      rel="alternate"
      type="application/feed+json"
      title="${organization.name}"
      href="${organization.path}/feed.json"
    />`;
}

const OPEN_GRAPH: Record<string, string> = { en: 'en_GB', de: 'de_DE', fr: 'fr_FR', es: 'es_ES' };

/** Shortens a text for previews, which cut off even more. */
function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= 200 ? line : `${characters.slice(0, 199).join('')}…`;
}
