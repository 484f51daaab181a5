import { html, type Html, trusted } from '#libs/pages';
import { type SiteOrganization, type SitePost } from './site-types.js';

export type FeedPost = SitePost & { id: string };

/** RSS 2.0, with the address of the feed itself, as readers ask for. */
export function rssOf(organization: SiteOrganization, posts: readonly FeedPost[]): string {
  const { name, url, language } = organization;
  return withoutControls(
    String(
      html`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom">
<channel>
<title>${name}</title>
<link>${url}</link>
<description>${name}</description>
<language>${language}</language>
<atom:link href="${url}/feed.xml" rel="self" type="application/rss+xml"/>
${posts.map(
  (post) => html`<item>
<title>${post.title}</title>
<link>${post.url}</link>
<guid isPermaLink="false">${post.id}</guid>
<pubDate>${post.publishedAt.toUTCString()}</pubDate>
<description>${String(bodyOf(post, url))}</description>
</item>
`,
)}</channel>
</rss>
`,
    ),
  );
}

/** JSON Feed 1.1. */
export function jsonFeedOf(organization: SiteOrganization, posts: readonly FeedPost[]): string {
  const { name, url, language, logo } = organization;
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: name,
    home_page_url: url,
    feed_url: `${url}/feed.json`,
    language,
    ...(logo ? { icon: logo.url } : {}),
    items: posts.map((post) => ({
      id: post.id,
      url: post.url,
      title: post.title,
      content_html: String(bodyOf(post, url)),
      ...(post.description === null ? {} : { summary: post.description }),
      ...(post.image ? { image: post.image.url } : {}),
      date_published: post.publishedAt.toISOString(),
      authors: [{ name }],
    })),
  });
}

/** The addresses that a search engine should know. */
export function sitemapOf(urls: readonly string[]): string {
  return withoutControls(
    String(
      html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.map(
  (url) => html`<url><loc>${url}</loc></url>
`,
)}</urlset>
`,
    ),
  );
}

/** Readers show it elsewhere: addresses on this server become whole. */
function bodyOf({ description, content, title }: SitePost, url: string): Html {
  const { origin } = new URL(url);
  const whole = content
    ? trusted(String(content).replaceAll('src="/images/', `src="${origin}/images/`))
    : null;
  if (!whole && description === null) return html`<p>${title}</p>`;
  return html`${description === null ? null : html`<p>${description}</p>`}${whole}`;
}

/** XML 1.0 has no way to write them. */
function withoutControls(xml: string): string {
  return xml.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
}
