/**
 * Hosts what the test files of a Jest worker share: a database and two servers from the bundle (scripts/bundle.mjs). One is a
 * process of its own, as users start it. The other is this process, which also runs commands for `SharedApi` of `harness.ts`
 * that no request offers, and no background work. It ends when the worker disconnects or ends.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CommandBus } from '@nestjs/cqrs';
import pg from 'pg';
import { Mailer } from '../dist/libs/mail/index.js';
import { JsonLogger } from '../dist/libs/operations/index.js';
import { ServerLife, systemInput, undeclaredErrors } from '../dist/libs/rpc/index.js';
import { CreateApiKey, RevokeApiKey } from '../dist/src/auth/index.js';
import { readConfig } from '../dist/src/config/index.js';
import { CreateOrganization } from '../dist/src/organizations/index.js';
import { ConfirmSignature, RequestSignature } from '../dist/src/petitions/index.js';
import { createApplication, docsUrl, openRuntime } from '../dist/src/server/index.js';
import { AcceptInvitation, InvitationLinks } from '../dist/src/team/index.js';

const COMMANDS = {
  AcceptInvitation,
  ConfirmSignature,
  CreateApiKey,
  CreateOrganization,
  RequestSignature,
  RevokeApiKey,
};
const UNDECLARED = '"message":"undeclared error';
const { TEST_DATABASE_URL, TEST_TEMPLATE_URL } = process.env;

let server;
const undeclared = [];
process.once('disconnect', async () => {
  server?.kill('SIGKILL');
  await administrator.query(`DROP DATABASE ${name} WITH (FORCE)`).catch(() => undefined);
  process.exit();
});
process.once('exit', () => server?.kill('SIGKILL'));

const { pathname: template } = new URL(TEST_TEMPLATE_URL);
const name = `test_shared_${randomBytes(6).toString('hex')}`;
const administrator = new pg.Client({ connectionString: TEST_DATABASE_URL });
administrator.on('error', () => undefined);
await administrator.connect();
await administrator.query(`CREATE DATABASE ${name} TEMPLATE ${template.slice(1)}_started`);
const { href: url } = Object.assign(new URL(TEST_DATABASE_URL), { pathname: `/${name}` });
const environment = {
  NODE_ENV: 'test',
  DATABASE_URL: url,
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  DATA_DIR: join(tmpdir(), 'advocacy-tests', name),
  TRUST_PROXY: '1',
  VERIFY_EVERY: '0',
};

const logger = new JsonLogger('silent');
const config = readConfig(environment);
const runtime = await openRuntime(config, logger);
const app = await createApplication(config, runtime, logger);
const origins = await Promise.all([startServer(), listen()]);
runtime.projections.poll();
process.on('message', async ({ n, ...asked }) => {
  try {
    process.send({ n, result: await answer(asked) });
  } catch (error) {
    process.send({ n, error: error.stack });
  }
});
process.send({ url, origins });

function answer({ command, invitationId, message, organizationId, fields }) {
  if (message !== undefined) return app.get(Mailer).send(message);
  if (invitationId !== undefined)
    return app.get(InvitationLinks, { strict: false }).urlOf({ organizationId, invitationId });
  if (command === undefined) return [...undeclared.splice(0), ...undeclaredErrors];
  return app.get(CommandBus).execute(systemInput(COMMANDS[command], organizationId, fields, 'test'));
}

async function listen() {
  const http = app.getHttpServer();
  let port = 0;
  new ServerLife(http, (code, request) => docsUrl({ ...config, port })(code, request));
  await app.listen(0, '127.0.0.1');
  ({ port } = http.address());
  return `http://127.0.0.1:${port}`;
}

async function startServer() {
  const { PATH, HOME, TMPDIR } = process.env;
  server = spawn(process.execPath, [join(import.meta.dirname, 'main.js')], {
    cwd: join(import.meta.dirname, '..'),
    env: {
      PATH,
      HOME,
      ...(TMPDIR && { TMPDIR }),
      ...environment,
      HOST: '127.0.0.1',
      PORT: '0',
      SHUTDOWN_DELAY: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: server.stdout });
  const listening = new Promise((resolve) => {
    lines.on('line', (line) => {
      if (line.includes(UNDECLARED)) undeclared.push(line);
      if (line.includes('"message":"listening"')) resolve(JSON.parse(line));
    });
  });
  const { port } = await Promise.race([
    listening,
    once(server, 'exit').then(() => Promise.reject(new Error('A shared server ended before it listened.'))),
  ]);
  return `http://127.0.0.1:${port}`;
}
