/**
 * npm run start:dev: starts the server, and restarts it after each save. Arguments go to Node.js: npm run start:dev -- --inspect
 *
 * The embedded PostgreSQL keeps running between servers, because this process uses it, too. Types are checked in the background,
 * so that a restart does not wait for them, and type errors do not prevent it.
 */
import { watch } from 'chokidar';
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FOLDERS, root } from './build.mjs';
import { compile, prepare } from './prepare.mjs';

/** Editors save in several steps. A save is complete after this pause. */
const SAVING_MS = 30;
/** The time for a server to stop. Streams that are being read do not end by themselves. */
const STOP_MS = 2_000;

// A copy, because loading the configuration adds the variables of .env, which each server must read again.
const environment = { ...process.env };
let server;
let stopping = false;
let saved = false;
let wake = () => undefined;

await prepare({ isBundle: false });
const checker = checkTypes();
// Not with fs.watch, because on Node.js 20 it loses files that an editor replaces.
watch(
  FOLDERS.map((folder) => join(root, folder)),
  { ignoreInitial: true },
).on('all', save);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

server = start();
const postgres = await usePostgres();
while (!stopping) {
  if (!saved) await new Promise((resolve) => (wake = resolve));
  while (saved) {
    saved = false;
    await sleep(SAVING_MS);
  }
  if (!stopping && (await compiled())) {
    await end(server);
    if (!stopping) server = start();
  }
}
stopChecker();
await end(server);
await postgres?.stop();
process.exit();

function stopChecker() {
  try {
    process.kill(-checker.pid);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function save() {
  saved = true;
  wake();
}

function stop() {
  stopping = true;
  save();
}

/** Compiles changes. Syntax errors are printed, and the previous server keeps running. */
async function compiled() {
  try {
    return await compile();
  } catch (error) {
    console.error(error.message);
    return false;
  }
}

function start() {
  const args = ['--enable-source-maps', ...process.argv.slice(2), join(root, 'dist/src/main.js')];
  const child = spawn(process.execPath, args, { stdio: 'inherit', env: environment });
  child.ended = new Promise((resolve) => child.once('exit', resolve));
  child.ended.then(() => {
    if (child === server && !child.killed && !stopping)
      console.error('The server has ended. Save a file to start it again.');
  });
  return child;
}

async function end(child) {
  child.kill();
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await child.ended;
  clearTimeout(late);
}

/** Checks types in the background. Errors go to stderr, because stdout belongs to the server. */
function checkTypes() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--watch', '--preserveWatchOutput', '--pretty'];
  // In a group of its own: the compiler starts a program that would outlive it.
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2], detached: true });
  // The server has priority.
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return child;
}

/** Uses the embedded PostgreSQL, so that it does not stop with its last user between two servers. */
async function usePostgres() {
  try {
    const { loadConfig } = await import('../dist/src/config/index.js');
    const { startEmbeddedPostgres } = await import('../dist/libs/database/embedded-postgres.js');
    const { databaseUrl, dataDirectory: directory } = loadConfig();
    return databaseUrl ? undefined : await startEmbeddedPostgres({ directory, log: () => undefined });
  } catch {
    // The server does the same and reports the error.
    return undefined;
  }
}
