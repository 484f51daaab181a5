/**
 * npm test: every test against a real PostgreSQL and a real Redis, and in parallel format, lint, types and module boundaries.
 * npm run test:quick: unit tests, one smoke test per module and types, and lint and format of changes since the last commit.
 * With arguments, it only runs Jest with these arguments: npm test -- libs/rpc -t paging
 * With --inspect or --inspect-brk, Jest runs in one process without a time limit, for a debugger.
 * With --timing, it prints the CPU and wall seconds of each test file at the end.
 *
 * The tests run even if a check fails, so one run shows everything. The output of the checks is printed after the tests.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from './build.mjs';
import { installedNode } from './nodes.mjs';
import { prepare } from './prepare.mjs';

/** Programs and libraries that tests need in addition to PostgreSQL, with their Debian packages. */
const PACKAGES = {
  'redis-server': 'redis-server',
  haproxy: 'haproxy',
  'chromium-headless-shell': 'chromium-headless-shell',
  // Without a font, a browser shows boxes.
  '/usr/share/fonts/truetype/dejavu': 'fonts-dejavu-core',
  pgbouncer: 'pgbouncer',
  faketime: 'faketime',
  ...(process.env.TEST_LENGTH === 'long' && {
    go: 'golang-go',
    '/usr/share/gocode/src/golang.org/x/mod': 'golang-golang-x-mod-dev',
  }),
};

/** Static checks: names, programs or scripts, and arguments. */
const CHECKS = [
  ['Format', 'oxfmt', '--list-different', '.'],
  ['Lint', 'oxlint', '.'],
  ['Types', 'tsc'],
  ['Types in browsers of the dashboard', 'tsc', '--project', 'src/dashboard/browser'],
  ['Types in browsers of the site', 'tsc', '--project', 'src/site/browser'],
  ['Unused code', 'knip', '--no-progress'],
  ['Module walls', 'scripts/walls.mjs'],
];

const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
const isForDebugger = (argument) => argument.startsWith('--inspect');
const debuggerArguments = process.argv.slice(2).filter(isForDebugger);
const isTimed = process.argv.includes('--timing');
const isQuick = process.argv.includes('--quick');
const jestArguments = process.argv
  .slice(2)
  .filter((argument) => !isForDebugger(argument) && !['--timing', '--quick'].includes(argument));
if (debuggerArguments.length > 0) jestArguments.push('--runInBand', '--testTimeout=86400000');
const failures = [];
const children = new Set();
let interruptedBy;

for (const signal of Object.keys(signalNumbers)) {
  process.on(signal, () => {
    interruptedBy ??= signal;
    for (const child of children) child.kill(signal);
  });
}

await prepare();
const checking = jestArguments.length === 0 ? runChecks(isQuick ? quickChecks() : CHECKS) : [];
if (isQuick && jestArguments.length === 0) jestArguments.push('\\.unit\\.spec\\.ts$', 'test/smoke');
const results = interruptedBy ? undefined : await runTests();
for (const { name, status, output } of await checking) {
  console.log(`${name}: ${status === 0 ? 'ok' : 'failed'}`);
  if (status === 0) continue;
  failures.push({ name, status });
  console.log(output);
}

if (failures.length > 0) console.log(`Failed: ${failures.map(({ name }) => name).join(', ')}`);
console.log(summary(results));
if (interruptedBy) process.exitCode = 128 + signalNumbers[interruptedBy];
else process.exitCode = failures[0]?.status ?? 0;

/** Runs checks one after another, because the tests use the other cores. */
async function runChecks(chosen) {
  const checks = [];
  for (const [name, program, ...args] of chosen) {
    let output = '';
    const options = { stdio: ['ignore', 'pipe', 'pipe'], onOutput: (text) => (output += text) };
    const status = program.endsWith('.mjs')
      ? await run(process.execPath, [program, ...args], options)
      : await run(join(root, 'node_modules', '.bin', program), args, options);
    if (interruptedBy) break;
    checks.push({ name, status, output });
  }
  return checks;
}

/** All types, because a change may break others, but format and lint of changed files only. */
function quickChecks() {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout ?? '';
  const changed = [
    ...git('diff', '--name-only', '--diff-filter=d', 'HEAD').split('\n'),
    ...git('ls-files', '--others', '--exclude-standard').split('\n'),
  ].filter(Boolean);
  const sources = changed.filter((name) => name.endsWith('.ts'));
  return CHECKS.flatMap(([name, ...command]) => {
    if (name.startsWith('Types')) return [[name, ...command]];
    if (name === 'Format' && changed.length > 0)
      return [[name, ...command.slice(0, -1), '--no-error-on-unmatched-pattern', ...changed]];
    if (name === 'Lint' && sources.length > 0) return [[name, ...command.slice(0, -1), ...sources]];
    return [];
  });
}

/** Runs Jest with the servers that it needs. @returns Jest's own results */
async function runTests() {
  const directory = mkdtempSync(join(memoryOrDisk(), 'advocacy-test-'));
  // If started by root, PostgreSQL runs as another user, who needs access.
  chmodSync(directory, 0o711);
  const stops = [];
  try {
    await installPrograms(isQuick ? ['redis-server'] : Object.keys(PACKAGES));
    const databaseUrl = process.env.DATABASE_URL ?? (await startPostgres(directory, stops));
    const env = {
      ...process.env,
      // Files that a test left after Ctrl-C are deleted with the directory.
      TMPDIR: directory,
      TEST_DATABASE_URL: databaseUrl,
      TEST_TEMPLATE_URL: await createTemplate(databaseUrl, stops),
      TEST_NEWER_NODE: installedNode('24'),
      ...(isTimed && { TEST_TIMING_DIRECTORY: timingDirectory(directory) }),
      TEST_REDIS_URL: process.env.REDIS_URL ?? (await startRedis(directory, stops)),
    };
    if (interruptedBy) return undefined;
    const { status, results } = await runJest(directory, env);
    const ran = (results?.numPassedTests ?? 0) + (results?.numFailedTests ?? 0);
    if (status !== 0 || ran === 0) failures.push({ name: 'Tests', status: status || 1 });
    return results;
  } catch (error) {
    console.error(error.message);
    failures.push({ name: 'Tests', status: 1 });
    return undefined;
  } finally {
    if (isTimed) printTiming(timingDirectory(directory), cpuOfPostgres(directory));
    for (const stop of stops.reverse()) await stop().catch((error) => console.error(error.message));
    unmountBelow(directory);
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Memory, if there is plenty of it: the hundreds of databases that tests create and drop are made of 300 files each, and
 * creating and deleting files on a disk takes a tenth of the CPU time of the whole suite.
 */
function memoryOrDisk() {
  const isRoomy = (bytes) => bytes >= 6 * 2 ** 30;
  if (process.env.TMPDIR !== undefined || !existsSync('/proc/mounts') || !isRoomy(freemem())) return tmpdir();
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === '/dev/shm');
  if (mount === undefined || mount.includes('noexec')) return tmpdir();
  const { bavail, bsize } = statfsSync('/dev/shm');
  return isRoomy(bavail * bsize) ? '/dev/shm' : tmpdir();
}

/** The CPU seconds of PostgreSQL's ended processes, or undefined if it is not the tests' own. */
function cpuOfPostgres(directory) {
  try {
    const [id] = readFileSync(join(directory, 'postgres/data/postmaster.pid'), 'utf8').split('\n');
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return undefined;
  }
}

function timingDirectory(directory) {
  const path = join(directory, 'timing');
  mkdirSync(path, { recursive: true });
  return path;
}

/** The CPU seconds of a file include the Jest worker and its ended child processes, but not the shared servers. */
function printTiming(path, postgres) {
  const files = readdirSync(path).map((name) => JSON.parse(readFileSync(join(path, name), 'utf8')));
  const total = files.reduce((sum, { cpu }) => sum + cpu, 0);
  console.log(`\n  CPU s  wall s  file (${files.length} files, ${total.toFixed(0)} CPU s)`);
  for (const { path: file, cpu, wall } of files.toSorted((one, other) => other.cpu - one.cpu)) {
    console.log(`${cpu.toFixed(1).padStart(7)} ${wall.toFixed(1).padStart(7)}  ${relative(root, file)}`);
  }
  if (postgres !== undefined) console.log(`${postgres.toFixed(1).padStart(7)}          PostgreSQL`);
}

/** @returns Jest's exit status and its own results, if any */
async function runJest(directory, env) {
  const resultsFile = process.env.TEST_RESULTS_FILE ?? join(directory, 'results.json');
  rmSync(resultsFile, { force: true });
  const cache = '--cacheDirectory=node_modules/.cache/jest';
  const args = [...debuggerArguments, join(root, 'node_modules/jest/bin/jest.js'), cache];
  args.push('--json', `--outputFile=${resultsFile}`, ...jestArguments);
  const status = await run(process.execPath, args, { env });
  return {
    status,
    results: existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : undefined,
  };
}

/** Unmounts what an interrupted test left. A server whose data is deleted ends by itself. */
function unmountBelow(directory) {
  if (!existsSync('/proc/mounts')) return;
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounted.filter((each) => each.startsWith(directory))) {
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
    spawnSync('umount', ['--lazy', path]);
  }
}

/** A test file that cannot be loaded counts as one failed test. */
function summary(results) {
  const passed = results?.numPassedTests ?? 0;
  const failed = (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0);
  const skipped = (results?.numPendingTests ?? 0) + (results?.numTodoTests ?? 0);
  return `Tests: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

async function startPostgres(directory, stops) {
  const { startEmbeddedPostgres } = await import('../dist/libs/database/embedded-postgres.js');
  const options = { directory, log: () => {}, createDatabases: true, isForTests: true };
  const postgres = await startEmbeddedPostgres(options);
  stops.push(postgres.stop);
  return postgres.url;
}

/** A migrated database. Tests use hundreds of copies, because migrating takes four times as long as copying. */
async function createTemplate(serverUrl, stops) {
  const { migrate, openDatabase } = await import('../dist/libs/database/index.js');
  const { migrations } = await import('../dist/migrations/index.js');
  const name = `test_template_${randomBytes(6).toString('hex')}`;
  const onServer = async (statement) => {
    const server = await openDatabase({ url: serverUrl, poolSize: 1, migrations: [] });
    await server.query(statement).finally(() => server.destroy());
  };
  await onServer(`CREATE DATABASE ${name}`);
  stops.push(() => onServer(`DROP DATABASE ${name}`));
  const { href: url } = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
  const template = await openDatabase({ url, poolSize: 1, migrations });
  await migrate(template).finally(() => template.destroy());
  await createStartedTemplate(serverUrl, name, onServer, stops);
  return url;
}

/** A copy of the template with the tables of all projections, which every server would create at its first start. */
async function createStartedTemplate(serverUrl, template, onServer, stops) {
  const name = `${template}_started`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  stops.push(() => onServer(`DROP DATABASE ${name}`));
  const [{ openDatabase }, { EventStore, Keyring }, { Projections }, { projections }] = await Promise.all(
    ['libs/database', 'libs/event-store', 'libs/projections', 'src/modules.js'].map(
      (path) => import(`../dist/${path.endsWith('.js') ? path : `${path}/index.js`}`),
    ),
  );
  const { href: url } = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
  const source = await openDatabase({ url, poolSize: 2, migrations: [] });
  const store = new EventStore(source, new Keyring(randomBytes(32)));
  const started = new Projections(source, store, projections, console);
  await started.start();
  await started.stop();
  await source.destroy();
}

async function startRedis(directory, stops) {
  if (!(await isInstalled('redis-server'))) {
    throw new Error('The tests need Redis: install redis-server, or set REDIS_URL to a Redis server.');
  }
  const port = await findFreePort();
  const options = [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  // In its own process group, so that Ctrl-C does not stop it before the tests have ended.
  const redis = spawn('redis-server', options.map(String), { detached: true, stdio: 'ignore' });
  const ended = new Promise((resolve) => redis.once('exit', resolve));
  stops.push(async () => {
    redis.kill();
    await ended;
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await answers(port)) return `redis://127.0.0.1:${port}`;
    await sleep(50);
  }
  throw new Error('redis-server has started but does not respond.');
}

/** Installs missing programs. If that fails, tests that need them are skipped with a message, but all need Redis. */
async function installPrograms(needed) {
  const missing = [];
  for (const program of needed) if (!(await isInstalled(program))) missing.push(PACKAGES[program]);
  if (missing.length === 0 || !(await isInstalled('apt-get'))) return;
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const aptGet = (...args) => {
    const [program, ...rest] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args];
    return run(program, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  console.log(`Installing ${missing.join(', ')} (apt-get)`);
  for (let attempt = 0; attempt < 2 && !interruptedBy; attempt++) {
    await aptGet('update', '-qq');
    // The packages' services are not used, because each test starts its own.
    if ((await aptGet('install', '-y', '-qq', '--no-install-recommends', ...missing)) === 0) return;
  }
}

async function isInstalled(program) {
  const find = 'PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin" command -v "$0" || test -d "$0"';
  return (await run('sh', ['-c', find, program], { stdio: 'ignore' })) === 0;
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(String(answer).startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
  });
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs a program. @returns its exit status, or 127 if it does not exist */
async function run(program, args, { onOutput, ...options } = {}) {
  const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
  children.add(child);
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onOutput);
  const status = await new Promise((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (status, signal) => resolve(status ?? 128 + (signalNumbers[signal] ?? 9)));
  });
  children.delete(child);
  return status;
}
