import { EventEmitter } from 'node:events';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type DatabaseMonitor, RequestCounts } from '#libs/operations';
import { QuickPages } from './quick-pages.js';

/** A reader, and what the cache sent: undefined if the page must be created for this reader. */
function reader(quick: QuickPages) {
  const request = { method: 'GET', url: '/rivers', headers: {} } as unknown as IncomingMessage;
  const response = Object.assign(new EventEmitter(), {
    req: request,
    statusCode: 200,
    body: undefined as string | undefined,
    writeHead: () => response,
    end: (body: Buffer) => (response.body = body.toString()),
  });
  const isSent = quick.answer(request, response as unknown as ServerResponse);
  return { isSent, body: response.body, leave: () => response.emit('close') };
}

const page = (text: string, age: number) => ({
  headers: {},
  body: Buffer.from(text),
  madeAt: performance.now() - age,
});

const open = () => new QuickPages(new RequestCounts(), { problem: undefined } as DatabaseMonitor);

it('renews an expired page for one reader, and sends the previous one to those who come meanwhile', () => {
  const quick = open();
  quick.keep('/rivers', 'page', page('old', 1_100));
  const first = reader(quick);
  expect(first.isSent).toBe(false);
  expect(reader(quick).body).toBe('old');
  quick.keep('/rivers', 'page', page('new', 0));
  first.leave();
  expect(reader(quick).body).toBe('new');
});

it('lets the next reader renew a page after the first one left without it', () => {
  const quick = open();
  quick.keep('/rivers', 'page', page('old', 1_100));
  reader(quick).leave();
  expect(reader(quick).isSent).toBe(false);
});

it('sends no page that is older than ten seconds', () => {
  const quick = open();
  quick.keep('/rivers', 'page', page('old', 11_100));
  expect([reader(quick).isSent, reader(quick).isSent]).toEqual([false, false]);
});
