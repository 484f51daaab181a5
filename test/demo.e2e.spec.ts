import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { JsonLogger } from '#libs/operations';
import { RpcError } from '#libs/rpc';
import { createDemo, logFirstSteps } from '../src/demo/index.js';
import { Renderer } from '../src/images/index.js';
import { Api, Client } from './harness.js';
import { createDirectory, eventually, Program, ServerProcess } from './processes.js';
import { longIt } from './length.js';

const script = resolve(__dirname, '../scripts/demo.mjs');
const reset = (environment: Record<string, string>, cwd?: string) =>
  new Program(process.execPath, [script, 'reset'], environment, cwd).ended;

longIt('npm run demo -- reset brings the demo back, and keeps the former data', async () => {
  const directory = await createDirectory();
  const DATA_DIR = directory.path;
  const aside = async () =>
    (await readdir(dirname(DATA_DIR))).filter((name) => name.startsWith(`${basename(DATA_DIR)}-`));
  const start = async () => {
    const server = await ServerProcess.start({ DATA_DIR });
    await eventually(() => expect(server.stdout).toMatch(/^curl /m));
    const Authorization = `Bearer ${/adv_\w{8}_\w{32,}/.exec(server.stdout)![0]}`;
    const call = async (operation: string, init: RequestInit = {}) => {
      const headers = { Authorization, 'Content-Type': 'application/json' };
      const response = await fetch(`${server.origin}/v1/${operation}`, { headers, ...init });
      return ((await response.json()) as { data: any }).data;
    };
    return { server, call };
  };
  try {
    const first = await start();
    const names = async ({ call }: typeof first) =>
      (await call('list.list-lists')).map(({ name }: { name: string }) => name);
    expect(await names(first)).toEqual(['River friends']);
    await first.call('list.create-list', { method: 'POST', body: JSON.stringify({ name: 'Mine' }) });

    const refused = await reset({ DATA_DIR });
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('Stop the server')]);
    await first.server.end('SIGTERM');
    expect(await aside()).toEqual([]);

    const done = await reset({ DATA_DIR });
    expect([done.status, done.stdout]).toEqual([0, expect.stringContaining('creates the demo')]);
    expect(await aside()).toHaveLength(1);

    const second = await start();
    expect(await names(second)).toEqual(['River friends']);
    await second.server.end('SIGTERM');
  } finally {
    for (const name of await aside()) await rm(join(dirname(DATA_DIR), name), { recursive: true });
    await directory.remove();
  }
});

longIt('a first start tries again if the machine is too busy to decode the images of the demo', async () => {
  const api = await Api.start();
  try {
    const { app, runtime } = api.instances[0]!;
    const render = jest.spyOn(app.get(Renderer, { strict: false }), 'render');
    render.mockRejectedValueOnce(
      new RpcError('SERVICE_UNAVAILABLE', 'Decoding this image took too long.', { reason: 'OVERLOADED' }),
    );
    const demo = await createDemo(app, runtime);
    const logger = new JsonLogger('silent');
    const warn = jest.spyOn(logger, 'warn');
    await logFirstSteps(runtime, logger);
    expect(warn).not.toHaveBeenCalled();
    const { body } = await new Client(api.origin, demo!.organizationId, demo!.key).get('image.list-images');
    expect(body.data).toHaveLength(2);
  } finally {
    await api.stop();
  }
});

it('a later start says what to do if the first one ended before the demo was complete', async () => {
  const api = await Api.start();
  try {
    const { app, runtime } = api.instances[0]!;
    const logger = new JsonLogger('silent');
    const warn = jest.spyOn(logger, 'warn');
    const render = jest.spyOn(app.get(Renderer, { strict: false }), 'render');
    render.mockRejectedValueOnce(new Error('The process was killed.'));
    await expect(createDemo(app, runtime)).rejects.toThrow('killed');
    await logFirstSteps(runtime, logger);
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ message: expect.stringContaining('npm run demo -- reset') })],
    ]);
  } finally {
    await api.stop();
  }
});

it('npm run demo -- reset leaves other databases alone', async () => {
  const { status, stderr } = await reset({ DATABASE_URL: 'postgres://localhost/rivers' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('Unset DATABASE_URL')]);
});

it('npm run demo -- reset leaves directories without an embedded database alone', async () => {
  const directory = await createDirectory();
  try {
    await mkdir(join(directory.path, 'images'));
    const { status, stderr } = await reset({ DATA_DIR: directory.path });
    expect([status, stderr]).toEqual([1, expect.stringContaining('contains no embedded database')]);
    // An empty variable is not the current directory.
    expect(await reset({ DATA_DIR: '' }, directory.path)).toMatchObject({ status: 0 });
    expect(await readdir(directory.path)).toEqual(['images']);
  } finally {
    await directory.remove();
  }
});
