import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ServerLife } from './http-server.js';

const MIB = 1024 * 1024;
const NEVER = { bytes: Infinity, seconds: 3_600 };
const answerEarly: RequestListener = (_request, response) => void response.writeHead(413).end('too large');

let stop: (() => Promise<void>) | undefined;
let served: Socket;
afterEach(() => stop?.());

/** @param announced the declared size of the body, which is never sent. */
async function connectTo(
  unreadLimits: { bytes: number; seconds: number },
  announced = 1e12,
): Promise<Socket> {
  const server = createServer(answerEarly).on('connection', (socket: Socket) => (served = socket));
  const life = new ServerLife(server, () => 'http://localhost/errors', { lingerMs: 100, unreadLimits });
  stop = () => life.drain(0);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.setEncoding('utf8').write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${announced}\r\n\r\n`);
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let answer = '';
  for await (const chunk of socket) answer += chunk as string;
  return answer;
}

it('an unread body closes its connection after the response if it exceeds the size limit', async () => {
  const socket = await connectTo({ ...NEVER, bytes: MIB });
  const chunk = Buffer.alloc(64 * 1024);
  const write = () => void (socket.writable && socket.write(chunk, () => setImmediate(write)));
  write();
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 413 [^]*too large/);
});

it('an unread body closes its connection after the response if it exceeds the time limit', async () => {
  const socket = await connectTo({ ...NEVER, seconds: 0.2 });
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 413 [^]*too large/);
});

it('an unread body within the limits keeps its connection for the next request', async () => {
  const socket = await connectTo(NEVER, MIB);
  await once(socket, 'data');
  socket.write(Buffer.alloc(MIB));
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 413 /);
});

it('many unread bodies on one connection leave no listeners behind', async () => {
  const socket = await connectTo(NEVER, MIB);
  await once(socket, 'data');
  socket.write(Buffer.alloc(MIB));
  const listeners: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB}\r\n\r\n`);
    await once(socket, 'data');
    listeners.push(served.listenerCount('close'));
    socket.write(Buffer.alloc(MIB));
  }
  socket.destroy();
  expect(listeners[2]).toBe(listeners[0]);
});
