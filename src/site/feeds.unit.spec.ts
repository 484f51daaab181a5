import { createRequire } from 'node:module';
import RssParser from 'rss-parser';
import { html } from '#libs/pages';
import { type FeedPost, jsonFeedOf, rssOf, sitemapOf } from './feeds.js';
import { type SiteOrganization } from './site-types.js';

const problemsOf = createRequire(__filename)('jsonfeed-validator') as (feed: object) => object[];

const evil = `Rivers & <Sons> "quoted" \u0007 ]]>`;
const organization: SiteOrganization = {
  name: evil,
  path: '/rivers',
  url: 'https://act.example.org/rivers',
  website: null,
  language: 'de',
  colour: null,
  logo: null,
  privacyUrl: null,
};
const post: FeedPost = {
  id: '01990a6e-1111-7000-8000-000000000001',
  title: evil,
  path: '/rivers/posts/news',
  url: 'https://act.example.org/rivers/posts/news?a=1&b=2',
  description: evil,
  content: html`<p>${evil}</p><img src="/images/a/1.jpg" alt="x" />`,
  image: null,
  publishedAt: new Date('2026-11-20T09:30:00Z'),
};

it('RSS is what readers read', async () => {
  const read = await new RssParser().parseString(rssOf(organization, [post]));
  expect(read).toMatchObject({
    title: 'Rivers & <Sons> "quoted"  ]]>',
    link: organization.url,
    language: 'de',
    feedUrl: `${organization.url}/feed.xml`,
  });
  expect(read.items).toMatchObject([{ guid: post.id, link: post.url, isoDate: '2026-11-20T09:30:00.000Z' }]);
  expect(read.items[0]!.content).toContain('src="https://act.example.org/images/a/1.jpg"');
});

it('the JSON feed is valid, with posts and without', () => {
  for (const posts of [[post], []]) {
    const feed = JSON.parse(jsonFeedOf(organization, posts)) as object;
    expect(feed).toMatchObject({ version: 'https://jsonfeed.org/version/1.1', language: 'de' });
    // It knows the version before, to which 1.1 only adds.
    const items = (feed as { items: object[] }).items.map((item) => ({ ...item, authors: undefined }));
    const before = { ...feed, version: 'https://jsonfeed.org/version/1', language: undefined, items };
    expect(problemsOf(JSON.parse(JSON.stringify(before)) as object)).toEqual([]);
  }
});

it('the sitemap escapes addresses', () => {
  expect(sitemapOf([post.url])).toContain('<loc>https://act.example.org/rivers/posts/news?a=1&amp;b=2</loc>');
});
