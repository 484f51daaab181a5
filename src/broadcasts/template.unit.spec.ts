import { readFileSync } from 'node:fs';
import { eventually } from '#libs/testing';
import { someOf } from '../../test/length.js';
import { htmlOf, textOf } from './layout.js';
import { type MergeFields, TemplateError } from './merge-fields.js';
import { compile, render } from './template.js';

const contact = Object.fromEntries(
  ['firstName', 'lastName', 'email', 'phone', 'mobile', 'address', 'zip', 'city', 'region', 'country'].map(
    (field) => [field, null],
  ),
) as Omit<MergeFields['contact'], 'fields'>;
const organization = {
  name: 'Clean Rivers',
  website: 'https://rivers.example.org',
  email: null,
  country: null,
  postalAddress: '1 Quay\nHarbour',
};
const unsubscribeUrl = 'https://act.example.org/u/token';

type Words = { subject?: string; preheader?: string | null; content?: string; format?: 'MARKDOWN' | 'HTML' };

function written(
  words: Words,
  person: Partial<MergeFields['contact']> = {},
  petition?: MergeFields['petition'],
  language = 'en',
) {
  const { subject = 'News', preheader = null, content = '', format = 'MARKDOWN' } = words;
  const template = compile(
    { subject, preheader, content, format },
    { hasPetition: petition !== undefined, fieldKeys: ['shoeSize', 'isMember'] },
  );
  return render(template, {
    contact: { ...contact, fields: {}, ...person },
    organization,
    ...(petition ? { petition } : {}),
    unsubscribeUrl,
    language,
  });
}

const faultOf = (words: Words): TemplateError | undefined => {
  try {
    written(words);
    return undefined;
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
};
const reasonOf = (words: Words) => faultOf(words)?.blocker;

const GREETING = 'Dear {{ contact.firstName | default: "friend" }}';

it('renders Markdown as HTML and plain text, with merge fields and their defaults', () => {
  const content = `# ${GREETING}\n\nRead [more](https://rivers.example.org/news).\n\n- one\n- two`;
  const { html, text } = written({ content }, { firstName: 'Ada' });
  expect(html).toContain('<h1>Dear Ada</h1>');
  expect(html).toContain('<a href="https://rivers.example.org/news">more</a>');
  expect(text).toContain('Dear Ada');
  expect(text).toContain('more <https://rivers.example.org/news>');
  expect(text).toContain(' * one');
  expect(written({ content }).text).toContain('Dear friend');
});

it('supports conditions, loops and raw text', () => {
  const content =
    '{% if contact.city == "Ulm" %}In *Ulm*{% else %}Elsewhere{% endif %} {% raw %}{{ x }}{% endraw %} ' +
    '{% for n in (1..3) %}{{ n }}{% endfor %}';
  expect(written({ content }, { city: 'Ulm' }).html).toContain('In <em>Ulm</em> {{ x }} 123');
  expect(written({ content }).text).toContain('Elsewhere {{ x }} 123');
});

it('offers petition fields if the audience is a single petition', () => {
  const petition = {
    name: 'Dam',
    title: 'No dam',
    url: 'https://act.example.org/rivers/petitions/dam',
    signUrl: 'https://act.example.org/rivers/petitions/dam/sign/x',
    goal: 10_000,
    target: null,
    description: null,
    ask: null,
    signatures: 9_876,
  };
  const content =
    '{{ petition.signatures }} of {{ petition.goal }}: [sign]({{ petition.signUrl }}), {{ petition.url }}';
  const { html, text } = written({ content }, {}, petition);
  expect(text).toContain(`9,876 of 10,000: sign <${petition.signUrl}>`);
  expect(html).toContain(`<a href="${petition.signUrl}">sign</a>, ${petition.url}`);
  expect(written({ content, subject: '{{ petition.signatures }}' }, {}, petition, 'de')).toMatchObject({
    subject: '9.876',
    html: expect.stringContaining('9.876 of 10.000'),
  });
  expect(reasonOf({ content })).toBe('UNKNOWN_MERGE_FIELD');
  // Conditions and filters see numbers.
  const remaining =
    '{% if petition.signatures < petition.goal and petition.goal == 10000 %}{{ petition.goal | minus: petition.signatures }} more{% endif %}';
  expect(written({ content: remaining }, {}, petition).text).toContain('124 more');
  const without = { ...petition, signatures: 0 };
  expect(
    written({ content: '{% if petition.signatures %}some{% else %}none{% endif %}' }, {}, without).text,
  ).toContain('none');
});

describe('escapes values entered by contacts', () => {
  const hostile = '<img src=x onerror=alert(1)>{{ organization.name }}[link](https://evil.example)"\' &amp;';

  it.each(['MARKDOWN', 'HTML'] as const)('in %s', (format) => {
    const { html, text } = written({ content: `<p>${GREETING}</p>`, format }, { firstName: hostile });
    expect(html).not.toContain('<img');
    expect(html).not.toContain('href="https://evil');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;{{ organization.name }}');
    expect(text).toContain(hostile);
  });

  it('in attributes', () => {
    const content =
      '<a href="https://a.example/?n={{ contact.firstName }}" title="{{ contact.firstName }}">x</a>';
    const { html } = written({ content, format: 'HTML' }, { firstName: '" onmouseover="alert(1)' });
    expect(html).not.toContain('onmouseover="');
    expect(html).toContain('&#34; onmouseover=&#34;alert(1)');
  });

  it('as a whole URL, which contact fields cannot provide', () => {
    const content = '<a href="{{ contact.firstName }}">x</a> [y]({{ contact.firstName }})';
    expect(written({ content, format: 'HTML' }, { firstName: 'javascript:alert(1)' }).html).not.toContain(
      'href',
    );
    expect(written({ content }, { firstName: 'javascript:alert(1)' }).html).not.toContain('href');
    expect(written({ content: '[bye]({{ unsubscribeUrl }})' }).html).toContain(`href="${unsubscribeUrl}"`);
  });

  it('in the subject, which stays one line', () => {
    const firstName = `Ada\r\nBcc: eve@example.org\u2028${'x'.repeat(10_000)}`;
    const { subject } = written({ subject: GREETING }, { firstName });
    expect(subject).toMatch(/^Dear Ada Bcc: eve@example\.org x+$/);
    expect(subject.length).toBe(500);
  });

  it('in the layout: subject, preheader and postal address', () => {
    const rendered = written(
      { subject: GREETING, preheader: GREETING, content: 'x' },
      { firstName: '<script>' },
    );
    const brand = { name: '<b>Rivers</b>', colour: '#00aa55', logo: null };
    const sender = { brand, postalAddress: '1 <Quay>\nHarbour', language: 'de' };
    const html = htmlOf(rendered, sender, unsubscribeUrl);
    expect(html).not.toContain('<script>');
    expect(html).not.toContain('<b>');
    expect(html).toContain('<html lang="de" ');
    expect(html).toContain('&lt;b&gt;Rivers&lt;/b&gt;<br />1 &lt;Quay&gt;<br />Harbour');
    expect(html).toContain('>Abmelden</a>');
    expect(textOf(rendered, sender, unsubscribeUrl)).toContain(`Abmelden: ${unsubscribeUrl}`);
  });

  it('a filler follows the preview text, so that lists of emails do not go on with the content', () => {
    const brand = { name: 'Rivers', colour: null, logo: null };
    const sender = { brand, postalAddress: null, language: 'en' };
    const html = htmlOf(written({ preheader: 'Soon', content: 'Content' }, {}), sender, unsubscribeUrl);
    expect(html).toMatch(
      /<div style="display:none;[^"]*mso-hide:all">Soon(?:\u034f\u200c\u00a0){100}<\/div>/,
    );
  });
});

it.each([
  ['en', 'Save it: 12,345 of 1,000,000'],
  ['de', 'Save it: 12.345 of 1.000.000'],
  ['fr', 'Save it: 12\u202f345 of 1\u202f000\u202f000'],
])('numbers of the petition are written in the format of %s', (language, shown) => {
  const content = '{{ petition.title }}: {{ petition.signatures }} of {{ petition.goal }}';
  const template = compile(
    { subject: 'News', preheader: null, content, format: 'MARKDOWN' },
    { hasPetition: true, fieldKeys: [] },
  );
  const others = { name: '', description: '', target: '', ask: '', url: '', signUrl: '' };
  const petition = { ...others, title: 'Save it', signatures: 12_345, goal: 1_000_000 };
  const values = { contact: { ...contact, fields: {} }, organization, unsubscribeUrl, language };
  expect(render(template, { ...values, petition }).text.trim()).toBe(shown);
});

it.each([
  '<script>alert(1)</script>',
  '<p onclick="alert(1)">x</p>',
  '<a href="javascript:alert(1)">x</a>',
  '<iframe src="https://evil.example"></iframe>',
  '<form action="https://evil.example"><input name="a"></form>',
  '<p style="background:url(https://evil.example);position:fixed">x</p>',
  '<style>@import "https://evil.example"</style>',
  '<svg onload="alert(1)"></svg>',
  '{% capture x %}<script>alert(1)</script>{% endcapture %}{{ x }}',
  '{{ "<script>alert(1)</script>" }}',
  '[x](javascript:alert(1))',
])('removes unsafe content: %s', (content) => {
  for (const format of ['HTML', 'MARKDOWN'] as const) {
    expect(written({ content, format }).html).not.toMatch(
      /<script|onclick|href="javascript|<iframe|<form|<input|url\(|position|@import|<svg/,
    );
  }
});

it('rejects unknown merge fields and invalid templates', () => {
  for (const content of [
    '{{ contact.nickname }}',
    '{{ contact }}',
    '{{ secrets.key }}',
    '{{ contact[organization.name] }}',
    '{% assign c = contact %}{{ c.firstName }}',
    '{% if user.isAdmin %}x{% endif %}',
    '{{ contact.constructor }}',
    '{{ contact.firstName.length }}',
  ]) {
    expect([content, reasonOf({ content })]).toEqual([content, 'UNKNOWN_MERGE_FIELD']);
  }
  for (const content of [
    '{{ contact.firstName',
    '{% if contact.city %}x',
    '{{ contact.firstName | nothing }}',
    '{{ contact.firstName | raw }}',
    '{{ (1..900000) | find_exp: "x", "x == contact.secret" }}',
    '{% include "/etc/passwd" %}',
    '{% render "x" %}',
    '{% layout "x" %}',
    '{% cycle contact.firstName %}',
    '{% echo contact.firstName %}',
    '{% liquid echo contact.firstName %}',
  ]) {
    expect([content, reasonOf({ content })]).toEqual([content, 'TEMPLATE_INVALID']);
  }
  expect(reasonOf({ subject: '{{ contact.nickname }}' })).toBe('UNKNOWN_MERGE_FIELD');
  expect(reasonOf({ preheader: '{{ contact' })).toBe('TEMPLATE_INVALID');
});

it.each(['subject', 'preheader', 'content'] as const)('names the part with an error: %s', (part) => {
  for (const text of ['{{ contact', '{% if %}', '{{ contact.nickname }}', `{{ "${'x'.repeat(2_000)}" }}`])
    expect([text, faultOf({ [part]: text })?.part]).toEqual([text, part]);
});

it('stops templates that take too much time or memory', () => {
  const hostile = [
    '{% for a in (1..3000) %}{% for b in (1..3000) %}{% for c in (1..3000) %}{{ c }}{% endfor %}{% endfor %}{% endfor %}',
    '{% assign x = "0123456789" %}{% for a in (1..60) %}{% assign x = x | append: x %}{% endfor %}{{ x }}',
    '{% for a in (1..1000000000) %}x{% endfor %}',
    '{{ (1..4000000) | sort | reverse | uniq | size }}',
  ];
  for (const content of someOf(hostile, 2)) {
    expect([content, reasonOf({ content })]).toEqual([content, 'TEMPLATE_INVALID']);
  }
});

it('rejects tags and outputs that would take long to parse or run', () => {
  const times = (text: string, count: number) => text.repeat(count);
  const hostile: [content: string, why: RegExp][] = [
    [`{{ "${times('%', 1_000)}"${times(' | url_encode', 300)} | size }}`, /longer than 2,000 characters/],
    [`{{ "%"${times(' | url_encode', 21)} }}`, /too many filters in one output\. The limit is 20/],
    [`{{ ${times('contact[', 3_000)}"email"${times(']', 3_000)} }}`, /longer than 2,000 characters/],
    [
      `{{ ${times('contact[', 6)}"email"${times(']', 6)} }}`,
      /too many brackets within brackets\. The limit is 5/,
    ],
    [
      `{% if contact.email${times(' and contact.email', 51)} %}x{% endif %}`,
      /too many conditions in one tag\. The limit is 50/,
    ],
    [`{{ contact${times('.a', 10)} }}`, /too many parts in one field\. The limit is 10/],
    [`{% assign a = "a,a" | split: "," %}{{ a | where: "${times('b.', 150)}b" | size }}`, /argument limit/],
    [`{% assign a = "a,a" | split: "," %}{{ a | has: "${times('b.', 150)}b" }}`, /argument limit/],
    [
      `{% assign s = "aaaaaaaa" %}${times('{% assign s = s | replace: "a", "aaaaaaaa" %}', 40)}`,
      /memory alloc limit/,
    ],
    [
      `{% assign s = "%" %}${times(`{% assign s = s${times(' | url_encode', 20)} %}`, 300)}`,
      /memory alloc limit/,
    ],
    [times('a@b.co ', 2_001), /too many addresses\. The limit is 2000/],
  ];
  for (const [content, why] of hostile) {
    expect(() => written({ content })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(why) }),
    );
  }
  // The limits also apply to the subject.
  expect(reasonOf({ subject: `{{ "%"${times(' | url_encode', 21)} }}` })).toBe('TEMPLATE_INVALID');
  // Typical templates pass.
  const greeting =
    '{% if contact.firstName and contact.lastName or contact.city %}{{ contact.firstName | capitalize }}{% endif %}';
  expect(written({ content: greeting }, { firstName: 'ada', lastName: 'L' }).text).toContain('Ada');
});

it('renders ordered lists with any start and type', () => {
  for (const start of ['1', '999', '1000', '10000', '-1', '0', 'x', '1e9'])
    for (const type of ['i', 'I', 'a', 'A', '1', 'x']) {
      const content = `<ol type="${type}" start="${start}"><li>here</li><li>there</li></ol>`;
      expect(written({ content, format: 'HTML' }).text).toContain('here');
    }
});

it('never runs text: entities, and braces that Markdown escapes', () => {
  const entity = written({ content: '<p>&#123;&#123; contact.nope }} &#123;% if %}</p>', format: 'HTML' });
  expect(entity.html).toContain('<p>{{ contact.nope }} {% if %}</p>');
  expect(entity.text).toContain('{{ contact.nope }} {% if %}');
  expect(written({ content: '\\{\\{ contact.nope }}' }).html).toContain('{{ contact.nope }}');
  expect(written({ content: '&#123;{{ contact.firstName }}}' }, { firstName: 'Ada' }).text).toContain(
    '{Ada}',
  );
  const raw = 'a {% raw %}b {{ contact.nope }} {% if %}{% endraw %} c';
  expect(written({ content: raw }).text).toContain('a b {{ contact.nope }} {% if %} c');
  const address = '<a href="&#123;{ contact.lastName }}">x</a>';
  expect(written({ content: address, format: 'HTML' }, { lastName: 'javascript:1' }).html).not.toContain(
    'java',
  );
});

it('rejects content that would block the server, and accepts typical newsletters', async () => {
  const [size, many] = [250_000, (text: string, times = size / text.length) => text.repeat(times)];
  const slow = [many('*a_ '), many('{{ contact.firstName }} '), many('!['), many('a.b@c.de ')];
  for (const content of someOf(slow, 2)) {
    expect([content.slice(0, 9), reasonOf({ content })]).toEqual([content.slice(0, 9), 'TEMPLATE_INVALID']);
  }
  for (const content of someOf([many('<ul><li>'), many('<div>'), many('<b>')])) {
    expect(reasonOf({ content, format: 'HTML' })).toBe('TEMPLATE_INVALID');
  }
  const nested = `${many('<div>', 15_000)}deep`;
  // The limit is wall time. Like the product, retry if the machine stalled.
  await eventually(() => expect(written({ content: nested, format: 'HTML' }).text).toContain('deep'));
  const row = '<tr><td>{{ contact.city }}</td><td><b>x</b></td></tr>';
  const table = `<table>${many(row, 900)}</table>`;
  await eventually(() => expect(written({ content: table, format: 'HTML' }).text).toContain('x'));
});

it('renders values of custom fields, empty without one, and rejects unknown keys', () => {
  const content =
    '{{ contact.fields.shoeSize }} {% if contact.fields.isMember %}member{% endif %} {{ contact.region }}';
  const fields = { shoeSize: 42.5, isMember: true };
  expect(written({ content }, { fields, region: 'Essex' }).text.trim()).toBe('42.5 member Essex');
  expect(written({ content }, { fields: { isMember: false } }).text.trim()).toBe('');
  for (const field of ['contact.fields.other', 'contact.fields', 'contact.fields.shoeSize.first'])
    expect([field, reasonOf({ content: `{{ ${field} }}` })]).toEqual([field, 'UNKNOWN_MERGE_FIELD']);
});

describe('merge tags of other programs', () => {
  const foreign = readFileSync('test/newsletters/04-foreign-tags.html', 'utf8');
  const messageOf = (words: Words): string => {
    try {
      written(words);
    } catch (error) {
      return (error as TemplateError).message;
    }
    return '';
  };

  it('are rejected, each with our field', () => {
    const message = messageOf({ content: foreign, format: 'HTML' });
    for (const tag of [
      ...['*|FNAME|*', '%FNAME%', '[FIRST_NAME]', '{FIRSTNAME}', '<<First Name>>', 'contact.FIRSTNAME'],
      ...['subscriber.first_name', 'first_name'],
    ])
      expect(message).toContain(`${tag} → {{ contact.firstName }}`);
    for (const tag of ['*|UNSUB|*', '%%unsubscribe%%'])
      expect(message).toContain(`${tag} → {{ unsubscribeUrl }}`);
    const [, listed] = /^Unknown merge field: (.*)\. Available fields:/.exec(message)!;
    expect(listed!.split(', ')).toHaveLength(10);
  });

  it.each<Words>([
    { subject: 'For *|FNAME|*' },
    { preheader: 'For %FIRSTNAME%' },
    { content: 'Dear [FIRST_NAME],' },
    { content: 'Dear {FIRSTNAME}' },
    { content: '[Leave](*|UNSUB|*)' },
    { content: '[Sign](https://example.org/?n=%2A%7CFNAME%7C%2A)' },
    { content: '[Sign](https://example.org/?n=%7B%7Bcontact.FIRSTNAME%7D%7D)' },
    { content: 'Dear {$name}' },
    { content: 'Dear {!Contact.FirstName}' },
    { content: 'Dear [FirstName]' },
    { content: 'Dear [firstname,fallback=friend]' },
    { content: 'Dear %recipient.name%' },
    { content: '<p>&lt;&lt;Last Name&gt;&gt;</p>', format: 'HTML' },
  ])('are rejected in %j', (words) => expect(messageOf(words)).toContain('→ {{'));

  it.each([
    '100 % {braces in prose}, [a bracketed note], <3, 50% or 60%',
    '[NATO](https://example.org), [UN], {sic}, a << b >> c is not C',
    'https://example.org/?q=%C3%BC%DAB%20x&r=%E2%80%93',
    'https://example.org/a%20b%20c',
    '5 * 3 | 4 * 2, 10%-20%',
    '[email](https://example.org), [name][1], see [note] and [other, note]',
  ])('do not include prose: %s', (content) => expect(messageOf({ content })).toBe(''));
});

describe('a value in an address', () => {
  const person = { firstName: 'Ada & Co/#?', email: 'ada+river@example.org' };

  it('is percent-encoded in HTML and text, once', () => {
    const { html, text } = written(
      {
        content:
          '[a](https://x.example/{{ contact.firstName }}?e={{contact.email}}) ' +
          '[b](https://x.example/?e={{ contact.email | url_encode }}) https://x.example/?e={{contact.email}}',
      },
      person,
    );
    for (const encoded of [
      'https://x.example/Ada%20%26%20Co%2F%23%3F?e=ada%2Briver%40example.org',
      'https://x.example/?e=ada%2Briver%40example.org',
    ]) {
      expect(html).toContain(`href="${encoded}"`);
      expect(text).toContain(encoded);
    }
    expect(html + text).not.toMatch(/%25|\?e=ada\+/);
    expect(text.trim()).toMatch(/ https:\/\/x.example\/\?e=ada%2Briver%40example.org$/);
  });

  it('leaves our own addresses, and text outside of addresses, as they are', () => {
    const { html } = written({ content: '[x]({{ unsubscribeUrl }}) {{ contact.firstName }}' }, person);
    expect(html).toContain(`href="${unsubscribeUrl}"`);
    expect(html).toContain('Ada &amp; Co/#?');
  });
});

describe('links whose clicks are counted', () => {
  const counted = (content: string, format: 'MARKDOWN' | 'HTML' = 'MARKDOWN') => {
    const template = compile(
      { subject: 'News', preheader: null, content, format },
      { hasPetition: true, fieldKeys: [], countedAt: 'https://act.example.org/l/7' },
    );
    const language = 'en';
    const values = { contact: { ...contact, fields: {} }, organization, unsubscribeUrl, language };
    return { links: template.links, ...render(template, values) };
  };

  it.each<[content: string, links: string[]]>([
    [
      'https://example.org/b. <https://example.org/a> [again](https://example.org/b)',
      ['https://example.org/b', 'https://example.org/a'],
    ],
    ['[Apple](https://example.org/Apple_Inc.)', ['https://example.org/Apple_Inc.']],
    ["[it](<https://example.org/it's (a) [b]|c>)", ["https://example.org/it's%20(a)%20%5Bb%5D%7Cc"]],
    ['[Mine](https://example.org/?q={{ contact.email }}) [Sign]({{ petition.signUrl }})', []],
    ['a@example.org ![Image](https://example.org/i.png) `https://example.org/code`', []],
    [`[Dots](https://example.org/${'.'.repeat(100_000)}b)`, []],
  ])('are the links of everyone in Markdown: %.60s', (content, links) => {
    expect(counted(content).links).toEqual(links);
  });

  it('lead to the decoded address, and only in HTML', () => {
    const { links, html, text } = counted(
      '<a href="https://example.org/?q=&quot;x&quot;&#38;b=2">x</a> <a href="https://example.org/{{ contact.zip }}">y</a>',
      'HTML',
    );
    expect(links).toEqual(['https://example.org/?q=%22x%22&b=2']);
    expect(html).toContain('<a href="https://act.example.org/l/7/1">x</a>');
    expect(html).toContain('<a href="https://example.org/">y</a>');
    expect(text).toContain('https://example.org/?q="x"&b=2');
  });
});
