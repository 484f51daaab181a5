import { validateSync } from 'class-validator';
import { type RequestContext, systemContext } from './context.js';
import { type Issue, RpcError } from './errors.js';
import { fieldsOf, type FieldSchema, hasOnlyFields, Id, type Source, Timestamp } from './fields.js';
import { unknownField } from './unknown-field.js';

export abstract class Input {
  @Id({
    optional: true,
    description: "Your key's organization, which is also the default.",
    example: '01990a6e-1111-7000-8000-000000000001',
  })
  organizationId!: string;

  /** Set after validation. Not a field. */
  context!: RequestContext;
}

/** The input of an operation on a record, with the field of its id: `postId`. */
export function RecordInput<IdField extends string>(idField: IdField) {
  abstract class OfRecord extends Input {}
  Id()(OfRecord.prototype, idField);
  return OfRecord as abstract new () => Input & { [Name in IdField]: string };
}

/** The same for an operation that also returns the record as it was in the past. @param object its name in the documentation */
export function PastInput<IdField extends string>(idField: IdField, object: string) {
  abstract class OfPast extends (RecordInput(idField) as abstract new () => Input) {
    @Timestamp({ optional: true, description: `Returns the ${object} as it was at this time.` })
    asOf?: string;
  }
  return OfPast as abstract new () => Input & { [Name in IdField]: string } & { asOf?: string };
}

/** The input of an operation with a streamed body. Its fields are in the query. */
export abstract class StreamedInput extends Input {
  /** One of the operation's `bodyTypes`; set after validation, like `bytes`. Not a field. */
  mediaType!: string;

  /** The `Content-Type` as sent, with its parameters. Not a field. */
  contentType!: string;

  /** The body, to be read once. */
  bytes!: AsyncIterable<Uint8Array>;
}

/** A body to be read once, with its media type. */
export type StreamedBody = Pick<StreamedInput, 'mediaType' | 'contentType' | 'bytes'>;

export type InputClass<T extends Input = Input> = new () => T;

type OwnFields<T extends Input> = Omit<T, keyof Input>;

/** An input that the program itself creates. Its fields are not checked. */
export function inputOf<T extends Input>(
  type: InputClass<T>,
  fields: NoInfer<OwnFields<T>>,
  context: RequestContext,
): T {
  return Object.assign(new type(), fields, { organizationId: context.organizationId, context });
}

/** An input of the operator, or of the program itself. @param actorId as in `systemContext`. */
export function systemInput<T extends Input>(
  type: InputClass<T>,
  organizationId: string,
  fields: Partial<T>,
  actorId: string,
): T {
  const context = systemContext(organizationId, actorId);
  return Object.assign(new type(), fields, { organizationId, context });
}

/** Maximum unknown and invalid fields listed, so that the response does not grow with the request. */
const MOST_ISSUES = 50;
const LONGEST_PATH = 100;

/**
 * Reads JSON or a query into an input class: rejects unknown fields, fills in defaults, validates.
 *
 * @throws RpcError BAD_REQUEST with one issue per wrong field.
 */
export function parseInput<T extends object>(type: new () => T, raw: unknown, source: Source): T {
  if (!isObject(raw)) {
    throw new RpcError('BAD_REQUEST', 'The request body must be a JSON object.', {
      issues: [{ path: '', message: 'must be a JSON object' }],
    });
  }
  const issues: Issue[] = [];
  const input = readFields(type, raw, source, '', issues);
  if (issues.length > 0) throw invalid(issues);
  return input;
}

function readFields<T extends object>(
  type: new () => T,
  raw: object,
  source: Source,
  prefix: string,
  issues: Issue[],
): T {
  const fields = fieldsOf(type);
  for (const name of Object.keys(raw)) {
    if (issues.length >= MOST_ISSUES) break;
    if (!fields.has(name)) issues.push(unknownField(type, prefix, name));
  }

  const input = new type();
  const wrong = new Map<string, string>();
  for (const [name, field] of fields) {
    const given: unknown = Object.hasOwn(raw, name) ? (raw as Record<string, unknown>)[name] : undefined;
    const path = prefix + name;
    if (source === 'query' && Array.isArray(given)) {
      issues.push({ path, message: 'must occur only once' });
      continue;
    }
    let value = given === undefined ? field.default : field.normalize(given, source);
    const nested = field.nested?.();
    const { type: kind, additionalProperties: each } = field.schema;
    if (nested && kind !== 'array' && isObject(value))
      value = each
        ? readMap(nested, value, source, path, issues, acceptsNull(each))
        : readFields(nested, value, source, `${path}.`, issues);
    if (nested && Array.isArray(value)) value = readList(nested, value, source, path, issues);
    if (value !== undefined) (input as Record<string, unknown>)[name] = value;
    const problem = field.problem(value);
    if (problem !== undefined) wrong.set(name, problem);
  }
  // class-validator searches the rules of all classes: 20 µs per input.
  if (!hasOnlyFields(type)) {
    for (const error of validateSync(input, { stopAtFirstError: true, validationError: { target: false } }))
      wrong.set(error.property, Object.values(error.constraints ?? {})[0] ?? 'is invalid');
  }
  for (const [name, message] of wrong) {
    const path = prefix + name;
    if (!issues.some((issue) => issue.path === path)) issues.push({ path, message });
  }
  return input;
}

function readList(
  type: new () => object,
  list: readonly unknown[],
  source: Source,
  path: string,
  issues: Issue[],
): unknown[] {
  return list.map((one, n) => {
    if (isObject(one)) return readFields(type, one, source, `${path}.${n}.`, issues);
    issues.push({ path: `${path}.${n}`, message: 'must be an object' });
    return one;
  });
}

function readMap(
  type: new () => object,
  map: object,
  source: Source,
  path: string,
  issues: Issue[],
  isNullable: boolean,
): object {
  const read = Object.entries(map).map(([key, one]: [string, unknown]) => {
    const at = `${path}.${key.slice(0, LONGEST_PATH)}`;
    if (isObject(one)) return [key, readFields(type, one, source, `${at}.`, issues)];
    if (one !== null || !isNullable) issues.push({ path: at, message: 'must be an object' });
    return [key, one];
  });
  return Object.fromEntries(read) as object;
}

function acceptsNull(schema: boolean | FieldSchema): boolean {
  return typeof schema === 'object' && Array.isArray(schema.type) && schema.type.includes('null');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** BAD_REQUEST with the issues, the first five also in its message. */
export function invalid(issues: Issue[]): RpcError {
  const listed = issues.slice(0, MOST_ISSUES);
  const sentences = listed.slice(0, 5).map(({ path, message }) => `${path || 'The input'} ${message}`);
  const more = issues.length > 5 ? ` and ${issues.length - 5} more` : '';
  const message = sentences.join('; ') + more;
  // An issue can end with a question.
  return new RpcError('BAD_REQUEST', message.endsWith('?') ? message : `${message}.`, { issues: listed });
}

/** The value of a field that contains JSON. @throws RpcError BAD_REQUEST */
export function jsonIn(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid([{ path, message: 'must be JSON' }]);
  }
}
