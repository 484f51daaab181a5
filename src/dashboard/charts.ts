import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { numberIn, Table } from './parts.js';

/** What happened on a day or in another group. */
type Bar = { name: string; value: number };
type ChartOptions = { words: DashboardWords; title: string; bars: readonly Bar[] };

/** The box in which shapes are drawn. It is stretched to fit its place. */
const [WIDTH, HEIGHT] = [640, 200];
const WIDEST_BAR = 40;

type BoxOptions = Pick<ChartOptions, 'bars'> & {
  summary: string;
  /** Texts above the box, at its sides. */
  above: readonly string[];
  shapes: Html | readonly Html[];
};

/** Shapes over time, with a summary for screen readers. Labels are outside the SVG, because they would be stretched with it. */
function BoxOf({ bars, summary, above, shapes }: BoxOptions): Html {
  const ends = (texts: readonly string[]) =>
    html`<p class="ends" aria-hidden="true">${texts.map((text) => html`<span>${text}</span>`)}</p>`;
  return html`${ends(above)}
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${summary}">${shapes}</svg>
    ${ends([bars[0]!.name, bars.at(-1)!.name])}`;
}

/** Bars over time. */
export function BarsOf({ words, title, bars }: ChartOptions): Html {
  const highest = bars.reduce((high, bar) => (bar.value > high.value ? bar : high), bars[0]!);
  const most = Math.max(1, highest.value);
  const step = WIDTH / bars.length;
  const wide = Math.min(step * 0.8, WIDEST_BAR);
  const shapes = bars.map(({ name, value }, n) => {
    const tall = (value / most) * HEIGHT;
    const [x, y] = [((n + 0.5) * step - wide / 2).toFixed(1), (HEIGHT - tall).toFixed(1)];
    return html`<rect x="${x}" y="${y}" width="${wide.toFixed(1)}" height="${tall.toFixed(1)}"><title>${name}: ${numberIn(words, value)}</title></rect>`;
  });
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  const summary = words.plotSummary({
    title,
    from: bars[0]!.name,
    to: bars.at(-1)!.name,
    total: numberIn(words, total),
    highest: highest.name,
    most: numberIn(words, highest.value),
  });
  return BoxOf({ bars, summary, above: [numberIn(words, most)], shapes });
}

/** A total that rises over time, below a line for its goal. */
export function LineOf({ words, title, bars, goal }: ChartOptions & { goal: number }): Html {
  const [first, last] = [bars[0]!, bars.at(-1)!];
  const most = Math.max(1, goal, last.value);
  const heightOf = (value: number) => (HEIGHT - (value / most) * HEIGHT).toFixed(1);
  const step = WIDTH / Math.max(1, bars.length - 1);
  const points = bars.map(({ value }, n) => `${(n * step).toFixed(1)} ${heightOf(value)}`);
  const values = [first.value, last.value, goal].map((value) => numberIn(words, value));
  const [start, end, aim] = values as [string, string, string];
  return BoxOf({
    bars,
    summary: words.lineSummary({ title, from: first.name, to: last.name, start, end, goal: aim }),
    // At the height of the highest value.
    above: last.value > goal ? [end, words.goalOf(aim)] : [words.goalOf(aim)],
    shapes: html`<path class="goal" d="M0 ${heightOf(goal)}H${WIDTH}" /><path d="M${points.join('L')}" />`,
  });
}

/** A chart, and its data as a table. */
export function Figure(words: DashboardWords, chart: Html, table: Parameters<typeof Table>[0]): Html {
  return html`<figure class="plot">
    ${chart}
    <details><summary>${words.asTable}</summary>${Table(table)}</details>
  </figure>`;
}

type SharesOptions = Omit<ChartOptions, 'title'> & { caption: string; columns: readonly [string, string] };

/** Further rows are behind a label, if there are at least two. */
const ROWS_IN_VIEW = 4;

/** A table in which each row has a bar. */
export function Shares({ words, caption, bars, columns }: SharesOptions): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const share = (value: number) =>
    html`<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${((100 * value) / most).toFixed(1)}" height="1" /></svg>`;
  const rowsOf = (some: typeof bars) =>
    some.map(
      ({ name, value }) => html`<tr>
        <th scope="row">${name} ${share(value)}</th>
        <td class="number">${numberIn(words, value)}</td>
      </tr>`,
    );
  const inView = bars.length > ROWS_IN_VIEW + 1 ? ROWS_IN_VIEW : bars.length;
  const folded = bars.slice(inView);
  return html`<table class="shares">
      <caption class="pot">${caption}</caption>
      <thead><tr><th scope="col">${columns[0]}</th><th scope="col" class="number">${columns[1]}</th></tr></thead>
      <tbody>${rowsOf(bars.slice(0, inView))}</tbody>
    </table>
    ${
      folded.length === 0
        ? null
        : html`<details>
          <summary>${words.moreRows(folded.length)}</summary>
          <table class="shares"><caption class="pot">${caption}</caption><tbody>${rowsOf(folded)}</tbody></table>
        </details>`
    }`;
}
