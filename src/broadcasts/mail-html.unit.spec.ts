import { readdirSync, readFileSync } from 'node:fs';
import { mailHtml } from './mail-html.js';

const written = (html: string) =>
  mailHtml(html, { areIn: () => false, beginsWithValue: () => false, encodedIn: (address) => address });
const newsletter = (name: string) => written(readFileSync(`test/newsletters/${name}.html`, 'utf8'));

describe('newsletters written elsewhere', () => {
  it('keeps the columns, colours and borders of a document with tables, and its hidden preview text', () => {
    const { html, text, hidden, look } = newsletter('01-table-layout');
    expect(hidden).toBe('Three dates, one decision.');
    expect(html).not.toMatch(/Three dates|<title|May at the river<\/title|display/);
    expect(html).toMatch(/<div style="background-color:\s*#f4f4f4;[^"]*font:\s*16px\/1.5 Arial,sans-serif/);
    expect(html).toMatch(
      /<table[^>]* style="background:\s*#ffffff;border-collapse:\s*collapse;border-top:\s*4px solid hsl\(160,80%,25%\)/,
    );
    expect(html).toMatch(/style="font:\s*bold 28px Georgia,serif;color:\s*#123/);
    // From the style sheet.
    expect(html).toMatch(
      /<td[^>]*border-radius:\s*4px[^>]*><a href="https:\/\/example.org\/join\?a=1&amp;b=2"/,
    );
    expect(look).toEqual({ hasColours: true, isWide: true });
    expect(text).toMatch(/Left column\nWater samples on 3 May\.\n+Right column\nCouncil session on 9 May\./);
    expect(text).toContain('Join us <https://example.org/join?a=1&b=2>');
    expect(text.match(/May at the river/g)).toHaveLength(1);
  });

  it.each(readdirSync('test/newsletters'))(
    'has at most one empty line in a row in plain text: %s',
    (name) => {
      expect(newsletter(name.replace('.html', '')).text).not.toMatch(/\n\s*\n\s*\n/);
    },
  );

  it('keeps images within the page, and shows alternative texts and links in plain text', () => {
    const { html, text, look } = newsletter('02-image-links');
    expect(html).toMatch(/<img [^>]*width="600"/);
    expect(html).not.toContain('1200');
    expect(text).toContain('Sign now <https://example.org/sign>');
    expect(text).toMatch(/Photo only:\s+A heron on the bank/);
    expect(text).toContain(' * Bring boots\n * Bring tea');
    expect(text).toContain('> All it takes is a decision.');
    expect(text).toContain("Prices: 5\u00a0€ – 10\u00a0€; it's free for children.");
    expect(look).toEqual({ hasColours: false, isWide: false });
  });

  it('drops what Word adds, and keeps rows of a table apart', () => {
    const { html, text } = newsletter('03-word-paste');
    expect(html).not.toMatch(/mso|o:p|Office|text-indent/i);
    expect(html).toMatch(/border-collapse:\s*collapse/);
    expect(text).toMatch(/^Dear all,\n\n·\s+First point\n\n·\s+Second point\n\na {3}b\n1 {3}2$/);
  });

  it('keeps dark sections and their direction, and a colour under a gradient', () => {
    const { html, text } = newsletter('05-dark-rtl');
    expect(html).toMatch(/<div dir="rtl" lang="ar" style="background-color:\s*#111;color:\s*#eee/);
    expect(html).toMatch(/background-color:\s*#ffffff[^"]*background-image:\s*linear-gradient\(#fff,#eee\)/);
    expect(text).toContain('🌊');
  });

  it('keeps the buttons of Mailchimp as narrow as they are, and its pictures within the page', () => {
    const { html, text, hidden } = newsletter('06-mailchimp-classic');
    expect(hidden).toBe('Eleven bridges, one walk.');
    expect(html).toMatch(
      /<table [^>]*class="content"[^>]*>(?:<tbody>)?<tr><td align="center"[^>]*><a title="Come along"/,
    );
    expect(html).toMatch(/<img [^>]*width="564"[^>]* style="[^"]*max-width:100%/);
    expect(text).toContain('The canal in October');
    expect(text).toContain('Here is the route <https://example.org/walk>.');
  });

  it('keeps columns of MJML next to each other on wide pages, and marks them for phones', () => {
    const { html, look } = newsletter('07-mjml-columns');
    expect(html.match(/<div style="max-width:50%;[^"]*width:50%" class="column">/g)).toHaveLength(2);
    expect(look.isWide).toBe(true);
  });

  it('marks cells that a style sheet stacks on phones, and shows their headings as text', () => {
    const { html, text } = newsletter('14-foundation-sidebar');
    expect(html.match(/<th [^>]* class="column">/g)).toHaveLength(2);
    expect(text).toMatch(
      /^Two petitions won\n\nThe lock .*\n\nHow we did it <https:\/\/example.org\/won>\n\nNext\n\nThe old/,
    );
  });

  it('keeps page colours of old HTML, and captions and definitions in plain text', () => {
    const { html, text } = newsletter('15-handwritten-2003');
    expect(html).toMatch(/<div style="background-color:\s*#FFFFCC;color:\s*#000080/);
    expect(html).toMatch(/<a href="http:\/\/example.org\/dates" style="color:\s*#990000/);
    expect(text).toContain('Levels\n\nDay   Metres\nMon   2.31');
    expect(text).toMatch(/Cusec\n+Cubic feet/);
  });

  it.each<[name: string, text: RegExp]>([
    [
      '08-brevo-hybrid',
      /^Le marais au printemps\n\nLe marais respire\nLa réunion .*\n\nJ’y serai <https:\S+>\n\nÀ bientôt/,
    ],
    [
      '09-substack-essay',
      /A boat on the Atrato <https:\S+>\s+The Atrato, 2016\s+\* A guardian[^]* 1\. Mercury\n[^]*Article 1\. .*\nArticle 2\./,
    ],
    [
      '10-gmail-compose',
      /1\. Write to the clerk <clerk@example\.org>\.\n 2\. Call 030 123456 <tel:\+4930123456>[^]*> Do we know/,
    ],
    ['11-google-docs-paste', /Minutes \(PDF\) <https:\S+>[^]*Member {6}Vote\nR\. Haddad {3}for$/],
    ['12-dark-invitation', /Cuándo {3}Viernes, 21:30\nDónde {4}Puente[^]*Me apunto <https/],
    ['13-outlook-desktop', /·\s+Oxygen is up\n\nStation {4}mg\/l\nOld quay {3}9\.1\n\nChart: oxygen rises/],
  ])('shows the links, pictures and tables of %s in plain text', (name, shown) => {
    const { html, text } = newsletter(name);
    expect(text.trim()).toMatch(shown);
    expect(html).not.toMatch(/mso|<style|<title|url\(/i);
  });

  it.each<[style: string, html: string, kept: RegExp, text: RegExp]>([
    [
      'font tags',
      '<font color="#cc0000" face="Verdana" size="4">Stop</font><br><center>now</center>',
      /<font color="#cc0000" face="Verdana" size="4">Stop<\/font><br><center>now/,
      /^Stop\nnow$/,
    ],
    [
      'HTML 5 sections',
      '<main><section style="background:#fafafa"><h2>A</h2></section><article><p>B</p></article></main>',
      /<div><div style="background:\s*#fafafa"><h2>A<\/h2><\/div><div><p>B/,
      /^A\n\n\n?B$/,
    ],
    [
      'MJML columns',
      '<td style="font-size:0px;text-align:center"><div style="font-size:13px;display:inline-block;width:50%">A</div></td>',
      /font-size:\s*13px;display:\s*inline-block;width:\s*50%/,
      /A/,
    ],
    [
      'a style sheet with classes, ids and !important',
      '<style>#x{color:hsl(210, 50%, 40%)} .y td{border:1px solid rgba(0,0,0,.2)!important} a{border-bottom:2px dotted}</style><p id="x">A</p><table class="y"><tr><td>B</td></tr></table>',
      /<p style="color:\s*hsl\(210, 50%, 40%\);?">A<\/p><table class="content"><tr><td style="border:\s*1px solid rgba\(0,0,0,.2\)/,
      /A\s+B/,
    ],
    [
      'a picture as background, with white text on it',
      '<td background="https://x.example/a.jpg" style="background:url(https://x.example/a.jpg) no-repeat;color:#fff"><h1>Hero</h1></td>',
      /color:\s*#000000/,
      /^Hero$/,
    ],
    [
      'a picture as background, with a colour below it',
      '<div style="background:#204060 url(\'https://x.example/a.jpg\') center;color:#fff">Hero</div>',
      /background:\s*#204060\s+center;color:\s*#fff/,
      /^Hero$/,
    ],
    [
      'a black section without a text colour',
      '<div style="background:#000">Night</div>',
      /color:\s*#ffffff/,
      /^Night$/,
    ],
    [
      'white text by attributes',
      '<table bgcolor="#ffffff"><tr><td><font color="white">Ghost</font></td></tr></table>',
      /<font color="white" style="color:\s*#000000">Ghost/,
      /^Ghost$/,
    ],
    [
      'a preview text with a filler',
      '<div style="max-height:0;overflow:hidden">Soon&nbsp;&zwnj;&nbsp;&zwnj;</div><p>Body</p>',
      /^<p>Body<\/p>$/,
      /^Body$/,
    ],
    [
      'the proportions of a picture on phones, whatever the height in its style',
      '<img src="https://x.example/a.png" width="533" height="267" style="width:5.552in;height:2.78in" alt="River"><img src="https://x.example/b.png" style="width:1px;height:20px" alt="">',
      /<img [^>]*width="533" height="267" [^>]*style="width:5.552in;height:auto">.*style="width:1px;height:20px">/s,
      /River/,
    ],
    [
      'a wide table and a wide picture',
      '<table width="700"><tr><td><img src="https://x.example/a.png" width="700" height="350" alt="River"></td></tr></table>',
      /<table width="600"[^>]*>.*<img [^>]*width="600" alt="River" style="width:100%;height:auto">/s,
      /^River$/,
    ],
    [
      'tables in tables, with headings',
      '<table><tr><td><table><tr><th>Day</th><th>Place</th></tr><tr><td>Monday</td><td>Harbour</td></tr></table></td></tr></table>',
      /<th>Day<\/th>/,
      /^Day +Place\nMonday +Harbour$/,
    ],
  ])('shows %s as meant', (_, source, kept, plain) => {
    const { html, text } = written(source);
    expect(html).toMatch(kept);
    expect(text.trim()).toMatch(plain);
  });

  it.each<[html: string, style: string]>([
    ['<pre>a</pre>', '<pre style="white-space:pre-wrap">'],
    ['<blockquote style="margin:0 0 0 .8ex">a</blockquote>', '<blockquote style="margin:0 0 0 .8ex">'],
    ['<img src="https://x.example/a.png" style="max-width:700px">', 'style="max-width:100%"'],
    ['<img src="https://x.example/a.png" width="90" style="max-width:80px">', 'style="max-width:80px"'],
  ])('%s stays within the page', (source, style) => {
    expect(written(source).html).toContain(style);
  });

  it('finds the preview text without its filler', () => {
    const { hidden } = written(
      '<span style="display:none">Soon&nbsp;&zwnj;&nbsp;&#847;&zwnj;</span><p>Body</p>',
    );
    expect(hidden).toBe('Soon');
  });

  it('rejects a style sheet for elements that are nested 5,000 deep, or applies it', () => {
    const deep = `<style>b{color:red}</style>${'<div>'.repeat(5_000)}x`;
    let outcome: string;
    try {
      outcome = written(deep).text;
    } catch (error) {
      outcome = (error as Error).message;
    }
    expect(['', 'x', 'The elements of the content are nested too deeply.']).toContain(outcome);
  });
});

it('loads nothing and runs nothing, whatever the style says', () => {
  for (const style of [
    'background:url(https://evil.example/a.png)',
    'background:url(  "https://evil.example/a.png"',
    'background-image:image-set("https://evil.example/a.png" 1x)',
    'border-image:url(https://evil.example/a.png)',
    'background:\\75rl(https://evil.example/a.png)',
    'color:expression(alert(1))',
    'list-style:url(https://evil.example/a.png)',
    'font:url(https://evil.example/a.woff)',
    '-moz-binding:url(https://evil.example)',
    'behavior:url(#x)',
    'position:fixed;top:0',
  ]) {
    for (const source of [`<p style='${style}'>x</p>`, `<style>p{${style}}</style><p>x</p>`])
      expect(written(source).html).not.toMatch(/evil|url|expression|image-set|position|behavior/);
  }
});
