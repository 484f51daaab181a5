import { randomUUID } from 'node:crypto';
import { formatDate, formatNumber, html, type Html, trusted } from '#libs/pages';
import { type Visit } from './visit.js';
import { type Words } from './words/index.js';

/** Tells two forms that say the same from one that was sent twice. */
export function onceOf(): Html {
  return html`<input type="hidden" name="once" value="${randomUUID()}" />`;
}

/** A date, as people of the language write it. */
export function dateIn({ dates }: Words, moment: string | Date): string {
  return formatDate(dates, { dateStyle: 'medium' }, new Date(moment));
}

/** A moment; of which zone it is, it says. */
export function timeIn({ dates }: Words, moment: string | Date): string {
  return `${formatDate(dates, { dateStyle: 'medium', timeStyle: 'short' }, new Date(moment))} UTC`;
}

export function numberIn({ dates }: Words, number: number): string {
  return formatNumber(dates, number);
}

/** @param to below the organization. */
export function ButtonLink(visit: Visit, to: string, text: string, isPlain = false): Html {
  return html`<a class="button${isPlain ? ' plain' : ''}" href="${visit.path(to)}">${text}</a>`;
}

/** What can be done here, one beside the other. */
export function Actions(deeds: readonly (Html | null)[]): Html | null {
  const there = deeds.filter((deed) => deed !== null);
  return there.length === 0
    ? null
    : html`<ul class="deeds">${there.map((deed) => html`<li>${deed}</li>`)}</ul>`;
}

/** Dates and states stay on one line. */
const LONGEST_SHORT = 13;
/** A longer word may break anywhere: an address, say. */
const LONGEST_WORD = 24;

/** What kind of cell it is: by it the stylesheet knows where it may break. */
function classOf(cell: Html | string | number | null, isNumber = false): Html | null {
  if (isNumber) return trusted(' class="number"');
  if (typeof cell !== 'string') return null;
  if (cell.length <= LONGEST_SHORT) return trusted(' class="short"');
  return cell.split(' ').some((word) => word.length > LONGEST_WORD) ? trusted(' class="long"') : null;
}

/**
 * A table that scrolls where it is too wide; on a phone each row is a card. Its parts say what they are, because browsers forget it of
 * tables that are laid out as something else.
 *
 * @param caption what it lists, for whoever does not see it.
 */
export function Table({
  caption,
  columns,
  rows,
}: {
  caption: string;
  columns: readonly { name: string; isNumber?: boolean | undefined }[];
  rows: readonly (readonly (Html | string | number | null)[])[];
}): Html {
  const number = (n: number) => (columns[n]?.isNumber ? trusted(' class="number"') : null);
  return html`<div class="table" role="region" aria-label="${caption}" tabindex="0">
    <table role="table">
      <caption class="pot">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map(({ name }, n) => html`<th role="columnheader" scope="col"${number(n)}>${name}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ([first = null, ...others]) => html`<tr role="row">
            <th role="rowheader" scope="row"${number(0)}>${first}</th>${others.map((cell, n) => {
              const { name, isNumber } = columns[n + 1]!;
              return html`<td role="cell" data-label="${name}"${classOf(cell, isNumber)}>${cell}</td>`;
            })}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** What there is of one thing. Null is said as such. */
export function Facts(facts: readonly { name: string; value: Html | string | number | null }[]): Html {
  return html`<dl class="facts">
    ${facts.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value === null || value === '' ? '–' : value}</dd></div>`)}
  </dl>`;
}

/** In place of a list that has nothing: what to do first. */
export function Empty({ title, text, deed }: { title: string; text: string; deed?: Html | null }): Html {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p>${deed ? html`<p>${deed}</p>` : null}</div>`;
}

/** A part of a page under a heading of its own. */
export function SectionOf(title: string, content: Html | null | readonly (Html | null)[]): Html {
  return html`<section class="section"><h2>${title}</h2>${content}</section>`;
}

type FieldOptions = {
  name: string;
  label: string;
  hint?: string | undefined;
  value?: string | null | undefined;
  isOptional?: boolean;
  /** Something is chosen always: nobody need be told that they may leave it. */
  isChosen?: boolean;
};

/** What stands around every field: its label, what helps, what is wrong. */
function FieldOf(
  visit: Visit,
  { name, label, hint, isOptional = false, isChosen = false }: FieldOptions,
  input: (attributes: Html) => Html,
): Html {
  const { words, refusal, labels } = visit;
  labels.set(name, label);
  const fault = refusal?.faults.find(({ field }) => field === name)?.text;
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  const attributes = html`id="${name}" name="${name}"${described === '' ? null : html` aria-describedby="${described}"`}${
    fault === undefined ? null : trusted(' aria-invalid="true"')
  }${isOptional || isChosen ? null : trusted(' required')}`;
  return html`<div class="field${fault === undefined ? '' : ' wrong'}">
    <label for="${name}">${label}${isOptional ? html` <span class="optional">(${words.optional})</span>` : null}</label>
    ${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${fault === undefined ? null : html`<p class="fault" id="${name}-fault">${fault}</p>`}
    ${input(attributes)}
  </div>`;
}

export function TextField(
  visit: Visit,
  options: FieldOptions & {
    type?: 'text' | 'email' | 'url' | 'tel' | 'number' | 'search' | 'color' | 'datetime-local' | 'date';
    max?: number;
    autocomplete?: string;
    /** What can be chosen, beside all else that can be typed. */
    offered?: readonly string[];
  },
): Html {
  const { name, value, type = 'text', max, autocomplete = 'off', offered = [] } = options;
  return FieldOf(
    visit,
    options,
    (attributes) =>
      html`<input ${attributes}${type === 'text' ? trusted(' dir="auto"') : null} type="${type}" autocomplete="${autocomplete}" value="${visit.valueOf(name, value)}"${
        max === undefined ? null : html` maxlength="${max}"`
      }${offered.length === 0 ? null : html` list="${name}-offered"`} />${
        offered.length === 0
          ? null
          : html`<datalist id="${name}-offered">${offered.map((one) => html`<option value="${one}"></option>`)}</datalist>`
      }`,
  );
}

export function AreaField(visit: Visit, options: FieldOptions & { max?: number; isLong?: boolean }): Html {
  const { name, value, max, isLong = false } = options;
  // The first line break in a textarea is not part of what is in it.
  return FieldOf(
    visit,
    options,
    (attributes) => html`<textarea ${attributes} dir="auto"${isLong ? trusted(' class="long"') : null}${
      max === undefined ? null : html` maxlength="${max}"`
    }>
${visit.valueOf(name, value)}</textarea>`,
  );
}

export type Choice = { value: string; text: string; hint?: string };

export function SelectField(visit: Visit, options: FieldOptions & { choices: readonly Choice[] }): Html {
  const { name, value, choices } = options;
  const chosen = visit.valueOf(name, value);
  const selected = (one: string) => (one === chosen ? trusted(' selected') : null);
  return FieldOf(
    visit,
    { ...options, isOptional: false, isChosen: true },
    (attributes) =>
      html`<select ${attributes}>
        ${choices.map((choice) => html`<option value="${choice.value}"${selected(choice.value)}>${choice.text}</option>`)}
      </select>`,
  );
}

export function FileField(visit: Visit, options: FieldOptions & { accept: string }): Html {
  return FieldOf(
    visit,
    options,
    (attributes) => html`<input ${attributes} type="file" accept="${options.accept}" />`,
  );
}

/** One of some, or with `isMany` any of them. */
export function ChoiceField(
  visit: Visit,
  {
    name,
    label,
    hint,
    choices,
    values = [],
    isMany = false,
  }: Omit<FieldOptions, 'value'> & {
    choices: readonly Choice[];
    values?: readonly string[];
    isMany?: boolean;
  },
): Html {
  visit.labels.set(name, label);
  const fault = visit.refusal?.faults.find(({ field }) => field === name)?.text;
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  // Of boxes nobody can say that they are invalid, or needed (WAI-ARIA 1.2, role group).
  const group = isMany
    ? null
    : trusted(` role="radiogroup" aria-required="true"${fault === undefined ? '' : ' aria-invalid="true"'}`);
  return html`<fieldset id="${name}" tabindex="-1"${group}${described === '' ? null : html` aria-describedby="${described}"`}>
    <legend>${label}</legend>
    ${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${fault === undefined ? null : html`<p class="fault" id="${name}-fault">${fault}</p>`}
    ${choices.map(({ value, text, hint: more }) => {
      const id = `${name}-${value}`;
      return html`<div class="choice">
        <input type="${isMany ? 'checkbox' : 'radio'}" name="${name}" id="${id}" value="${value}"${
          more === undefined ? null : html` aria-describedby="${id}-hint"`
        }${visit.isTicked(name, values.includes(value), value) ? trusted(' checked') : null} />
        <label for="${id}">${text}</label>
        ${more === undefined ? null : html`<p class="hint" id="${id}-hint">${more}</p>`}
      </div>`;
    })}
  </fieldset>`;
}

/** Yes or no. Left out of the form where it is not ticked, as browsers do: `form.has(name)`. */
export function CheckField(
  visit: Visit,
  { name, label, isTicked = false }: { name: string; label: string; isTicked?: boolean },
): Html {
  visit.labels.set(name, label);
  return html`<div class="check">
    <input type="checkbox" id="${name}" name="${name}" value="true"${visit.isTicked(name, isTicked) ? trusted(' checked') : null} />
    <label for="${name}">${label}</label>
  </div>`;
}

/**
 * A form that does something: its faults above it, its button below.
 *
 * @param beside another button. @param of the record that it changes: see `requireSame`. @param isFinal what it does cannot be taken
 *   back: its button looks like it.
 */
export function FormOf(
  visit: Visit,
  {
    fields,
    button,
    beside,
    of,
    takesFile = false,
    isFinal = false,
  }: {
    fields: readonly (Html | null)[];
    button: string;
    beside?: Html | null;
    of?: { updatedAt: string | Date } | undefined;
    takesFile?: boolean;
    isFinal?: boolean;
  },
): Html {
  const { sureOf: sure } = visit;
  return html`${RefusalOf(visit)}
    <form method="post"${takesFile ? trusted(' enctype="multipart/form-data"') : null} novalidate>
      ${onceOf()} ${of === undefined ? null : html`<input type="hidden" name="since" value="${visit.sinceOf(of)}" />`}
      ${sure === null ? null : html`<input type="hidden" name="sure" value="${sure}" />`} ${fields}
      <p><button class="button${isFinal ? ' final' : ''}">${button}</button> ${beside ?? null}</p>
    </form>`;
}

/** A button that does something at once, and can be taken back or does no harm. */
export function ButtonOf(visit: Visit, to: string, text: string, isPlain = true): Html {
  return html`<form method="post" action="${visit.path(to)}">
    ${onceOf()}<button class="button${isPlain ? ' plain' : ''}">${text}</button>
  </form>`;
}

/** At the top, where it is read first; each leads to its field. */
export function RefusalOf({ words, refusal, labels }: Visit): Html | null {
  if (!refusal) return null;
  const { faults, text } = refusal;
  return html`<div class="faults" id="faults" role="alert" tabindex="-1">
    <h2>${words.faults.title}</h2>
    ${text === undefined ? null : html`<p>${text}</p>`}
    ${
      faults.length === 0
        ? null
        : html`<ul>
            ${faults.map(({ field, text }) => {
              const label = labels.get(field);
              if (label === undefined) return html`<li>${field === '' ? text : `${field}: ${text}`}</li>`;
              const named = label.endsWith('?') ? `${label} ${text}` : `${label}: ${text}`;
              return html`<li><a href="#${field}">${named}</a></li>`;
            })}
          </ul>`
    }
  </div>`;
}

/** Asks once, and says what will happen; the button says what it does. */
export function ConfirmForm(
  visit: Visit,
  {
    text,
    button,
    back,
    fields = [],
    isFinal = false,
  }: { text: string; button: string; back: string; fields?: readonly Html[]; isFinal?: boolean },
): Html {
  return html`<div class="text">
    <p>${text}</p>
    ${FormOf(visit, { fields, button, isFinal })}
    <p><a href="${visit.path(back)}">${visit.words.cancel}</a></p>
  </div>`;
}

/** What is shown this once: with a button that copies it, where scripts run. */
export function SecretField(
  { words }: Visit,
  { name, label, value }: { name: string; label: string; value: string },
): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <div class="copy" data-copy="${words.copy}" data-copied="${words.copied}">
      <input id="${name}" class="secret" readonly value="${value}" autocomplete="off" spellcheck="false" />
    </div>
  </div>`;
}

/**
 * Says of a page that something on it goes on by itself: the page asks again every other second and takes over what has changed,
 * buttons and past too. What somebody has opened, scrolled or is at stays as it is; and whoever needs it can hold the page still.
 *
 * @param says how it is, for whoever does not see it: read out whenever it changes, so seldom.
 */
export function Live(visit: Visit, { isGoing, says }: { isGoing: boolean; says: string }): Html {
  const { live } = visit.words;
  const isHeld = visit.query('still') !== undefined;
  if (isGoing && !isHeld) visit.refreshSeconds = 3;
  const asks = html` hx-ext="morph" hx-get="${visit.withQuery({})}" hx-trigger="every 2s" hx-select="#main" hx-target="#main" hx-swap="morph:outerHTML"`;
  // What asks is another element than what does not: only of one that is gone a browser stops to ask. What is read out stays.
  return html`<p class="pot" role="status" id="how-it-is">${says}</p>
    ${
      isGoing
        ? html`<div id="${isHeld ? 'held' : 'live'}"${isHeld ? null : asks}>
            <p class="small">
              ${isHeld ? live.held : live.going}
              <a href="${visit.withQuery({ still: isHeld ? null : '1' })}">${isHeld ? live.goOn : live.hold}</a>
            </p>
          </div>`
        : null
    }`;
}

/** How far something is, told in quarters: nobody wants to hear of each step. */
export function inQuarters(label: string, value: number, max: number): string {
  return `${label}: ${max === 0 ? 0 : Math.floor((4 * Math.min(value, max)) / max) * 25} %`;
}

/** How far something has come. @param name where a page has more than one. */
export function Progress({
  words,
  name = 'progress',
  label,
  value,
  max,
}: {
  words: Words;
  name?: string;
  label: string;
  value: number;
  max: number;
}): Html {
  const id = `${name}-text`;
  return html`<p id="${id}">${label}: ${words.ofAll(numberIn(words, value), numberIn(words, max))}</p>
    <progress aria-labelledby="${id}" value="${Math.min(value, max)}" max="${Math.max(max, 1)}"></progress>`;
}

type Bar = { name: string; value: number };

const WIDEST_BAR = 40;

/** Bars over time; whoever does not see them hears what they come to, or opens the same as a table. */
export function Plot({
  words,
  title,
  bars,
  columns,
}: {
  words: Words;
  title: string;
  bars: readonly Bar[];
  columns: readonly [string, string];
}): Html {
  const [width, height] = [640, 200];
  const highest = bars.reduce((high, bar) => (bar.value > high.value ? bar : high), bars[0]!);
  const most = Math.max(1, highest.value);
  const step = width / bars.length;
  const shapes = bars.map(({ name, value }, n) => {
    const tall = (value / most) * height;
    const wide = Math.min(step * 0.8, WIDEST_BAR);
    const [x, y] = [((n + 0.5) * step - wide / 2).toFixed(1), (height - tall).toFixed(1)];
    return html`<rect x="${x}" y="${y}" width="${wide.toFixed(1)}" height="${tall.toFixed(1)}"><title>${name}: ${numberIn(words, value)}</title></rect>`;
  });
  const [first, last] = [bars[0]!, bars.at(-1)!];
  const summary = words.plotSummary({
    title,
    from: first.name,
    to: last.name,
    total: numberIn(
      words,
      bars.reduce((sum, { value }) => sum + value, 0),
    ),
    highest: highest.name,
    most: numberIn(words, highest.value),
  });
  // What is written stands beside the picture: within it, it would shrink with it.
  return html`<figure class="plot">
    <p class="ends" aria-hidden="true"><span>${numberIn(words, most)}</span></p>
    <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${summary}">
      ${shapes}
    </svg>
    <p class="ends" aria-hidden="true"><span>${first.name}</span><span>${last.name}</span></p>
    <details>
      <summary>${words.asTable}</summary>
      ${Table({
        caption: title,
        columns: [{ name: columns[0] }, { name: columns[1], isNumber: true }],
        rows: bars.map(({ name, value }) => [name, numberIn(words, value)]),
      })}
    </details>
  </figure>`;
}

/** Kinds beside each other: a table, each row with a bar. */
export function Shares({
  words,
  caption,
  bars,
  columns,
}: {
  words: Words;
  caption: string;
  bars: readonly Bar[];
  columns: readonly [string, string];
}): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const share = (value: number) =>
    html`<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${((100 * value) / most).toFixed(1)}" height="1" /></svg>`;
  return html`<table class="shares">
    <caption class="pot">${caption}</caption>
    <thead><tr><th scope="col">${columns[0]}</th><th scope="col" class="number">${columns[1]}</th></tr></thead>
    <tbody>
      ${bars.map(
        ({ name, value }) => html`<tr>
          <th scope="row">${name} ${share(value)}</th>
          <td class="number">${numberIn(words, value)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
