/** Prepares a checkout to run: installs packages, compiles sources and bundles them. */
import { spawn } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build, isBuilt, root, stampOf } from './build.mjs';
import { bundle, isBundled } from './bundle.mjs';

const lock = join(root, 'dist', '.prepare-lock');

/**
 * Prints one line per executed step on stderr, because stdout belongs to the program that runs next.
 *
 * @param isBundle false if dist/ is run directly.
 */
export async function prepare({ isBundle = true } = {}) {
  checkNode();
  if (!isInstalled()) {
    await holdingLock(async () => {
      if (isInstalled()) return;
      await npm('Installing packages (npm ci)', 'ci', '--include=dev');
    });
  }
  try {
    const isReady = () => isBuilt() && (!isBundle || isBundled(root, stampOf()));
    if (!isReady()) console.error('Building');
    await compile();
    if (!isReady()) await holdingLock(async () => isReady() || bundle(root, stampOf()));
  } catch (error) {
    fail(`${error.message}\nCompilation failed.`);
  }
}

/**
 * Compiles changes. Returns whether there were any.
 *
 * @throws like build()
 */
export async function compile() {
  if (isBuilt()) return false;
  await holdingLock(() => build());
  return true;
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Node.js 20.19 or newer is required. This is ${process.versions.node}.`);
}

/**
 * Compares package-lock.json with npm's list of installed packages. npm writes it last, so an interrupted installation has none.
 * Packages of other platforms are expected to be missing. If they exist, node_modules was copied from another machine.
 */
function isInstalled() {
  const wanted = JSON.parse(read(join(root, 'package-lock.json'))).packages;
  const list = read(join(root, 'node_modules', '.package-lock.json'));
  if (list === undefined) return false;
  const present = JSON.parse(list).packages;
  const isHere = ([path, { version, integrity, optional, devOptional }]) => {
    const found = present[path];
    if (path === '') return true;
    if (!found) return Boolean(optional || devOptional);
    return found.version === version && found.integrity === integrity;
  };
  const runsHere = ({ os = [process.platform], cpu = [process.arch] }) =>
    os.includes(process.platform) && cpu.includes(process.arch);
  return Object.entries(wanted).every(isHere) && Object.values(present).every(runsHere);
}

/**
 * One preparation at a time. The lock is a symbolic link to the ids of the running processes, because a link appears together
 * with its content. npm's own process is included, because it continues if this process is killed.
 */
async function holdingLock(work) {
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (let attempt = 0; !takeLock(); attempt++) {
    if (attempt === 10)
      console.error(`Waiting for another process to finish preparing the checkout (${lock})`);
    await sleep(200);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock() {
  try {
    symlinkSync(String(process.pid), lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  try {
    const owners = readlinkSync(lock);
    // The lock expires after ten minutes, in case the process id was reused.
    const isOld = Date.now() - lstatSync(lock).mtimeMs > 600_000;
    if (owners.split(',').some(isAlive) && !isOld) return false;
    const aside = `${lock}.${process.pid}`;
    renameSync(lock, aside);
    // Another process may have replaced the abandoned lock between the two calls.
    if (readlinkSync(aside) === owners) rmSync(aside);
    else renameSync(aside, lock);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  return false;
}

function isAlive(processId) {
  try {
    process.kill(Number(processId), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs npm quietly. If it fails, prints its output and ends this process. */
async function npm(step, ...args) {
  console.error(step);
  // npm passes its own path to the scripts it runs; otherwise it is on the PATH.
  const cli = process.env.npm_execpath;
  const command = cli ? [process.execPath, cli] : ['npm'];
  const child = spawn(command[0], [...command.slice(1), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  symlinkSync(`${process.pid},${child.pid}`, `${lock}.new`);
  renameSync(`${lock}.new`, lock);
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const status = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (status === 0) return;
  rmSync(lock, { force: true });
  // The error comes first. npm's warnings and usage text would hide it.
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('npm warn'));
  fail(`${lines.slice(0, 40).join('\n')}\nnpm ${args.join(' ')} failed (${status}).`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
