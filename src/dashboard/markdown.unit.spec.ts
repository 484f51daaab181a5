import { documentOf, markdownOf } from './browser/markdown.js';

const unchanged = (text: string) => {
  const document = documentOf(text, true);
  return document && markdownOf(document, true);
};

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
  expect(unchanged(text)).toBe(text);
});

it.each([
  ['* one\n* two', '- one\n- two'],
  ['_italic_ __bold__', '*italic* **bold**'],
  ['Title\n=====', '# Title'],
  ['See https://example.org', 'See <https://example.org>'],
])('writes %j as %j, which means the same', (text, written) => {
  expect(unchanged(text)).toBe(written);
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
