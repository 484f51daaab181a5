/**
 * npm run test:stress -- N [Jest's arguments]: runs the tests N times (3 by default) while two busy processes per core compete
 * with them, and lists every test that failed at least once. A test that fails here depends on time, or on the files before it:
 * each run shuffles the files. TEST_ORDER=2 npm test repeats the order of run 2.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './build.mjs';

const [times = '3', ...jestArguments] = process.argv.slice(2);
if (!/^[1-9]\d*$/.test(times)) {
  console.error('Pass the number of runs: npm run test:stress -- 5');
  process.exit(2);
}
// Without any argument npm test also checks types and format, which need no repetition.
const selection = jestArguments.length > 0 ? jestArguments : ['--passWithNoTests'];

const busy = Array.from({ length: 2 * availableParallelism() }, () =>
  spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
);
const stopBusy = () => busy.forEach((child) => child.kill('SIGKILL'));
process.on('exit', stopBusy);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

const directory = mkdtempSync(join(tmpdir(), 'advocacy-stress-'));
const failures = new Map();
let isComplete = true;
for (let n = 1; n <= Number(times); n += 1) {
  const file = join(directory, `${n}.json`);
  const status = await run(n, file);
  const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  const failed = results ? failedTests(results) : ['the run itself'];
  if (status !== 0 && failed.length === 0) failed.push('the run itself');
  for (const name of failed) failures.set(name, (failures.get(name) ?? 0) + 1);
  isComplete &&= results !== undefined;
  console.log(`Run ${n} of ${times}: ${failed.length} failed; load average ${loadavg()[0].toFixed(1)}`);
}
// Running children would keep this process alive.
stopBusy();
rmSync(directory, { recursive: true, force: true });
for (const [name, count] of failures) console.log(`${count} of ${times}  ${name}`);
if (failures.size > 0 || !isComplete) process.exitCode = 1;

function run(order, file) {
  const env = { ...process.env, TEST_RESULTS_FILE: file, TEST_ORDER: String(order) };
  const options = { cwd: root, stdio: 'inherit', env };
  const child = spawn(process.execPath, [join(root, 'scripts/test.mjs'), ...selection], options);
  return new Promise((resolve) => child.once('close', (status) => resolve(status)));
}

function failedTests({ testResults }) {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length > 0) return failed.map(({ fullName }) => `${file}: ${fullName}`);
    return status === 'failed' ? [`${file}: could not be loaded`] : [];
  });
}
