import { readRedisUrl } from './redis-url.js';

const plain = { tls: false };

it.each<[string, object]>([
  ['redis://localhost', { kind: 'single', url: 'redis://localhost' }],
  ['rediss://u:p%40ss@h:1/2', { kind: 'single', url: 'rediss://u:p%40ss@h:1/2' }],
  ['redis://[::1]:6380?cluster=false', { kind: 'single', url: 'redis://[::1]:6380?cluster=false' }],
  ['redis://h?family=6', { kind: 'single', url: 'redis://h?family=6' }],
  ['redis://h?cluster=true', { kind: 'cluster', nodes: [{ host: 'h', port: 6379 }], ...plain }],
  [
    'rediss://u:p%40s:s@a:1,[fd00::1]:2,c/0',
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'fd00::1', port: 2 },
        { host: 'c', port: 6379 },
      ],
      username: 'u',
      password: 'p@s:s',
      tls: true,
    },
  ],
  [
    'redis+sentinel://:p@a,b:2/mymaster',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 2 },
      ],
      name: 'mymaster',
      database: 0,
      password: 'p',
      ...plain,
    },
  ],
  [
    'rediss+sentinel://a/my%2Fmaster/3?sentinelPassword=p%26',
    {
      kind: 'sentinel',
      sentinels: [{ host: 'a', port: 26379 }],
      name: 'my/master',
      database: 3,
      sentinelPassword: 'p&',
      tls: true,
    },
  ],
])('reads %s', (url, expected) => {
  expect(readRedisUrl(url)).toEqual(expected);
});

it.each([
  'http://h',
  'h:6379',
  'redis://',
  'redis://h:0',
  'redis://h:65536,i',
  'redis://a,,b',
  'redis://a,b:x',
  'redis://a,b/1',
  'redis://a,b?cluster=false',
  'redis://a,b?family=6',
  'redis://a?cluster=yes',
  'redis://:%zz@a,b',
  'redis://:p@ss@a,b',
  'redis://u:p/@a',
  'redis+sentinel://a:26379',
  'redis+sentinel://a:26379/',
  'redis+sentinel://a/name/x',
  'redis+sentinel://a/name/1/2',
  'redis+sentinel://a/name?cluster=true',
  'redis+cluster://a,b',
])('rejects %s', (url) => {
  expect(readRedisUrl(url)).toBeUndefined();
});
