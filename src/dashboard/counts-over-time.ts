import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { dateIn, Plot, SectionOf, Shares } from './parts.js';

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
  /** Between the plot and the tables. */
  note?: Html | null;
  /** Those without any name are left out. */
  tables: readonly {
    title: string;
    column: string;
    rows: readonly (readonly [name: string | null, count: number])[];
  }[];
};

/** A plot of what happened each day, and tables of where it came from. Null if nothing happened. */
export function CountsOverTime(
  words: DashboardWords,
  { title, counted, days, note = null, tables }: CountsOverTimeOptions,
): Html | null {
  const { stats } = words.petitions;
  if (days.length === 0) return null;
  return html`${SectionOf(
    title,
    Plot({
      words,
      title,
      columns: [stats.day, counted],
      bars: everyDay(days).map(({ date, count }) => ({ name: dateIn(words, date), value: count })),
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
