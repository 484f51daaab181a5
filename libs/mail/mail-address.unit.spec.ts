import { isSenderAddress, needsUtf8, readMailAddress, sendableAddress } from './mail-address.js';

it.each([
  ['Ada@example.org', 'Ada@example.org'],
  ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
  ['adä@bücher.example', 'adä@xn--bcher-kva.example'],
  // A full-width letter.
  ['ａda@example.org', 'ada@example.org'],
  ['"ada lovelace"@example.org', '"ada lovelace"@example.org'],
])('sends %s to a server as %s', (address, sendable) => {
  expect(sendableAddress(address)).toBe(sendable);
});

it.each([
  '',
  'ada',
  'ada@example.org, eve@example.org',
  'ada@example.org\r\nBcc: eve@example.org',
  '"ada\r\nRCPT TO:<eve@example.org>"@example.org',
  '"ada\0"@example.org',
  '"ada> <eve"@example.org',
  'Ada <ada@example.org>',
])('sends %j to no server', (address) => {
  expect(sendableAddress(address)).toBeUndefined();
});

it('recognizes addresses that few servers accept', () => {
  expect([needsUtf8('adä@example.org'), needsUtf8('ada@xn--bcher-kva.example')]).toEqual([true, false]);
  expect(['ada@bücher.example', 'adä@example.org'].map(isSenderAddress)).toEqual([true, false]);
});

it.each([
  ['office@rivers.example.org', { name: null, address: 'office@rivers.example.org' }],
  ['<office@rivers.example.org>', { name: null, address: 'office@rivers.example.org' }],
  [
    'Clean Rivers <office@rivers.example.org>',
    { name: 'Clean Rivers', address: 'office@rivers.example.org' },
  ],
  [
    ' "Rivers, Clean" <office@rivers.example.org> ',
    { name: 'Rivers, Clean', address: 'office@rivers.example.org' },
  ],
  ['Flüsse <office@flüsse.example>', { name: 'Flüsse', address: 'office@flüsse.example' }],
  ['Clean Rivers', undefined],
  ['Clean Rivers <office>', undefined],
  ['Clean\nRivers <office@rivers.example.org>', undefined],
  ['a@example.org <b@example.org> <c@example.org>', undefined],
  ['a@example.org, b@example.org', undefined],
  [`${'x'.repeat(201)} <office@rivers.example.org>`, undefined],
])('reads %j', (text, address) => {
  expect(readMailAddress(text)).toEqual(address);
});
