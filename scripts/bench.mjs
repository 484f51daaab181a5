/** npm run bench -- <name>: prepares the checkout and what the benchmarks compare with, then runs one. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.mjs';
import { prepare } from './prepare.mjs';

const benchmarks = {
  append: 'appends of one event: the event store, emmett-postgresql, one multi-row INSERT',
  signing: 'signatures over HTTP through two instances, beside other requests',
  import: 'lines of an import over HTTP, and the memory that the server needs for it',
  rebuild: 'requests while a read model of 500,000 contacts is rebuilt beside them',
  verify: 'verification of a history of a million events: of an export and in the database',
  tampering:
    'a history of a million events tampered with in each way: whether it is found, where, and what is told',
};

const [name = '--help', ...options] = process.argv.slice(2);
if (name === '--help') {
  console.log('npm run bench -- <name> [options]\n');
  for (const [benchmark, what] of Object.entries(benchmarks)) console.log(`  ${benchmark.padEnd(9)} ${what}`);
  console.log('\nnpm run bench -- <name> --help tells its options.');
  console.log('Runs on the PostgreSQL of DATABASE_URL, or on one of its own.');
} else if (benchmarks[name]) {
  await prepare();
  if (name === 'append') installCompared();
  const { run } = await import(`../bench/${name}.mjs`);
  await run(options).catch((error) => {
    if (error.name !== 'AbortError') throw error;
    process.exitCode = 130;
  });
} else {
  console.error(`There is no benchmark "${name}": npm run bench lists them.`);
  process.exitCode = 1;
}

/** What others made has a package.json of its own: emmett's peer dependencies conflict with the product's. */
function installCompared() {
  const directory = join(root, 'bench');
  const wanted = readFileSync(join(directory, 'package-lock.json'), 'utf8');
  const stamp = join(directory, 'node_modules', '.installed');
  if (readIfPresent(stamp) === wanted) return;
  console.error('Installing what the benchmarks compare with (npm ci --prefix bench)');
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
