import { documentOf, headersOf, html, type Html, type Page, trusted } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { Icon } from './icons.js';
import { type Person } from './people.js';
import { isOpenTo, navigation, type Section } from './sections.js';
import { styleFor } from './style.js';
import { pathOfScript, type ScriptName } from './scripts.js';

/** Turns off features that the page's Content-Security-Policy would block. */
const HTMX = JSON.stringify({ includeIndicatorStyles: false, allowEval: false, historyCacheSize: 0 });

/** The referrer is sent to this server only. Without it, browsers would not send the origin of forms either. */
const HEADERS = { 'Referrer-Policy': 'same-origin', 'Cross-Origin-Opener-Policy': 'same-origin' };

type PageOptions = {
  words: DashboardWords;
  title: string;
  /** The heading, if it differs from the title. */
  heading?: string;
  content: Html;
  status?: number;
  /** The signed-in person. With an organization, the page has a navigation. */
  person?: Person | undefined;
  /** The current section in the navigation. */
  section?: Section;
  /** The parent page. */
  back?: { href: string; text: string };
  /** Confirmation of the action that led here. */
  done?: string | undefined;
  /** Additional scripts, by their names in `browser/`. Pages also work without them. */
  scripts?: readonly ScriptName[];
  /** Reloads the page while something is in progress, in browsers without scripts. Scripts poll instead. */
  refreshSeconds?: number | undefined;
};

/** A page of the dashboard. It is not cached. */
export function pageOf(options: PageOptions): Page {
  const { words, person, status = 200, scripts = [], refreshSeconds } = options;
  const isRefreshed = refreshSeconds !== undefined;
  const page = documentOf({
    language: words.locale,
    title: `${titleOf(options)} – ${person?.organization?.name ?? words.name}`,
    style: styleFor(person?.organization?.colour ?? null),
    head: html`<link rel="icon" href="/site/icon.svg" type="image/svg+xml" />
      ${isRefreshed ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>` : null}
      <meta name="htmx-config" content="${HTMX}" />`,
    scripts: [
      html`<script src="${pathOfScript('htmx')}" defer></script>`,
      isRefreshed ? html`<script src="${pathOfScript('morph')}" defer></script>` : null,
      ...(['comfort', ...scripts] as const).map(
        (name) => html`<script type="module" src="${pathOfScript(name)}"></script>`,
      ),
    ],
    body: html`<a class="skip" href="#main">${words.skip}</a>
      ${person ? BarOf(person, options) : null}
      <p class="away" id="away" role="alert" hidden>${words.away}</p>
      ${person?.organization ? FramedBy(options, person) : html`<div class="wide">${MainOf(options)}</div>`}`,
    loads: ['img', 'script', 'connect', 'worker', 'frame'],
    status,
  });
  return { ...page, headers: { ...page.headers, ...HEADERS } };
}

/**
 * An email in a frame of a page. It shows its images, as mail programs do, and cannot run scripts or load anything else.
 *
 * @param isMeasured the page around it reads its height and its title, and therefore shares its origin.
 */
export function mailPage(
  { locale }: DashboardWords,
  mail: string,
  { isMeasured = false }: { isMeasured?: boolean } = {},
): Page {
  const sandbox = isMeasured ? 'sandbox allow-same-origin' : 'sandbox';
  const policy = `default-src 'none'; img-src http: https:; style-src 'unsafe-inline'; frame-ancestors 'self'; ${sandbox}`;
  return {
    status: 200,
    headers: {
      ...headersOf({ language: locale }),
      ...HEADERS,
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'SAMEORIGIN',
    },
    body: Buffer.from(mail),
  };
}

/** The window title, which screen readers announce first: the confirmation, the title and the parent page. */
function titleOf({ title, done, back }: PageOptions): string {
  const of = back && !title.includes(back.text) ? [back.text] : [];
  return [...(done === undefined ? [] : [done]), title, ...of].join(' – ');
}

function MainOf({ title, heading = title, content, back, done }: PageOptions): Html {
  return html`<main id="main">
    ${back ? html`<p class="back"><a href="${back.href}">← ${back.text}</a></p>` : null}
    ${done === undefined ? null : html`<p class="done" role="status">${done}</p>`}
    <h1>${heading}</h1>
    ${content}
  </main>`;
}

function BarOf({ organization }: Person, { words, section }: PageOptions): Html {
  const home = `/dashboard${organization ? `/${organization.id}` : ''}`;
  return html`<header class="bar">
    <div class="wide">
      <a class="own" href="${home}">${organization?.name ?? words.name}</a>
      ${
        // The page of the search has its own box. On narrow screens, the menu has a link to it.
        organization === undefined || section === 'search'
          ? null
          : html`<form class="seek" role="search" aria-label="${words.searching.title}" action="${home}/search">
              <input name="q" type="search" maxlength="200" aria-label="${words.searching.title}" aria-keyshortcuts="/" placeholder="${words.searching.title}" />
            </form>`
      }
      <a href="/dashboard/account">${words.account}</a>
      <form method="post" action="/dashboard/sign-out"><button>${words.signOut}</button></form>
    </div>
  </header>`;
}

/** The navigation is next to the page. On narrow screens, it is a menu above it. */
function FramedBy(options: PageOptions, person: Person): Html {
  const { words, section } = options;
  const ways = navigation().map(({ group, sections }) => {
    const links = Object.entries(sections)
      .filter(([, place]) => isOpenTo(person, place))
      .map(([name, { path }]) => {
        const href = `/dashboard/${person.organization!.id}${path === '' ? '' : `/${path}`}`;
        const current = name === section ? trusted(' aria-current="page"') : null;
        return html`<li><a href="${href}"${current}>${Icon(name) ?? Icon('lists')}${words.sections[name]}</a></li>`;
      });
    const title = group === null ? null : html`<p>${words.groups[group]}</p>`;
    return links.length === 0 ? null : html`<div>${title}<ul>${links}</ul></div>`;
  });
  return html`<div class="wide frame">
    <nav class="ways beside-ways" aria-label="${words.navigation}">${ways}</nav>
    <details class="menu">
      <summary>${words.menu}</summary>
      <nav class="ways" aria-label="${words.navigation}">${ways}</nav>
    </details>
    ${MainOf(options)}
  </div>`;
}

/** Links to the next page: the organization, the list of organizations, or the sign-in page. */
function NextLinks(words: DashboardWords, { person }: { person?: Person | undefined }): Html {
  const organization = person?.organization;
  if (!person) return html`<p><a href="/dashboard">${words.name}</a></p>`;
  if (!organization) return html`<p><a href="/dashboard">${words.organizations.title}</a></p>`;
  return html`<p><a href="/dashboard/${organization.id}">${words.sections.overview}</a></p>`;
}

/** A page with a short message. */
export function noticePage(
  words: DashboardWords,
  notice: { title: string; text: string },
  options: { status?: number; person?: Person | undefined; more?: Html } = {},
): Page {
  const { more = NextLinks(words, options), ...rest } = options;
  return pageOf({
    words,
    title: notice.title,
    content: html`<div class="text">
      <p class="lead">${notice.text}</p>
      ${more}
    </div>`,
    ...rest,
  });
}
