/**
 * How a benchmark is written. It is a file of this folder, named in `scripts/bench.mjs`, with two exports:
 *
 *     export const options = { rounds: [3, 'of each contender'], sizes: [[1, 64], 'callers'], format: ['csv', 'or ndjson'] };
 *
 *     export async function run(bench) {
 *       const { rounds } = bench.options;                        // a number, an array of numbers, a text: as the default is
 *       await bench.withDatabase(async (url) => {
 *         const result = await bench.measure('title', [
 *           { name: 'ours', measure: async () => ({ 'requests/s': 900, 'p50 ms': 3 }) },   // a round, its figures
 *           { name: 'theirs', warmUp: async () => {…}, measure: … },                       // warmUp: once, before all rounds
 *         ], rounds);
 *         bench.reach('ours ÷ theirs', result.ratio('ours', 'theirs', 'requests/s'), { least: 1.5 });
 *       });
 *     }
 *
 * `measure` goes through the contenders in turn (a, b, c, a, b, c, …), so that whatever else the machine does meets all
 * alike, and prints one line each: medians, and from where to where the first figure went. Ratios are taken within a
 * round, between neighbours in time. What is promised is declared with `reach`, printed at the end, and in `--json`.
 * A benchmark fails (throws) where something was lost or wrong, never because something was slow.
 *
 * HTTP requests are sent by `load.mjs`, servers started by `servers.mjs`, the time that processors spent on a process read
 * by `processes.mjs`; `rounds.mjs` calls a function in this process.
 */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { withDatabase } from './database.mjs';
import { generator } from './load.mjs';

export class Bench {
  options;
  /** Of each table its title and lines; of each line its name and, for each figure, all values. */
  tables = [];
  figures = [];
  notes = [];
  machine = machine();
  begin = performance.now();

  /** @param declared the `options` of the benchmark's file. */
  constructor(name, declared, args) {
    this.name = name;
    this.options = readOptions(declared, args);
  }

  /** Runs `work(url)` on an empty database, or on so many (`work(url, another)`), dropped afterwards. */
  async withDatabase(work, count = 1) {
    await withDatabase(async (...urls) => {
      this.machine.postgres = await versionOf(urls[0]);
      console.log(`${this.name}: ${describeMachine(this.machine)}\n`);
      await work(...urls);
    }, count);
  }

  /**
   * Of these contenders those that `--only` names.
   *
   * @param all each `{ name, measure, warmUp }`; `measure` resolves with the figures of one round, NaN where one
   *   cannot be had.
   * @returns `values(name, figure)`: the values of all rounds; `ratio(name, other, figure)`: those of one by the other's; of
   *   who was not measured there are none.
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

  /** Prints and keeps lines that were measured in a way of their own. @param lines `{ name, figures: { [figure]: values } }` */
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
    const heading = [title, ...names.flatMap((name) => (name === first ? [name, 'from–to'] : [name]))];
    print([heading, ...rows], (column) => column > 0);
    console.log();
  }

  /**
   * Declares what is promised of a figure.
   *
   * @param values of all rounds, of which the median counts; where there is none, nothing is declared
   * @param reach `{ least }` or `{ most }`; where nothing is promised on this machine, neither
   */
  reach(name, values, { least, most } = {}) {
    if (values.length === 0) return;
    const figure = { name, ...summaryOf(values), values };
    if (least !== undefined) Object.assign(figure, { least, met: figure.median >= least });
    if (most !== undefined) Object.assign(figure, { most, met: figure.median <= most });
    this.figures.push(figure);
  }

  /** Prints and keeps a sentence. */
  note(text) {
    this.notes.push(text);
    console.log(text);
  }

  /** Prints what was promised and whether it is kept. @returns all that `--json` writes of it. */
  end() {
    if (this.figures.length > 0)
      printReaches(this.figures.map((figure) => ({ bench: this.name, ...figure })));
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

/** On Node.js 20 the stock server is slow, on 24 and later fast: what is promised beside it is not the same. */
export function byNode(least20, least24) {
  return { least: Number(process.versions.node.split('.')[0]) < 22 ? least20 : least24 };
}

/** @param figures as {@link Bench.reach} keeps them, each with the name of its benchmark. */
export function printReaches(figures) {
  const rows = figures.map((figure) => {
    const { bench, name, median, min, max } = figure;
    const spread = min === max ? '' : `${format(min)}–${format(max)}`;
    return [bench, name, format(median), spread, reachOf(figure), verdictOf(figure)];
  });
  const heading = ['', 'figure', 'value', 'from–to', 'reach', ''];
  print([heading, ...rows], (column) => ['value', 'from–to', 'reach'].includes(heading[column]));
}

export function reachOf({ least, most }) {
  if (least !== undefined) return `≥ ${format(least)}`;
  return most === undefined ? '' : `≤ ${format(most)}`;
}

/** @returns `met`, by how much it is missed, or nothing where nothing is promised. */
export function verdictOf({ median, least, most, met }) {
  if (met === undefined) return '';
  const reach = least ?? most;
  if (!Number.isFinite(median)) return 'missed';
  return met ? 'met' : `missed by ${Math.round((Math.abs(median - reach) / reach) * 100)} %`;
}

export function summaryOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** In columns. @param numbers whether a column holds numbers, which end at the same place. */
function print(rows, numbers) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      numbers(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

/** Three digits at least, no more decimals than two. */
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
      if (numbers.some(Number.isNaN)) throw new Error(`--${name} is no number: ${text}`);
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
