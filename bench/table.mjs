/**
 * Prints the table in docs/benchmarks.md: node bench/table.mjs FILE…, with files from `npm run bench -- --json FILE`. The table has
 * columns for each version of Node.js. If a benchmark ran more than once, it shows the median and the range of the runs.
 */
import { readFileSync } from 'node:fs';
import { format, summaryOf, targetOf, verdictOf } from './harness.mjs';

const runs = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const versions = [...new Set(runs.map(({ machine }) => machine.node))];

/** The results with one version of Node.js: for each figure, its results in all runs. */
function figuresOf(version) {
  const found = new Map();
  for (const { machine, benches } of runs) {
    if (machine.node !== version) continue;
    for (const { name: bench, figures } of benches) {
      for (const figure of figures) {
        const key = `${bench}\n${figure.name}`;
        found.set(key, [...(found.get(key) ?? []), figure]);
      }
    }
  }
  return found;
}

function cellsOf(found) {
  if (!found) return ['', '', ''];
  const { median, min, max } = summaryOf(found.map((figure) => figure.median));
  const range = found.length > 1 ? ` (${format(min)}–${format(max)})` : '';
  const [{ least, most }] = found;
  const isMet =
    least === undefined && most === undefined
      ? undefined
      : least === undefined
        ? median <= most
        : median >= least;
  return [format(median) + range, targetOf({ least, most }), verdictOf({ median, least, most, met: isMet })];
}

const columns = versions.map(figuresOf);
const keys = [...new Set(columns.flatMap((column) => [...column.keys()]))];
const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
row(['', 'figure', ...versions.flatMap((version) => [`Node ${version}`, 'target', ''])]);
row(['', '', ...versions.flatMap(() => ['', '', ''])].map(() => '---'));
for (const key of keys) {
  const [bench, name] = key.split('\n');
  row([`\`${bench}\``, name, ...columns.flatMap((column) => cellsOf(column.get(key)))]);
}
