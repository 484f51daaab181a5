/**
 * How to write a benchmark: add a file to this folder, list it in `scripts/bench.mjs`, and export two things:
 *
 *     export const options = { rounds: [3, 'rounds per contender'], sizes: [[1, 64], 'callers'], format: ['csv', 'csv or ndjson'] };
 *
 *     export async function run(bench) {
 *       const { rounds } = bench.options;                        // a number, an array of numbers or a string, like the default
 *       await bench.withDatabase(async (url) => {
 *         const result = await bench.measure('title', [
 *           { name: 'ours', measure: async () => ({ 'requests/s': 900, 'p50 ms': 3 }) },   // runs one round and returns its figures
 *           { name: 'theirs', warmUp: async () => {…}, measure: … },                       // `warmUp` runs once, before all rounds
 *         ], rounds);
 *         bench.target('ours ÷ theirs', result.ratio('ours', 'theirs', 'requests/s'), { least: 1.5 });
 *       });
 *     }
 *
 * `measure` runs the contenders in turn (a, b, c, a, b, c, …), so that other load on the machine affects all equally. It prints a
 * line for each: the median of each figure, and the range of the first. Ratios compare contenders within the same round, because
 * the load changes over time. Declare targets with `target`. They are printed at the end and are part of `--json`. A benchmark
 * throws if something is lost or wrong, never because it is slow.
 *
 * `load.mjs` sends HTTP requests, `servers.mjs` starts servers, `processes.mjs` reads the CPU time of processes, and `rounds.mjs`
 * calls a function repeatedly in this process.
 */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { withDatabase } from './database.mjs';
import { generator } from './load.mjs';

export class Bench {
  options;
  /** Tables with a title and lines. Each line has a name, and the values of each figure in all rounds. */
  tables = [];
  figures = [];
  notes = [];
  machine = machine();
  begin = performance.now();

  /** @param declared the `options` of the benchmark's file */
  constructor(name, declared, args) {
    this.name = name;
    this.options = readOptions(declared, args);
  }

  /** Runs `work(url)` on an empty database, or on `count` of them (`work(url, another)`), and drops them afterwards. */
  async withDatabase(work, count = 1) {
    await withDatabase(async (...urls) => {
      this.machine.postgres = await versionOf(urls[0]);
      console.log(`${this.name}: ${describeMachine(this.machine)}\n`);
      await work(...urls);
    }, count);
  }

  /**
   * Measures these contenders, or those that `--only` names.
   *
   * @param all each `{ name, measure, warmUp }`. `measure` runs one round and resolves with its figures. Unavailable figures are NaN.
   * @returns `values(name, figure)`: the value in each round. `ratio(name, other, figure)`: in each round, the value of one divided
   *   by the other's. Both are empty for contenders that were not measured.
   */
  async measure(title, all, rounds) {
    const only = this.options.only.split(',');
    const contenders = all.filter(({ name }) => only.some((part) => name.includes(part)));
    const lines = contenders.map(({ name }) => ({ name, figures: {} }));
    for (const { warmUp } of contenders) await warmUp?.();
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, { measure }] of contenders.entries()) {
        for (const [figure, value] of Object.entries(await measure())) {
          (lines[index].figures[figure] ??= []).push(value);
        }
      }
    }
    this.table(title, lines);
    const values = (name, figure) => lines.find((line) => line.name === name)?.figures[figure] ?? [];
    return {
      values,
      ratio: (name, other, figure) => {
        const divisors = values(other, figure);
        return values(name, figure).flatMap((value, round) =>
          round in divisors ? value / divisors[round] : [],
        );
      },
    };
  }

  /** Prints and records lines that were measured separately. @param lines `{ name, figures: { [figure]: values } }` */
  table(title, lines) {
    if (lines.length === 0) return;
    this.tables.push({ title, lines });
    const names = [...new Set(lines.flatMap(({ figures }) => Object.keys(figures)))];
    const [first] = names;
    const rows = lines.map(({ name, figures }) => [
      name,
      ...names.flatMap((figure) => {
        const values = figures[figure];
        if (values === undefined) return figure === first ? ['', ''] : [''];
        const { median, min, max } = summaryOf(values);
        const spread = values.length > 1 ? `${format(min)}–${format(max)}` : '';
        return figure === first ? [format(median), spread] : [format(median)];
      }),
    ]);
    const heading = [title, ...names.flatMap((name) => (name === first ? [name, 'range'] : [name]))];
    print([heading, ...rows], (column) => column > 0);
    console.log();
  }

  /**
   * Declares the target for a figure.
   *
   * @param values the values in all rounds. Their median counts. If empty, nothing is declared.
   * @param limit `{ least }` or `{ most }`; neither if there is no target for this machine
   */
  target(name, values, { least, most } = {}) {
    if (values.length === 0) return;
    const figure = { name, ...summaryOf(values), values };
    if (least !== undefined) Object.assign(figure, { least, met: figure.median >= least });
    if (most !== undefined) Object.assign(figure, { most, met: figure.median <= most });
    this.figures.push(figure);
  }

  /** Prints and records a sentence. */
  note(text) {
    this.notes.push(text);
    console.log(text);
  }

  /** Prints the targets and whether they are met. @returns the contents of `--json` */
  end() {
    if (this.figures.length > 0)
      printTargets(this.figures.map((figure) => ({ bench: this.name, ...figure })));
    const { name, options, machine, tables, figures, notes } = this;
    const seconds = Math.round((performance.now() - this.begin) / 1000);
    const summarized = tables.map(({ title, lines }) => ({
      title,
      lines: lines.map((line) => ({
        name: line.name,
        figures: Object.fromEntries(
          Object.entries(line.figures).map(([figure, values]) => [figure, { ...summaryOf(values), values }]),
        ),
      })),
    }));
    return { machine, benches: [{ name, seconds, options, tables: summarized, figures, notes }] };
  }
}

/** Targets relative to the stock server, which is slow on Node.js 20 and fast on 24 and later. */
export function byNode(least20, least24) {
  return { least: Number(process.versions.node.split('.')[0]) < 22 ? least20 : least24 };
}

/** @param figures of {@link Bench.target}, each with the name of its benchmark */
export function printTargets(figures) {
  const rows = figures.map((figure) => {
    const { bench, name, median, min, max } = figure;
    const spread = min === max ? '' : `${format(min)}–${format(max)}`;
    return [bench, name, format(median), spread, targetOf(figure), verdictOf(figure)];
  });
  const heading = ['', 'figure', 'value', 'range', 'target', ''];
  print([heading, ...rows], (column) => ['value', 'range', 'target'].includes(heading[column]));
}

export function targetOf({ least, most }) {
  if (least !== undefined) return `≥ ${format(least)}`;
  return most === undefined ? '' : `≤ ${format(most)}`;
}

/** @returns `met`, by how much the target is missed, or an empty string if there is no target */
export function verdictOf({ median, least, most, met }) {
  if (met === undefined) return '';
  const target = least ?? most;
  if (!Number.isFinite(median)) return 'missed';
  return met ? 'met' : `missed by ${Math.round((Math.abs(median - target) / target) * 100)} %`;
}

export function summaryOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** Prints rows in columns. @param numbers whether the column with this index contains numbers, which are right-aligned */
function print(rows, numbers) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      numbers(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

/** Formats a number with at least three digits and at most two decimals. */
export function format(value) {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function readOptions(declared, args) {
  const options = Object.fromEntries(Object.keys(declared).map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({ args, options });
  return Object.fromEntries(
    Object.entries(declared).map(([name, [preset]]) => {
      const text = values[name];
      if (text === undefined || typeof preset === 'string') return [name, text ?? preset];
      const numbers = text.split(',').map(Number);
      if (numbers.some(Number.isNaN)) throw new Error(`--${name} must be a number: ${text}`);
      return [name, Array.isArray(preset) ? numbers : numbers[0]];
    }),
  );
}

function machine() {
  return {
    date: new Date().toISOString(),
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim(),
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    loadBefore: loadavg()[0],
    node: process.versions.node,
    load: generator().version,
  };
}

function describeMachine({ date, cores, cpu, memoryGiB, loadBefore, node, load, postgres }) {
  const hardware = `${cores} cores (${cpu}), ${memoryGiB} GiB, load before ${loadBefore.toFixed(1)}`;
  return `${date.slice(0, 10)}, Node.js ${node}, PostgreSQL ${postgres}, ${load}\n${hardware}`;
}

async function versionOf(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query('SHOW server_version')).rows[0].server_version;
  } finally {
    await client.end();
  }
}
