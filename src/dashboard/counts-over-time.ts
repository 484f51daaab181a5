import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { BarsOf, Figure, LineOf, Shares } from './charts.js';
import { dateIn, numberIn, SectionOf } from './parts.js';

/** Days in the plot. With more, the bars become too thin to see. */
const MAX_DAYS = 90;
/** Rows of each table. */
const MAX_ROWS = 10;
const DAY_MS = 86_400_000;

type CountOfDay = { date: string; count: number };

type CountsOverTimeOptions = {
  title: string;
  /** What is counted: “Signatures”. */
  counted: string;
  days: readonly CountOfDay[];
  /** The goal for the sum of all days, and the name of that sum. */
  goal?: { title: string; value: number };
  /** Between the plot and the tables. */
  note?: Html | null;
  /** Those without any name are left out. */
  tables: readonly {
    title: string;
    column: string;
    rows: readonly (readonly [name: string | null, count: number])[];
  }[];
};

/** Charts of what happened each day and of its sum, if it has a goal, and tables of where it came from. Null if nothing happened. */
export function CountsOverTime(
  words: DashboardWords,
  { title, counted, days, goal, note = null, tables }: CountsOverTimeOptions,
): Html | null {
  const { stats } = words.petitions;
  if (days.length === 0) return null;
  const shown = everyDay(days);
  const bars = shown.map(({ date, count }) => ({ name: dateIn(words, date), value: count }));
  const totals = totalsOf(days, shown);
  const daily = BarsOf({ words, title, bars });
  const line =
    goal &&
    html`<h3>${goal.title}</h3>${LineOf({
      ...{ words, title: goal.title, goal: goal.value },
      bars: bars.map(({ name }, n) => ({ name, value: totals[n]! })),
    })}`;
  const charts = line
    ? html`<div class="charts"><div>${line}</div><div><h3>${stats.daily}</h3>${daily}</div></div>`
    : daily;
  const numbers = [counted, ...(goal ? [goal.title] : [])].map((name) => ({ name, isNumber: true }));
  return html`${SectionOf(
    title,
    Figure(words, charts, {
      caption: title,
      columns: [{ name: stats.day }, ...numbers],
      rows: bars.map(({ name, value }, n) => [
        name,
        numberIn(words, value),
        ...(goal ? [numberIn(words, totals[n]!)] : []),
      ]),
    }),
  )}
  ${note}
  <div class="pair">${tables
    .filter(({ rows }) => rows.some(([name]) => name !== null))
    .map(({ title, column, rows }) =>
      SectionOf(
        title,
        Shares({
          words,
          caption: title,
          columns: [column, counted],
          bars: rows
            .toSorted(([, one], [, other]) => other - one)
            .slice(0, MAX_ROWS)
            .map(([name, value]) => ({ name: name ?? stats.unknown, value })),
        }),
      ),
    )}</div>`;
}

/** Includes days without any. Returns at least 14 days and at most `MAX_DAYS`. */
function everyDay(days: readonly CountOfDay[]): CountOfDay[] {
  const known = new Map(days.map(({ date, count }) => [date, count]));
  const dates = [...known.keys()].toSorted();
  const [first, last] = [Date.parse(dates[0]!), Date.parse(dates.at(-1)!)];
  const all: CountOfDay[] = [];
  const from = Math.max(Math.min(first, last - 13 * DAY_MS), last - (MAX_DAYS - 1) * DAY_MS);
  for (let day = from; day <= last; day += DAY_MS) {
    const date = new Date(day).toISOString().slice(0, 10);
    all.push({ date, count: known.get(date) ?? 0 });
  }
  return all;
}

/** The sum of all days up to each of the shown ones. */
function totalsOf(days: readonly CountOfDay[], shown: readonly CountOfDay[]): number[] {
  let total = 0;
  for (const { date, count } of days) if (date < shown[0]!.date) total += count;
  return shown.map(({ count }) => (total += count));
}
