import { type Client } from './harness.js';
import { command } from './commands.js';
import { Deployment, eventually, inParallel, type ServerProcess } from './processes.js';
import { longIt } from './length.js';

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
  await start();
});
afterAll(() => deployment.stop());

async function start(): Promise<void> {
  server = await deployment.startServer({ LOG_LEVEL: 'debug' });
  client = client.at(server.origin);
}
const requests = () => server.log.filter(({ message }) => message === 'request');

it('is one JSON object per line and one line per request, without keys, email addresses or queries', async () => {
  const { organizationId } = client;
  const email = 'log-marker@example.org';
  const id = { 'X-Request-Id': 'id-marker@example.org' };
  const created = await client.post('contact.create-contact', { organizationId, email }, id);
  await client.get('contact.list-contacts', { email, q: 'query-marker', city: 'city-marker' });
  await client.get('contact.list-contacts', { cursor: 'cursor-marker' });
  await client.request('GET', '/path-marker/v1/contact.get-contact?email=query-marker');
  await client.request('GET', '/log/path-marker/checkpoint');
  await client.post('contact.create-contact', { organizationId, email, 'field-marker': 1 });
  const unknownKey = client.key!.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  await client.request('GET', '/v1/contact.list-contacts', undefined, {
    Authorization: `Bearer ${unknownKey}`,
  });
  await client.request('GET', '/health/live');
  await eventually(() => expect(requests()).toHaveLength(7));

  const { stdout, stderr } = server;
  expect(stderr).toBe('');
  const lines = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  for (const line of lines) {
    expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String), pid: server.pid });
    expect(line.message).toEqual(expect.any(String));
  }
  const logged = lines.filter(({ message }) => message === 'request');
  expect(logged.map(({ status }) => status)).toEqual([200, 200, 400, 404, 404, 400, 401]);
  expect(logged[4].path).toBe('/log/checkpoint');
  for (const request of logged) expect(request.requestId).toEqual(expect.stringMatching(/^\S+$/));
  expect(logged[0]).toMatchObject({
    requestId: expect.stringMatching(/^h_[0-9a-f]{32}$/),
    method: 'POST',
    path: '/v1/contact.create-contact',
    organizationId,
    durationMs: expect.any(Number),
  });
  expect(created.headers.get('x-request-id')).toBe(id['X-Request-Id']);
  // The operator's way to find the line.
  const found = await command(
    ['--json', 'history', 'request-id', id['X-Request-Id']],
    deployment.environment,
  );
  expect(JSON.parse(found.stdout)).toEqual({ requestId: logged[0].requestId });
  for (const secret of ['marker', 'example.org', client.key!.slice(13), unknownKey.slice(13)]) {
    expect(stdout).not.toContain(secret);
  }
});

/** Numbers of requests whose lines fill a pipe, and those that also fill the server's own buffer. */
const PIPE_FULL = 1_500;
const MEMORY_FULL = 5_500;

async function ask(count: number, prefix = 'n'): Promise<void> {
  await inParallel(count, 32, async (n) => {
    const { status } = await client.request('GET', '/v1/nothing', undefined, {
      'X-Request-Id': `${prefix}-${n}`,
    });
    expect(status).toBe(404);
  });
}

it('has a line for every request, in order', async () => {
  const before = requests().length;
  for (let n = 0; n < 20; n += 1) await ask(1, String(n));
  await ask(200);
  const { status, stderr } = await server.end('SIGTERM');
  expect([status, stderr]).toEqual([0, '']);
  expect(requests()).toHaveLength(before + 220);
  const times = server.log.map(({ time }) => time);
  expect(times).toEqual([...times].sort());
  expect(server.log.slice(-2).map(({ message }) => message)).toEqual(['stopping', 'stopped']);
});

longIt(
  'a reader that pauses delays no response, and the number of lost lines is logged once when it continues',
  async () => {
    await start();
    server.stopReading();
    await ask(MEMORY_FULL);
    server.resumeReading();
    const dropped = () => server.log.filter(({ message }) => message === 'log lines dropped');
    await eventually(() => expect(dropped()).toHaveLength(1));
    await ask(1, 'after');
    await eventually(() => expect(server.log.at(-1)).toMatchObject({ message: 'request' }));
    expect(dropped()).toEqual([expect.objectContaining({ level: 'warn', pid: server.pid })]);
    expect(requests().length + dropped()[0]!.dropped).toBe(MEMORY_FULL + 1);
    expect((await server.end('SIGTERM')).status).toBe(0);
  },
);

longIt('a reader that pauses does not delay the shutdown', async () => {
  await start();
  server.stopReading();
  await ask(PIPE_FULL);
  server.send('SIGTERM');
  // Waits for the exit, because the pipe stays open on this side.
  expect(await server.exited).toEqual({ status: 0, signal: null });
});

longIt('a closed output delays neither responses nor the shutdown', async () => {
  await start();
  server.closeOutput();
  await ask(PIPE_FULL);
  server.send('SIGTERM');
  expect(await server.exited).toEqual({ status: 0, signal: null });
});
