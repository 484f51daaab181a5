/** Runs one benchmark in this process: node bench/run.mjs NAME [--json FILE] [options]. `npm run bench` starts it. */
import { writeFileSync } from 'node:fs';
import { Bench } from './harness.mjs';
import { interruption } from './rounds.mjs';

const [name, ...args] = process.argv.slice(2);
const benchmark = await import(`./${name}.mjs`);
const declared = {
  ...benchmark.options,
  only: ['', 'contenders to measure: parts of their names, separated by commas'],
  json: ['', 'file for all measurements'],
};

if (args.includes('--help')) {
  console.log(`npm run bench -- ${name} [options]\n`);
  console.log('  --node PATH             path of another Node.js, or 22, 24 or 26 to install that version');
  for (const [option, [preset, what]] of Object.entries(declared)) {
    console.log(`  ${`--${option} ${preset}`.padEnd(23)} ${what}`);
  }
} else {
  try {
    const bench = new Bench(name, declared, args);
    await benchmark.run(bench);
    const measured = bench.end();
    if (bench.options.json) writeFileSync(bench.options.json, `${JSON.stringify(measured, null, 2)}\n`);
  } catch (error) {
    // Ctrl-C also stops the servers, which causes errors.
    if (!interruption.signal.aborted) throw error;
    process.exitCode = 130;
  }
}
