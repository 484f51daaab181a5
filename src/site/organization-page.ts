import { html, type Html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Page, pageOf } from './document.js';
import { closedTitle, dateIn, PictureOf, progressTexts } from './parts.js';
import { type SiteForm, type SiteOrganization, type SitePetition, type SitePost } from './site-types.js';

type ListedPetition = Pick<
  SitePetition,
  'title' | 'path' | 'description' | 'image' | 'signatures' | 'goal' | 'isOpen' | 'outcome'
>;
type ListedPost = Pick<SitePost, 'title' | 'path' | 'description' | 'image' | 'publishedAt'>;

type OrganizationPageOptions = {
  organization: SiteOrganization;
  petitions: readonly ListedPetition[];
  posts: readonly ListedPost[];
  forms: readonly Pick<SiteForm, 'title' | 'path'>[];
  words: SiteWords;
};

/** Published petitions, posts and sign-up forms of an organization. */
export function organizationPage({
  organization,
  petitions,
  posts,
  forms,
  words,
}: OrganizationPageOptions): Page {
  const isEmpty = petitions.length + posts.length === 0;
  return pageOf({
    organization,
    words,
    title: organization.name,
    shared: { url: organization.url, description: null, image: organization.logo, type: 'website' },
    seconds: 1,
    content: html`<div class="wide">
      <h1>${organization.name}</h1>
      ${forms.map(({ title, path }) => html`<p><a class="button plain" href="${path}">${title}</a></p>`)}
      ${
        isEmpty
          ? html`<p class="lead">${words.nothingYet.title}</p>
            <p>${words.nothingYet.text}</p>`
          : null
      }
      ${
        petitions.length === 0
          ? null
          : html`<h2>${words.petitions}</h2>
            <ul class="list">
              ${petitions.map((petition) => PetitionCard({ petition, words }))}
            </ul>`
      }
      ${
        posts.length === 0
          ? null
          : html`<h2>${words.posts}</h2>
            <ul class="list">
              ${posts.map((post) => PostCard({ post, organization, words }))}
            </ul>`
      }
    </div>`,
  });
}

function PetitionCard({ petition, words }: { petition: ListedPetition; words: SiteWords }): Html {
  const { counted, aim } = progressTexts(petition.signatures, petition.goal, words);
  const more = html`<p class="small">${petition.isOpen ? `${counted} · ${aim}` : closedTitle(petition, words)}</p>`;
  return Card({ item: petition, more });
}

function PostCard({
  post,
  organization,
  words,
}: {
  post: ListedPost;
  organization: SiteOrganization;
  words: SiteWords;
}): Html {
  const at = post.publishedAt;
  const more = html`<p class="small"><time datetime="${at.toISOString()}">${dateIn(words, organization, at)}</time></p>`;
  return Card({ item: post, more });
}

function Card({
  item: { title, path, description, image },
  more,
}: {
  item: Pick<ListedPost, 'title' | 'path' | 'description' | 'image'>;
  more: Html;
}): Html {
  return html`<li class="sheet">
    ${
      image
        ? html`<div class="picture">${PictureOf({ picture: image, sizes: '(min-width:40rem) 24rem, 100vw', alt: '' })}</div>`
        : null
    }
    <div class="inside">
      <h3><a href="${path}">${title}</a></h3>
      ${description === null ? null : html`<p>${description}</p>`} ${more}
    </div>
  </li>`;
}
