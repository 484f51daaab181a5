import { type Request } from 'express';
import { isFromThisMachine } from './cookie.js';

const request = (remoteAddress: string | undefined, headers: Record<string, string>) =>
  ({ socket: { remoteAddress }, headers }) as unknown as Request;

it.each<[boolean, string | undefined, Record<string, string>]>([
  [true, '127.0.0.1', { host: 'localhost:3000' }],
  [true, '::1', { host: '[::1]:3000' }],
  [true, '::ffff:127.0.0.1', { host: '127.0.0.1' }],
  // Any client can send this host.
  [false, '192.0.2.1', { host: 'localhost' }],
  [false, '::ffff:192.0.2.1', { host: 'localhost' }],
  [false, '127.0.0.1.example', { host: 'localhost' }],
  // Requests over a Unix socket come from proxies.
  [false, undefined, { host: 'localhost' }],
  [false, '127.0.0.1', { host: 'act.example.org' }],
  [false, '127.0.0.1', {}],
  [false, '127.0.0.1', { host: 'localhost', 'x-forwarded-for': '127.0.0.1' }],
  [false, '127.0.0.1', { host: 'localhost', 'x-forwarded-host': 'localhost' }],
  [false, '127.0.0.1', { host: 'localhost', forwarded: '' }],
])(
  'returns %s for a request from %j with %j: whether it comes from the machine itself',
  (isHere, address, headers) => {
    expect(isFromThisMachine(request(address, headers))).toBe(isHere);
  },
);
