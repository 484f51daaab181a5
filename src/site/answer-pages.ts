import { FieldOf, formatNumber, html, type Html, ShareKit, ShareLinks } from '#libs/pages';
import { type Notice, type SiteWords } from '#locales';
import { MOST_COUNTED } from '../petitions/index.js';
import { type Page, pageOf } from './document.js';
import { type Frame } from './frame.js';
import { isPetition, NoticeOf, pathOf, Progress, Share, thanksOf } from './parts.js';
import { webmailOf } from './mail-providers.js';
import { proofOf, scriptsFor, signPath } from './sign-form.js';
import { type Kept, type SiteOrganization, type SiteForm } from './site-types.js';

type About = { organization: SiteOrganization; petition: SiteForm; words: SiteWords };

type SubmittedPageOptions = About & {
  frame?: Frame | null;
  /** The address that a link was sent to, and the rest of the input. Undefined after the page was reloaded. */
  sent?: { email: string; kept: Kept };
  /** The path of the challenge; null if no proof of work is required. */
  proof?: string | null;
};

/** The page after submitting the form. It does not reveal whether the person had signed before. */
export function submittedPage({
  organization,
  petition,
  words,
  frame = null,
  sent,
  proof = null,
}: SubmittedPageOptions): Page {
  const { asked } = words;
  const thanks = thanksOf(petition, words);
  const notice = petition.isConfirmed
    ? { title: asked.title, text: sent ? asked.to(sent.email) : asked.text }
    : thanks;
  const toMailbox = sent
    ? html`${Webmail(sent.email, words)}${Correction({ sent, petition, words, frame, proof })}`
    : null;
  const next = petition.isConfirmed ? toMailbox : thanks.next;
  return pageOf({
    organization,
    words,
    about: petition,
    title: notice.title,
    frame,
    scripts: [frame ? '/site/frame.js' : '/site/page.js', ...scriptsFor(proof)],
    content: frame
      ? html`<main id="content" data-submitted="${petition.isConfirmed ? 'EMAIL' : 'NONE'}" data-path="${petition.path}">${NoticeOf({ notice, ...(next ? { more: next } : {}) })}</main>`
      : NoticeOf({
          notice,
          more: html`${next}${petition.isConfirmed ? html`<p>${asked.hint}</p>` : null}
          ${BackTo({ petition, words })} ${Share({ petition, words }, petition.isConfirmed ? ShareLinks : ShareKit)}`,
        }),
  });
}

/** Leads to the mailbox of the address, if its provider is known. */
function Webmail(email: string, { asked }: SiteWords): Html | null {
  const webmail = webmailOf(email);
  return webmail
    ? html`<p><a class="button" href="${webmail.url}" target="_blank" rel="noopener">${asked.open(webmail.name)}</a></p>`
    : null;
}

type CorrectionOptions = {
  sent: { email: string; kept: Kept };
  petition: SiteForm;
  words: SiteWords;
  frame: Frame | null;
  proof: string | null;
};

/** Sends the same input again, with another address. */
function Correction({ sent: { email, kept }, petition, words, frame, proof }: CorrectionOptions): Html {
  const { wrong, sendAgain } = words.asked;
  return html`<details data-thanks="${pathOf(petition, '/thanks')}">
    <summary>${wrong}</summary>
    <form method="post" action="${signPath(petition, frame)}" novalidate${proofOf(proof, words)}>
      ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      ${FieldOf(
        { name: 'email', label: words.fields.email, isRequired: true },
        (attributes) =>
          html`<input ${attributes} type="email" autocomplete="email" maxlength="254" value="${email}" />`,
      )}
      <p><button class="button plain">${sendAgain}</button></p>
    </form>
  </details>`;
}

/**
 * Thanks people who have confirmed, even on later visits.
 *
 * @param own the token of the signer's share link, and how many signatures it brought. Undefined if their signature is unknown.
 */
export function signedPage({
  organization,
  petition,
  words,
  own,
}: About & { own?: { token: string; recruited: number } }): Page {
  const notice = thanksOf(petition, words);
  const { recruited = 0 } = own ?? {};
  const count = `${formatNumber(words.dates, recruited)}${recruited === MOST_COUNTED ? '+' : ''}`;
  return pageOf({
    organization,
    words,
    about: petition,
    title: notice.title,
    scripts: ['/site/page.js'],
    content: NoticeOf({
      notice,
      more: html`${notice.next} ${isPetition(petition) ? Progress({ petition, words }) : null}
      <span data-confirmed="${petition.path}" hidden></span>
      ${recruited === 0 ? null : html`<p><strong>${words.recruited(recruited, count)}</strong></p>`}
      ${BackTo({ petition, words })} ${Share({ petition, words, more: own ? [`via=${own.token}`] : [] }, ShareKit)}`,
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
    about: petition,
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

/** The page for an expired link, or for a petition or form that accepts nothing. */
export function endedPage({
  organization,
  petition,
  words,
  ending,
}: About & { ending: 'expired' | 'closed' }): Page {
  const again = html`<p><a class="button" href="${pathOf(petition)}">${ending === 'expired' ? words.again : words.back}</a></p>`;
  return noticePage({ organization, words, notice: words[ending], more: again, status: 410 });
}

type NoticePageOptions = {
  organization?: SiteOrganization | null;
  words: SiteWords;
  notice: Notice;
  more?: Html;
  status: number;
  frame?: Frame | null;
};

/** A page with one message, with or without an organization. */
export function noticePage({
  organization = null,
  words,
  notice,
  more,
  status,
  frame = null,
}: NoticePageOptions): Page {
  const content = NoticeOf({ notice, ...(more ? { more } : {}) });
  return pageOf({
    organization,
    words,
    title: notice.title,
    status,
    frame,
    content: frame ? html`<main id="content">${content}</main>` : content,
  });
}

function BackTo({ petition, words }: { petition: SiteForm; words: SiteWords }): Html {
  return html`<p><a href="${pathOf(petition)}">${words.back}</a></p>`;
}
