import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { invalid, type Issue, RpcError } from '#libs/rpc';
import { type Filter, filterFields, namedInFilters } from '../../contacts/index.js';
import { ActivityLog } from '../activity-log.js';
import { type ContactRecord, nameOf } from '../contacts/pages.js';
import { listPages } from '../list-pages.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import {
  Actions,
  ButtonLink,
  ChoiceField,
  ConfirmForm,
  dateIn,
  FormOf,
  SectionOf,
  SelectField,
  Table,
  TextField,
} from '../parts.js';
import { FilterText, keyOfRecord, namesIn, type RecordNames, subjectIn } from './description.js';
import { conditionOf, type Match, needsValue, type Row, ROW_OPS, type RowOp, rowsOf } from './rows.js';

type SegmentRecord = { id: string; name: string; filter: Filter; createdAt: string; updatedAt: string };

/** Rows for new conditions below those that a segment has, and the most rows of the form. */
const EMPTY_ROWS = 3;
const MOST_ROWS = 50;

export const segmentPages: PageDefinition[] = [
  ...listPages<SegmentRecord>({
    path: 'segments',
    section: 'segments',
    needs: 'segment:read',
    operation: 'segment.list-segments',
    title: ({ segments }) => segments.title,
    text: ({ segments }) => segments.text,
    empty: ({ segments }) => segments.none,
    search: ({ segments }) => segments.search,
    add: { path: 'segments/new', text: ({ segments }) => segments.add, needs: 'segment:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, context) => html`<a href="${context.path(`segments/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
  }),
  {
    path: 'segments/new',
    needs: 'segment:write',
    show: async (context) => {
      const { title, button } = context.words.segments.new;
      return context.page({
        section: 'segments',
        back: toAll(context),
        title,
        content: html`<div class="text">${FormOf(context, { fields: await FieldsOf(context), button })}</div>`,
      });
    },
    act: async (context) => {
      const filter = await typedFilter(context);
      const fields = { name: context.typed('name') ?? '', filter: filter.filter };
      const { segmentId } = await inRows(filter.rows, () =>
        context.run<{ segmentId: string }>('segment.create-segment', fields),
      );
      return { to: `segments/${segmentId}`, done: 'segments.created' };
    },
  },
  {
    path: 'segments/:segment',
    needs: 'segment:read',
    show: async (context) => {
      const segment = await segmentOf(context);
      const [names, people, past] = await Promise.all([
        namesIn(context, segment.filter),
        context.may('contact:read') ? PeopleOf(context, segment) : null,
        ActivityLog(context, segment.id),
      ]);
      const { edit, delete: deletion, conditions } = context.words.segments;
      return context.page({
        section: 'segments',
        back: toAll(context),
        title: segment.name,
        content: html`${
          context.may('segment:write')
            ? Actions([
                ButtonLink(context, `segments/${segment.id}/edit`, edit.link, true),
                ButtonLink(context, `segments/${segment.id}/delete`, deletion.link, true),
              ])
            : null
        }
        ${SectionOf(conditions, html`<div class="text">${FilterText(context, segment.filter, names)}</div>`)} ${people} ${past}`,
      });
    },
  },
  {
    path: 'segments/:segment/edit',
    needs: 'segment:write',
    show: async (context) => {
      const segment = await segmentOf(context);
      const { title, button } = context.words.segments.edit;
      const fields = await FieldsOf(context, segment);
      return context.page({
        section: 'segments',
        back: { href: context.path(`segments/${segment.id}`), text: segment.name },
        title: title(segment.name),
        content: html`<div class="text">${FormOf(context, { fields, button, of: segment })}</div>`,
      });
    },
    act: async (context) => {
      const segment = await segmentOf(context);
      context.requireSame(segment);
      const isComplex = rowsOf(segment.filter) === undefined;
      const { filter, rows } = isComplex
        ? { filter: undefined, rows: [] }
        : await typedFilter(context, segment.filter);
      const fields = { segmentId: segment.id, name: context.typed('name') ?? '', filter };
      await inRows(rows, () => context.run('segment.update-segment', fields));
      return { to: `segments/${segment.id}`, done: 'segments.changed' };
    },
  },
  {
    path: 'segments/:segment/delete',
    needs: 'segment:write',
    show: async (context) => {
      const { id, name } = await segmentOf(context);
      const { title, text, button } = context.words.segments.delete;
      return context.page({
        section: 'segments',
        title: title(name),
        content: ConfirmForm(context, { text, button: button(name), back: `segments/${id}` }),
      });
    },
    act: async (context) => {
      await context.run('segment.delete-segment', { segmentId: context.params.segment });
      return { to: 'segments', done: 'segments.deleted' };
    },
  },
];

function toAll(context: PageContext) {
  return { href: context.path('segments'), text: context.words.segments.title };
}

function segmentOf(context: PageContext): Promise<SegmentRecord> {
  return context.run<SegmentRecord>('segment.get-segment', { segmentId: context.params.segment });
}

async function PeopleOf(context: PageContext, { id: segmentId }: SegmentRecord): Promise<Html> {
  const { words } = context;
  const { people } = words.segments;
  const { count, isExact, contacts } = await context.run<{
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
            html`<a href="${context.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
            contact.email,
          ]),
        }),
    html`<p><a href="${context.path(`contacts?segmentId=${segmentId}`)}">${people.all}</a></p>`,
  ]);
}

/** The form: a name, and rows of conditions. A filter that rows cannot express is shown as text. */
async function FieldsOf(context: PageContext, segment?: SegmentRecord): Promise<Html[]> {
  const { segments, nameOf: label } = context.words;
  const name = TextField(context, { name: 'name', label, value: segment?.name, max: 200 });
  const names = segment ? await namesIn(context, segment.filter) : new Map<string, string>();
  const shown = segment ? rowsOf(segment.filter) : { match: 'all' as const, rows: [] };
  if (!shown) {
    return [
      name,
      html`<p>${segments.complex}</p>
        <div>${FilterText(context, segment!.filter, names)}</div>`,
    ];
  }
  const match = ChoiceField(context, {
    name: 'match',
    label: segments.match.label,
    values: [shown.match],
    choices: [
      { value: 'all', text: segments.match.all },
      { value: 'any', text: segments.match.any },
    ],
  });
  const count = Math.min(Math.max(shown.rows.length + EMPTY_ROWS, typedRows(context)), MOST_ROWS);
  const rows = Array.from({ length: count }, (_, n) => RowOf(context, n, shown.rows[n], names));
  return [name, match, html`<p class="hint">${segments.hint}</p>`, ...rows];
}

/** The number of rows that the form had. */
function typedRows({ form }: PageContext): number {
  let rows = 0;
  while (rows < MOST_ROWS && form.has(`subject-${rows}`)) rows += 1;
  return rows;
}

function RowOf(context: PageContext, n: number, row: Row | undefined, names: RecordNames): Html {
  const { row: words, ops } = context.words.segments;
  const subjects = [...filterFields().keys(), ...recordsFor(context)];
  const value = row && (names.get(keyOfRecord(row.subject, row.value)) ?? row.value);
  const number = n + 1;
  return html`<fieldset>
    <legend>${words.title(number)}</legend>
    <div class="find">
      ${SelectField(context, {
        name: `subject-${n}`,
        label: words.subject,
        value: row?.subject ?? '',
        choices: [
          { value: '', text: words.none },
          ...subjects.map((subject) => ({ value: subject, text: subjectIn(context, subject) })),
        ],
      })}
      ${SelectField(context, {
        name: `op-${n}`,
        label: words.op,
        value: row?.op ?? 'is',
        choices: ROW_OPS.map((op) => ({ value: op, text: ops[op] })),
      })}
      ${TextField(context, { name: `value-${n}`, label: words.value, value, max: 500, isOptional: true })}
    </div>
  </fieldset>`;
}

/** The conditions on records that the viewer may see. */
function recordsFor(context: PageContext): string[] {
  return [...namedInFilters()].flatMap(([condition, { resource }]) =>
    context.may(`${resource.object}:read`) ? [condition] : [],
  );
}

/** The filter that the form describes, and the number of the row of each condition. */
async function typedFilter(
  context: PageContext,
  before?: Filter,
): Promise<{ filter: Filter; match: Match; rows: number[] }> {
  const match: Match = context.form.get('match') === 'any' ? 'any' : 'all';
  const conditions: Filter[] = [];
  const rows: number[] = [];
  const issues: Issue[] = [];
  for (let n = 0; n < typedRows(context); n += 1) {
    const subject = context.typed(`subject-${n}`);
    if (subject === null) continue;
    const op = (ROW_OPS as readonly string[]).includes(context.form.get(`op-${n}`) ?? '')
      ? (context.form.get(`op-${n}`) as RowOp)
      : 'is';
    const row = { subject, op, value: context.typed(`value-${n}`) ?? '' };
    if (row.value === '' && needsValue(subject, op)) {
      issues.push({ path: `value-${n}`, message: 'is required' });
      continue;
    }
    rows.push(n);
    try {
      conditions.push(conditionOf(row, await recordNamed(context, row, n, before)));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      issues.push(...(error.details.issues ?? []));
    }
  }
  if (conditions.length + issues.length === 0) issues.push({ path: 'subject-0', message: 'is required' });
  if (issues.length > 0) throw invalid(issues);
  return { filter: (match === 'all' ? { all: conditions } : { any: conditions }) as Filter, match, rows };
}

/**
 * The id of the record that a row names; undefined if the row is about a field. Records that share a name: the one that the row had
 * before, otherwise the oldest.
 */
async function recordNamed(
  context: PageContext,
  { subject, op, value }: Row,
  n: number,
  before: Filter | undefined,
): Promise<string | undefined> {
  const record = namedInFilters().get(subject);
  if (!record) return undefined;
  if (op !== 'is' && op !== 'isNot')
    throw invalid([{ path: `op-${n}`, message: 'must be one of is, isNot' }]);
  const { resource } = record;
  const resources = context.find(Resources);
  const found = context.may(`${resource.object}:read`)
    ? await resources.having(resource, context.organizationId, resource.nameColumn, value, 50)
    : [];
  const had = before && rowsOf(before)?.rows[n];
  const same = found.find(({ id }) => had?.subject === subject && id === had.value);
  const id = (same ?? found[0])?.id;
  if (id === undefined) throw invalid([{ path: `value-${n}`, message: 'is the name of no record' }]);
  return id;
}

/** Shows errors of the operation next to the rows. @param rows the row of each condition. */
async function inRows<Answer>(rows: readonly number[], run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RpcError) || !error.details.issues) throw error;
    throw invalid(
      error.details.issues.map(({ path, message }) => {
        const [, at, part] = /^filter\.(?:all|any)\.(\d+)(?:.*\.(op|value))?/.exec(path) ?? [];
        return at === undefined
          ? { path, message }
          : { path: `${part ?? 'subject'}-${rows[Number(at)]}`, message };
      }),
    );
  }
}
