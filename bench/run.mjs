/** One benchmark in this process: node bench/run.mjs NAME [--json FILE] [options]. `npm run bench` starts it. */
import { writeFileSync } from 'node:fs';
import { Bench } from './harness.mjs';
import { interruption } from './rounds.mjs';

const [name, ...args] = process.argv.slice(2);
const benchmark = await import(`./${name}.mjs`);
const declared = {
  ...benchmark.options,
  only: ['', 'what is measured: parts of names, with commas between them'],
  json: ['', 'a file into which all that was measured is written'],
};

if (args.includes('--help')) {
  console.log(`npm run bench -- ${name} [options]\n`);
  console.log(
    '  --node PATH             another Node.js to run on, or 22, 24, 26: that version is installed',
  );
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
    // Ctrl-C also ends the servers, which causes failures.
    if (!interruption.signal.aborted) throw error;
    process.exitCode = 130;
  }
}
