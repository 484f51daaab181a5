import { html } from '#libs/pages';
import { type Page, pageOf } from './document.js';
import { Share, TitleOf } from './parts.js';
import { CACHE_SECONDS, type FormProps } from './petition-page.js';
import { scriptsFor, SignFormOf } from './sign-form.js';

export function signUpPage({ organization, petition: signUp, form, words, proof }: FormProps): Page {
  const { title, description, url, isOpen } = signUp;
  const hasFaults = Object.keys(form.faults).length > 0;
  const isAgain = hasFaults || form.meant !== undefined;
  return pageOf({
    organization,
    words,
    title: hasFaults ? `${words.faults.prefix}${title}` : title,
    shared: { url, description, image: organization.logo, type: 'website' },
    scripts: ['/site/page.js', ...scriptsFor(proof)],
    ...(isAgain ? { status: 422 } : { seconds: CACHE_SECONDS }),
    content: html`<div class="narrow">
      ${TitleOf(title)}
      ${description === null ? null : html`<p class="lead">${description}</p>`}
      <section class="sheet" id="sign">
        ${
          isOpen
            ? SignFormOf({ petition: signUp, organization, form, words, proof })
            : html`<h2>${words.closed.title}</h2>
              <p>${words.closed.text}</p>`
        }
      </section>
      ${isOpen ? Share({ petition: signUp, words }) : null}
    </div>`,
  });
}
