import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { type Filter, filterFields, namedInFilters, partOf, recordsIn } from '../../contacts/index.js';
import { type PageContext } from '../page-context.js';
import { timeIn } from '../parts.js';

/** The names of records, by the name of their condition and their id. */
export type RecordNames = ReadonlyMap<string, string>;

export const keyOfRecord = (condition: string, id: string) => `${condition} ${id}`;

/** The names of all records in a filter that exist and that the viewer may see. */
export async function namesIn(context: PageContext, filter: Filter): Promise<RecordNames> {
  const names = new Map<string, string>();
  const found = recordsIn(filter);
  for (const [condition, { resource }] of namedInFilters()) {
    const ids = found.filter((one) => one.name === condition && isId(one.id)).map(({ id }) => id);
    if (ids.length === 0 || !context.may(`${resource.object}:read`)) continue;
    for (const { id, name } of await context.find(Resources).named(resource, context.organizationId, ids))
      names.set(keyOfRecord(condition, id), name);
  }
  return names;
}

/** The name of a condition's field or kind of records. */
export function subjectIn({ words }: PageContext, subject: string): string {
  const names: Record<string, string> = { ...words.contacts.fields, ...words.segments.subjects };
  return names[subject] ?? subject;
}

/** A filter as text, with a list for each group of conditions. */
export function FilterText(context: PageContext, filter: Filter, names: RecordNames): Html {
  const { segments } = context.words;
  const part = partOf(filter);
  switch (part.kind) {
    case 'all':
    case 'any':
      return html`${segments.described[part.kind]}
        <ul>${part.parts.map((one) => html`<li>${FilterText(context, one, names)}</li>`)}</ul>`;
    case 'not':
      return html`${segments.described.not}
        <ul><li>${FilterText(context, part.part, names)}</li></ul>`;
    case 'field': {
      const { field, op } = part.condition;
      return html`${[subjectIn(context, field), segments.ops[op], valueIn(context, part.condition)]
        .filter((text) => text !== '')
        .join(' ')}`;
    }
    case 'record': {
      const { name, id, inLast } = part;
      const record = names.get(keyOfRecord(name, id));
      const text = [
        subjectIn(context, name),
        segments.ops.is,
        record === undefined ? segments.described.deleted : segments.described.quoted(record),
        inLast === undefined ? '' : segments.described.inLast(inLast),
      ];
      return html`${text.filter((one) => one !== '').join(' ')}`;
    }
  }
}

function valueIn(
  { words }: PageContext,
  { field, op, value }: Extract<ReturnType<typeof partOf>, { kind: 'field' }>['condition'],
): string {
  const { described } = words.segments;
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'number') return op === 'inLast' ? described.days(value) : String(value);
  const shown = (one: string | number) =>
    filterFields().get(field) === 'time' ? timeIn(words, String(one)) : String(one);
  if (typeof value !== 'string') return described.between(shown(value[0]), shown(value[1]));
  return op === 'atLeast' || op === 'atMost' ? shown(value) : described.quoted(value);
}
