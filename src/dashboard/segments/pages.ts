import { html, type Html, trusted } from '#libs/pages';
import { Resources } from '#libs/resources';
import { invalid, type Issue, RpcError } from '#libs/rpc';
import { type Filter, namedInFilters } from '../../contacts/index.js';
import { type ContactRecord, nameOf } from '../contacts/contact.js';
import { type Api, type FormInput, type PageContext } from '../page-context.js';
import { createdColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { Actions, ChoiceField, SectionOf, SelectField, Table, TextField, TextForm } from '../parts.js';
import { recordPages } from '../record-pages.js';
import { FilterText, keyOfRecord, type Named, namesIn, opIn, subjectsOf } from './description.js';
import {
  conditionOf,
  type Match,
  needsValue,
  type Row,
  ROW_OPS,
  type RowOp,
  rowOpsOf,
  rowsOf,
  type Subject,
  type Subjects,
} from './rows.js';

type SegmentRecord = { id: string; name: string; filter: Filter; createdAt: string; updatedAt: string };

const MOST_ROWS = 50;

/** The button that adds a row, and the script that adapts a row to its field, show the form again. */
const AGAIN = 'again';

const segments = recordPages<SegmentRecord>({ section: 'segments', record: 'segment' });

export const segmentPages: PageDefinition[] = [
  ...segments.list({
    columns: [segments.titleColumn(), createdColumn()],
  }),
  ...segments.writing({
    newTitle: ({ segments }) => segments.new.title,
    editTitle: ({ segments }, name) => segments.edit.title(name),
    content: SegmentForm,
    isAgain: (form) => form.has(AGAIN),
    input: async (context, segment) => {
      const subjects = await subjectsOf(context);
      const before = segment ? rowsOf(segment.filter, subjects)?.rows : [];
      const filter = before && (await typedFilter(context, subjects, before));
      return { name: context.form.typed('name') ?? '', filter };
    },
    explain: inRows,
  }),
  segments.shownWith(
    async (context, found) => {
      const segment = await found;
      return Promise.all([
        subjectsOf(context),
        namesIn(context, segment.filter),
        context.person.may('contact:read') ? PeopleOf(context, segment) : null,
      ]);
    },
    ({ words }, { filter }, { mayWrite, link }, [subjects, records, people]) => {
      const { edit, deleting, conditions } = words.segments;
      const text = FilterText(words, filter, { subjects, records });
      return html`${Actions([mayWrite && link('edit', edit.link), mayWrite && link('delete', deleting.link)])}
        ${SectionOf(conditions, html`<div class="text">${text}</div>`)} ${people}`;
    },
  ),
  segments.deletion({ isFinal: false }),
];

async function PeopleOf(
  { words, address, api }: PageContext,
  { id: segmentId }: SegmentRecord,
): Promise<Html> {
  const { people } = words.segments;
  const { count, isExact, contacts } = await api.run<{
    count: number;
    isExact: boolean;
    contacts: ContactRecord[];
  }>('segment.preview-segment', { segmentId });
  return SectionOf(people.title, [
    html`<p>${(isExact ? people.count : people.more)(count)}</p>`,
    contacts.length === 0
      ? null
      : Table({
          caption: people.newest,
          columns: [{ name: words.nameOf }, { name: words.email }],
          rows: contacts.map((contact) => [
            html`<a href="${address.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
            contact.email,
          ]),
        }),
    html`<p><a href="${address.path(`contacts?segmentId=${segmentId}`)}">${people.all}</a></p>`,
  ]);
}

/** The form: a name, and rows of conditions. A filter that rows cannot express is shown as text. */
async function SegmentForm(context: PageContext, segment?: SegmentRecord): Promise<Html> {
  const { segments, nameOf: label } = context.words;
  const { button } = segment ? segments.edit : segments.new;
  const [subjects, records] = await Promise.all([
    subjectsOf(context),
    segment ? namesIn(context, segment.filter) : new Map<string, string>(),
  ]);
  const names = { subjects, records };
  const shown = segment ? rowsOf(segment.filter, subjects) : { match: 'all' as const, rows: [] };
  const fields = [
    TextField(context.form, { name: 'name', label, value: segment?.name, max: 200 }),
    shown
      ? ConditionsOf(context, shown, names)
      : html`<p>${segments.complex}</p>
          <div>${FilterText(context.words, segment!.filter, names)}</div>`,
  ];
  // After the main button, because Enter in a field presses the first one.
  const secondButton =
    shown && html`<button class="button plain" name="${AGAIN}" value="more">${segments.more}</button>`;
  return TextForm(context.form, { fields, button, secondButton, of: segment });
}

function ConditionsOf(
  context: PageContext,
  { match, rows }: { match: Match; rows: readonly Row[] },
  names: Named,
): Html {
  const { segments } = context.words;
  const typed = typedRows(context.form);
  const added = context.form.get(AGAIN) === 'more' ? 1 : 0;
  const count = Math.min(typed > 0 ? typed + added : rows.length + 1, MOST_ROWS);
  // Scripts adapt a row as soon as its field or comparison changes. Without them, the buttons do.
  return html`<div id="conditions" hx-post="${context.address.pathname}" hx-trigger="change target:select delay:400ms" hx-vals="${JSON.stringify({ [AGAIN]: 'same' })}" hx-select="#conditions" hx-swap="outerHTML" hx-sync="this:replace">
    ${ChoiceField(context.form, {
      name: 'match',
      label: segments.match.label,
      values: [match],
      choices: [
        { value: 'all', text: segments.match.all },
        { value: 'any', text: segments.match.any },
      ],
    })}
    <p class="hint">${segments.hint}</p>
    ${Array.from({ length: count }, (_, n) => RowOf(context, n, rows[n], names, added > 0 && n === count - 1))}
  </div>`;
}

function typedRows(form: FormInput): number {
  let rows = 0;
  while (rows < MOST_ROWS && form.has(`subject-${rows}`)) rows += 1;
  return rows;
}

/** A condition. Without a field, every comparison can be chosen, because scripts may not run. */
function RowOf(
  context: PageContext,
  n: number,
  row: Row | undefined,
  { subjects, records }: Named,
  isAdded: boolean,
): Html {
  const { row: words } = context.words.segments;
  const [nameOfSubject, nameOfOp] = [`subject-${n}`, `op-${n}`];
  const subject = subjects.get(context.form.valueOf(nameOfSubject, row?.subject));
  const ops = subject ? rowOpsOf(subject) : ROW_OPS;
  const typed = context.form.valueOf(nameOfOp, row?.op) as RowOp;
  const op = ops.includes(typed) ? typed : ops[0]!;
  const value = row && (records.get(keyOfRecord(row.subject, row.value)) ?? row.value);
  return html`<fieldset${isAdded ? trusted(' tabindex="-1" autofocus') : null}>
    <legend>${words.title(n + 1)}</legend>
    <div class="find">
      ${SelectField(context.form, {
        name: nameOfSubject,
        label: words.subject,
        value: row?.subject,
        choices: [
          { value: '', text: words.none },
          ...[...subjects].map(([one, { name }]) => ({ value: one, text: name })),
        ],
      })}
      ${SelectField(context.form, {
        name: nameOfOp,
        label: words.op,
        value: row?.op,
        choices: ops.map((one) => ({ value: one, text: opIn(context.words, subject, one) })),
      })}
      ${
        subject && !needsValue(subject, op)
          ? null
          : ValueField(context, { name: `value-${n}`, label: words.value, value }, subject, op)
      }
      ${op === 'between' ? ValueField(context, { name: `until-${n}`, label: words.until, value: row?.until }, subject, op) : null}
    </div>
  </fieldset>`;
}

function ValueField(
  { words, form }: PageContext,
  field: { name: string; label: string; value: string | undefined },
  subject: Subject | undefined,
  op: RowOp,
): Html {
  const { yes, no } = words;
  const options = { ...field, isOptional: true };
  const select = (choices: { value: string; text: string }[]) =>
    SelectField(form, { ...options, choices: [{ value: '', text: '–' }, ...choices] });
  // A browser would show an empty field for text that is not a number or a date, so such input stays text.
  const typed = form.valueOf(field.name, field.value) ?? '';
  const isNumber = op === 'inLast' || subject?.type === 'NUMBER';
  const isDate = subject?.type === 'DATE' || subject?.type === 'time';
  if (isNumber && /^(-?\d+(\.\d+)?)?$/.test(typed)) return TextField(form, { ...options, type: 'number' });
  if (!isNumber && isDate && /^(\d{4}-\d\d-\d\d)?$/.test(typed))
    return TextField(form, { ...options, type: 'date' });
  if (subject?.type === 'BOOLEAN')
    return select([
      { value: 'true', text: yes },
      { value: 'false', text: no },
    ]);
  return subject && 'field' in subject && subject.field.options
    ? select(subject.field.options.map((option) => ({ value: option, text: option })))
    : TextField(form, { ...options, max: 500 });
}

/** The rows with a field, one for each condition. */
function chosenRows(form: FormInput): number[] {
  return Array.from({ length: typedRows(form) }, (_, n) => n).filter(
    (n) => form.typed(`subject-${n}`) !== null,
  );
}

/** The filter that the form describes. @param before the rows as stored. */
async function typedFilter(
  context: PageContext,
  subjects: Subjects,
  before: readonly Row[],
): Promise<Filter> {
  const rows = chosenRows(context.form);
  const conditions: Filter[] = [];
  // A row that only has a value is a mistake, not an empty one.
  const without = Array.from({ length: typedRows(context.form) }, (_, n) => n).filter(
    (n) =>
      !rows.includes(n) && ['value', 'until'].some((part) => context.form.typed(`${part}-${n}`) !== null),
  );
  const missing = rows.length === 0 && without.length === 0 ? [0] : without;
  const issues: Issue[] = missing.map((n) => ({ path: `subject-${n}`, message: 'is required' }));
  for (const n of rows) {
    try {
      conditions.push(await typedCondition(context, subjects, n, before[n]));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      issues.push(...(error.details.issues ?? []));
    }
  }
  if (issues.length > 0) throw invalid(issues);
  return context.form.get('match') === 'any' ? { any: conditions } : { all: conditions };
}

async function typedCondition(
  { form, api }: PageContext,
  subjects: Subjects,
  n: number,
  before: Row | undefined,
): Promise<Filter> {
  const typed = (part: string) => form.typed(`${part}-${n}`) ?? '';
  const row = {
    subject: typed('subject'),
    op: typed('op') as RowOp,
    value: typed('value'),
    until: typed('until'),
  };
  const subject = subjects.get(row.subject);
  if (!subject) throw invalid([{ path: `subject-${n}`, message: 'must be one of the offered fields' }]);
  const needed = needsValue(subject, row.op) ? ['value', ...(row.op === 'between' ? ['until'] : [])] : [];
  const missing = needed.filter((part) => typed(part) === '');
  if (missing.length > 0)
    throw invalid(missing.map((part) => ({ path: `${part}-${n}`, message: 'is required' })));
  if (!(subject.type === 'record' ? rowOpsOf(subject) : ROW_OPS).includes(row.op))
    throw invalid([{ path: `op-${n}`, message: 'must be one of the offered comparisons' }]);
  if (subject.type !== 'record') return conditionOf(row, subject);
  const id = await recordNamed(api, row, before);
  if (id === undefined) throw invalid([{ path: `value-${n}`, message: 'is not the name of a record' }]);
  return conditionOf(row, subject, id);
}

/**
 * The record that a row names, without regard to case. Of those that share the name: the one that the row had before, otherwise the
 * oldest.
 */
async function recordNamed(
  api: Api,
  { subject, value }: Row,
  before: Row | undefined,
): Promise<string | undefined> {
  const { resource } = namedInFilters().get(subject)!;
  const resources = api.find(Resources);
  const found = await resources.having(resource, api.organizationId, resource.nameColumn, value, 50);
  const same = found.find(({ id }) => before?.subject === subject && id === before.value);
  const known = (same ?? found[0])?.id;
  if (known !== undefined || resource.nameColumn !== 'name') return known;
  return (await resources.findByName(resource, api.organizationId, [value])).get(value);
}

/** Shows errors of the operation next to the rows. */
function inRows(error: unknown, form: FormInput): unknown {
  if (!(error instanceof RpcError) || !error.details.issues) return error;
  const rows = chosenRows(form);
  return invalid(
    error.details.issues.map(({ path, message }) => {
      const [, at, part] = /^filter\.(?:all|any)\.(\d+)(?:.*\.(op|value(?:\.1)?))?/.exec(path) ?? [];
      return at === undefined
        ? { path, message }
        : { path: `${part === 'value.1' ? 'until' : (part ?? 'subject')}-${rows[Number(at)]}`, message };
    }),
  );
}
