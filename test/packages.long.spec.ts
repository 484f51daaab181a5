import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from './browser.js';
import { eventually, Program } from './processes.js';

const root = join(__dirname, '..');
/** On a disk, because it contains a gigabyte. Temporary files of tests are in memory. */
const directory = mkdtempSync('/var/tmp/advocacy-packages-');
/** The directories of a user who has no checkout. */
const empty = join(directory, 'empty');
const consumer = join(directory, 'consumer');
const environment = { npm_config_cache: join(directory, 'cache') };

/** What each runtime does with the client. It returns the same result everywhere. */
const FLOW = `
export async function flow({ ApiError, createClient, verifyWebhook }, url, key) {
  const client = createClient({ url, key });
  const email = crypto.randomUUID() + '@example.org';
  const { contactId } = await client.contact.create({ email, firstName: 'Ada' });
  const error = await client.contact.create({ email, firstName: 'Augusta' }).catch((one) => one);
  const { created } = await client.contact.import([{ email: 'a' + email }], { subscribed: true });
  let listed = 0;
  for await (const _ of client.contact.list({ limit: 2, q: email })) listed += 1;
  let exported = 0;
  for await (const contact of client.contact.export()) exported += contact.email.endsWith(email) ? 1 : 0;
  const forged = { 'webhook-id': 'a', 'webhook-timestamp': String(Date.now() / 1_000), 'webhook-signature': 'v1,AAAA' };
  const verified = await verifyWebhook('{}', forged, 'whsec_' + 'A'.repeat(43) + '=').catch((one) => one.name);
  await client.contact.delete({ contactId });
  return JSON.stringify([error instanceof ApiError && error.reason, created, listed, exported, verified]);
}
`;
const RESULT = JSON.stringify(['EMAIL_TAKEN', 1, 2, 2, 'WebhookVerificationError']);
const RUN = `
import * as client from '@advocacy/client';
import { flow } from './flow.mjs';
globalThis.crypto ??= (await import('node:crypto')).webcrypto;
console.log(await flow(client, process.env.ORIGIN, process.env.KEY));
`;
const RUN_COMMONJS = `
const client = require('@advocacy/client');
globalThis.crypto ??= require('node:crypto').webcrypto;
import('./flow.mjs').then(({ flow }) => flow(client, process.env.ORIGIN, process.env.KEY)).then(console.log);
`;
const TYPES = `
import { type Contact, createClient, type ErrorReason, type WebhookEvent } from '@advocacy/client';
const client = createClient({ url: '', key: '' });
export const petitionOf = (event: WebhookEvent): string | undefined =>
  event.type === 'PetitionSigned' ? event.data.petitionId : undefined;
export async function check(): Promise<Contact[]> {
  const petition = await client.petition.get({ petitionId: '' });
  const status: 'DRAFT' | 'PUBLISHED' | 'CLOSED' = petition.status;
  const reason: ErrorReason = 'EMAIL_TAKEN';
  // @ts-expect-error: no email address
  await client.contact.create({});
  // @ts-expect-error: no such field
  await client.petition.create({ name: status + reason, nam: '' });
  for await (const { contactId } of client.petition.listSignatures({ petitionId: '' })) if (contactId) break;
  return (await client.contact.list({ subscribed: true })).data;
}
`;

const STALE = ['dist/stale.js', 'dist/src/stale.js', 'dist/bundle/stale.js'].map((file) => join(root, file));

let product: string;
let server: Program;
let website: Server;
let origin: string;
let key: string;
const printed = (pattern: RegExp) => pattern.exec(server.stdout)?.[1];
const npm = (args: string[], cwd = root) =>
  execFileSync('npm', args, { cwd, env: { ...process.env, ...environment }, encoding: 'utf8' });

beforeAll(async () => {
  // If started by root, PostgreSQL runs as another user, who needs access.
  chmodSync(directory, 0o711);
  mkdirSync(consumer);
  mkdirSync(empty);
  // Of an earlier build.
  for (const file of STALE) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '');
  }
  npm(['pack', '--pack-destination', empty]);
  for (const file of STALE) rmSync(file);
  npm(['pack', './client', '--pack-destination', consumer]);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  npm(['install', `./advocacy-client-${version}.tgz`], consumer);
  const modules = join(consumer, 'node_modules/@advocacy/client/dist/esm');
  website = createServer((request, response) => {
    const name = request.url!.slice(1);
    response.setHeader('Content-Type', name.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.end(name === '' ? '<!doctype html>' : readFileSync(join(modules, name)));
  });
  await new Promise<void>((resolve) => website.listen(0, '127.0.0.1', resolve));
  const { port } = website.address() as AddressInfo;
  product = `./advocacy-api-${version}.tgz`;
  const settings = { PORT: '0', HOST: '127.0.0.1', CORS_ORIGINS: `http://127.0.0.1:${port}` };
  server = new Program('npx', ['--yes', product], { ...environment, ...settings }, empty);
  const welcome = /API key +adv_\S+[^]*petition page +\S+/;
  await Promise.race([server.ended, eventually(() => expect(server.stdout).toMatch(welcome), 400)]);
  expect([server.stdout, server.stderr]).toEqual([expect.stringMatching(welcome), expect.anything()]);
  origin = new URL(printed(/petition page +(\S+)/)!).origin;
  key = printed(/API key +(adv_\S+)/)!;
});
afterAll(async () => {
  website.close();
  server.send('SIGTERM');
  await server.ended;
  rmSync(directory, { recursive: true });
});

it('npx starts the packed product in an empty directory, with its demo and its command line', async () => {
  const page = await fetch(printed(/petition page +(\S+)/)!);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('og:image')]);
  const listed = execFileSync('npx', ['--yes', '-p', product, 'advocacy', 'organization', 'list'], {
    cwd: empty,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
  expect(JSON.parse(listed)).toEqual([expect.objectContaining({ name: 'Demo organization' })]);
});

it('the package contains no file of an earlier build', () => {
  const files = execFileSync('tar', ['-tzf', product], { cwd: empty, encoding: 'utf8' });
  expect(files).toContain('package/dist/bundle/main.js\n');
  expect(files).not.toMatch(/stale\.js|\.bundled-from|-host/);
});

it('the packed client runs in Node.js 18, 20 and 24, as a module and as CommonJS', () => {
  const releases = ['18', '24'];
  const node = `node-${process.platform}-${process.arch}`;
  npm(
    ['install', '--no-save', ...releases.map((release) => `node${release}@npm:${node}@${release}`)],
    consumer,
  );
  writeFileSync(join(consumer, 'flow.mjs'), FLOW);
  writeFileSync(join(consumer, 'run.mjs'), RUN);
  writeFileSync(join(consumer, 'run.cjs'), RUN_COMMONJS);
  const programs = releases.map((release) => join(consumer, `node_modules/node${release}/bin/node`));
  for (const program of [...programs, process.execPath])
    for (const script of ['run.mjs', 'run.cjs']) {
      const env = { ORIGIN: origin, KEY: key };
      const result = execFileSync(program, [script], { cwd: consumer, env, encoding: 'utf8' });
      expect([program, script, result.trim()]).toEqual([program, script, RESULT]);
    }
});

it('the packed client runs in Chromium without a build', async () => {
  const browser = await chromium.launch({ executablePath: findChromium()!, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(website.address() as AddressInfo).port}/`);
    const [flow, from, by] = [`data:text/javascript,${encodeURIComponent(FLOW)}`, origin, key].map((text) =>
      JSON.stringify(text),
    );
    const result = await page.evaluate(`(async () => {
      const { flow } = await import(${flow});
      return flow(await import('/index.js'), ${from}, ${by});
    })()`);
    expect(result).toBe(RESULT);
  } finally {
    await browser.close();
  }
});

it('the types of the packed client are strict, in modules and in CommonJS', () => {
  writeFileSync(join(consumer, 'module.mts'), TYPES);
  writeFileSync(join(consumer, 'common.cts'), TYPES);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit'];
  const target = ['--target', 'es2022', '--lib', 'es2022,dom,dom.asynciterable', '--types', ''];
  const args = [tsc, ...strict, ...target, '--module', 'nodenext', 'module.mts', 'common.cts'];
  // Prints errors on stdout.
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: consumer, encoding: 'utf8' });
  expect([stdout, status]).toEqual(['', 0]);
});
