import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment } from './processes.js';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await Deployment.create();
});
afterAll(() => deployment.stop());

it('imports that dribble into an open quote hold up nobody, and no end', async () => {
  const [attacker, innocent] = [await deployment.organization(), await deployment.organization()];
  const server = await deployment.startServer();
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const head = [
    'POST /v1/contact.import-contacts HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${attacker.key}`,
    'Content-Type: text/csv',
    'Transfer-Encoding: chunked',
  ];
  const sockets = Array.from({ length: 4 }, () => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
      .setNoDelay(true)
      .resume();
    socket.on('error', () => undefined);
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.write(chunk(`email,bio\na@example.org,"${'x\n'.repeat(450_000)}`));
    return socket;
  });
  const dribbling = setInterval(() => {
    for (const socket of sockets) for (let n = 0; n < 30 && socket.writable; n += 1) socket.write(chunk('x'));
  }, 5);
  try {
    for (let n = 0; n < 100; n += 1) {
      expect((await innocent.at(server.origin).get('contact.list-contacts')).status).toBe(200);
      await sleep(30);
    }
    server.send('SIGTERM');
    expect(await server.exited).toEqual({ status: 0, signal: null });
  } finally {
    clearInterval(dribbling);
    for (const socket of sockets) socket.destroy();
  }
});
