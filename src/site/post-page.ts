import { html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Page, pageOf } from './document.js';
import { dateIn, PictureOf, TitleOf } from './parts.js';
import { type PostSubject, type SiteOrganization, type SitePost } from './site-types.js';

type PostPageOptions = {
  organization: SiteOrganization;
  post: SitePost;
  petition: PostSubject | null;
  words: SiteWords;
};

export function postPage({
  organization,
  post: { title, url, description, content, image, publishedAt },
  petition,
  words,
}: PostPageOptions): Page {
  return pageOf({
    organization,
    words,
    title,
    shared: { url, description, image, type: 'article' },
    seconds: 1,
    content: html`<article class="narrow">
      ${TitleOf(title)}
      <p class="small">
        <time datetime="${publishedAt.toISOString()}">${words.published(dateIn(words, organization, publishedAt))}</time>
      </p>
      ${
        image
          ? html`<figure class="picture">${PictureOf({ picture: image, sizes: '(min-width:42rem) 39rem, 100vw' })}</figure>`
          : null
      }
      ${description === null ? null : html`<p class="lead">${description}</p>`}
      ${content ? html`<div class="text">${content}</div>` : null}
      ${
        petition
          ? html`<section class="sheet" aria-labelledby="petition">
              <h2 id="petition"><a href="${petition.path}">${petition.title}</a></h2>
              ${petition.isOpen ? html`<p><a class="button" href="${petition.path}#sign">${words.sign.title}</a></p>` : html`<p>${words.closed.title}</p>`}
            </section>`
          : null
      }
    </article>`,
  });
}
