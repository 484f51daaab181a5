/**
 * npm run start:dev: the server, and a new one after each save. What is given goes to Node.js: npm run start:dev -- --inspect
 *
 * The built-in PostgreSQL runs on meanwhile, because this process uses it too. Types are checked beside, so that a new server
 * need not wait for them, and a wrong one keeps nobody from trying the rest.
 */
import { watch } from 'chokidar';
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FOLDERS, root } from './build.mjs';
import { compile, prepare } from './prepare.mjs';

/** Editors write in several steps; it is over when nothing has come for so long. */
const SAVING_MS = 30;
/** How long a server may take to end what it has begun; streams that somebody reads do not end by themselves. */
const FAREWELL_MS = 2_000;

// As it was: the configuration adds what stands in .env, which each server reads anew.
const environment = { ...process.env };
let server;
let stopping = false;
let saved = false;
let wake = () => undefined;

await prepare({ isBundle: false });
const checker = checkTypes();
// Not by Node.js itself: its version 20 loses sight of a file that an editor has put in another's place.
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
checker.kill();
await end(server);
await postgres?.stop();
process.exit();

function save() {
  saved = true;
  wake();
}

function stop() {
  stopping = true;
  save();
}

/** What is no TypeScript is said, and the server of before goes on. */
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
  const late = setTimeout(() => child.kill('SIGKILL'), FAREWELL_MS);
  await child.ended;
  clearTimeout(late);
}

/** On stderr: stdout is the server's. */
function checkTypes() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--watch', '--preserveWatchOutput', '--pretty'];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] });
  // The server comes first.
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return child;
}

/** So that it does not end with the last of its users, which a server is that makes room for the next. */
async function usePostgres() {
  try {
    const { loadConfig } = await import('../dist/src/config/index.js');
    const { startEmbeddedPostgres } = await import('../dist/libs/database/embedded-postgres.js');
    const { databaseUrl, dataDirectory: directory } = loadConfig();
    return databaseUrl ? undefined : await startEmbeddedPostgres({ directory, log: () => undefined });
  } catch {
    // The server, which does the same, says what is wrong.
    return undefined;
  }
}
