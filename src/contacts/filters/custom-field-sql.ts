import { type Bind } from '#libs/projections';
import { fields } from '../../fields/index.js';
import { type FieldCondition } from './filter.js';
import {
  containsFolded,
  equalsFolded,
  jsonWithoutCase,
  spellingsOf,
  startsWithFolded,
} from './folded-text.js';

/**
 * SQL: whether a row of the contacts of organization $1 matches a condition on a custom field. Values are JSON, by the id of
 * the field. A value whose type differs from the condition's does not match: a deleted field may have been replaced by one of
 * another type with the same key.
 */
export function customFieldSql(
  key: string,
  { op, value }: FieldCondition,
  bind: Bind,
  moment: Date | undefined,
): string {
  const id = `(SELECT f.id::text FROM ${fields.table} f WHERE f.organization_id = $1 AND f.key = ${bind(key)})`;
  const [json, text] = [`(custom_fields -> ${id})`, `(custom_fields ->> ${id})`];
  const isText = `jsonb_typeof(${json}) = 'string'`;
  const ordered = `(${text} COLLATE "C")`;
  /** Options of CHOICES. */
  const someOption = (condition: string) => `EXISTS (
    SELECT FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(${json}) = 'array' THEN ${json} END) AS o(option)
    WHERE ${condition})`;
  const compare = (operator: string, wanted: unknown) =>
    typeof wanted === 'number'
      ? `(jsonb_typeof(${json}) = 'number' AND ${json} ${operator} ${bind(JSON.stringify(wanted))}::jsonb)`
      : `(${isText} AND ${ordered} ${operator} ${bind(wanted)})`;
  /** By the index. Missing fields have no values. */
  const hasOne = (values: readonly unknown[]) => {
    const each = bind(values.map((one) => JSON.stringify(one)));
    return `${jsonWithoutCase('custom_fields')} @> ANY (ARRAY(
      SELECT jsonb_build_object(coalesce(${id}, ''), one) FROM unnest(${each}::jsonb[]) AS one))`;
  };
  switch (op) {
    case 'isSet':
      return `${json} IS NOT NULL`;
    case 'is':
    case 'isNot': {
      if (typeof value !== 'string') return hasOne([value]);
      // A value of CHOICES is a list.
      const spellings = spellingsOf(value);
      if (spellings) return hasOne(spellings.flatMap((one) => [one, [one]]));
      return `((${isText} AND ${equalsFolded(text, value, bind)}) OR ${someOption(equalsFolded('o.option', value, bind))})`;
    }
    case 'contains':
      return `((${isText} AND ${containsFolded(text, value as string, bind)})
        OR ${someOption(equalsFolded('o.option', value as string, bind))})`;
    case 'startsWith':
      return `(${isText} AND ${startsWithFolded(text, value as string, bind)})`;
    case 'atLeast':
      return compare('>=', value);
    case 'atMost':
      return compare('<=', value);
    case 'between': {
      const [from, to] = value as [unknown, unknown];
      return `(${compare('>=', from)} AND ${compare('<=', to)})`;
    }
    case 'inLast': {
      const today = moment ? `${bind(moment)}::timestamptz` : 'now()';
      const day = (time: string) => `to_char((${time}) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
      const first = day(`${today} - make_interval(hours => 24 * ${bind(value)}::int)`);
      return `(${isText} AND ${ordered} BETWEEN ${first} AND ${day(today)})`;
    }
  }
}
