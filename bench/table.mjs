/** The table of README.md: node bench/table.mjs FILE…, what `npm run bench -- --json FILE` wrote, a column each. */
import { readFileSync } from 'node:fs';
import { format, reachOf, verdictOf } from './harness.mjs';

const runs = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const figuresOf = ({ benches }) =>
  benches.flatMap(({ name: bench, figures }) => figures.map((figure) => ({ bench, ...figure })));
const columns = runs.map(
  (run) => new Map(figuresOf(run).map((figure) => [`${figure.bench}\n${figure.name}`, figure])),
);
const keys = [...new Set(columns.flatMap((column) => [...column.keys()]))];

const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
row(['', 'figure', ...runs.flatMap(({ machine }) => [`Node ${machine.node}`, 'reach', ''])]);
row(['', '', ...runs.flatMap(() => ['', '', ''])].map(() => '---'));
for (const key of keys) {
  const cellsOf = (figure) =>
    figure ? [format(figure.median), reachOf(figure), verdictOf(figure)] : ['', '', ''];
  row([
    ...key.split('\n').map((text, n) => (n === 0 ? `\`${text}\`` : text)),
    ...columns.flatMap((column) => cellsOf(column.get(key))),
  ]);
}
