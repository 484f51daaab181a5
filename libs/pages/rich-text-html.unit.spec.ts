import { Parser } from 'htmlparser2';
import { richTextHtml as richText } from './rich-text-html.js';

const shown = (content: unknown) => String(richText(content)).replace(/\n+/g, '\n').trim();
const paragraph = (...content: unknown[]) => ({ type: 'doc', content: [{ type: 'paragraph', content }] });
const words = (text: string, ...marks: unknown[]) => ({ type: 'text', text, marks });

it.each<[string, unknown, string]>([
  ['Markdown in a string', 'Hello **world**', '<p>Hello <strong>world</strong></p>'],
  ['Markdown in an object', { markdown: '# Title\n\n- a' }, '<h2>Title</h2>\n<ul>\n<li>a</li>\n</ul>'],
  ['HTML in Markdown as typed', '<b>x</b>', '<p>&lt;b&gt;x&lt;/b&gt;</p>'],
  [
    'a document of TipTap',
    paragraph(words('a', { type: 'bold' }), { type: 'hardBreak' }),
    '<p><strong>a</strong><br /></p>',
  ],
  [
    'a document of ProseMirror',
    {
      type: 'doc',
      content: [{ type: 'bullet_list', content: [{ type: 'list_item', content: [words('a')] }] }],
    },
    '<ul><li>a</li></ul>',
  ],
  [
    'headings one level below the page title',
    { type: 'doc', content: [{ type: 'heading', attrs: { level: 1 } }] },
    '<h2></h2>',
  ],
  [
    'only the text of unknown nodes',
    { type: 'doc', content: [{ type: 'video', content: [words('a')] }] },
    'a',
  ],
  [
    'links, with nofollow',
    paragraph(words('a', { type: 'link', attrs: { href: 'https://a.example/?a=1&b="' } })),
    '<p><a href="https://a.example/?a=1&amp;b=&quot;" rel="nofollow noopener ugc">a</a></p>',
  ],
  [
    'images on this server',
    '![A](/images/0a/8.jpg)',
    '<p><img src="/images/0a/8.jpg" alt="A" loading="lazy" /></p>',
  ],
  [
    'only the alternative text of images on other servers',
    '![A cat](https://a.example/cat.png)',
    '<p><em>A cat</em></p>',
  ],
])('shows %s', (_, content, expected) => {
  expect(shown(content)).toBe(expected);
});

it.each<[string, unknown]>([
  ['null', null],
  ['a number', 7],
  ['a list', ['a']],
  ['any object', { blocks: [{ text: 'a' }] }],
])('leaves %s as data', (_, content) => {
  expect(richText(content)).toBeNull();
});

const deep = (depth: number): unknown => {
  let node: unknown = words('bottom');
  for (let n = 0; n < depth; n += 1) node = { type: 'blockquote', content: [node] };
  return { type: 'doc', content: [node] };
};
const LINKS = [
  'javascript:alert(1)',
  ' JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>',
  '//evil.example',
  'vbscript:x',
];

it.each<[string, unknown]>([
  [
    'scripts',
    '<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><math><mtext></mtext></math>',
  ],
  ...LINKS.map((href): [string, unknown] => [
    `a link to ${JSON.stringify(href)}`,
    `[x](<${href}>) <${href}>`,
  ]),
  ...LINKS.map((href): [string, unknown] => [
    `a link of a node to ${JSON.stringify(href)}`,
    paragraph(words('x', { type: 'link', attrs: { href, onclick: 'alert(1)' } })),
  ]),
  ['markup in texts of nodes', paragraph(words('</p><script>alert(1)</script>'))],
  [
    'markup in attributes',
    {
      type: 'doc',
      content: [{ type: 'image', attrs: { src: '"><script>alert(1)</script>', alt: '" onload="x' } }],
    },
  ],
  [
    'node names that are properties of objects',
    { type: 'doc', content: [{ type: 'constructor', content: [words('x')] }, { type: '__proto__' }] },
  ],
  [
    'rubbish',
    {
      type: 'doc',
      content: [null, 7, 'x', [], { type: 7 }, { type: 'text' }, { type: 'text', text: {}, marks: 'x' }],
    },
  ],
  ['a document nested five thousand levels deep', deep(5_000)],
  ['a hundred thousand marks', '*'.repeat(100_000)],
  ['unclosed brackets', '['.repeat(60_000)],
  ['entities', '&lt;script&gt; &#60;script&#62; &amp;lt;'],
])('runs no script in %s', (_, content) => {
  const text = String(richText(content) ?? '');
  const found: string[] = [];
  new Parser({
    onopentag(name, attributes) {
      const isSafe = !['script', 'svg', 'math', 'iframe', 'style', 'form', 'input'].includes(name);
      const isQuiet = Object.keys(attributes).every((attribute) =>
        ['href', 'rel', 'src', 'alt', 'loading', 'start'].includes(attribute),
      );
      const { href = 'https:', src = '/images/' } = attributes;
      const leadsOn = /^(https?:|mailto:)/i.test(href) && src.startsWith('/images/');
      if (!isSafe || !isQuiet || !leadsOn) found.push(`${name} ${JSON.stringify(attributes)}`);
    },
  }).end(text);
  expect(found).toEqual([]);
});
