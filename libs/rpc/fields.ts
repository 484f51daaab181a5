import {
  getMetadataStorage,
  registerDecorator,
  ValidateIf,
  type ValidationArguments,
  ValidationTypes,
} from 'class-validator';
import { isIP } from 'node:net';
import { isEmailAddress } from './email-address.js';
import { storedBytes } from '#libs/database';

/**
 * Decorators for the fields of an operation's input. One decorator covers validation, normalization (trimming,
 * defaults, conversion of query parameters) and documentation.
 */

/** The part of an OpenAPI schema object that fields and records use. */
export type FieldSchema = {
  type?: string | string[];
  /** undefined in records: an id that is no UUID, see `recordSchema`. */
  format?: string | undefined;
  description?: string;
  enum?: readonly unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  items?: FieldSchema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, FieldSchema>;
  required?: string[];
  /** For objects whose keys are data: the schema of each value. */
  additionalProperties?: boolean | FieldSchema;
  example?: unknown;
};

export type Field = {
  required: boolean;
  nullable: boolean;
  default: unknown;
  schema: FieldSchema;
  /** Runs before validation: trims, converts '' to null if allowed, and converts query parameters. */
  normalize(value: unknown, source: Source): unknown;
  /** The problem with a value, as text for an issue; undefined if it is valid. */
  problem(value: unknown): string | undefined;
  /** Whether it must be the id of an existing record. Otherwise the response is 404. */
  namesRecord: boolean;
  /** The class of an object field with its own fields, or of each object of a list. */
  nested?: () => new () => object;
};

/** Query parameters arrive as strings, JSON bodies with types. */
export type Source = 'query' | 'body';

export type FieldOptions = {
  description?: string;
  optional?: boolean;
  /** Tells where to find the value. The error says `is required: ` before it. */
  ifMissing?: string;
  /** `null` is a separate value: it clears the field. */
  nullable?: boolean;
  default?: unknown;
  /** A default that depends on other values. It is documented here and set by the handler. */
  documentedDefault?: unknown;
  /** For an id: false if an unknown one just finds nothing. */
  namesRecord?: boolean;
  example?: unknown;
};

/**
 * By prototype of the input class: the fields that each class declares, and all its fields once they were
 * requested.
 */
const ownFields = new WeakMap<object, Map<string, Field>>();
const allFields = new WeakMap<object, ReadonlyMap<string, Field>>();

/**
 * All fields of an input class, its parents' first. Other modules can declare additional fields, such as a
 * filter by one of their records. After the first call of this function, such a declaration throws an error.
 */
export function fieldsOf(input: object): ReadonlyMap<string, Field> {
  const prototype = typeof input === 'function' ? (input.prototype as object) : input;
  const known = allFields.get(prototype);
  if (known) return known;
  const parent = Object.getPrototypeOf(prototype) as object | null;
  const fields = new Map([...(parent ? fieldsOf(parent) : []), ...(ownFields.get(prototype) ?? [])]);
  allFields.set(prototype, fields);
  return fields;
}

function declareField(prototype: object, name: string, field: Field): void {
  if (allFields.has(prototype)) {
    throw new Error(
      `${prototype.constructor.name}.${name} is declared too late: its fields were read before.`,
    );
  }
  if (!ownFields.has(prototype)) ownFields.set(prototype, new Map());
  ownFields.get(prototype)!.set(name, field);
}

function field(
  options: FieldOptions,
  schema: FieldSchema,
  problem: (value: unknown) => string | undefined,
  normalize: Field['normalize'] = (value) => value,
): PropertyDecorator {
  const optional = options.optional === true || options.default !== undefined;
  return (target, property) => {
    const name = String(property);
    const isLeftOut = (value: unknown) =>
      (optional && value === undefined) || (options.nullable === true && value === null);
    const missing = options.ifMissing === undefined ? 'is required' : `is required: ${options.ifMissing}`;
    const problemOf = (value: unknown) => (value === undefined ? missing : problem(value));
    declareField(target, name, {
      required: !optional,
      nullable: options.nullable === true,
      default: options.default,
      schema: documented(schema, options),
      namesRecord: options.namesRecord === true,
      normalize,
      problem: (value) => (isLeftOut(value) ? undefined : problemOf(value)),
    });
    ValidateIf((_, value) => !isLeftOut(value))(target, property);
    registerDecorator({
      name: FIELD,
      target: target.constructor,
      propertyName: name,
      validator: {
        validate: (value) => problemOf(value) === undefined,
        defaultMessage: (context?: ValidationArguments) => problemOf(context?.value) ?? 'is invalid',
      },
    });
  };
}

/** The name of the fields' rule in class-validator. */
const FIELD = 'field';

const onlyFields = new WeakMap<object, boolean>();

/**
 * Whether the fields are the only class-validator rules of the input class. Then `Field.problem` is sufficient.
 */
export function hasOnlyFields(type: new () => object): boolean {
  let known = onlyFields.get(type);
  if (known === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    known = rules.every(
      ({ type: kind, name }) => kind === ValidationTypes.CONDITIONAL_VALIDATION || name === FIELD,
    );
    onlyFields.set(type, known);
  }
  return known;
}

function documented(schema: FieldSchema, options: FieldOptions): FieldSchema {
  const { description, nullable, example } = options;
  const preset = options.default ?? options.documentedDefault;
  return {
    ...schema,
    ...(nullable && typeof schema.type === 'string' ? { type: [schema.type, 'null'] } : {}),
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset }),
    ...(example === undefined ? {} : { example }),
  };
}

/** U+0000 and lone surrogates, which PostgreSQL's text and jsonb cannot store. */
export const UNSTORABLE = /\0|\p{Surrogate}/u;

/** The problem with a text; undefined if it is valid. `max` counts characters (code points). */
function textProblem(value: unknown, max: number): string | undefined {
  if (value === null) return 'must not be null';
  if (typeof value !== 'string') return 'must be a string';
  if (value === '') return 'must not be empty';
  // A text never has more characters than UTF-16 units, so most texts need no second count.
  if (value.length > max && [...value].length > max) return `must have at most ${max} characters`;
  if (UNSTORABLE.test(value)) return 'must not contain NUL characters or lone surrogates';
  return undefined;
}

/** Invisible text, such as a zero-width space, counts as empty. */
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\s]*$/u;

function trim(nullable: boolean) {
  return (value: unknown) => {
    if (typeof value !== 'string') return value;
    const trimmed = INVISIBLE.test(value) ? '' : value.trim();
    return trimmed === '' && nullable ? null : trimmed;
  };
}

/** A trimmed text of 1 to `max` characters. An empty text becomes null if allowed. */
export function Text(options: FieldOptions & { max: number }): PropertyDecorator {
  return field(
    options,
    { type: 'string', ...(options.nullable ? {} : { minLength: 1 }), maxLength: options.max },
    (value) => textProblem(value, options.max),
    trim(options.nullable === true),
  );
}

/** Maximum characters of a slug. People read it aloud, and mail programs must not break it. */
export const LONGEST_SLUG = 80;
export const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** The path of a page: lowercase letters and digits, with hyphens between them. */
export function Slug(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: 'string', maxLength: LONGEST_SLUG, pattern: SLUG.source },
    (value) => textProblem(value, LONGEST_SLUG) ?? slugProblem(value as string),
    trim(options.nullable === true),
  );
}

function slugProblem(slug: string): string | undefined {
  if (!SLUG.test(slug)) return 'must contain only lowercase letters, digits, and hyphens between them';
  // Pages can also be found by their ids.
  return isId(slug) ? 'must not look like an ID' : undefined;
}

const COLOUR = /^#[0-9a-f]{6}$/;

/** A colour as `#rrggbb`. Uppercase digits become lowercase. */
export function Colour(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: 'string', pattern: COLOUR.source },
    (value) => (COLOUR.test(String(value)) ? undefined : 'must be a colour like #0b57d0'),
    (value, source) => {
      const trimmed = trim(options.nullable === true)(value);
      return source && typeof trimmed === 'string' ? trimmed.toLowerCase() : trimmed;
    },
  );
}

/** A web address: http or https. */
export function WebAddress(options: FieldOptions & { max: number }): PropertyDecorator {
  return field(
    options,
    { type: 'string', format: 'uri', maxLength: options.max },
    (value) =>
      textProblem(value, options.max) ??
      (/^https?:\/\//i.test(value as string) && URL.canParse(value as string)
        ? undefined
        : 'must be a URL that starts with https:// or http://'),
    trim(options.nullable === true),
  );
}

/** An email address (RFC 5321: at most 254 characters). */
export function Email(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: 'string', format: 'idn-email', maxLength: 254 },
    (value) =>
      textProblem(value, 254) ??
      (isEmailAddress(value) ? undefined : 'must be an email address, like ada@example.org'),
    trim(options.nullable === true),
  );
}

/** An id. Any text is accepted: an unknown id is "not found", never invalid. */
export function Id(options: FieldOptions = {}): PropertyDecorator {
  return field(
    { namesRecord: true, ...options },
    { type: 'string', format: 'uuid' },
    (value) => (typeof value === 'string' ? textProblem(value, 10_000) : 'must be a string'),
    trim(false),
  );
}

/** true or false. In a query, the words `true` and `false`. @param only the one that is accepted */
export function Flag({ only, ...options }: FieldOptions & { only?: boolean } = {}): PropertyDecorator {
  return field(
    options,
    { type: 'boolean', ...(only === undefined ? {} : { enum: [only] }) },
    (value) => {
      if (only !== undefined) return value === only ? undefined : `must be ${only}`;
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    },
    (value, source) => {
      // Spreadsheets write TRUE and FALSE.
      const word = source === 'query' && typeof value === 'string' ? value.toLowerCase() : undefined;
      return word === 'true' || word === 'false' ? word === 'true' : value;
    },
  );
}

export function Integer(options: FieldOptions & { min: number; max: number }): PropertyDecorator {
  const { min, max } = options;
  return field(
    options,
    { type: 'integer', minimum: min, maximum: max },
    (value) =>
      Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
        ? undefined
        : `must be a whole number from ${min} to ${max}`,
    (value, source) =>
      source === 'query' && typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value,
  );
}

/** The deepest nesting of JSON: far more than any page needs, and far below any stack limit. */
const DEEPEST_JSON = 64;

/**
 * Any JSON of at most `maxBytes` in PostgreSQL's format (`storedBytes`). Null counts as not set.
 *
 * @param options.type if it must be an object, whose contents the handler checks.
 */
export function AnyJson(options: FieldOptions & { maxBytes: number; type?: 'object' }): PropertyDecorator {
  const { type, maxBytes } = options;
  return field({ nullable: true, ...options }, type ? { type } : {}, (value) =>
    type && !isObject(value) ? 'must be an object' : jsonProblem(value, maxBytes),
  );
}

/**
 * An object whose keys are data, of at most `maxBytes`. Whether they exist, and whether their values are valid, is
 * checked where they are used.
 */
export function Keyed(options: FieldOptions & { maxBytes: number; values: FieldSchema }): PropertyDecorator {
  const { maxBytes, values } = options;
  return field(options, { type: 'object', additionalProperties: values }, (value) =>
    isObject(value) ? jsonProblem(value, maxBytes) : 'must be an object',
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function jsonProblem(value: unknown, maxBytes: number): string | undefined {
  const excess = exceeds(value, DEEPEST_JSON, { bytes: maxBytes });
  if (excess === 'depth') return `must not be nested deeper than ${DEEPEST_JSON} levels`;
  const text = excess === undefined ? JSON.stringify(value) : '';
  if (excess === 'size' || storedBytes(value, text) > maxBytes) {
    return (
      `must have at most ${maxBytes / 1024} KiB of JSON as it is stored: with a space after each comma ` +
      'and colon, and every number written out (1e308 has 309 digits)'
    );
  }
  if (hasInfinity(value)) return 'must not contain numbers beyond the range of a double (IEEE 754)';
  // JSON writes both as escapes. An escaped backslash before them must not be mistaken for one.
  return /(?<!\\)(\\\\)*\\u(0000|d[89ab][0-9a-f]{2}|d[c-f][0-9a-f]{2})/.test(text)
    ? 'must not contain NUL characters or lone surrogates'
    : undefined;
}

/** JSON.parse turns 1e400 into Infinity, which JSON cannot represent. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity);
}

/**
 * Traverses JSON only until it is certainly too deep or too large. A client may send a megabyte, and
 * serializing it takes ten times as long. Loops over the value directly, because `Object.values(value).some(…)`
 * took up to 90 ms for 1 MiB.
 *
 * @param budget remaining bytes; each value counts with the fewest bytes that PostgreSQL needs for it.
 */
function exceeds(value: unknown, levels: number, budget: { bytes: number }): 'depth' | 'size' | undefined {
  if (typeof value !== 'object' || value === null) {
    budget.bytes -= typeof value === 'string' ? value.length + 2 : 1;
    return budget.bytes < 0 ? 'size' : undefined;
  }
  if (levels === 0) return 'depth';
  if (Array.isArray(value)) {
    for (const inner of value) {
      const problem = exceeds(inner, levels - 1, budget);
      if (problem) return problem;
      budget.bytes -= SEPARATOR;
    }
  } else {
    for (const name in value) {
      budget.bytes -= name.length + 2 + SEPARATOR;
      const problem = exceeds((value as JsonMembers)[name], levels - 1, budget);
      if (problem) return problem;
      budget.bytes -= SEPARATOR;
    }
  }
  // The separator counted after the last element stands for the two brackets.
  return undefined;
}

/** Bytes of a comma or colon with its space. */
const SEPARATOR = 2;

type JsonMembers = { [name: string]: unknown };

/**
 * A list of `min` (default: 1) to `max` ids. In a query, one text with commas. A field that replaces a stored list needs 0.
 * Otherwise, no one could empty it.
 */
export function Ids(options: FieldOptions & { min?: 0; max: number }): PropertyDecorator {
  const { min = 1, max } = options;
  return field(
    { namesRecord: true, ...options },
    {
      type: 'array',
      items: { type: 'string', format: 'uuid' },
      ...(min && { minItems: min }),
      maxItems: max,
    },
    (value) => {
      if (!Array.isArray(value) || value.length < min || value.length > max) {
        return `must be a list of ${min === 0 ? 'at most' : '1 to'} ${max} IDs`;
      }
      return value.every((id) => typeof id === 'string' && textProblem(id, 10_000) === undefined)
        ? undefined
        : 'must contain only IDs, and no empty text';
    },
    (value, source) => {
      const list: unknown = source === 'query' && typeof value === 'string' ? value.split(',') : value;
      return Array.isArray(list) ? list.map(trim(false)) : list;
    },
  );
}

/** A list of 1 to `max` email addresses. */
export function Emails(options: FieldOptions & { max: number }): PropertyDecorator {
  const { max } = options;
  return field(
    options,
    {
      type: 'array',
      items: { type: 'string', format: 'idn-email', maxLength: 254 },
      minItems: 1,
      maxItems: max,
    },
    (value) => {
      if (!Array.isArray(value) || value.length === 0 || value.length > max) {
        return `must be a list of 1 to ${max} email addresses`;
      }
      return value.every((one) => textProblem(one, 254) === undefined && isEmailAddress(one))
        ? undefined
        : 'must contain only email addresses, like ada@example.org';
    },
    (value) => (Array.isArray(value) ? value.map(trim(false)) : value),
  );
}

/**
 * A list of distinct words from a fixed set, which is read when it is needed. In a query, one text with commas.
 *
 * @param options `min`: see {@link Ids}.
 */
export function WordsOf(
  words: () => readonly string[],
  options: FieldOptions & { min?: 0 } = {},
  currentName: (word: string) => string = (word) => word,
): PropertyDecorator {
  const { min = 1 } = options;
  return field(
    options,
    {
      type: 'array',
      items: {
        type: 'string',
        get enum() {
          return words();
        },
      },
      ...(min && { minItems: min }),
    },
    (value) =>
      Array.isArray(value) && value.length >= min && value.every((word) => words().includes(word as string))
        ? undefined
        : `must be a list ${min === 0 ? 'of' : 'of one or more of'}: ${words().join(', ')}`,
    (value, source) => {
      const list: unknown =
        source === 'query' && typeof value === 'string' ? value.split(',').map(trim(false)) : value;
      if (!Array.isArray(list)) return list;
      return [
        ...new Set<unknown>(
          list.map((word: unknown) => (typeof word === 'string' ? currentName(word) : word)),
        ),
      ];
    },
  );
}

/**
 * Names of records: a list of strings, or one string with commas between them (as in a CSV file). With `nullable`, null
 * is an empty list.
 *
 * @param options `pattern`: of each name. `rule` describes it.
 */
export function Names(
  options: FieldOptions & { max: number; longest: number; pattern?: RegExp; rule?: string },
): PropertyDecorator {
  const { max, longest, pattern, rule } = options;
  return field(
    options,
    {
      type: 'array',
      items: { type: 'string', maxLength: longest, ...(pattern ? { pattern: pattern.source } : {}) },
      maxItems: max,
    },
    (value) => {
      if (!Array.isArray(value) || value.length > max) return `must be a list of at most ${max} names`;
      const problem = value.map((name) => textProblem(name, longest)).find((found) => found !== undefined);
      if (problem) return `must contain only names: one of them ${problem}`;
      return !pattern || value.every((name) => pattern.test(name as string)) ? undefined : rule;
    },
    (value) => {
      if (value === null && options.nullable) return [];
      const names: unknown = typeof value === 'string' ? value.split(',') : value;
      if (!Array.isArray(names)) return names;
      const trimmed = (names as unknown[]).map(trim(false));
      return [...new Set(typeof value === 'string' ? trimmed.filter((name) => name !== '') : trimmed)];
    },
  );
}

/** An object with fields of its own, declared by a class that is not an operation. */
export function Nested(type: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  const decorate = field(options, { type: 'object' }, (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : 'must be an object',
  );
  return (target, property) => {
    decorate(target, property);
    ownFields.get(target)!.get(String(property))!.nested = type;
  };
}

/**
 * An object of at most `max` objects with fields of their own, whose keys are data. The handler checks the keys. null is
 * allowed as a value if `options.removable`.
 */
export function NestedMap(
  type: () => new () => object,
  options: FieldOptions & { max: number; removable?: boolean },
): PropertyDecorator {
  const { max, removable = false } = options;
  const schema: FieldSchema = {
    type: 'object',
    additionalProperties: { type: removable ? ['object', 'null'] : 'object' },
  };
  const decorate = field(options, schema, (value) => {
    if (!isObject(value)) return 'must be an object';
    return Object.keys(value as object).length > max ? `must have at most ${max} fields` : undefined;
  });
  return (target, property) => {
    decorate(target, property);
    ownFields.get(target)!.get(String(property))!.nested = type;
  };
}

/** A list of at most `max` objects with fields of their own, declared by a class that is not an operation. */
export function NestedList(
  type: () => new () => object,
  options: FieldOptions & { max: number },
): PropertyDecorator {
  const { max } = options;
  const decorate = field(options, { type: 'array', maxItems: max }, (value) =>
    Array.isArray(value) && value.length <= max ? undefined : `must be a list of at most ${max} objects`,
  );
  return (target, property) => {
    decorate(target, property);
    ownFields.get(target)!.get(String(property))!.nested = type;
  };
}

/** One of a fixed set of words. */
export function OneOf(words: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'string', enum: words }, (value) =>
    words.includes(value as string) ? undefined : `must be one of: ${words.join(', ')}`,
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text can be a record's id. If not, it is "not found" without a query. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** RFC 3339 (date, time and offset) within PostgreSQL's range: no year 0, and offsets below 16 hours. */
const TIMESTAMP = /^(?!0000)\d{4}-\d\d-(\d\d)T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/i;

/** Whether PostgreSQL and JavaScript read the text as the same time. */
export function isMoment(text: string): boolean {
  const [, day] = TIMESTAMP.exec(text) ?? [];
  // JavaScript reads 30 February as 2 March. PostgreSQL rejects it.
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  // With an offset, the year in UTC may have more digits, or be before year 1.
  const year = new Date(text).getUTCFullYear();
  return date.getUTCDate() === Number(day) && year >= 1 && year <= 9_999;
}

/** Normalizes a time for storage: the same time can be written in many ways. */
export function momentOf(text: string | null | undefined): string | null | undefined {
  return text == null ? text : new Date(text).toISOString();
}

const NO_MOMENT = 'must be an RFC 3339 timestamp, like 2026-11-20T09:30:00.000Z (in a URL, write + as %2B)';

/** A time. The handler receives the original text, which is known to be valid. */
export function Timestamp(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'string', format: 'date-time' }, (value) =>
    typeof value === 'string' && isMoment(value) ? undefined : NO_MOMENT,
  );
}

/** Clocks of two computers differ by seconds. A difference of minutes is a mistake. */
const CLOCK_DIFFERENCE_MS = 60_000;

export function PastTimestamp(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'string', format: 'date-time' }, (value) => {
    if (typeof value !== 'string' || !isMoment(value)) return NO_MOMENT;
    const isOver = Date.parse(value) <= Date.now() + CLOCK_DIFFERENCE_MS;
    return isOver ? undefined : 'must not be in the future';
  });
}

const DAY = /^(?!0000)\d{4}-\d\d-\d\d$/;

/** A day that has begun somewhere on earth, such as `2026-11-20`. */
export function PastDay(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'string', format: 'date' }, (value) => {
    if (typeof value !== 'string' || !DAY.test(value) || !isMoment(`${value}T00:00:00Z`))
      return 'must be a day, like 2026-11-20';
    // The first time zone is 14 hours ahead of UTC.
    const isBegun = Date.parse(`${value}T00:00:00+14:00`) <= Date.now() + CLOCK_DIFFERENCE_MS;
    return isBegun ? undefined : 'must not be in the future';
  });
}

/** An Internet address, version 4 or 6. */
export function IpAddress(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: 'string', maxLength: LONGEST_IP },
    (value) =>
      typeof value === 'string' && value.length <= LONGEST_IP && isIP(value) !== 0
        ? undefined
        : 'must be an IP address, like 203.0.113.7 or 2001:db8::7',
    trim(options.nullable === true),
  );
}
const LONGEST_IP = 45;
