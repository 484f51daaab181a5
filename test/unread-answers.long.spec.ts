import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '#libs/testing';
import { Api, type Client } from './harness.js';

let api: Api;
let hostile: Client;
let innocent: Client;
const sockets: Socket[] = [];
beforeAll(async () => {
  // In this process, whose memory is measured.
  api = await Api.start();
  [hostile, innocent] = [(await api.organization()).withoutRetries(), await api.organization()];
  for (const client of [hostile, innocent]) {
    for (let n = 0; n < 4; n += 1) {
      const { status } = await client.post('post.create-post', {
        name: `Wide ${n}`,
        content: 'x'.repeat(250_000),
      });
      expect(status).toBe(200);
    }
  }
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await api.stop();
});

/** Requests the same 1 MiB this many times in parallel without reading it. */
function askWithoutReading(client: Client, times: number): void {
  const { hostname, port } = new URL(client.origin);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  socket.pause();
  const line = `GET /v1/post.list-posts?include=content HTTP/1.1\r\nHost: ${hostname}`;
  socket.write(`${line}\r\nAuthorization: Bearer ${client.key}\r\n\r\n`.repeat(times));
  sockets.push(socket);
}

/** The memory of waiting responses, in MiB. */
const held = () => process.memoryUsage().arrayBuffers / 1024 / 1024;

it('unread responses are limited, affect only their caller, and are freed with their connections', async () => {
  const before = held();
  // More than the system buffers, which is a few MB per connection. After that, one response waits on each.
  for (let n = 0; n < 40; n += 1) askWithoutReading(hostile, 10);
  // A slow machine also rejects requests for other reasons.
  await eventually(async () => {
    const refused = await hostile.get('organization.get-organization');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.body.error).toMatchObject({
      reason: 'OVERLOADED',
      message: expect.stringMatching(/^\d\d MiB of responses wait/),
    });
  });
  expect((await hostile.post('post.create-post', { name: 'A' })).status).toBe(503);
  // 400 MiB were requested.
  expect(held() - before).toBeLessThan(100);

  for (let n = 0; n < 10; n += 1) {
    const { status, body } = await innocent.get('post.list-posts', { include: 'content' });
    expect([status, body.data.length]).toEqual([200, 4]);
  }

  for (const socket of sockets) socket.destroy();
  let again = await hostile.get('organization.get-organization');
  for (let n = 0; n < 100 && again.status === 503; n += 1) {
    await sleep(100);
    again = await hostile.get('organization.get-organization');
  }
  expect(again.status).toBe(200);
});
