import { type Node } from 'prosemirror-model';
import { documentOf, markdownOf, schema } from './browser/markdown.js';

const unchanged = (text: string) => {
  const document = documentOf(text, true);
  return document && markdownOf(document, true);
};
/** As if all blocks had been edited. */
const rewritten = (text: string, hasMerges = true) => {
  const document = documentOf(text, hasMerges)!;
  return markdownOf(schema.nodeFromJSON(document.toJSON()), hasMerges);
};
const paragraph = (...content: (string | Node)[]) =>
  schema.node(
    'paragraph',
    null,
    content.map((one) => (typeof one === 'string' ? schema.text(one) : one)),
  );
const docOf = (...blocks: Node[]) => schema.node('doc', null, blocks);

it.each([
  'Dear {{ contact.firstName | default: "friend" }},\n\nthank you.',
  '[Sign now]({{ petition.signUrl }} "button")',
  '[{{ petition.title }}]({{ petition.url | append: "?a=(1)" }})',
  '{% if contact.city %}In {{ contact.city }}{% endif %} and *everywhere*',
  '## Heading\n\n- one\n- two\n\n1. first\n2. second\n\n> quote',
  '**bold**, *italic*, ~~struck~~, `{{ code }}`, [link](https://example.org)',
  '![A river](/images/a/b.jpg)',
  'a\\\nb\n\n---\n\n```\n{{ code }}\n```',
  '### {{ petition.title }}\n\n{{ petition.signatures }} / {{ petition.goal }}',
  '<https://example.org/a_b>',
  'Grüße aus Łódź, 30 % mehr \\*Sterne\\*',
])('keeps %j', (text) => {
  expect([unchanged(text), rewritten(text)]).toEqual([text, text]);
});

it.each([
  ['* one\n* two', '- one\n- two'],
  ['_italic_ __bold__', '*italic* **bold**'],
  ['Title\n=====', '# Title'],
  ['See https://example.org', 'See <https://example.org>'],
  ['![a_b](/images/a.jpg "A \\"title\\"")', '![a_b](/images/a.jpg "A \\"title\\"")'],
  ['[x](<https://example.org/a b>)', '[x](https://example.org/a%20b)'],
  ['~~[x](https://example.org)~~', '~~[x](https://example.org)~~'],
  ['- a\n\n* b', '- a\n\n\n* b'],
  ['1. a\n\n1) b', '1. a\n\n\n1) b'],
  ['{{ contact.firstName\n| default: "a_b_" }}', '{{ contact.firstName\n| default: "a_b_" }}'],
])('writes an edited %j as %j, which means the same', (text, written) => {
  expect(rewritten(text)).toBe(written);
});

it('leaves the blocks that are not edited as they were written', () => {
  const text =
    '* one\n* _two_\n\nTitle\n=====\n\nSee https://example.org\nin {{ contact.city }}\n\n\n1) first\n\n    code';
  const document = documentOf(text, true)!;
  const edited = document.copy(
    document.content.replaceChild(2, paragraph('Read *it*')).append(docOf(paragraph('End')).content),
  );
  expect(markdownOf(edited, true)).toBe(
    '* one\n* _two_\n\nTitle\n=====\n\nRead \\*it\\*\n\n1) first\n\n    code\n\nEnd',
  );
});

it('writes links with definitions in place, so that no definition gets lost', () => {
  const document = documentOf('A [river][1].\n\nB.\n\n[1]: https://example.org', false)!;
  const edited = document.copy(document.content.replaceChild(1, paragraph('C.')));
  expect(markdownOf(edited, false)).toBe('A [river](https://example.org).\n\nC.');
});

it('keeps lists apart that the removal of a paragraph leaves in a row', () => {
  const document = documentOf('- a\n\nb\n\n- c', false)!;
  const edited = document.copy(document.content.replaceChild(1, schema.node('paragraph')));
  expect(markdownOf(edited, false)).toBe('- a\n\n* c');
});

it.each([
  ...[
    '1.',
    '1) one',
    '+',
    '- ',
    '    code',
    '# x',
    '> x',
    '***',
    'C #',
    '<b>',
    '&copy;',
    '<!-- x -->',
    '~~~',
  ],
  ...['![x](y)', 'https://example.org/~ada_b_?_c=*d*', '3 < 4 & 5', 'AT&T', ':---', '|', '\\'],
])('keeps %j as text that was typed, in a paragraph, a list and after a line break', (typed) => {
  for (const hasMerges of [false, true]) {
    const item = schema.node('list_item', null, paragraph(typed));
    const typedIn = docOf(
      paragraph(typed),
      schema.node('bullet_list', { tight: true }, item),
      paragraph('a', schema.node('hard_break'), typed, schema.node('hard_break'), '---'),
      schema.node('heading', { level: 2 }, schema.text(typed)),
    );
    const again = documentOf(markdownOf(typedIn, hasMerges), hasMerges);
    const textsOf = ({ children }: Node) =>
      children.map(({ textContent, type }) => [type.name, textContent.replaceAll(' ', '')]);
    expect(again && textsOf(again)).toEqual(textsOf(typedIn));
  }
});

it('leaves emails with HTML to the Markdown field, and writes characters of HTML as text', () => {
  for (const text of ['<b>a</b>', '<div class="a_b_">\n*a*\n</div>', 'a <!-- b -->'])
    expect([text, documentOf(text, true)]).toEqual([text, undefined]);
  expect(rewritten('&lt;b&gt; &amp;amp;')).toBe('\\<b> \\&amp;');
});

it('leaves out characters that stand for merge fields here', () => {
  expect(markdownOf(docOf(paragraph('\uf0b7 {{ contact.city }} \ue000')), true)).toBe('{{ contact.city }} ');
});

it.each(['| a | b |\n| - | - |\n| 1 | 2 |', 'a \ue000 b'])('leaves %j to the Markdown field', (text) => {
  expect(documentOf(text, true)).toBeUndefined();
});

it('treats braces as text where there are no merge fields', () => {
  const document = documentOf('a {{ b_c_d }}', false)!;
  expect(document.textContent).toBe('a {{ b_c_d }}');
  expect(markdownOf(document, false)).toMatch(/^a \{\{ b.*c.*d \}\}$/);
});

it('never escapes within a merge field that was typed as text', () => {
  const document = documentOf('x', true)!;
  const typed = document.type.schema.node('doc', null, [
    document.type.schema.node(
      'paragraph',
      null,
      document.type.schema.text('Dear {{ contact.fields.first_name }} *'),
    ),
  ]);
  expect(markdownOf(typed, true)).toBe('Dear {{ contact.fields.first_name }} \\*');
});
