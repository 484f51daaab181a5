import { formatDate, formatNumber, html, type Html, ShareLinks } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Picture, type SiteForm, type SiteOrganization, type SitePetition } from './site-types.js';

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
  return html`<div data-count="${path}/count.json">
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

/** Ways to share a petition or a sign-up form. @param share `ShareKit` adds the QR code and the code to embed the form */
export function Share(
  { petition: { title, url }, words }: { petition: Pick<SiteForm, 'title' | 'url'>; words: SiteWords },
  share: typeof ShareLinks = ShareLinks,
): Html {
  return html`<section class="sharing" aria-labelledby="share">
    <h2 id="share">${words.share.title}</h2>
    <p>${words.share.text}</p>
    ${share({ title, url, text: words.shareText(title) }, words.shareBy)}
  </section>`;
}

/** The content of a page with one message. */
export function NoticeOf({
  notice: { title, text },
  more,
}: {
  notice: { title: string; text: string | Html };
  more?: Html;
}): Html {
  return html`<div class="narrow">
    <h1>${title}</h1>
    ${typeof text === 'string' ? html`<p class="lead">${text}</p>` : html`<div class="text">${text}</div>`} ${more}
  </div>`;
}

export function isPetition(form: SiteForm): form is SitePetition {
  return 'goal' in form;
}

/** The message after signing, and what the organization suggests next. */
export function thanksOf(
  { thankYou }: Pick<SiteForm, 'thankYou'>,
  { signed }: SiteWords,
): { title: string; text: string | Html; next: Html | null } {
  const { title, text, next } = thankYou ?? { title: null, text: null, next: null };
  return {
    title: title ?? signed.title,
    text: text ?? signed.text,
    next:
      next &&
      html`<p><a class="button" href="${next.url}" target="_top" rel="noopener">${next.label}</a></p>`,
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
