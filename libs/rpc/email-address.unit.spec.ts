import { comparableEmail, isEmailAddress } from './email-address.js';

it.each([
  ['ada@example.org', ['ADA@Example.ORG', 'ada@example.org', 'ａｄａ@example.org', 'ａＤａ@EXAMPLE.org']],
  ['jose\u0301@example.org', ['JOSÉ@example.org', 'jose\u0301@example.org']],
  ['fiona@example.org', ['ﬁona@example.org', 'ﬁ\u00adona@example.org', '\u200bfiona@example.org']],
  ['ada@example.org', ['a\u00adda@example.org', 'ada@exam\u200bple.org', 'ada\u2060@example\ufeff.org']],
  ['ada@bücher.example', ['ada@xn--bcher-kva.example', 'ada@BÜCHER.example', 'ada@bu\u0308cher.example']],
  ['μάρκος@example.org', ['ΜΆΡΚΟΣ@example.org', 'μάρκοσ@example.org']],
])('%s is one address with %j', (address, others) => {
  for (const other of others) expect(comparableEmail(other)).toBe(comparableEmail(address));
  expect(comparableEmail(comparableEmail(address))).toBe(comparableEmail(address));
});

it.each([
  ['ada@example.org', 'ada@example.com'],
  ['ada.b@example.org', 'adab@example.org'],
  ['ada+b@example.org', 'ada@example.org'],
  // Two mailboxes, and since IDNA 2008 two domains.
  ['strasse@example.org', 'straße@example.org'],
  ['ada@strasse.example', 'ada@straße.example'],
  // They look alike but are different: Cyrillic.
  ['ada@example.org', 'аda@example.org'],
])('%s is a different address from %s', (one, other) => {
  expect(comparableEmail(one)).not.toBe(comparableEmail(other));
});

it.each(['ada@example.org', 'ａｄａ@example.org', 'ada@bücher.example', 'a\u00adda@example.org'])(
  '%j is an address',
  (text) => expect(isEmailAddress(text)).toBe(true),
);

it.each(['ada', '', 7, '\u200b@example.org', 'a＠b@example.org', 'a…b@example.org', 'ada@e‥x.org'])(
  '%j is not an address',
  (text) => expect(isEmailAddress(text)).toBe(false),
);
