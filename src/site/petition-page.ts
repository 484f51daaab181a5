import { html, type Html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Page, pageOf } from './document.js';
import { type Frame, parametersOfFrame } from './frame.js';
import {
  closedTitle,
  dateIn,
  isPetition,
  langIn,
  langOf,
  LanguagesOf,
  pathOf,
  PictureOf,
  Progress,
  progressTexts,
  Share,
  TitleOf,
  urlOf,
} from './parts.js';
import { scriptsFor, SignFormOf } from './sign-form.js';
import { type PersonalSigner } from './personal-links.js';
import {
  type Asked,
  type Comment,
  type SignForm,
  type SiteOrganization,
  type SiteForm,
  type SitePetition,
  type TranslatedText,
} from './site-types.js';

export type FormProps = {
  organization: SiteOrganization;
  petition: SiteForm;
  form: SignForm;
  words: SiteWords;
  proof: string | null;
};
type Props = FormProps & {
  petition: SitePetition;
  /** The recipient of a personal link, who signs with one click. */
  signer?: PersonalSigner;
};

/** Seconds for which shared caches may keep the page. */
export const CACHE_SECONDS = 1;

export function petitionPage({ organization, petition, form, words, proof, signer }: Props): Page {
  const { title, image, description, isOpen } = petition;
  const url = urlOf(petition);
  const of = (text: TranslatedText) => langOf(petition, words, text);
  const hasFaults = Object.keys(form.faults).length > 0;
  const isAgain = hasFaults || form.meant !== undefined;
  return pageOf({
    organization,
    words,
    title: hasFaults ? `${words.faults.prefix}${title}` : title,
    about: petition,
    switches: parametersOf(form),
    shared: { url, description: description ?? petition.ask, image, type: 'website' },
    scripts: ['/site/page.js', ...scriptsFor(proof)],
    ...(isAgain ? { status: 422 } : signer ? {} : { seconds: CACHE_SECONDS }),
    content: html`<div class="wide columns">
      <article>
        ${TitleOf(title, of('title'))}
        ${
          image
            ? html`<figure class="picture">${PictureOf({ picture: image, sizes: '(min-width:60rem) 42rem, 100vw' })}</figure>`
            : null
        }
        ${description === null ? null : html`<p class="lead"${of('description')}>${description}</p>`}
        ${Facts({ petition, words })}
        ${petition.content ? html`<div class="text"${of('content')}>${petition.content}</div>` : null}
        ${petition.updates.length > 0 ? Updates({ petition, organization, words }) : null}
        ${isOpen ? SignBar({ petition, words }) : null}
      </article>
      <div class="beside">
        <section class="sheet" id="sign" aria-labelledby="sign-title">
          ${Progress({ petition, words })}
          ${
            isOpen
              ? html`<h2 id="sign-title">${words.sign.title}</h2>
                ${signer ? OneClick({ petition, organization, words, signer }) : SignFormOf({ petition, organization, form, words, proof })}`
              : html`<h2 id="sign-title">${closedTitle(petition, words)}</h2>
                ${petition.outcome?.text ? html`<div class="text"${of('outcomeText')}>${petition.outcome.text}</div>` : null}
                <p>${words.closed.text}</p>`
          }
        </section>
      </div>
      <div>
        ${petition.comments.length > 0 ? Comments({ comments: petition.comments, organization, words }) : null}
        ${isOpen ? html`${Share({ petition, words })} ${SignBar({ petition, words })}` : null}
      </div>
    </div>`,
  });
}

/** The form of a personal link: one button, and a way to the usual form for everyone else. */
function OneClick({
  petition,
  organization: { name, privacyUrl },
  words,
  signer,
}: Pick<Props, 'petition' | 'organization' | 'words'> & { signer: PersonalSigner }): Html {
  return html`<form method="post">
      <p class="submit"><button class="button">${words.personal.button(signer.name)}</button></p>
    </form>
    <p><a href="${pathOf(petition)}#sign">${words.personal.other}</a></p>
    <p class="small">
      ${words.dataNone(name)} ${privacyUrl === null ? null : html`<a href="${privacyUrl}">${words.privacy}</a>`}
    </p>`;
}

/** On narrow screens, stays at the bottom of the window while the form is not in view. */
function SignBar({ petition, words }: { petition: SitePetition; words: SiteWords }): Html {
  const { counted } = progressTexts(petition.signatures, petition.goal, words);
  return html`<div class="sign-bar">
    <strong data-signatures>${counted}</strong>
    <a class="button" href="#sign">${words.toForm}</a>
  </div>`;
}

function Facts({ petition, words }: { petition: SitePetition; words: SiteWords }): Html | null {
  const facts = (['target', 'ask'] as const)
    .map((name) => ({ name: words[name], text: petition[name], lang: langOf(petition, words, name) }))
    .filter(({ text }) => text !== null);
  if (facts.length === 0) return null;
  return html`<dl class="facts">
    ${facts.map(
      ({ name, text, lang }) =>
        html`<div>
          <dt>${name}</dt>
          <dd${lang}>${text}</dd>
        </div>`,
    )}
  </dl>`;
}

function Updates({
  petition: { updates },
  organization,
  words,
}: Pick<Props, 'petition' | 'organization' | 'words'>): Html {
  return html`<section aria-labelledby="updates">
    <h2 id="updates">${words.updates}</h2>
    <ul class="comments">
      ${updates.map(
        ({ title, path, description, publishedAt }) =>
          html`<li${langIn(organization.language, words)}>
            <h3><a href="${path}">${title}</a></h3>
            ${description === null ? null : html`<p>${description}</p>`}
            <p class="small"><time datetime="${publishedAt.toISOString()}">${dateIn(words, organization, publishedAt)}</time></p>
          </li>`,
      )}
    </ul>
  </section>`;
}

function Comments({
  comments,
  organization,
  words,
}: Pick<Props, 'organization' | 'words'> & { comments: readonly Comment[] }): Html {
  return html`<section aria-labelledby="comments">
    <h2 id="comments">${words.comments}</h2>
    <ul class="comments">
      ${comments.map(
        ({ name, text, at }) =>
          html`<li>
            <p>${text}</p>
            <p class="small"><bdi>${name}</bdi>, <time datetime="${at.toISOString()}">${dateIn(words, organization, at)}</time></p>
          </li>`,
      )}
    </ul>
  </section>`;
}

/** A smaller version for frames on other sites. */
export function embedPage({ organization, petition, form, words, proof }: FormProps, frame: Frame): Page {
  const { title, isOpen } = petition;
  const { fields } = frame;
  const isShown = (one: Asked) => one.required || !fields || fields.includes(one.field ?? one.key);
  const shown = { ...petition, asked: petition.asked.filter(isShown) };
  const isAgain = Object.keys(form.faults).length > 0 || form.meant !== undefined;
  return pageOf({
    organization,
    words,
    about: petition,
    title: words.embedTitle(title),
    frame,
    scripts: ['/site/frame.js', ...scriptsFor(proof)],
    ...(isAgain ? { status: 422 } : { seconds: CACHE_SECONDS }),
    content: html`<main id="content">
      ${LanguagesOf({ ...petition, path: `${petition.path}/embed` }, words, [...parametersOf(form), ...parametersOfFrame(frame)])}
      <h1${langOf(petition, words, 'title')}><a href="${pathOf(petition)}" target="_blank" rel="noopener">${title}</a></h1>
      ${isPetition(petition) ? Progress({ petition, words }) : null}
      ${
        isOpen
          ? SignFormOf({ petition: shown, organization, form, words, proof, frame })
          : html`<p>${isPetition(petition) ? closedTitle(petition, words) : words.closed.title}</p>`
      }
    </main>`,
  });
}

/** What the address of a page names apart from the language. */
function parametersOf({ source, via }: SignForm): string[] {
  return [
    ...(source === null || source === 'embed' ? [] : [`source=${encodeURIComponent(source)}`]),
    ...(via === null ? [] : [`via=${encodeURIComponent(via)}`]),
  ];
}
