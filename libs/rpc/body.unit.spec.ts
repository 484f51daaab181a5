import { type Request, type Response } from 'express';
import { Readable } from 'node:stream';
import { readJsonBody, streamBody } from './body.js';

const LARGE = JSON.stringify({ content: 'x'.repeat(100_000) });

function send(text: string | Buffer, ip = '192.0.2.1'): Promise<unknown> {
  const bytes = Buffer.from(text);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  const request = Object.assign(Readable.from([bytes], { objectMode: false }), { headers, ip });
  return readJsonBody(request as unknown as Request, {} as Response);
}

it('queues 16 large bodies per sender, rejects more, and serves other senders in between', async () => {
  const parsed: string[] = [];
  const from = (ip: string) => send(LARGE, ip).then(() => parsed.push(ip));
  const results = await Promise.allSettled([
    ...Array.from({ length: 20 }, () => from('192.0.2.1')),
    from('192.0.2.2'),
  ]);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(refused).toHaveLength(3);
  for (const reason of refused)
    expect(reason).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'OVERLOADED' } });
  expect(parsed).toHaveLength(18);
  expect(parsed.indexOf('192.0.2.2')).toBeLessThan(3);
});

it.each([
  ['{"a":1}', { a: 1 }],
  ['[1]', [1]],
  ['\uFEFF{}', {}],
  [LARGE, JSON.parse(LARGE)],
])('%.20s is parsed', async (text, expected) => {
  expect(await send(text)).toEqual(expected);
});

it.each([
  ['nothing but a text', '"x"', /not valid JSON/],
  ['null', 'null', /not valid JSON/],
  ['half an object', '{"a":', /not valid JSON/],
  ['a large half of an object', LARGE.slice(0, -1), /not valid JSON/],
  ['a broken character', Buffer.from('{"a":"\xff"}', 'latin1'), /not valid UTF-8/],
])('%s is rejected', async (_, text, message) => {
  await expect(send(text)).rejects.toMatchObject({
    code: 'BAD_REQUEST',
    message: expect.stringMatching(message),
  });
});

it.each([
  ['names', '{"a:\\":":1},'.repeat(30_001)],
  ['texts that look like names', '"{a:\\":b:",'.repeat(60_000)],
])('counts only names as names: a large body with many %s', async (what, text) => {
  const sent = send(`[${text}0]`);
  if (what === 'names') await expect(sent).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  else expect(await sent).toHaveLength(60_001);
});

it.each(['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'application/vnd.ms-excel'])(
  'a table with the type %s is refused with how to save it as CSV',
  (type) => {
    const request = { headers: { 'content-type': type, 'content-length': '3' } } as Request;
    const read = (bodyTypes: string[]) => () => streamBody(request, { bodyTypes });
    expect(read(['text/csv'])).toThrow(/choose "Save as" and the format "CSV UTF-8".* text\/csv/);
    expect(read(['image/png'])).not.toThrow(/CSV/);
    expect(read(['image/png'])).toThrow(/image\/png/);
  },
);
