import { readMailUrl, WrongMailUrl } from './mail-url.js';

it('reads host, port, TLS and login', () => {
  expect(readMailUrl('smtp://mail.example.org')).toEqual({
    host: 'mail.example.org',
    port: 587,
    secure: false,
    requireTls: false,
    login: undefined,
    name: undefined,
    tls: {},
  });
  expect(readMailUrl('smtps://ada:p%40s%2Fs%23%3A@[::1]:2465/')).toMatchObject({
    host: '::1',
    port: 2465,
    secure: true,
    login: { user: 'ada', password: 'p@s/s#:' },
  });
  expect(readMailUrl('smtps://mail.example.org').port).toBe(465);
});

it('sends no password before STARTTLS unless configured to', () => {
  expect(readMailUrl('smtp://ada:secret@mail.example.org').requireTls).toBe(true);
  expect(readMailUrl('smtp://ada:secret@mail.example.org?requireTLS=false').requireTls).toBe(false);
  expect(readMailUrl('smtp://mail.example.org?requireTLS=true').requireTls).toBe(true);
});

it('reads the options', () => {
  const url =
    'smtp://10.0.0.1:25?name=us.example.org&tls.rejectUnauthorized=false&tls.servername=mail.example.org';
  expect(readMailUrl(url)).toMatchObject({
    name: 'us.example.org',
    tls: { rejectUnauthorized: false, servername: 'mail.example.org' },
  });
});

it.each([
  ['rubbish', /It is not a valid URL/],
  ['', /It is not a valid URL/],
  ['http://mail.example.org', /must start with smtp/],
  ['smtp:mail.example.org', /has no host/],
  ['smtp://', /has no host/],
  ['smtp://ada:secret@', /not a valid URL|has no host/],
  ['smtp://mail.example.org:99999', /not a valid URL/],
  ['smtp://ada:se%cret@mail.example.org', /Percent-encode/],
  ['smtp://ada:se/cret@mail.example.org', /Percent-encode/],
  ['smtp://ada:se#cret@mail.example.org', /Percent-encode/],
  ['smtp://secret@mail.example.org', /both a user name and a password/],
  ['smtp://ada:se%0Acret@mail.example.org', /control characters/],
  ['smtp://mail.example.org/secret', /Only options/],
  ['smtp://mail.example.org?secret=secret', /Available options: name, requireTLS/],
  ['smtp://mail.example.org?requireTLS=secret', /requireTLS must be true or false/],
  ['smtp://mail.example.org?name=secret%20secret', /name must be a host name/],
])('rejects %s without repeating it', (url, sentence) => {
  const read = () => readMailUrl(url);
  expect(read).toThrow(WrongMailUrl);
  expect(read).toThrow(sentence);
  expect(read).not.toThrow(/se.?cret/);
});
