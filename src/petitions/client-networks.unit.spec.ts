import { createHash } from 'node:crypto';
import { networksIn, networksOf } from './client-networks.js';

const keyring = { hash: (...parts: string[]) => createHash('sha256').update(parts.join('|')).digest() };
const isIn = (address: string, range: string): boolean =>
  networksIn(keyring, range)!.some((network) => networksOf(keyring, address).includes(network));

it.each([
  ['192.0.2.7', '192.0.2.7', true],
  ['192.0.2.7', '192.0.2.8', false],
  ['192.0.2.7', '192.0.2.0/29', true],
  ['192.0.2.8', '192.0.2.0/29', false],
  ['192.0.2.200', '192.0.2.0/24', true],
  ['192.0.3.200', '192.0.2.0/24', false],
  ['192.0.3.200', '192.0.2.0/23', true],
  ['192.0.255.1', '192.0.0.0/16', true],
  ['192.129.0.1', '192.0.0.0/9', false],
  ['192.127.0.1', '192.0.0.0/9', true],
  ['10.1.2.3', '0.0.0.0/0', true],
  ['192.0.2.7', '192.0.2.99/24', true],
  ['2001:db8::1', '2001:db8::1', true],
  ['2001:db8::1', '2001:db8:0:0::/64', true],
  ['2001:db8:0:1::1', '2001:db8::/64', false],
  ['2001:db8:0:1::1', '2001:db8::/48', true],
  ['2001:db8:0:1::1', '2001:0DB8:0000::/60', true],
  ['2001:db8:0:10::1', '2001:db8::/60', false],
  ['2001:db9::1', '2001:db8::/31', true],
  ['192.0.2.7', '2001:db8::/32', false],
])('%s is in %s: %s', (address, range, expected) => {
  expect(isIn(address, range)).toBe(expected);
});

it.each([
  '',
  'rivers',
  '192.0.2',
  '192.0.2.0/33',
  '192.0.2.0/-1',
  '192.0.2.0/',
  '1.2.3.4/24/8',
  '2001:db8::/100',
  '::/0',
  'fe80::1%eth0',
])('rejects %j', (range) => {
  expect(networksIn(keyring, range)).toBeUndefined();
});

it('returns no networks for an invalid address', () => {
  expect(networksOf(keyring, 'rivers')).toEqual([]);
});
