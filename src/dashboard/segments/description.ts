import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { type Filter, filterFields, namedInFilters, partOf, recordsIn } from '../../contacts/index.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { type PageContext } from '../page-context.js';
import { dateIn, numberIn, timeIn } from '../parts.js';
import { type RowOp, type Subject, type Subjects } from './rows.js';
import { type DashboardWords } from '#locales';

export type RecordNames = ReadonlyMap<string, string>;

export const keyOfRecord = (condition: string, id: string) => `${condition} ${id}`;

/** The names of all records in a filter that exist and that the viewer may see. */
export async function namesIn({ person, api }: PageContext, filter: Filter): Promise<RecordNames> {
  const names = new Map<string, string>();
  const found = recordsIn(filter);
  for (const [condition, { resource }] of namedInFilters()) {
    const ids = found.filter((one) => one.name === condition && isId(one.id)).map(({ id }) => id);
    if (ids.length === 0 || !person.may(`${resource.object}:read`)) continue;
    for (const { id, name } of await api.find(Resources).named(resource, api.organizationId, ids))
      names.set(keyOfRecord(condition, id), name);
  }
  return names;
}

/** Everything that conditions can be about and that the viewer may see. */
export async function subjectsOf(context: PageContext): Promise<Subjects> {
  const nameOf = (name: string) => subjectIn(context.words, undefined, name);
  const kinds = [...namedInFilters()].filter(([, { resource }]) =>
    context.person.may(`${resource.object}:read`),
  );
  return new Map<string, Subject>([
    ...[...filterFields()].map(([name, type]) => [name, { name: nameOf(name), type }] as const),
    ...(await customFieldsOf(context)).map(
      (field) => [`fields.${field.key}`, { name: field.name, type: field.type, field }] as const,
    ),
    ...kinds.map(([name]) => [name, { name: nameOf(name), type: 'record' }] as const),
  ]);
}

function subjectIn(words: DashboardWords, subject: Subject | undefined, name: string): string {
  const names: Record<string, string> = { ...words.contacts.fields, ...words.segments.subjects };
  return subject?.name ?? names[name] ?? name;
}

/** The comparison as text. Numbers and times have different words. */
export function opIn(words: DashboardWords, subject: Subject | undefined, op: RowOp): string {
  const { ops, numberOps } = words.segments;
  return subject?.type === 'NUMBER' && (op === 'atLeast' || op === 'atMost') ? numberOps[op] : ops[op];
}

/** What the text of a filter names. */
export type Named = { subjects: Subjects; records: RecordNames };

/** A filter as text, with a list for each group of conditions. */
export function FilterText(words: DashboardWords, filter: Filter, names: Named): Html {
  const { segments } = words;
  const part = partOf(filter);
  switch (part.kind) {
    case 'all':
    case 'any':
      return html`${segments.described[part.kind]}
        <ul>${part.parts.map((one) => html`<li>${FilterText(words, one, names)}</li>`)}</ul>`;
    case 'not':
      return html`${segments.described.not}
        <ul><li>${FilterText(words, part.part, names)}</li></ul>`;
    case 'field': {
      const { field, op } = part.condition;
      const subject = names.subjects.get(field);
      return html`${[
        subjectIn(words, subject, field),
        opIn(words, subject, op),
        valueIn(words, subject, part.condition),
      ]
        .filter((text) => text !== '')
        .join(' ')}`;
    }
    case 'record': {
      const { name, id, inLast } = part;
      const record = names.records.get(keyOfRecord(name, id));
      const text = [
        subjectIn(words, undefined, name),
        segments.ops.is,
        record === undefined ? segments.described.deleted : segments.described.quoted(record),
        inLast === undefined ? '' : segments.described.inLast(inLast),
      ];
      return html`${text.filter((one) => one !== '').join(' ')}`;
    }
  }
}

function valueIn(
  words: DashboardWords,
  subject: Subject | undefined,
  { op, value }: Extract<ReturnType<typeof partOf>, { kind: 'field' }>['condition'],
): string {
  const { described } = words.segments;
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (op === 'inLast') return described.days(Number(value));
  const shown = (one: string | number) => {
    if (typeof one === 'number') return numberIn(words, one);
    if (subject?.type === 'time') return timeIn(words, one);
    return subject?.type === 'DATE' ? dateIn(words, one) : described.quoted(one);
  };
  return Array.isArray(value) ? described.between(shown(value[0]), shown(value[1])) : shown(value);
}
