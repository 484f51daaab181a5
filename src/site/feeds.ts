import { html, type Html, trusted } from '#libs/pages';
import { type SiteOrganization, type SitePost } from './site-types.js';

export type FeedPost = SitePost & { id: string };

/** Limits of a feed, because feed readers fetch it repeatedly. */
const MAX_POSTS = 20;
const MAX_EXCERPT_LENGTH = 500;

/** RSS 2.0, with the address of the feed itself, which feed readers require. */
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
${posts.slice(0, MAX_POSTS).map(
  (post) => html`<item>
<title>${post.title}</title>
<link>${post.url}</link>
<guid isPermaLink="false">${post.id}</guid>
<pubDate>${post.publishedAt.toUTCString()}</pubDate>
<description>${String(excerptOf(post))}</description>
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
    items: posts.slice(0, MAX_POSTS).map((post) => ({
      id: post.id,
      url: post.url,
      title: post.title,
      content_html: String(excerptOf(post)),
      ...(post.description === null ? {} : { summary: post.description }),
      ...(post.image ? { image: post.image.url } : {}),
      date_published: post.publishedAt.toISOString(),
      authors: [{ name }],
    })),
  });
}

/** A sitemap for search engines. */
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

function excerptOf({ description, content, title }: SitePost): Html {
  if (description !== null) return html`<p>${description}</p>`;
  // Removes markup. Characters stay escaped.
  const words = String(content ?? '')
    .slice(0, 10 * MAX_EXCERPT_LENGTH)
    .replace(/<[^>]*(>|$)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (words === '') return html`<p>${title}</p>`;
  const cut = words.slice(0, MAX_EXCERPT_LENGTH).replace(/&[^;]*$/, '');
  return html`<p>${trusted(words.length > MAX_EXCERPT_LENGTH ? `${cut}…` : words)}</p>`;
}

/** XML 1.0 cannot represent control characters. */
function withoutControls(xml: string): string {
  return xml.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
}
