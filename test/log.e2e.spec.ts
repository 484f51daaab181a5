import { type Client } from './harness.js';
import { Deployment, type ServerProcess } from './processes.js';

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
beforeAll(async () => {
  deployment = await Deployment.create();
  client = await deployment.organization();
  server = await deployment.startServer({ LOG_LEVEL: 'debug' });
  client = client.at(server.origin);
});
afterAll(() => deployment.stop());

it('is JSON line by line, with one line a request, and shows no key, no e-mail address and no query', async () => {
  const { organizationId } = client;
  const email = 'log-marker@example.org';
  const id = { 'X-Request-Id': 'given-by-the-client' };
  const created = await client.post('contact.create-contact', { organizationId, email }, id);
  await client.get('contact.list-contacts', { email, q: 'query-marker', city: 'city-marker' });
  await client.get('contact.list-contacts', { cursor: 'cursor-marker' });
  await client.request('GET', '/path-marker/v1/contact.get-contact?email=query-marker');
  await client.post('contact.create-contact', { organizationId, email, 'field-marker': 1 });
  const unknownKey = client.key!.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  await client.request('GET', '/v1/contact.list-contacts', undefined, {
    Authorization: `Bearer ${unknownKey}`,
  });
  await client.request('GET', '/health/live');
  const { status, stdout, stderr } = await server.end('SIGTERM');
  expect(status).toBe(0);

  expect(stderr).toBe('');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const line of lines) {
    expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String), pid: server.pid });
    expect(line.message).toEqual(expect.any(String));
  }
  const requests = lines.filter(({ message }) => message === 'request');
  expect(requests.map(({ status }) => status)).toEqual([200, 200, 400, 404, 400, 401]);
  for (const request of requests) expect(request.requestId).toEqual(expect.stringMatching(/^\S+$/));
  expect(requests[0]).toMatchObject({
    requestId: 'given-by-the-client',
    method: 'POST',
    path: '/v1/contact.create-contact',
    organizationId,
    durationMs: expect.any(Number),
  });
  expect(created.headers.get('x-request-id')).toBe('given-by-the-client');
  for (const secret of ['marker', 'example.org', client.key!.slice(13), unknownKey.slice(13)]) {
    expect(stdout).not.toContain(secret);
  }
});
