import { documentOf, headersOf, html, type Html, type Page, styleOf, trusted } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { type Person } from './people.js';
import { isOpenTo, places, type Section } from './sections.js';
import { pathOfScript, type ScriptName } from './scripts.js';

/** Styles in addition to those of all pages. */
const OWN_STYLE = `
[hidden]{display:none!important}
.bar{border-bottom:1px solid var(--line)}
.bar .wide{display:flex;flex-wrap:wrap;gap:0 var(--space-4);align-items:center}
.bar strong{margin-right:auto;padding:var(--space-2) 0}
.bar a,.bar button{display:inline-block;min-height:2.75rem;padding:.7rem 0;border:0;background:none;color:var(--ink);font:inherit;text-decoration:underline;cursor:pointer}
.ways{margin:0;padding:0;list-style:none}
.ways a{display:block;padding:.6rem .75rem;border-radius:.375rem;color:var(--ink);text-decoration:none}
.ways a:hover{text-decoration:underline}
.ways a[aria-current]{background:var(--sheet);font-weight:700}
.menu{margin:var(--space-2) 0 0}
.menu summary{min-height:2.75rem;padding:.7rem 0;font-weight:600;cursor:pointer}
.beside-ways{display:none}
.done{padding:var(--space-3);border-left:.5rem solid var(--accent);background:var(--sheet)}
.away{margin:0;padding:var(--space-2) var(--space-4);background:var(--fault);color:var(--ground);font-weight:600}
.back{margin:0 0 var(--space-2)}
.table{overflow-x:auto;margin:0 0 var(--space-4);background:linear-gradient(90deg,var(--ground) 40%,transparent) 0 0/2rem 100% no-repeat local,linear-gradient(270deg,var(--ground) 40%,transparent) 100% 0/2rem 100% no-repeat local,linear-gradient(90deg,var(--edge),transparent) 0 0/.4rem 100% no-repeat,linear-gradient(270deg,var(--edge),transparent) 100% 0/.4rem 100% no-repeat}
table{width:100%;border-collapse:collapse;overflow-wrap:break-word}
caption{text-align:left}
tbody th{min-width:9rem;color:inherit;font-size:inherit;font-weight:inherit;overflow-wrap:anywhere}
td.short{white-space:nowrap}td.long{min-width:10rem;overflow-wrap:anywhere}
th,td{padding:var(--space-2) var(--space-3) var(--space-2) 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--quiet);font-size:var(--text-1);font-weight:600}
tbody a{display:inline-block;margin:-.5rem 0;padding:.5rem 0}
.number{min-width:0;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.choice{display:grid;grid-template-columns:auto 1fr;gap:0 var(--space-2);margin:0;align-items:center}
.choice input{width:1.5rem;height:1.5rem;min-height:0;margin:0;accent-color:var(--accent)}
.choice label{padding:.6rem 0}
.choice .hint{grid-column:2;margin:-.4rem 0 var(--space-2)}
input[type=radio]{padding:0}
input[type=file]{padding:.5rem;border-style:dashed}
.tick{float:left;margin:-.6rem 0;padding:.6rem var(--space-3) .6rem 0}.tick input{display:block;width:1.5rem;height:1.5rem;min-height:0;margin:0;accent-color:var(--accent)}.tick+*{display:flow-root;min-height:1.5rem}
.choosing{position:sticky;bottom:0;display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-3);align-items:center;margin:0 0 var(--space-4);padding:var(--space-2) 0;border-top:1px solid var(--line);background:var(--ground)}
.choosing .button{margin:0;padding-top:.5rem;padding-bottom:.5rem}.choosing .tick{display:flex;gap:var(--space-2);align-items:center;margin:0}
.section{margin-top:var(--space-5)}
.actions{display:flex;flex-wrap:wrap;gap:var(--space-2);margin:0 0 var(--space-4);padding:0;list-style:none}
.find{display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-3);align-items:end;margin:0 0 var(--space-4)}
.find .field{flex:1 1 14rem;min-width:0;max-width:100%;margin:0}.find input{max-width:100%}.find select{width:100%}
form .button,.copy .button{width:auto}
.find .button{padding-top:.5rem;padding-bottom:.5rem}
.final{background:var(--fault);color:var(--ground)}
.empty{padding:var(--space-5) var(--space-4);border:2px dashed var(--line);border-radius:.75rem;text-align:center}
.paging{display:flex;flex-wrap:wrap;gap:0 var(--space-4)}.paging a{padding:.6rem 0}
.badge{display:inline-block;padding:0 .5rem;border:1px solid var(--edge);border-radius:1rem;font-size:var(--text-1);white-space:nowrap}
.past{margin:0;padding:0;list-style:none}.past li{padding:var(--space-2) 0;border-bottom:1px solid var(--line)}
.past p{margin:0}
.plot{margin:0 0 var(--space-4)}.plot svg{display:block;width:100%;height:12rem;border-bottom:1px solid var(--line)}.plot rect,.shares rect{fill:var(--accent)}
.ends{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 var(--space-3);margin:0;color:var(--quiet);font-size:var(--text-1)}
.shares{margin:0 0 var(--space-4)}.shares tbody th{min-width:0;width:100%}.shares td{min-width:0;padding-right:0}.shares svg{display:block;width:100%;height:.75rem}
h1,h2,h3,th,.button{hyphens:auto}
input,select,textarea,fieldset{scroll-margin-top:8rem}
.faults h2{margin-top:0}
form details{margin:0 0 var(--space-4)}
main p>a:only-child:not(.button){display:inline-block;padding:.6rem 0}
.code{overflow-x:auto;padding:var(--space-3);background:var(--sheet);border:1px solid var(--line);border-radius:.5rem;font-size:var(--text-1);white-space:pre-wrap}
.secret{font-family:ui-monospace,monospace;font-weight:600}
textarea.long{min-height:20rem}
.preview{padding:var(--space-4);border:1px solid var(--line);border-radius:.75rem}
iframe{width:100%;height:32rem;border:1px solid var(--line);border-radius:.5rem;background:#fff}
.thumb{width:8rem;border-radius:.375rem}
@media (max-width:30rem){
.table thead{position:absolute;left:-99rem}.table table,.table tbody,.table tr,.table tbody th{display:block}
.table tr{padding:var(--space-2) 0;border-bottom:1px solid var(--line)}.table tbody th,.table td{padding:0;border:0;text-align:left}
.table tbody th{min-width:0;font-weight:600}
.table td{display:grid;grid-template-columns:8.5rem minmax(0,1fr);gap:0 var(--space-3);min-width:0;padding:.2rem 0;white-space:normal;overflow-wrap:anywhere}
.table td::before{content:attr(data-label);color:var(--quiet);font-size:var(--text-1);hyphens:auto;overflow-wrap:break-word}.table td:empty{display:none}
.bar strong{flex:1 1 100%;padding-top:var(--space-2)}form .button{margin-bottom:var(--space-2)}form .button,.actions .button{width:100%}.actions li{flex:1 1 100%}}
@media (forced-colors:active){progress{border:1px solid CanvasText}progress::-webkit-progress-value{background:Highlight;forced-color-adjust:none}progress::-moz-progress-bar{background:Highlight;forced-color-adjust:none}.plot rect,.shares rect{fill:Highlight}.ways a[aria-current],.button:not(.plain){border:2px solid CanvasText}.button{border:1px solid}}
@media (min-width:60rem){
.frame{display:grid;grid-template-columns:12rem minmax(0,1fr);gap:0 var(--space-5)}
.beside-ways{display:block;padding:var(--space-4) 0}.menu{display:none}}`;

/** Turns off features that the page's Content-Security-Policy would block. */
const HTMX = JSON.stringify({ includeIndicatorStyles: false, allowEval: false, historyCacheSize: 0 });

const STYLE = styleOf(null, OWN_STYLE);

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
    style: STYLE,
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
      ${person ? BarOf(person, words) : null}
      <p class="away" id="away" role="alert" hidden>${words.away}</p>
      ${person?.organization ? FramedBy(options, person) : html`<div class="wide">${MainOf(options)}</div>`}`,
    loads: ['img', 'script', 'connect', 'worker', 'frame'],
    status,
  });
  return { ...page, headers: { ...page.headers, ...HEADERS } };
}

/** An email in a frame of a page. It cannot run scripts or load anything from other servers. */
export function mailPage({ locale }: DashboardWords, mail: string): Page {
  const policy =
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox";
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

function BarOf({ organization }: Person, words: DashboardWords): Html {
  return html`<header class="bar">
    <div class="wide">
      <strong>${organization?.name ?? words.name}</strong>
      <a href="/dashboard/account">${words.account}</a>
      <form method="post" action="/dashboard/sign-out"><button>${words.signOut}</button></form>
    </div>
  </header>`;
}

/** The navigation is next to the page. On narrow screens, it is a menu above it. */
function FramedBy(options: PageOptions, person: Person): Html {
  const { words, section } = options;
  const ways = Object.entries(places())
    .filter(([, place]) => isOpenTo(person, place))
    .map(([name, { path }]) => {
      const href = `/dashboard/${person.organization!.id}${path === '' ? '' : `/${path}`}`;
      const current = name === section ? trusted(' aria-current="page"') : null;
      return html`<li><a href="${href}"${current}>${words.sections[name]}</a></li>`;
    });
  return html`<div class="wide frame">
    <nav class="beside-ways" aria-label="${words.navigation}"><ul class="ways">${ways}</ul></nav>
    <details class="menu">
      <summary>${words.menu}</summary>
      <nav aria-label="${words.navigation}"><ul class="ways">${ways}</ul></nav>
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
