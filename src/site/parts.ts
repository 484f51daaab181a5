import {
  formatDate,
  formatNumber,
  html,
  type Html,
  isSameLanguage,
  languageName,
  ShareLinks,
} from '#libs/pages';
import { type SiteWords } from '#locales';
import {
  type Picture,
  type SiteForm,
  type SiteOrganization,
  type SitePetition,
  type TranslatedText,
} from './site-types.js';

/** A responsive image. Its size is reserved, so that the layout does not shift when it loads. */
export function PictureOf({
  picture,
  sizes,
  alt = picture.alt,
}: {
  picture: Picture;
  sizes: string;
  alt?: string | null;
}): Html {
  const { path, width, height, variants } = picture;
  const modern = variants.filter(({ type }) => type === 'image/webp');
  const other = variants.filter(({ type }) => type !== 'image/webp');
  const sources = (all: typeof variants) => all.map((one) => `${one.path} ${one.width}w`).join(', ');
  return html`<picture
    >${
      modern.length > 0
        ? html`<source type="image/webp" srcset="${sources(modern)}" sizes="${sizes}" />`
        : null
    }<img
      src="${path}"
      ${other.length > 0 ? html`srcset="${sources(other)}" sizes="${sizes}"` : null}
      width="${width}"
      height="${height}"
      alt="${alt ?? ''}"
  /></picture>`;
}

/** The number of signatures and the goal. A script updates it (`data-count`). */
export function Progress({
  petition: { signatures, goal, path },
  words,
}: {
  petition: Pick<SitePetition, 'signatures' | 'goal' | 'path'>;
  words: SiteWords;
}): Html {
  const { counted, aim, percent } = progressTexts(signatures, goal, words);
  return html`<div data-count="${path}/count.json?lang=${words.locale}">
    <p class="count" aria-live="off">
      <span data-signatures>${counted}</span> <small data-goal>${aim}</small>
    </p>
    <progress max="${goal}" value="${Math.min(signatures, goal)}" aria-label="${words.progress(percent)}"></progress>
  </div>`;
}

/** Texts about a number of signatures. The script fetches the same ones. */
export function progressTexts(
  signatures: number,
  goal: number,
  words: SiteWords,
): { counted: string; aim: string; percent: string } {
  const { locale } = words;
  const reached = Math.floor((Math.min(signatures, goal) * 100) / goal) / 100;
  const percent = formatNumber(locale, reached, { style: 'percent' });
  return {
    counted: words.signatures(signatures, formatNumber(locale, signatures)),
    aim:
      signatures >= goal
        ? words.goalReached(formatNumber(locale, goal))
        : words.ofGoal(formatNumber(locale, goal)),
    percent,
  };
}

/** Ways to share a petition or a sign-up form. @param more parameters of the link. @param share `ShareKit` adds the QR code and the code to embed the form */
export function Share(
  { petition, words, more = [] }: { petition: SiteForm; words: SiteWords; more?: readonly string[] },
  share: typeof ShareLinks = ShareLinks,
): Html {
  const { title } = petition;
  const url = urlOf(petition, more);
  return html`<section class="sharing" aria-labelledby="share">
    <h2 id="share">${words.share.title}</h2>
    <p>${words.share.text}</p>
    ${share({ title, url, text: words.shareText(title) }, words.shareBy)}
  </section>`;
}

/** Longer titles are smaller, so that the first screen of a phone also shows what follows. */
const LONG_TITLE = 80;

/** @param lang the attributes, if its language is not that of the page */
export function TitleOf(title: string, lang: Html | null = null): Html {
  return html`<h1${title.length > LONG_TITLE ? html` class="long"` : null}${lang}>${title}</h1>`;
}

/** `lang`: the attributes of texts whose language is not that of the page. */
type NoticeTexts = {
  title: string;
  text: string | Html;
  lang?: { title?: Html | null; text?: Html | null };
};

/** The content of a page with one message. */
export function NoticeOf({
  notice: { title, text, lang = {} },
  more,
}: {
  notice: NoticeTexts;
  more?: Html;
}): Html {
  return html`<div class="narrow">
    <h1${lang.title}>${title}</h1>
    ${typeof text === 'string' ? html`<p class="lead">${text}</p>` : html`<div class="text"${lang.text}>${text}</div>`} ${more}
  </div>`;
}

export function pathOf(
  petition: Pick<SiteForm, 'path' | 'language' | 'languages'>,
  end = '',
  more: readonly string[] = [],
): string {
  return petition.path + end + queryOf(petition, more);
}

/** The URL of a petition's page, in the language of this page. @param more parameters */
export function urlOf(petition: SiteForm, more: readonly string[] = []): string {
  return petition.url + queryOf(petition, more);
}

/** Names the language if there are several. */
function queryOf(
  { language, languages }: Pick<SiteForm, 'language' | 'languages'>,
  more: readonly string[],
): string {
  const all = [...(languages.length > 1 ? [`lang=${language}`] : []), ...more];
  return all.length === 0 ? '' : `?${all.join('&')}`;
}

/** Marks a text whose language is not that of the page (WCAG 3.1.2). */
export function langOf({ language, foreign }: SiteForm, words: SiteWords, text: TranslatedText): Html | null {
  return langIn(foreign[text] ?? language, words);
}

export function langIn(language: string, words: SiteWords): Html | null {
  return isSameLanguage(language, words.locale) ? null : html` lang="${language}" dir="auto"`;
}

/** Leads to the same page in other languages. Null if there is only one. @param more parameters of the page */
export function LanguagesOf(
  { language, languages, path }: SiteForm,
  words: SiteWords,
  more: readonly string[] = [],
): Html | null {
  if (languages.length < 2) return null;
  const list = html`<ul>
    ${languages.map((one) => {
      const name = html`lang="${one}" dir="auto"`;
      return one === language
        ? html`<li><span ${name} aria-current="true">${languageName(one)}</span></li>`
        : html`<li><a ${name} hreflang="${one}" href="${path}?${[`lang=${one}`, ...more].join('&')}">${languageName(one)}</a></li>`;
    })}
  </ul>`;
  return html`<nav class="languages" aria-label="${words.languages}">
    ${
      languages.length <= MAX_IN_LINE
        ? list
        : html`<details>
          <summary><span lang="${language}">${languageName(language)}</span></summary>
          ${list}
        </details>`
    }
  </nav>`;
}

/** More languages are in a section that expands. */
const MAX_IN_LINE = 4;

export function isPetition(form: SiteForm): form is SitePetition {
  return 'goal' in form;
}

/** The message after signing, and what the organization suggests next. */
export function thanksOf(petition: SiteForm, words: SiteWords): NoticeTexts & { next: Html | null } {
  const { title, text, next } = petition.thankYou ?? { title: null, text: null, next: null };
  const lang = langOf(petition, words, 'thankYou');
  return {
    title: title ?? words.signed.title,
    text: text ?? words.signed.text,
    lang: { title: title === null ? null : lang, text: text === null ? null : lang },
    next:
      next &&
      html`<p><a class="button"${lang} href="${next.url}" target="_top" rel="noopener">${next.label}</a></p>`,
  };
}

/** A date in the organization's time zone, in the format of the language. */
export function dateIn(words: SiteWords, { timeZone }: Pick<SiteOrganization, 'timeZone'>, at: Date): string {
  return formatDate(words.dates, { timeZone, dateStyle: 'long' }, at);
}

/** A date and time in the organization's time zone. A script shows it in that of the reader. */
export function TimeOf(words: SiteWords, { timeZone }: Pick<SiteOrganization, 'timeZone'>, at: Date): Html {
  return html`<time datetime="${at.toISOString()}" data-dates="${words.dates}"
    >${formatDate(words.dates, { timeZone, ...MINUTE }, at)}</time
  >`;
}

/** As in the script. */
const MINUTE = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const;

/** The outcome of a petition that can no longer be signed. */
export function closedTitle(
  { outcome }: Pick<SitePetition, 'outcome'>,
  { outcomes, closed }: SiteWords,
): string {
  return outcome ? outcomes[outcome.is] : closed.title;
}
