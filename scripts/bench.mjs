/**
 * npm run bench: runs all benchmarks one after another, with a summary. npm run bench -- NAME: runs one. Each runs in its own
 * process. Prepares the checkout, the baselines, and another Node.js if requested.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './build.mjs';
import { nodeOf } from './nodes.mjs';
import { prepare } from './prepare.mjs';

const benchmarks = {
  sign: 'signatures and new contacts over HTTP, compared with stock Nest that does nothing, and Nest with TypeORM',
  read: 'records and lists over HTTP, compared with the same two',
  append: 'appends of one event: the event store, emmett-postgresql, one multi-row INSERT',
  verify: 'verification of a history of a million events: of an export and in the database',
  import: 'lines of an import over HTTP, and the memory of the server',
  scale: 'cost of a signature for the database with 1, 2 and 4 instances',
  memory: 'resident memory of the server: idle, under load, over an hour’s worth of requests',
  webhooks: 'events sent to a webhook and their delay, compared with plain requests',
  broadcast: 'a broadcast to 100,000 people, compared with plain nodemailer',
  site: 'pages of a petition for readers while people sign, compared with node:http that sends the same bytes',
  dashboard:
    'pages of the dashboard compared with the operations that they run, and a list of a million contacts from end to end',
  growth: 'requests on 10,000 events, and on millions of events with a million contacts',
};

/** Benchmarks that do not measure the product's speed, so they run only by name. */
const others = {
  rebuild: 'requests while a projection of 500,000 contacts is rebuilt',
  tampering:
    'whether verification finds, locates and explains every kind of tampering with a history of a million events',
};

const [name, ...options] =
  process.argv[2]?.startsWith('--') === false ? process.argv.slice(2) : [undefined, ...process.argv.slice(2)];

// The running benchmark also gets these signals from the terminal and ends its processes. Then this process ends.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});

if (name === undefined && options.includes('--help')) {
  console.log('npm run bench [-- --json FILE --node 24]         all of these, and a summary');
  console.log('npm run bench -- NAME [options]                  one of them; --help lists its options\n');
  list(benchmarks);
  console.log('\nonly by name:');
  list(others);
  console.log('\nThey use the PostgreSQL of DATABASE_URL, or start their own.');
} else if (name === undefined) {
  const { json, node } = parseArgs({
    args: options,
    options: { json: { type: 'string' }, node: { type: 'string' } },
  }).values;
  await runAll(json, node);
} else if (name in benchmarks || name in others) {
  const { node, rest } = takeNode(options);
  process.exitCode = await runOne(name, rest, node);
} else {
  console.error(`Unknown benchmark "${name}". npm run bench -- --help lists all.`);
  process.exitCode = 1;
}

function list(named) {
  for (const [benchmark, what] of Object.entries(named)) console.log(`  ${benchmark.padEnd(9)} ${what}`);
}

async function runAll(json, node) {
  const directory = mkdtempSync(join(tmpdir(), 'advocacy-bench-results-'));
  const measured = [];
  const failed = [];
  try {
    for (const benchmark of Object.keys(benchmarks)) {
      console.log(`\n— ${benchmark}: ${benchmarks[benchmark]}\n`);
      const file = join(directory, `${benchmark}.json`);
      const status = await runOne(benchmark, ['--json', file], node);
      if (status === 0) measured.push(JSON.parse(readFileSync(file, 'utf8')));
      else failed.push(benchmark);
      if (status === 130) break;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const benches = measured.flatMap((one) => one.benches);
  const { printTargets } = await import('../bench/harness.mjs');
  console.log('\n— Summary\n');
  printTargets(
    benches.flatMap(({ name: bench, figures }) => figures.map((figure) => ({ bench, ...figure }))),
  );
  if (json) writeFileSync(json, `${JSON.stringify({ machine: measured[0]?.machine, benches }, null, 2)}\n`);
  if (failed.length === 0) return;
  console.error(`\nFailed: ${failed.join(', ')}`);
  process.exitCode = 1;
}

/** @returns the exit status */
async function runOne(benchmark, args, node) {
  await prepare();
  if (benchmark === 'append') installBaselines();
  const child = spawn(
    node === undefined ? process.execPath : nodeOf(node),
    [join(root, 'bench', 'run.mjs'), benchmark, ...args],
    {
      stdio: 'inherit',
    },
  );
  const [status] = await once(child, 'exit');
  return status ?? 1;
}

function takeNode(args) {
  const at = args.indexOf('--node');
  return at < 0 ? { rest: args } : { node: args[at + 1], rest: args.toSpliced(at, 2) };
}

/** Installs the baselines, which have their own package.json, because emmett's peer dependencies conflict with the product's. */
function installBaselines() {
  const directory = join(root, 'bench');
  const wanted = readFileSync(join(directory, 'package-lock.json'), 'utf8');
  const stamp = join(directory, 'node_modules', '.installed');
  if (readIfPresent(stamp) === wanted) return;
  console.error('Installing the baselines of the benchmarks (npm ci --prefix bench)');
  execFileSync('npm', ['ci', '--no-fund', '--no-audit', '--silent'], { cwd: directory, stdio: 'inherit' });
  writeFileSync(stamp, wanted);
}

function readIfPresent(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
