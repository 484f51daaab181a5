import { countedLinks, withCounts } from './counted-links.js';

it.each<[content: string, links: string[]]>([
  ['[Read](https://example.org/a) and https://example.org/b. <https://example.org/a>', ['/a', '/b']],
  [
    '<a href="https://example.org/?a=1&amp;b=2">x</a> <a href=\'http://example.org\'>y</a>',
    ['/?a=1&b=2', 'http:/'],
  ],
  ['[Mine](https://example.org/?q={{ contact.email }}) {{ petition.signUrl }} mailto:a@example.org', []],
  ['<img src="https://example.org/i.png">', ['/i.png']],
  ['https:// http://[ javascript:alert(1)', []],
])('countedLinks finds the addresses of %s', (content, links) => {
  const whole = links.map((link) =>
    link === 'http:/' ? 'http://example.org/' : `https://example.org${link}`,
  );
  expect(countedLinks(content)).toEqual(whole);
});

it('withCounts replaces exactly the addresses that are counted', () => {
  const links = countedLinks('https://example.org/?a=1&b=2 https://example.org/z');
  const html =
    '<a href="https://example.org/?a=1&amp;b=2">x</a> <a href="https://example.org/u/token">https://example.org/z</a>';
  expect(withCounts(html, links, 'https://act.example.org/l/7')).toBe(
    '<a href="https://act.example.org/l/7/1">x</a> <a href="https://example.org/u/token">https://example.org/z</a>',
  );
});
