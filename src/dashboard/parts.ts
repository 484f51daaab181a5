import { randomUUID } from 'node:crypto';
import {
  CheckOf,
  describedBy,
  FaultsOf,
  type Field,
  FieldOf,
  formatDate,
  formatNumber,
  formatSince,
  HintOf,
  html,
  Html,
  type Option,
  OptionsOf,
  trusted,
  CopyOf,
} from '#libs/pages';
import { type DashboardWords } from '#locales';
import { EditorOf } from './editor.js';
import { Icon } from './icons.js';
import { type Address, type FormInput, type PageContext } from './page-context.js';
import { type Member } from './people.js';

/** Distinguishes two identical forms from one form that was sent twice. */
export function onceOf(): Html {
  return html`<input type="hidden" name="once" value="${randomUUID()}" />`;
}

/** A date in the format of the language. */
export function dateIn({ dates }: DashboardWords, moment: string | Date): string {
  return formatDate(dates, { dateStyle: 'medium' }, new Date(moment));
}

/** A date and time with its time zone. */
export function timeIn({ dates }: DashboardWords, moment: string | Date, timeZone?: string): string {
  const time = formatDate(
    dates,
    { dateStyle: 'medium', timeStyle: 'short', ...(timeZone ? { timeZone } : {}) },
    new Date(moment),
  );
  return `${time} ${timeZone ?? 'UTC'}`;
}

/** A moment, relative to now if it was in the last week. Its title is the exact time. */
export function MomentOf(words: DashboardWords, moment: Date): Html {
  const text = formatSince(words.dates, moment) ?? dateIn(words, moment);
  return html`<time datetime="${moment.toISOString()}" title="${timeIn(words, moment)}">${text}</time>`;
}

export function numberIn({ dates }: DashboardWords, number: number): string {
  return formatNumber(dates, number);
}

/** Pages that ask whether to end something for good. Links to them are red. */
const ENDS = /\/(delete|erase|revoke|remove|cancel)(\?|$)/;

/** @param to relative to the organization. Its last part, such as `new`, chooses the icon. */
export function ButtonLink(address: Address, to: string, text: string, isPlain = false): Html {
  const kind = ENDS.test(to) ? ' final' : isPlain ? ' plain' : '';
  return html`<a class="button${kind}" href="${address.path(to)}">${Icon(/[^/?]*(?=\?|$)/.exec(to)![0])}${text}</a>`;
}

/** Leads to the public page of a record; null if it has none. */
export function PublicLink(url: string | null, text: string): Html | null {
  return url === null ? null : html`<a class="button plain" href="${new URL(url).pathname}">${text}</a>`;
}

/** A longer row of actions is hard to scan. */
const MAX_ACTIONS = 4;

/**
 * A row of actions, the most important first. Those that are not possible now are null or false.
 *
 * @param words if given, only the first actions of a long row are shown, and the others are in a menu.
 */
export function Actions(actions: readonly (Html | null | false)[], words?: DashboardWords): Html | null {
  const all = actions.filter((action) => action instanceof Html);
  if (all.length === 0) return null;
  const shown = words === undefined || all.length <= MAX_ACTIONS ? all.length : MAX_ACTIONS - 1;
  const items = (some: readonly Html[]) => some.map((action) => html`<li>${action}</li>`);
  const others = all.slice(shown);
  return html`<ul class="actions">
    ${items(all.slice(0, shown))}
    ${others.length === 0 ? null : html`<li><details class="more"><summary class="button plain">${words!.more}</summary><ul>${items(others)}</ul></details></li>`}
  </ul>`;
}

/** Texts up to this length stay on one line, and are cut off if they are too wide. So are addresses of any length. */
const LONGEST_SHORT = 40;

/** The cell's attributes, which control line breaks. */
function attributesOf(cell: Html | string | number | null, isNumber = false): Html | null {
  if (isNumber) return trusted(' class="number"');
  if (typeof cell !== 'string') return null;
  if (cell.length > LONGEST_SHORT && cell.includes(' ')) return trusted(' class="long"');
  return html` class="short" title="${cell}"`;
}

type TableColumn = {
  name: string;
  isNumber?: boolean | undefined;
  /** On phones, values without a label, such as email addresses. */
  isObvious?: boolean | undefined;
  /** The link that sorts by the column, and how it is sorted now. */
  sorting?: { href: string; direction: 'ascending' | 'descending' | undefined } | undefined;
};

/**
 * A table that scrolls if it is too wide; otherwise, its headings stay in view. On phones, each row becomes a card. The explicit roles
 * are needed because browsers drop the table semantics if `display` changes.
 *
 * @param caption for screen readers.
 */
export function Table({
  caption,
  columns,
  rows,
}: {
  caption: string;
  columns: readonly TableColumn[];
  rows: readonly (readonly (Html | string | number | null)[])[];
}): Html {
  const number = (n: number) => (columns[n]?.isNumber ? trusted(' class="number"') : null);
  const Heading = ({ name, sorting }: TableColumn, n: number) =>
    html`<th role="columnheader" scope="col"${number(n)}${sorting?.direction && html` aria-sort="${sorting.direction}"`}>${
      sorting ? html`<a href="${sorting.href}">${name}</a>` : name
    }</th>`;
  return html`<div class="table" role="region" aria-label="${caption}" tabindex="0">
    <table role="table">
      <caption class="pot">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map(Heading)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ([first = null, ...others]) => html`<tr role="row">
            <th role="rowheader" scope="row"${number(0)}>${first}</th>${others.map((cell, n) => {
              const { name, isNumber, isObvious } = columns[n + 1]!;
              const label = isObvious ? null : html` data-label="${name}"`;
              return html`<td role="cell"${label}${attributesOf(cell, isNumber)}>${cell}</td>`;
            })}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The colours of statuses, in addition to their words. All others are neutral. */
const TONES: Record<string, 'good' | 'doubt' | 'bad'> = {
  PUBLISHED: 'good',
  ACTIVE: 'good',
  SENT: 'good',
  CONFIRMED: 'good',
  DELIVERED: 'good',
  UP_TO_DATE: 'good',
  BEHIND: 'doubt',
  STALLED: 'bad',
  PARKED: 'bad',
  SCHEDULED: 'doubt',
  SENDING: 'doubt',
  PAUSED: 'doubt',
  PENDING: 'doubt',
  IN_DOUBT: 'doubt',
  DISABLED: 'bad',
  FAILING: 'bad',
  FAILED: 'bad',
  WON: 'good',
};

export function BadgeOf(status: string, text: string): Html {
  return html`<span class="badge ${TONES[status] ?? ''}">${text}</span>`;
}

type Chip = { text: string; label: string; href: string };

/** Values that can be removed one by one. @param all the link that removes all of them. */
export function Chips(chips: readonly Chip[], all: { text: string; href: string }): Html {
  return html`<ul class="chips">
    ${chips.map(({ text, label, href }) => html`<li><a class="chip" href="${href}" aria-label="${label}">${text}</a></li>`)}
    <li><a href="${all.href}">${all.text}</a></li>
  </ul>`;
}

/** A list of names and values. Null is shown as a dash. */
export function Facts(facts: readonly { name: string; value: Html | string | number | null }[]): Html {
  return html`<dl class="facts">
    ${facts.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value === null || value === '' ? '–' : value}</dd></div>`)}
  </dl>`;
}

/** Replaces an empty list with the first step. */
export function Empty({ title, text, action }: { title: string; text: string; action?: Html | null }): Html {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p>${action ? html`<p>${action}</p>` : null}</div>`;
}

export function SectionOf(title: string, content: Html | null | readonly (Html | null)[]): Html {
  return html`<section class="section"><h2>${title}</h2>${content}</section>`;
}

type FieldOptions = {
  name: string;
  label: string;
  hint?: string | undefined;
  value?: string | null | undefined;
  isOptional?: boolean;
  /** Something is always selected, so the field is neither marked as optional nor required. */
  isChosen?: boolean;
};

/** The field as it is shown. Its label is noted for the list of errors. */
function fieldIn({ words, refusal, labels }: FormInput, options: FieldOptions): Field {
  const { name, label, hint, isOptional = false, isChosen = false } = options;
  labels.set(name, label);
  const fault = refusal?.faults.find(({ field }) => field === name)?.text;
  const optional = isOptional ? words.optional : undefined;
  return { name, label, hint, fault, optional, isRequired: !isOptional && !isChosen };
}

type TextOptions = FieldOptions & {
  type?: 'text' | 'email' | 'url' | 'tel' | 'number' | 'search' | 'color' | 'datetime-local' | 'date';
  max?: number;
  autocomplete?: string;
  /** Suggestions. Other values are allowed too. */
  offered?: readonly string[];
};

export function TextField(form: FormInput, options: TextOptions): Html {
  const { name, value, type = 'text', max, autocomplete = 'off', offered = [] } = options;
  return FieldOf(
    fieldIn(form, options),
    (attributes) =>
      html`<input ${attributes}${type === 'text' ? trusted(' dir="auto"') : null} type="${type}" autocomplete="${autocomplete}" value="${form.valueOf(name, value)}"${
        max === undefined ? null : html` maxlength="${max}"`
      }${offered.length === 0 ? null : html` list="${name}-offered"`} />${
        offered.length === 0
          ? null
          : html`<datalist id="${name}-offered">${offered.map((one) => html`<option value="${one}"></option>`)}</datalist>`
      }`,
  );
}

/** @property markup the text is Markdown: of a public page, or of an email, which has merge fields. */
type AreaOptions = FieldOptions & { max?: number; markup?: 'page' | 'mail' | undefined };

export function AreaField(form: FormInput, options: AreaOptions): Html {
  const { name, value, max, markup } = options;
  // Browsers ignore the first line break in a textarea.
  return FieldOf(
    fieldIn(form, options),
    (attributes) => html`<textarea ${attributes} dir="auto"${markup ? trusted(' class="long"') : null}${
      max === undefined ? null : html` maxlength="${max}"`
    }>
${form.valueOf(name, value)}</textarea>${markup ? EditorOf(form.words, markup === 'mail') : null}`,
  );
}

/** @property group choices with one are shown by group, behind its name. */
export type Choice = Option & { hint?: string; group?: string };

export function SelectField(form: FormInput, options: FieldOptions & { choices: readonly Choice[] }): Html {
  const { name, value, choices } = options;
  const chosen = form.valueOf(name, value);
  return FieldOf(
    fieldIn(form, { ...options, isOptional: false, isChosen: true }),
    (attributes) =>
      html`<select ${attributes}>
        ${OptionsOf(choices, chosen)}
      </select>`,
  );
}

export function FileField(form: FormInput, options: FieldOptions & { accept: string }): Html {
  return FieldOf(
    fieldIn(form, options),
    (attributes) => html`<input ${attributes} type="file" accept="${options.accept}" />`,
  );
}

/** Content behind its title. It is open if a field in it has an error. */
export function Folded(title: string, content: Html | readonly Html[], isOpen = false): Html {
  const hasFault = [content].flat().some((part) => String(part).includes('class="fault"'));
  return html`<details${isOpen || hasFault ? trusted(' open') : null}><summary>${title}</summary>${content}</details>`;
}

type ChoiceFieldOptions = Omit<FieldOptions, 'value'> & {
  choices: readonly Choice[];
  values?: readonly string[];
  isMany?: boolean;
  /** The choices are behind the label, unless one is chosen or wrong. */
  isFolded?: boolean;
};

/** Radio buttons, or checkboxes with `isMany`. */
export function ChoiceField(
  form: FormInput,
  { name, label, hint, choices, values = [], isMany = false, isFolded = false }: ChoiceFieldOptions,
): Html {
  const field = fieldIn(form, { name, label, hint });
  // Groups of checkboxes do not support `aria-required` and `aria-invalid` (WAI-ARIA 1.2, role group).
  const group = isMany
    ? null
    : trusted(
        ` role="radiogroup" aria-required="true"${field.fault === undefined ? '' : ' aria-invalid="true"'}`,
      );
  const ChoiceOf = ({ value, text, hint: more }: Choice, n: number) => {
    // An id contains no spaces.
    const id = `${name}-${/^[\w.:-]+$/.test(value) ? value : n}`;
    return html`<div class="choice">
      <input type="${isMany ? 'checkbox' : 'radio'}" name="${name}" id="${id}" value="${value}"${
        more === undefined ? null : html` aria-describedby="${id}-hint"`
      }${isTicked(value) ? trusted(' checked') : null} />
      <label for="${id}">${text}</label>
      ${more === undefined ? null : html`<p class="hint" id="${id}-hint">${more}</p>`}
    </div>`;
  };
  const isTicked = (value: string) => form.isTicked(name, values.includes(value), value);
  const groups = [...new Set(choices.map((choice) => choice.group))];
  const inGroups = groups.map((title) => {
    const members = choices.filter((choice) => choice.group === title);
    if (title === undefined) return members.map(ChoiceOf);
    return Folded(
      title,
      members.map(ChoiceOf),
      members.some(({ value }) => isTicked(value)),
    );
  });
  const fieldset = html`<fieldset id="${name}" tabindex="-1"${group}${describedBy(field)}>
    <legend${isFolded ? trusted(' class="pot"') : null}>${label}</legend>
    ${HintOf(field)}
    <div class="choices">${inGroups}</div>
  </fieldset>`;
  if (!isFolded) return fieldset;
  return Folded(label, fieldset, field.fault !== undefined || choices.some(({ value }) => isTicked(value)));
}

/** A checkbox. Browsers do not send it if it is not checked: use `form.has(name)`. */
export function CheckField(
  form: FormInput,
  { name, label, isTicked = false }: { name: string; label: string; isTicked?: boolean },
): Html {
  form.labels.set(name, label);
  return CheckOf({ name, label, value: 'true', isChecked: form.isTicked(name, isTicked) });
}

/**
 * The fields of a form about a record. Texts with the name of a field are its label and its hint: `slug` and `slugHint`.
 *
 * @param record undefined for a new one.
 */
export function fieldsFor(form: FormInput, texts: object, record?: object) {
  const own = (name: string) => {
    const { [name]: label, [`${name}Hint`]: hint } = texts as Record<string, string | undefined>;
    const value = (record as Record<string, string | number | null | undefined> | undefined)?.[name];
    return { name, label: label!, hint, value: typeof value === 'number' ? String(value) : value };
  };
  const optional = { isOptional: true };
  return {
    text: (name: string, more?: Partial<TextOptions>) => TextField(form, { ...own(name), ...more }),
    area: (name: string, more?: Partial<AreaOptions>) => AreaField(form, { ...own(name), ...more }),
    /** The same for fields that may be empty. */
    optionalText: (name: string, more?: Partial<TextOptions>) =>
      TextField(form, { ...own(name), ...optional, ...more }),
    optionalArea: (name: string, more?: Partial<AreaOptions>) =>
      AreaField(form, { ...own(name), ...optional, ...more }),
    select: (name: string, choices: readonly Choice[], more?: Partial<FieldOptions>) =>
      SelectField(form, { ...own(name), choices, ...more }),
  };
}

/** A form as wide as text. */
export function TextForm(form: FormInput, options: Parameters<typeof FormOf>[1]): Html {
  return html`<div class="text">${FormOf(form, options)}</div>`;
}

type FormOfOptions = {
  fields: readonly (Html | null)[];
  button: string;
  secondButton?: Html | null;
  of?: { updatedAt: string | Date } | undefined;
  takesFile?: boolean;
  isFinal?: boolean;
  writer?: Member | undefined;
};

/**
 * A form with its errors above and its button below.
 *
 * @param secondButton next to the main one. @param of the record that it changes: see `requireSame`. @param isFinal marks the button as
 *   irreversible. @param writer the person for whom what is typed is kept until it is saved, if scripts run. Its page `keepsDrafts`.
 */
export function FormOf(
  form: FormInput,
  { fields, button, secondButton, of, takesFile = false, isFinal = false, writer }: FormOfOptions,
): Html {
  const { sureOf: sure } = form;
  const { saved, unsaved } = form.words.drafts;
  const draft = writer
    ? html` data-draft="${writer.organization.memberId}" data-saved="${saved}" data-unsaved="${unsaved}"`
    : null;
  return html`${RefusalOf(form)} ${writer ? DraftNotice(form) : null}
    <form method="post"${takesFile ? trusted(' enctype="multipart/form-data"') : null}${draft} novalidate>
      ${onceOf()} ${of === undefined ? null : html`<input type="hidden" name="since" value="${form.sinceOf(of)}" />`}
      ${sure === null ? null : html`<input type="hidden" name="sure" value="${sure}" />`} ${fields}
      <p><button class="button${isFinal ? ' final' : ''}">${button}</button> ${secondButton ?? null}</p>
      ${writer ? html`<p class="hint" data-draft-state role="status"></p>` : null}
    </form>`;
}

/** Above a form that continues a draft. A script shows it too, if the browser has kept what never reached the server. */
function DraftNotice({ words, restored }: FormInput): Html {
  const { drafts } = words;
  return html`<form class="done" method="post" data-restored="${restored?.savedAt.toISOString()}"${restored ? null : html` hidden`}>
    <p role="status">
      ${drafts.restored}${restored ? html` <span class="hint">${MomentOf(words, restored.savedAt)}</span>` : null}
      ${restored?.isOutdated ? html`<strong>${drafts.outdated}</strong>` : null}
    </p>
    <button class="button plain" name="draft" value="discard">${drafts.discard}</button>
  </form>`;
}

/** A button that acts immediately. Only for harmless or reversible actions. */
export function ButtonOf(
  address: Address,
  to: string,
  text: string,
  isPlain = true,
  fields: Html | null = null,
): Html {
  return html`<form method="post" action="${address.path(to)}">
    ${onceOf()}${fields}<button class="button${isPlain ? ' plain' : ''}">${text}</button>
  </form>`;
}

/** The errors of a rejected form, at its top. */
export function RefusalOf({ words, refusal, labels }: FormInput): Html | null {
  if (!refusal) return null;
  const faults = refusal.faults.map(({ field, text }) => {
    const label = labels.get(field);
    if (label === undefined) return { text: field === '' ? text : `${field}: ${text}` };
    return { field, text: label.endsWith('?') ? `${label} ${text}` : `${label}: ${text}` };
  });
  return FaultsOf({ title: words.faults.title, text: refusal.text, faults });
}

/** Explains the action and asks for confirmation. The button names the action. */
export function ConfirmForm(
  { words, address, form }: PageContext,
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
    ${FormOf(form, { fields, button, isFinal })}
    <p><a href="${address.path(back)}">${words.cancel}</a></p>
  </div>`;
}

/** A secret that is shown only once, with a copy button if scripts run. */
export function SecretField(
  words: DashboardWords,
  { name, label, value }: { name: string; label: string; value: string },
): Html {
  return CopyOf(
    { name, label, copy: words.copy, copied: words.copied },
    (attributes) =>
      html`<input ${attributes} class="secret" value="${value}" autocomplete="off" spellcheck="false" />`,
  );
}

/**
 * Polls every two seconds while something is in progress, and updates everything on the page that changed. Focus, scroll position and
 * opened details are kept. Users can pause the updates.
 *
 * @param status for screen readers. They read out each change, so it should change rarely.
 */
export function Live(
  { words, address, view }: PageContext,
  { isGoing, status }: { isGoing: boolean; status: string },
): Html {
  const { live } = words;
  const isHeld = address.query('still') !== undefined;
  if (isGoing && !isHeld) view.refreshSeconds = 3;
  const asks = html` hx-ext="morph" hx-get="${address.withQuery({})}" hx-trigger="every 2s" hx-select="#main" hx-target="#main" hx-swap="morph:outerHTML"`;
  // Polling stops only if its element is removed, so the paused state uses a different id. The status element stays.
  return html`<p class="pot" role="status" id="how-it-is">${status}</p>
    ${
      isGoing
        ? html`<div id="${isHeld ? 'held' : 'live'}"${isHeld ? null : asks}>
            <p class="small">
              ${isHeld ? live.held : live.going}
              <a href="${address.withQuery({ still: isHeld ? null : '1' })}">${isHeld ? live.goOn : live.hold}</a>
            </p>
          </div>`
        : null
    }`;
}

/** Progress in steps of 25 %, because screen readers read out each change. */
export function inQuarters(label: string, value: number, max: number): string {
  return `${label}: ${max === 0 ? 0 : Math.floor((4 * Math.min(value, max)) / max) * 25} %`;
}

type ProgressOptions = {
  words: DashboardWords;
  name?: string;
  label: string;
  value: number;
  max: number;
};

/** A progress bar. @param name required if a page has more than one. */
export function Progress({ words, name = 'progress', label, value, max }: ProgressOptions): Html {
  const id = `${name}-text`;
  return html`<p id="${id}">${label}: ${words.ofAll(numberIn(words, value), numberIn(words, max))}</p>
    <progress aria-labelledby="${id}" value="${Math.min(value, max)}" max="${Math.max(max, 1)}"></progress>`;
}
