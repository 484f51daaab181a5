import { html, type Html } from '#libs/pages';
import { type Notice, type SiteWords } from '#locales';
import { type Page, pageOf } from './document.js';
import { NoticeOf, Progress, Share } from './parts.js';
import { type SiteOrganization, type SitePetition } from './site-types.js';

type About = { organization: SiteOrganization; petition: SitePetition; words: SiteWords };

/** The page after submitting the form. It does not reveal whether the person had signed before. */
export function submittedPage({
  organization,
  petition,
  words,
  isFramed = false,
}: About & { isFramed?: boolean }): Page {
  const notice = petition.isConfirmed ? words.asked : words.signed;
  const back = BackTo({ petition, words });
  return pageOf({
    organization,
    words,
    title: notice.title,
    isFramed,
    ...(isFramed ? { scripts: ['/site/frame.js'] } : {}),
    content: isFramed
      ? html`<main id="content"><h1>${notice.title}</h1><p>${notice.text}</p></main>`
      : NoticeOf({
          notice,
          more: html`${petition.isConfirmed ? html`<p>${words.asked.hint}</p>` : null} ${back}
          ${Share({ title: petition.title, url: petition.url, words })}`,
        }),
  });
}

/** Thanks people who have confirmed, also on later visits. */
export function signedPage({ organization, petition, words }: About): Page {
  return pageOf({
    organization,
    words,
    title: words.signed.title,
    scripts: ['/site/page.js'],
    content: NoticeOf({
      notice: words.signed,
      more: html`${Progress({ petition, words })} ${BackTo({ petition, words })}
      ${Share({ title: petition.title, url: petition.url, words })}`,
    }),
  });
}

type Confirmed = { facts: readonly { name: string; value: string }[]; consents: readonly string[] };

/** Shows what a person is about to confirm. Only the button confirms, because mail scanners follow links. */
export function confirmPage({
  organization,
  petition,
  words,
  requestId,
  confirmed: { facts, consents },
}: About & { requestId: string; confirmed: Confirmed }): Page {
  const { confirm } = words;
  return pageOf({
    organization,
    words,
    title: confirm.title,
    content: html`<div class="narrow">
      <h1>${confirm.title}</h1>
      <p class="lead">${confirm.text(petition.title)}</p>
      <dl class="facts">
        ${facts.map(
          ({ name, value }) =>
            html`<div>
              <dt>${name}</dt>
              <dd><bdi>${value}</bdi></dd>
            </div>`,
        )}
      </dl>
      ${consents.map((consent) => html`<p>${consent}</p>`)}
      <form method="post">
        <input type="hidden" name="request" value="${requestId}" />
        <p><button class="button">${confirm.button}</button></p>
      </form>
      <p class="small">${confirm.ignore}</p>
    </div>`,
  });
}

/** The page for an expired link or a closed petition. */
export function endedPage({
  organization,
  petition,
  words,
  ending,
}: About & { ending: 'expired' | 'closed' }): Page {
  const again = html`<p><a class="button" href="${petition.path}">${ending === 'expired' ? words.again : words.back}</a></p>`;
  return noticePage({ organization, words, notice: words[ending], more: again, status: 410 });
}

/** A page with one message, with or without an organization. */
export function noticePage({
  organization = null,
  words,
  notice,
  more,
  status,
  isFramed = false,
}: {
  organization?: SiteOrganization | null;
  words: SiteWords;
  notice: Notice;
  more?: Html;
  status: number;
  isFramed?: boolean;
}): Page {
  const content = NoticeOf({ notice, ...(more ? { more } : {}) });
  return pageOf({
    organization,
    words,
    title: notice.title,
    status,
    isFramed,
    content: isFramed ? html`<main id="content">${content}</main>` : content,
  });
}

function BackTo({ petition, words }: { petition: SitePetition; words: SiteWords }): Html {
  return html`<p><a href="${petition.path}">${words.back}</a></p>`;
}
