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
  timeZone: 'UTC',
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

it('writes RSS that a reader can parse', async () => {
  const read = await new RssParser().parseString(rssOf(organization, [post]));
  expect(read).toMatchObject({
    title: 'Rivers & <Sons> "quoted"  ]]>',
    link: organization.url,
    language: 'de',
    feedUrl: `${organization.url}/feed.xml`,
  });
  expect(read.items).toMatchObject([{ guid: post.id, link: post.url, isoDate: '2026-11-20T09:30:00.000Z' }]);
  expect(read.items[0]!.content).toContain('Rivers &amp; &lt;Sons&gt;');
});

it('includes the newest twenty posts with their beginnings', async () => {
  const words = html`<h2>Long &amp; &lt;good&gt;</h2><script>alert(1)</script><p>${'river '.repeat(100_000)}</p>`;
  const posts = Array.from({ length: 50 }, (_, n) => ({
    ...post,
    id: `${n}`,
    description: null,
    content: words,
  }));
  const rss = rssOf(organization, posts);
  const json = jsonFeedOf(organization, posts);
  expect([rss.length, json.length].every((length) => length < 40_000)).toBe(true);
  const { items } = await new RssParser().parseString(rss);
  expect(items.map(({ guid }) => guid)).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`));
  expect(items[0]!.content).toMatch(/^<p>Long &amp; &lt;good&gt; alert\(1\) river river .*…<\/p>$/);
  expect((JSON.parse(json) as { items: object[] }).items).toHaveLength(20);
  const nothing = { ...post, description: null, content: null };
  expect(jsonFeedOf(organization, [nothing])).toContain('Rivers &amp; &lt;Sons&gt;');
});

it('writes a valid JSON feed, with and without posts', () => {
  for (const posts of [[post], []]) {
    const feed = JSON.parse(jsonFeedOf(organization, posts)) as object;
    expect(feed).toMatchObject({ version: 'https://jsonfeed.org/version/1.1', language: 'de' });
    // The schema is for version 1.0, to which 1.1 only adds fields.
    const items = (feed as { items: object[] }).items.map((item) => ({ ...item, authors: undefined }));
    const before = { ...feed, version: 'https://jsonfeed.org/version/1', language: undefined, items };
    expect(problemsOf(JSON.parse(JSON.stringify(before)) as object)).toEqual([]);
  }
});

it('escapes addresses in the sitemap', () => {
  expect(sitemapOf([post.url])).toContain('<loc>https://act.example.org/rivers/posts/news?a=1&amp;b=2</loc>');
});
