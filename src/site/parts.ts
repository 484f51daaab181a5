import { formatDate, formatNumber, html, type Html } from '#libs/pages';
import { type Notice, type SiteWords } from '#locales';
import { type Picture, type SitePetition } from './site-types.js';

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

/** Plain links for sharing, without third-party buttons. */
export function Share({ title, url, words }: { title: string; url: string; words: SiteWords }): Html {
  const text = words.shareText(title);
  const encoded = (part: string) => encodeURIComponent(part);
  const links = [
    {
      name: words.shareBy.mail,
      href: `mailto:?subject=${encoded(title)}&body=${encoded(`${text}\n\n${url}`)}`,
    },
    { name: words.shareBy.whatsapp, href: `https://wa.me/?text=${encoded(`${text} ${url}`)}` },
    { name: 'Facebook', href: `https://www.facebook.com/sharer/sharer.php?u=${encoded(url)}` },
    { name: 'X', href: `https://x.com/intent/post?text=${encoded(text)}&url=${encoded(url)}` },
  ];
  return html`<section class="share" aria-labelledby="share">
    <h2 id="share">${words.share.title}</h2>
    <p>${words.share.text}</p>
    <ul>
      ${links.map(
        ({ href, name }) => html`<li><a class="button plain" href="${href}" rel="noopener">${name}</a></li>`,
      )}
    </ul>
    <div class="field">
      <label for="address">${words.shareBy.address}</label>
      <div class="copy" data-copy="${words.shareBy.copy}" data-copied="${words.shareBy.copied}">
        <input id="address" type="url" value="${url}" readonly />
      </div>
    </div>
  </section>`;
}

/** The content of a page with one message. */
export function NoticeOf({ notice, more }: { notice: Notice; more?: Html }): Html {
  return html`<div class="narrow">
    <h1>${notice.title}</h1>
    <p class="lead">${notice.text}</p>
    ${more}
  </div>`;
}

/** A date, or a date and time in UTC, in the format of the language. */
export function dateIn(words: SiteWords, at: Date, withTime = false): string {
  const day = { dateStyle: 'long' } as const;
  return withTime
    ? `${formatDate(words.dates, { ...day, timeStyle: 'short' }, at)} UTC`
    : formatDate(words.dates, day, at);
}
