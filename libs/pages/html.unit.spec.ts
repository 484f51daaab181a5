import { html, trusted } from './html.js';

it('escapes values that are not HTML, in text and in attributes', () => {
  const name = `<b>"A" & 'B'</b>`;
  expect(String(html`<p title="${name}">${name}</p>`)).toBe(
    '<p title="&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt;">&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt;</p>',
  );
});

it('leaves HTML unchanged, concatenates lists, and writes nothing for missing values', () => {
  const items = ['a', '<'].map((item) => html`<li>${item}</li>`);
  expect(String(html`<ul>${items}</ul>${null}${undefined}${7}${trusted('<hr>')}`)).toBe(
    '<ul><li>a</li><li>&lt;</li></ul>7<hr>',
  );
});
