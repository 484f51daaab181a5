import { validateSync } from 'class-validator';
import { randomUUID } from 'node:crypto';
import { type RequestContext } from './context.js';
import { type Issue, RpcError } from './errors.js';
import { fieldsOf, hasOnlyFields, Id, type Source } from './fields.js';

/** What every operation takes: its input class extends this one and is the command or query itself. */
export abstract class Input {
  @Id({
    optional: true,
    description: "Your key's organization, which is also the default.",
    example: '01990a6e-1111-7000-8000-000000000001',
  })
  organizationId!: string;

  /** Who asks; set after validation. Not a field. */
  context!: RequestContext;
}

/** The input of an operation whose body is streamed: the fields come from the query. */
export abstract class StreamedInput extends Input {
  /** One of the operation's `bodyTypes`; set after validation, like `bytes`. Not a field. */
  mediaType!: string;

  /** As it was sent, with its parameters. Not a field. */
  contentType!: string;

  /** The body, to be read once. */
  bytes!: AsyncIterable<Uint8Array>;
}

export type InputClass<T extends Input = Input> = new () => T;

/**
 * An input that no request brought: a command of the operator's, or of the program itself.
 *
 * @param actorId what stands behind it, such as `command-line`; the history names it.
 */
export function systemInput<T extends Input>(
  type: InputClass<T>,
  organizationId: string,
  fields: Partial<T>,
  actorId: string,
): T {
  const actor = { type: 'system', id: actorId } as const;
  const context = { organizationId, actor, scopes: ['*'], requestId: `${actorId}-${randomUUID()}` };
  return Object.assign(new type(), fields, { organizationId, context });
}

/** Unknown and invalid fields beyond this many are not listed: an answer must not grow with the rubbish. */
const MOST_ISSUES = 50;
const LONGEST_PATH = 100;

/**
 * Reads raw JSON or a query into the input class: knows its fields, fills defaults, validates.
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
    if (!fields.has(name)) issues.push(unknownField(prefix, name, fields.keys()));
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
    if (field.nested && isObject(value))
      value = readFields(field.nested(), value, source, `${path}.`, issues);
    if (value !== undefined) (input as Record<string, unknown>)[name] = value;
    const problem = field.problem(value);
    if (problem !== undefined) wrong.set(name, problem);
  }
  // class-validator looks through all classes for the rules of one: 20 µs for each input.
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

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** BAD_REQUEST whose message says all that the issues say. */
export function invalid(issues: Issue[]): RpcError {
  const listed = issues.slice(0, MOST_ISSUES);
  const sentences = listed.slice(0, 5).map(({ path, message }) => `${path || 'The input'} ${message}`);
  const more = issues.length > 5 ? ` and ${issues.length - 5} more` : '';
  return new RpcError('BAD_REQUEST', `${sentences.join('; ')}${more}.`, { issues: listed });
}

function unknownField(prefix: string, name: string, known: Iterable<string>): Issue {
  const meant =
    name === 'orgId' ? 'organizationId' : [...known].find((field) => letters(field) === letters(name));
  return {
    path: prefix + (name.length > LONGEST_PATH ? `${name.slice(0, LONGEST_PATH)}…` : name),
    message: meant === undefined ? 'is not a field of this operation' : `is not known: use ${meant}`,
  };
}

/** `first_name` and `FirstName` are firstName, written as elsewhere. */
function letters(name: string): string {
  return name.slice(0, LONGEST_PATH).replace(/[_-]/g, '').toLowerCase();
}
