import { type JsonObject } from '#libs/event-store';
import { type Resource, type Resources } from '#libs/resources';
import { invalid, isMoment, requireScope, UNSTORABLE } from '#libs/rpc';
import { type FieldDefinition, readValue as readCustomValue } from '../../fields/index.js';
import {
  CUSTOM_OPS,
  customKeyOf,
  FILTER_FIELDS,
  type FilterField,
  type Op,
  OPS_OF,
} from './filter-fields.js';

/** Which contacts belong to a segment, as JSON. Each filter either matches a contact or does not. */
export type Filter =
  | { all: Filter[] }
  | { any: Filter[] }
  | { not: Filter }
  | FieldCondition
  | RecordCondition;

/** A condition on a field of the contact. `isSet` has no value. */
export type FieldCondition = { field: string; op: Op; value?: FilterValue };
export type FilterValue = string | number | boolean | [string, string] | [number, number];

/** A condition on a record that contacts are linked to, by its name: `{ list: id }`, `{ signed: id, inLast: 30 }`. */
type RecordCondition = { [condition: string]: string | number };

export type NamedRecord = {
  resource: Resource;
  /**
   * SQL that selects, as `member_id`, the ids of contacts of organization $1 that are linked to the record.
   *
   * @param id SQL for the id of the record; null if it does not exist.
   * @param from SQL for a moment: only links that began then or later.
   */
  members(id: string, from?: string): string;
};

const namedRecords = new Map<string, NamedRecord>();

/**
 * Adds a condition to the filters of contacts. Call it where the kind of record is declared.
 *
 * @param name of the condition: `list`, `signed`.
 */
export function filterContactsBy(name: string, record: NamedRecord): void {
  namedRecords.set(name, record);
}

export function namedInFilters(): ReadonlyMap<string, NamedRecord> {
  return namedRecords;
}

/** A filter taken apart. A condition on a record that this version does not know has an empty name. */
export type FilterPart =
  | { kind: 'all' | 'any'; parts: Filter[] }
  | { kind: 'not'; part: Filter }
  | { kind: 'field'; condition: FieldCondition }
  | { kind: 'record'; name: string; id: string; inLast: number | undefined };

export function partOf(filter: Filter): FilterPart {
  if ('all' in filter) return { kind: 'all', parts: filter.all as Filter[] };
  if ('any' in filter) return { kind: 'any', parts: filter.any as Filter[] };
  if ('not' in filter) return { kind: 'not', part: filter.not as Filter };
  if ('field' in filter) return { kind: 'field', condition: filter as FieldCondition };
  const { inLast, ...named } = filter;
  const name = Object.keys(named).find((key) => namedRecords.has(key)) ?? '';
  return { kind: 'record', name, id: String(named[name] ?? ''), inLast: inLast as number | undefined };
}

const DEEPEST = 5;
const MOST_CONDITIONS = 50;
const LONGEST_VALUE = 500;
const MOST_DAYS = 36_500;

/** The description of a filter for the API's documentation. */
export const FILTER_RULES =
  'JSON: `{ "all": […] }`, `{ "any": […] }`, `{ "not": … }`, or a condition, nested at most ' +
  `${DEEPEST} levels, with at most ${MOST_CONDITIONS} conditions. \`{ "field", "op", "value" }\` compares a field of ` +
  'the contact, without regard to case: `is`, `isNot`, `contains`, `startsWith`, `isSet` (no value), and for times ' +
  '`atLeast`, `atMost`, `between` (two values) and `inLast` (days). `phone`, `mobile`, `address` and `bio` are stored ' +
  'encrypted and support only `isSet`. `fields.shoeSize` is the custom field with that key; its type decides the ' +
  'operators. `{ "tag": id }`, `{ "list": id }`, `{ "signed": petitionId, "inLast": days }` ' +
  'and `{ "received": broadcastId }` select the contacts with a tag, on a list, who signed a petition, and to whom a ' +
  'broadcast was sent. A condition on a deleted record matches no one. `not` and `isNot` match exactly the contacts ' +
  'that their opposite does not match, such as those without a city.';

/**
 * Reads a filter that a client sent.
 *
 * @param customFields of the organization. Only needed if `namesCustomFields`.
 * @param path the field that contains it, for error messages.
 * @throws RpcError BAD_REQUEST naming the wrong part: `filter.all.2.op`.
 */
export function readFilter(
  given: unknown,
  customFields: readonly FieldDefinition[] = [],
  path = 'filter',
): Filter {
  return readPart(given, path, 0, { conditions: 0, customFields });
}

/** Whether a filter that a client sent may have conditions on custom fields. */
export function namesCustomFields(given: unknown): boolean {
  return JSON.stringify(given ?? null).includes('"fields.');
}

/** What the parts of a filter share while it is read. */
type Reading = { conditions: number; customFields: readonly FieldDefinition[] };

function wrong(path: string, message: string): never {
  throw invalid([{ path, message }]);
}

function readPart(given: unknown, path: string, depth: number, reading: Reading): Filter {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return wrong(path, 'must be an object: all, any, not, or a condition');
  const [key, ...others] = Object.keys(given);
  if (key === 'all' || key === 'any' || key === 'not') {
    if (others.length > 0) return wrong(path, `must not have any field other than ${key}`);
    if (depth === DEEPEST) return wrong(path, `must not be nested deeper than ${DEEPEST} levels`);
    const inner = (given as JsonObject)[key];
    if (key === 'not') return { not: readPart(inner, `${path}.not`, depth + 1, reading) };
    if (!Array.isArray(inner) || inner.length === 0)
      return wrong(`${path}.${key}`, 'must be a list with at least one filter');
    const parts = inner.map((part, n) => readPart(part, `${path}.${key}.${n}`, depth + 1, reading));
    return key === 'all' ? { all: parts } : { any: parts };
  }
  reading.conditions += 1;
  if (reading.conditions > MOST_CONDITIONS)
    return wrong(path, `is more than the ${MOST_CONDITIONS} conditions that a filter may have`);
  return 'field' in given
    ? readFieldCondition(given as JsonObject, path, reading)
    : readNamedRecord(given as JsonObject, path);
}

function readNamedRecord(given: JsonObject, path: string): RecordCondition {
  const name = Object.keys(given).find((key) => namedRecords.has(key));
  if (name === undefined) {
    const known = ['all', 'any', 'not', 'field', ...namedRecords.keys()];
    return wrong(path, `must have one of these fields: ${known.join(', ')}`);
  }
  const record = namedRecords.get(name)!;
  const id = given[name];
  if (typeof id !== 'string' || id.trim() === '' || id.length > LONGEST_VALUE || UNSTORABLE.test(id))
    return wrong(`${path}.${name}`, `must be the id of a ${record.resource.object}`);
  const { [name]: _, inLast, ...unknown } = given;
  refuseUnknown(Object.keys(unknown), path, [name, 'inLast']);
  if (inLast === undefined) return { [name]: id.trim() };
  return { [name]: id.trim(), inLast: readDays(inLast, `${path}.inLast`) };
}

function refuseUnknown(names: readonly string[], path: string, known: readonly string[]): void {
  const [unknown] = names;
  if (unknown !== undefined)
    wrong(`${path}.${unknown.slice(0, 100)}`, `is not known here: use ${known.join(', ')}`);
}

function readDays(value: unknown, path: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_DAYS)
    return value as number;
  return wrong(path, `must be a number of days from 1 to ${MOST_DAYS}`);
}

function readFieldCondition(given: JsonObject, path: string, { customFields }: Reading): FieldCondition {
  const { field: name, op, value, ...unknown } = given;
  refuseUnknown(Object.keys(unknown), path, ['field', 'op', 'value']);
  const customKey = typeof name === 'string' ? customKeyOf(name) : undefined;
  if (customKey !== undefined) return readCustomCondition(given, customKey, path, customFields);
  const field = typeof name === 'string' ? FILTER_FIELDS.get(name) : undefined;
  if (typeof name !== 'string' || !field)
    return wrong(`${path}.field`, `must be one of ${[...FILTER_FIELDS.keys()].join(', ')}`);
  const ops = OPS_OF[field.type];
  if (typeof op !== 'string' || !ops.includes(op as Op)) {
    const why = field.type === 'sealed' ? `, because ${name} is stored encrypted` : '';
    return wrong(
      `${path}.op`,
      `must be ${ops.length > 1 ? 'one of ' : ''}${ops.join(', ')} for ${name}${why}`,
    );
  }
  if (op === 'isSet') {
    if (value !== undefined) wrong(`${path}.value`, 'must be left out with isSet');
    return { field: name, op };
  }
  return { field: name, op: op as Op, value: readValue(field, op as Op, value, `${path}.value`) };
}

function readCustomCondition(
  { op, value }: JsonObject,
  key: string,
  path: string,
  customFields: readonly FieldDefinition[],
): FieldCondition {
  const field = `fields.${key}`;
  const custom = customFields.find((one) => one.key === key);
  if (!custom) {
    const known = customFields.map((one) => `fields.${one.key}`);
    const use = known.length === 0 ? 'your organization has none' : `use ${known.join(', ')}`;
    return wrong(`${path}.field`, `is not a custom field: ${use}`);
  }
  const ops = CUSTOM_OPS[custom.type];
  if (typeof op !== 'string' || !ops.includes(op as Op))
    return wrong(`${path}.op`, `must be one of ${ops.join(', ')} for a field of the type ${custom.type}`);
  const at = `${path}.value`;
  const read = (one: unknown, where: string) => {
    // A condition names one of the options.
    const type = custom.type === 'CHOICES' ? 'CHOICE' : custom.type;
    const found = readCustomValue({ ...custom, type }, one);
    if ('problem' in found) return wrong(where, found.problem);
    return found.value === null ? wrong(where, 'is required') : (found.value as string | number | boolean);
  };
  if (op === 'isSet') return value === undefined ? { field, op } : wrong(at, 'must be left out with isSet');
  if (op === 'inLast') return { field, op, value: readDays(value, at) };
  if (op !== 'between') return { field, op: op as Op, value: read(value, at) };
  if (!Array.isArray(value) || value.length !== 2) return wrong(at, 'must be a list of two values');
  const [from, to] = value.map((one, n) => read(one, `${at}.${n}`)) as [string, string];
  return from <= to ? { field, op, value: [from, to] } : wrong(at, 'must start with the lower value');
}

function readValue(field: FilterField, op: Op, value: unknown, path: string): FilterValue {
  if (op === 'inLast') return readDays(value, path);
  if (op === 'between') {
    if (!Array.isArray(value) || value.length !== 2) return wrong(path, 'must be a list of two values');
    const [from, to] = value.map((one, n) => readTime(one, `${path}.${n}`)) as [string, string];
    return from <= to ? [from, to] : wrong(path, 'must start with the earlier time');
  }
  if (field.type === 'time') return readTime(value, path);
  if (field.type === 'flag') return typeof value === 'boolean' ? value : wrong(path, 'must be true or false');
  return readText(value, path);
}

function readText(value: unknown, path: string): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '') return wrong(path, 'must be a text that is not empty');
  if ([...text].length > LONGEST_VALUE) return wrong(path, `must have at most ${LONGEST_VALUE} characters`);
  return UNSTORABLE.test(text) ? wrong(path, 'must not contain NUL characters or lone surrogates') : text;
}

/** Times are stored in milliseconds, so they are compared as such. */
function readTime(value: unknown, path: string): string {
  return typeof value === 'string' && isMoment(value)
    ? new Date(value).toISOString()
    : wrong(path, 'must be an RFC 3339 timestamp, like 2026-11-20T09:30:00.000Z');
}

export function recordsIn(filter: Filter): { name: string; id: string }[] {
  const part = partOf(filter);
  switch (part.kind) {
    case 'all':
    case 'any':
      return part.parts.flatMap(recordsIn);
    case 'not':
      return recordsIn(part.part);
    case 'field':
      return [];
    case 'record':
      return [part];
  }
}

/**
 * Filtering contacts by a list or a petition reveals who is on it.
 *
 * @throws RpcError INSUFFICIENT_PERMISSIONS, or NOT_FOUND if a record that the filter names does not exist.
 */
export async function requireNamed(
  filter: Filter,
  organizationId: string,
  scopes: readonly string[],
  resources: Pick<Resources, 'require'>,
): Promise<void> {
  for (const { name, id } of recordsIn(filter)) {
    const { resource } = namedRecords.get(name)!;
    requireScope(scopes, `${resource.object}:read`, `filter.${name}`);
    await resources.require(resource, organizationId, id);
  }
}
