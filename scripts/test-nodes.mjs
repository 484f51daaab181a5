/**
 * npm run test:nodes: on each other supported Node.js release line, a start as in the README, some end-to-end tests, and a second
 * of a benchmark. Arguments select versions: npm run test:nodes -- 24
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from './build.mjs';
import { nodeOf } from './nodes.mjs';
import { prepare } from './prepare.mjs';

const VERSIONS = ['22', '24', '26'];
/** Tests of commands, queries, and features of Node.js itself: HTTP and streams. */
const TESTS = ['test/petition', 'test/list.e2e', 'test/contact-export', 'http-server'];
const BENCH = ['sign', '--rounds', '1', '--seconds', '1', '--warm-up', '0', '--connections', '4'];
const START_MS = 120_000;

const STEPS = {
  start: startByReadme,
  tests: (node) => run(node, [join(root, 'scripts', 'test.mjs'), ...TESTS]),
  processes: (node) =>
    run(node, [join(root, 'scripts', 'test.mjs'), 'test/shutdown', '-t', 'WEB_CONCURRENCY']),
  bench: (node) =>
    run(node, [join(root, 'scripts', 'bench.mjs'), ...BENCH, '--contacts', '4000', '--only', 'known']),
};

await prepare();
const wanted = process.argv.slice(2);
const table = [];
for (const version of wanted.length > 0 ? wanted : VERSIONS) {
  const node = nodeOf(version);
  const { output } = await run(node, ['--version']);
  const row = { 'Node.js': output.trim() };
  for (const [step, take] of Object.entries(STEPS)) {
    const started = performance.now();
    const { status, output } = await take(node).catch((error) => ({ status: 1, output: String(error) }));
    const seconds = Math.round((performance.now() - started) / 1_000);
    row[step] = `${status === 0 ? 'ok' : 'failed'} (${seconds} s)`;
    if (status === 0) continue;
    process.exitCode = 1;
    console.log(`\n${step} failed with Node.js ${version}:\n${output}`);
  }
  table.push(row);
}
console.table(table);

/** Runs `npm start`, the first signature and Ctrl-C. */
async function startByReadme(node) {
  const directory = mkdtempSync(join(tmpdir(), 'advocacy-start-'));
  // If started by root, PostgreSQL runs as another user, who needs access.
  chmodSync(directory, 0o711);
  const environment = { PORT: '0', HOST: '127.0.0.1', DATA_DIR: join(directory, 'data') };
  const server = begin('npm', ['start'], node, environment);
  try {
    const printed = (pattern) => pattern.exec(server.output)?.[1];
    for (
      const deadline = Date.now() + START_MS;
      printed(/(\{"petitionId".*\})'/) === undefined;
      await sleep(100)
    ) {
      if (server.child.exitCode !== null || Date.now() > deadline)
        return { status: 1, output: server.output };
    }
    const answer = await fetch(printed(/(http\S+\/v1\/petition\.add-signature)/), {
      method: 'POST',
      headers: { Authorization: printed(/(Bearer \w+)/), 'Content-Type': 'application/json' },
      body: printed(/(\{"petitionId".*\})'/),
    });
    server.output += await answer.text();
    server.child.kill('SIGINT');
    const { status, output } = await server.ended;
    return { status: answer.status === 200 ? status : 1, output };
  } finally {
    server.child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function run(program, args) {
  return begin(program, args, program, {}).ended;
}

/** @param node the Node.js that comes first in PATH, for npm */
function begin(program, args, node, environment) {
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH}`;
  const child = spawn(program, args, { cwd: root, env: { ...process.env, ...environment, PATH } });
  const started = { child, output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (started.output += text));
  started.ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: 1, output: String(error) }));
    child.once('close', (status) => resolve({ status, output: started.output }));
  });
  return started;
}
