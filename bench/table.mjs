/**
 * The table of docs/benchmarks.md: node bench/table.mjs FILE…, from files of `npm run bench -- --json FILE`. It has a column
 * for each version of Node.js. For a benchmark that ran more than once, it shows the median and the range of the runs.
 */
import { readFileSync } from 'node:fs';
import { format, reachOf, summaryOf, verdictOf } from './harness.mjs';

const runs = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const versions = [...new Set(runs.map(({ machine }) => machine.node))];

/** The results of one version: the values of each run by figure. */
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
  return [format(median) + range, reachOf({ least, most }), verdictOf({ median, least, most, met: isMet })];
}

const columns = versions.map(figuresOf);
const keys = [...new Set(columns.flatMap((column) => [...column.keys()]))];
const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
row(['', 'figure', ...versions.flatMap((version) => [`Node ${version}`, 'reach', ''])]);
row(['', '', ...versions.flatMap(() => ['', '', ''])].map(() => '---'));
for (const key of keys) {
  const [bench, name] = key.split('\n');
  row([`\`${bench}\``, name, ...columns.flatMap((column) => cellsOf(column.get(key)))]);
}
