import { compose, type Composed } from './compose.js';
import { type MailMessage } from './message.js';

const message = (changes: Partial<MailMessage> = {}): MailMessage => ({
  organizationId: null,
  from: { name: 'Clean Rivers', address: 'office@rivers.example' },
  replyTo: null,
  to: 'ada@example.org',
  subject: 'Hello',
  text: 'Hello Ada',
  html: null,
  messageId: 'one@rivers.example',
  automatic: false,
  ...changes,
});

/** The lines before the first empty one, with continuation lines joined. */
async function headersOf(changes: Partial<MailMessage>): Promise<{ [name: string]: string }> {
  const composed = (await compose(message(changes))) as Composed;
  const text = composed.raw.toString('latin1');
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  for (const line of text.split('\r\n')) expect(line.length).toBeLessThan(998);
  // Only CRLF ends a line.
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  const lines = head.replace(/\r\n[ \t]/g, ' ').split('\r\n');
  const pairs = lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]);
  const headers = Object.fromEntries(pairs);
  expect(Object.keys(headers)).toHaveLength(lines.length);
  return headers;
}

const decoded = (header: string) =>
  header
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, words: string) =>
      Buffer.from(
        words
          .replaceAll('_', ' ')
          .replace(/=([0-9A-F]{2})/g, (__, hex: string) => String.fromCharCode(parseInt(hex, 16))),
        'latin1',
      ).toString(),
    )
    .replace(/=\?UTF-8\?B\?(.*?)\?=/g, (_, words: string) => Buffer.from(words, 'base64').toString());

it('keeps the Message-ID on one line, however long the id and the domain are', async () => {
  const sentAs = async (messageId: string) => {
    const composed = (await compose(message({ messageId }))) as Composed;
    return /^Message-ID: <(.*)>$/im.exec(composed.raw.toString().replaceAll('\r', ''))?.[1];
  };
  const broadcast = `b${'x'.repeat(43)}`;
  expect(await sentAs(`${broadcast}@rivers.example`)).toBe(`${broadcast}@rivers.example`);
  expect(await sentAs(`${broadcast}@mail.campaigns.of.clean-rivers.example.org`)).toBe(
    `${broadcast}@example.org`,
  );
  const [one, other] = await Promise.all(
    ['1', '2'].map((n) => sentAs(`first-signature.${'9'.repeat(36)}.${n.repeat(36)}@rivers.example.org`)),
  );
  for (const id of [one, other]) expect(id).toMatch(/^first-signature\.[\w-]{22}@rivers\.example\.org$/);
  expect(one).not.toBe(other);
  expect(await sentAs(`first-signature.${'9'.repeat(36)}.${'1'.repeat(36)}@rivers.example.org`)).toBe(one);
});

it('contains sender, recipient, subject and Message-ID', async () => {
  const headers = await headersOf({
    replyTo: 'answers@rivers.example',
    automatic: true,
    headers: { 'List-Unsubscribe': '<https://rivers.example/u/1>' },
  });
  expect(headers).toMatchObject({
    From: 'Clean Rivers <office@rivers.example>',
    To: 'ada@example.org',
    'Reply-To': 'answers@rivers.example',
    Subject: 'Hello',
    'Message-ID': '<one@rivers.example>',
    'Auto-Submitted': 'auto-generated',
    'List-Unsubscribe': '<https://rivers.example/u/1>',
    'MIME-Version': '1.0',
  });
  expect(headers.Date).toBeDefined();
  expect(Object.keys(await headersOf({}))).not.toContain('Auto-Submitted');
});

it.each([
  ['Grüße an Łódź und 東京 🎉', 'Grüße an Łódź und 東京 🎉'],
  ['Hello\r\nBcc: eve@example.org', 'Hello Bcc: eve@example.org'],
  ['a\u2028b\0c', 'a b c'],
  ['half \ud83d', 'half'],
])('writes the subject %j', async (subject, seen) => {
  const headers = await headersOf({ subject });
  expect(headers.Subject).toMatch(/^[\x20-\x7e]*$/);
  expect(decoded(headers.Subject!)).toBe(seen);
});

it.each(['x'.repeat(10_000), '🎉'.repeat(10_000), 'x '.repeat(5_000), '"\\'.repeat(5_000)])(
  'shortens an unreadably long name and subject',
  async (name) => {
    const headers = await headersOf({ subject: name, from: { name, address: 'office@rivers.example' } });
    expect([...decoded(headers.Subject!)].length).toBeLessThanOrEqual(500);
    expect(headers.From).toMatch(/ <office@rivers\.example>$/);
  },
);

it.each(['Rivers, Clean', 'Eve <eve@example.org>', '"', 'Rivers\r\nBcc: eve@example.org', 'Flüsse; Bäche'])(
  'does not interpret the name %j as an address',
  async (name) => {
    const headers = await headersOf({ from: { name, address: 'office@rivers.example' } });
    expect(headers.From).toMatch(/^("(\\.|[^"\\])*"|[^<>,;"@]*|=\?UTF-8\?.*\?=) <office@rivers\.example>$/);
    expect(headers).not.toHaveProperty('Bcc');
  },
);

it('always has a plain part, and accepts lines of any length', async () => {
  const composed = (await compose(message({ text: '', html: `<p>${'x'.repeat(10_000)}</p>` }))) as Composed;
  const text = composed.raw.toString();
  expect(text).toMatch(/text\/plain/);
  expect(text).toMatch(/text\/html/);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThan(998);
});

it.each<[string, Partial<MailMessage>, RegExp]>([
  ['a recipient with a line break', { to: '"a\r\nb"@example.org' }, /recipient’s address/],
  ['several recipients', { to: 'a@example.org,b@example.org' }, /recipient’s address/],
  ['no recipient', { to: '' }, /recipient’s address/],
  ['an invalid sender', { from: { name: null, address: 'office' } }, /sender’s address/],
  [
    'a sender that few servers accept',
    { from: { name: null, address: 'büro@rivers.example' } },
    /sender’s address/,
  ],
  ['an invalid Reply-To', { replyTo: 'a@b@c' }, /Reply-To/],
  [
    'a header with a line break',
    { headers: { 'List-Unsubscribe': '<https://x>\r\nBcc: e@x.org' } },
    /List-Unsubscribe/,
  ],
  ['a header that is too long', { headers: { 'List-Unsubscribe': 'x'.repeat(10_000) } }, /List-Unsubscribe/],
])('permanently rejects %s without repeating it', async (_, changes, detail) => {
  const rejected = await compose(message(changes));
  expect(rejected).toMatchObject({ outcome: 'refused', permanent: true, code: null });
  expect(rejected).toMatchObject({ detail: expect.stringMatching(detail) });
  expect(rejected).not.toMatchObject({ detail: expect.stringMatching(/@|Bcc/) });
});

it.each<Partial<MailMessage>>([
  { messageId: 'one' },
  { messageId: 'o ne@rivers.example' },
  { messageId: 'one@rivers.example>\r\nBcc: eve@example.org' },
  { headers: { 'Bcc: eve@example.org\r\nX': 'y' } },
])('throws for an error of the program: %j', async (changes) => {
  await expect(compose(message(changes))).rejects.toThrow();
});

it('returns the same message each time', async () => {
  const [one, other] = (await Promise.all([compose(message()), compose(message())])) as [Composed, Composed];
  const withoutDate = ({ raw }: Composed) => raw.toString().replace(/^Date:.*$/m, '');
  expect(withoutDate(one)).toBe(withoutDate(other));
});
