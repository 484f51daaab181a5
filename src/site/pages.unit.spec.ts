import { Parser } from 'htmlparser2';
import { html } from '#libs/pages';
import { STANDARD_FIELDS } from '../petitions/index.js';
import { FIELD_TYPES } from '../fields/index.js';
import { LOCALES, type SiteWords } from '#locales';
import { submittedPage, confirmPage, endedPage, noticePage, signedPage } from './answer-pages.js';
import { type Page } from './document.js';
import { organizationPage } from './organization-page.js';
import { frameOf } from './frame.js';
import { embedPage, petitionPage } from './petition-page.js';
import { progressTexts } from './parts.js';
import { postPage } from './post-page.js';
import { type Picture, type SignForm, type SiteOrganization, type SitePetition } from './site-types.js';

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'&`;
const image: Picture = {
  alt: evil,
  width: 1_200,
  height: 630,
  path: '/images/a/1200.jpg',
  url: 'https://act.example.org/images/a/1200.jpg',
  variants: [{ path: '/images/a/320.webp', width: 320, type: 'image/webp' }],
};
const organization: SiteOrganization = {
  name: evil,
  path: '/rivers',
  url: 'https://act.example.org/rivers',
  website: `javascript:alert(3)//${evil}`,
  language: 'en',
  colour: '#ffcc00',
  logo: image,
  privacyUrl: `https://rivers.example.org/${evil}`,
  timeZone: 'UTC',
};
const at = new Date('2026-11-20T09:30:00Z');
const petition: SitePetition = {
  title: evil,
  path: '/rivers/petitions/river',
  url: 'https://act.example.org/rivers/petitions/river',
  description: evil,
  ask: evil,
  target: evil,
  content: html`<p>${evil}</p>`,
  goal: 7,
  signatures: 1,
  outcome: { is: 'WON', text: html`<p>${evil}</p>` },
  isOpen: true,
  isConfirmed: true,
  closesAt: at,
  image,
  takesComments: true,
  consent: { text: evil, language: 'en', required: false },
  language: 'en',
  languages: ['en'],
  foreign: {},
  asked: [
    ...STANDARD_FIELDS.map((field) => ({ field, required: false })),
    ...FIELD_TYPES.map((type) => ({
      ...{ id: type, key: type.toLowerCase(), name: `${type} ${evil}`, type, required: type === 'TEXT' },
      options: type.startsWith('CHOICE') ? [evil, 'Other'] : null,
    })),
  ],
  comments: [{ name: evil, text: evil, at }],
  updates: [{ title: evil, path: '/rivers/posts/news', description: evil, publishedAt: at }],
  thankYou: {
    title: evil,
    text: html`<p>${evil}</p>`,
    next: { url: `https://rivers.example.org/${evil}`, label: evil },
  },
};
const form: SignForm = {
  token: 'abc.def',
  source: evil,
  via: evil,
  values: { email: evil, firstName: evil, lastName: evil, zip: evil, country: evil, comment: evil },
  answers: { 'fields.text': [evil], 'fields.choices': [evil] },
  faults: {
    'fields.choices': 'missing',
    'fields.boolean': 'unchecked',
    email: 'email',
    form: 'tooLate',
    comment: 'tooLong',
  },
};

const pagesIn = (words: SiteWords): Record<string, Page> => {
  const about = { organization, petition, words };
  return {
    petition: petitionPage({ ...about, form, proof: null }),
    closed: petitionPage({ ...about, petition: { ...petition, isOpen: false }, form, proof: null }),
    embed: embedPage({ ...about, form, proof: null }, frameOf({})),
    'an embed that looks different': embedPage(
      { ...about, form, proof: null },
      frameOf({ theme: 'dark', colour: '#0A7D55', fields: `zip ${evil}` }),
    ),
    'a mistyped address': petitionPage({
      ...about,
      form: { ...form, faults: {}, meant: evil },
      proof: '/site/challenge',
    }),
    submitted: submittedPage({
      ...about,
      sent: { email: evil, kept: [['lastName', evil]] },
      proof: '/site/challenge',
    }),
    'submitted and reloaded': submittedPage(about),
    'submitted in a frame': submittedPage({ ...about, frame: frameOf({}) }),
    signed: signedPage(about),
    'signed, with an own link': signedPage({
      ...about,
      own: { token: 'abc', recruited: 10_000 },
    }),
    confirm: confirmPage({
      ...about,
      requestId: evil,
      confirmed: { facts: [{ name: evil, value: evil }], consents: [evil] },
    }),
    expired: endedPage({ ...about, ending: 'expired' }),
    organization: organizationPage({
      organization,
      petitions: [petition],
      posts: [{ ...petition, publishedAt: at }],
      forms: [petition],
      words,
    }),
    'an empty organization': organizationPage({ organization, petitions: [], posts: [], forms: [], words }),
    post: postPage({ organization, post: { ...petition, publishedAt: at }, petition, words }),
    nobody: noticePage({ words, notice: words.notFound, status: 404 }),
  };
};
const all = Object.values(LOCALES)
  .map(({ site }) => site)
  .flatMap((words) =>
    Object.entries(pagesIn(words)).map(([name, page]) => [words.locale, name, page] as const),
  );

it.each(all)('%s: %s runs no script from its content, and is valid HTML', (locale, _name, page) => {
  const text = page.body.toString();
  const [scripts, wrong, ids, labelled, described]: string[][] = [[], [], [], [], []] as string[][];
  const [headings, inputs]: string[][] = [[], []] as string[][];
  new Parser({
    onopentag(name, attributes) {
      for (const [attribute, value] of Object.entries(attributes))
        if (/^on|^style$/.test(attribute) || /^\s*javascript:/i.test(value))
          wrong!.push(`${name} ${attribute}`);
      if (name === 'script') scripts!.push(attributes.src ?? 'inline');
      if (name === 'h1') headings!.push(name);
      if (attributes.id) ids!.push(attributes.id);
      if (name === 'label') labelled!.push(attributes.for!);
      if (['input', 'select', 'textarea'].includes(name) && attributes.type !== 'hidden')
        inputs!.push(attributes.id!);
      const others = attributes['aria-describedby'] ?? attributes['aria-labelledby'];
      if (others) described!.push(...others.split(' '));
      if (name === 'html') expect(attributes.lang).toBe(locale);
    },
  }).end(text);
  expect(wrong).toEqual([]);
  expect(scripts!.every((source) => source.startsWith('/site/'))).toBe(true);
  expect(headings).toHaveLength(1);
  // Elements referenced by labels and descriptions exist exactly once.
  expect(new Set(ids).size).toBe(ids!.length);
  expect(inputs!.filter((id) => !labelled!.includes(id))).toEqual([]);
  expect([...labelled!, ...described!].filter((id) => !ids!.includes(id))).toEqual([]);
  expect(page.body.length).toBeLessThan(50 * 1_024);
});

it.each(Object.values(LOCALES).map(({ site }) => site))('has every text in $locale', (words) => {
  const texts = (of: object): unknown[] =>
    Object.values(of).flatMap((one: unknown) => {
      if (typeof one === 'function') return [(one as (...args: unknown[]) => string)(2, '2')];
      return typeof one === 'object' && one !== null ? texts(one) : [one];
    });
  expect(texts(words).filter((text) => typeof text !== 'string' || text.trim() === '')).toEqual([]);
  expect(Object.keys(words)).toEqual(Object.keys(LOCALES.en!.site));
  expect(words.signatures(1, '1')).not.toBe(words.signatures(2, '1'));
});

it.each([
  [29, 100, '29%'],
  [57, 100, '57%'],
  [99, 100, '99%'],
  [999, 1_000, '99%'],
  [1_000, 1_000, '100%'],
  [7, 2_000_000_000_000_000, '0%'],
])('shows %i of %i as %s, rounded down', (signatures, goal, percent) => {
  expect(progressTexts(signatures, goal, LOCALES.en!.site).percent).toBe(percent);
});
