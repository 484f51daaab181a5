import { accentsOf, documentOf, html, type Html, isSameLanguage, type Page as SentPage } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Frame } from './frame.js';
import { LanguagesOf, PictureOf, urlOf } from './parts.js';
import { type SharedAnswer } from './quick-pages.js';
import { type Picture, type SiteForm, type SiteOrganization } from './site-types.js';
import { styleFor } from './style.js';

/**
 * A page that is ready to be sent. `isShared`: whether it is the same for everyone with the same language. `languages`: in which it
 * exists, if there are several.
 */
export type Page = SentPage & SharedAnswer & { isShared: boolean };

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
  /** What the page is about, if its texts have a language of their own. */
  about?: SiteForm;
  /** Parameters of the page in other languages; undefined if it has no links to them. */
  switches?: readonly string[];
  status?: number;
  shared?: Shared;
  /** How long shared caches may keep the page; undefined if it is personal. */
  seconds?: number;
  /** Paths on this server. */
  scripts?: readonly string[];
  /** How the page looks in a frame of another website; null if it is not in one. */
  frame?: Frame | null;
};

export function pageOf(options: PageOptions): Page {
  const {
    organization,
    words,
    title,
    content,
    about,
    switches,
    shared,
    status = 200,
    seconds,
    scripts = [],
    frame = null,
  } = options;
  const colour = frame?.colour ?? organization?.colour ?? null;
  const page = documentOf({
    language: about && isSameLanguage(about.language, words.locale) ? about.language : words.locale,
    title: organization ? `${title} – ${organization.name}` : title,
    style: styleFor(colour, frame?.theme),
    head: html`<meta name="theme-color" content="${accentsOf(colour).light.accent}" />
      <link rel="icon" href="/site/icon.svg" type="image/svg+xml" />
      ${shared ? headOf(shared, title, organization!, about) : null}`,
    scripts: scripts.map((script) => html`<script src="${script}" defer></script>`),
    body: frame
      ? content
      : around(organization, words, content, about && switches && LanguagesOf(about, words, switches)),
    loads: ['img', 'script', 'connect'],
    status,
    seconds,
    isFramed: frame !== null,
  });
  return {
    ...page,
    isShared: seconds !== undefined && status === 200,
    madeAt: performance.now(),
    ...(about && about.languages.length > 1 ? { language: about.language, languages: about.languages } : {}),
  };
}

function around(
  organization: SiteOrganization | null,
  words: SiteWords,
  content: Html,
  languages?: Html | null,
): Html {
  return html`<a class="skip" href="#content">${words.skip}</a>
    ${
      organization
        ? html`<header class="wide top">
          <a href="${organization.path}"
            >${organization.logo ? PictureOf({ picture: organization.logo, sizes: '40px', alt: '' }) : null}<span
              >${organization.name}</span
            ></a
          >
          ${languages}
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
  about?: SiteForm,
): Html {
  const { language, languages } = about ?? { language: organization.language, languages: [] };
  const others = languages.length > 1 ? languages : [];
  const short = description === null ? null : shortened(description);
  const meta = (property: string, content: string | null) =>
    content === null ? null : html`<meta property="${property}" content="${content}" />`;
  return html`<link rel="canonical" href="${url}" />
    ${short === null ? null : html`<meta name="description" content="${short}" />`}
    ${meta('og:type', type)} ${meta('og:title', title)} ${meta('og:description', short)} ${meta('og:url', url)}
    ${meta('og:site_name', organization.name)} ${meta('og:locale', openGraphOf(language))}
    ${others.filter((one) => one !== language).map((one) => meta('og:locale:alternate', openGraphOf(one)))}
    ${others.map((one) => html`<link rel="alternate" hreflang="${one}" href="${urlOf({ ...about!, language: one })}" />`)}
    ${others.length > 0 ? html`<link rel="alternate" hreflang="x-default" href="${about!.url}" />` : null}
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

/** A language with its most probable region, as in Open Graph. */
function openGraphOf(language: string): string {
  const { language: primary, region } = new Intl.Locale(language === 'en' ? 'en-GB' : language).maximize();
  return region === undefined ? primary : `${primary}_${region}`;
}

/** Shortens a text for previews, which cut off even more. */
function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= 200 ? line : `${characters.slice(0, 199).join('')}…`;
}
