import { type lookup as resolve } from 'node:dns';
import { Destinations, isPublic } from './destinations.js';

const internet = new Destinations(false);

it.each([
  '127.0.0.1',
  '127.8.8.8',
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '168.63.129.16',
  '192.0.0.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:8.8.8.8',
  '::8.8.8.8',
  '64:ff9b::a00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:a00:1::1',
  '3fff::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'not an address',
])('%s is not public', (address) => {
  expect(isPublic(address)).toBe(false);
});

it.each(['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '198.20.0.1', '2606:4700::1111', '2a00:1450::1'])(
  '%s is public',
  (address) => {
    expect(isPublic(address)).toBe(true);
  },
);

it.each([
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://0x7f.1/',
  'https://127.0.0.1./',
  'https://10.0.0.1:8443/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::ffff:a00:1]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[fd00::1]/',
  'https://localhost/',
  'https://localhost./',
  'https://a.localhost/',
  'https://①②⑦.0.0.1/',
  'http://example.org/',
  'https://user:secret@example.org/',
  'https://user@example.org/',
  'ftp://example.org/',
  'file:///etc/passwd',
  'https://',
  'example.org',
])('rejects %s', (url) => {
  expect(internet.read(url)).toBeUndefined();
});

it.each([
  'https://example.org/hooks?a=b',
  'https://example.org:8443/',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]/',
])('allows %s', (url) => {
  expect(internet.read(url)?.href).toBe(url);
});

it('also allows http and private addresses in development, but never credentials', () => {
  const all = new Destinations(true);
  expect(all.read('http://127.0.0.1:4000/')).toBeDefined();
  expect(all.read('http://user@127.0.0.1:4000/')).toBeUndefined();
  expect(all.read('ftp://127.0.0.1/')).toBeUndefined();
});

describe('a name', () => {
  const lookup = (addresses: string[], options: object, allowsPrivate = false) => {
    const resolver = ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as unknown as typeof resolve;
    return new Promise((done) => {
      new Destinations(allowsPrivate, resolver).lookup('example.org', options, (error, address) =>
        done(error ? error.name : address),
      );
    });
  };

  it('is allowed if all its addresses are public', async () => {
    expect(await lookup(['8.8.8.8'], {})).toBe('8.8.8.8');
    expect(await lookup(['8.8.8.8', '2606:4700::1111'], { all: true })).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
  });

  it.each([[['10.0.0.1']], [['8.8.8.8', '10.0.0.1']], [['2606:4700::1111', '::1']], [[]]])(
    'is rejected if it resolves to %j',
    async (addresses) => {
      expect(await lookup(addresses, {})).toBe('Error');
      expect(await lookup(addresses, { all: true })).toBe('Error');
    },
  );

  it('can resolve to a private address in development', async () => {
    expect(await lookup(['10.0.0.1'], {}, true)).toBe('10.0.0.1');
  });
});
