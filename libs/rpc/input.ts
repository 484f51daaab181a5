import { validateSync } from 'class-validator';
import { type RequestContext } from './context.js';
import { type Issue, RpcError } from './errors.js';
import { fieldsOf, Id, type Source } from './fields.js';

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

export type InputClass<T extends Input = Input> = new () => T;

/** Unknown and invalid fields beyond this many are not listed: an answer must not grow with the rubbish. */
const MOST_ISSUES = 50;
const LONGEST_PATH = 100;

/**
 * Reads raw JSON or a query into the input class: knows its fields, fills defaults, validates.
 *
 * @throws RpcError BAD_REQUEST with one issue per wrong field.
 */
export function parseInput<T extends Input>(type: InputClass<T>, raw: unknown, source: Source): T {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw new RpcError('BAD_REQUEST', 'The request body must be a JSON object.', {
      issues: [{ path: '', message: 'must be a JSON object' }],
    });
  }
  const fields = fieldsOf(type);
  const issues: Issue[] = [];
  for (const name of Object.keys(raw)) {
    if (!fields.has(name)) issues.push(unknownField(name));
    if (issues.length >= MOST_ISSUES) break;
  }

  const input = new type();
  for (const [name, field] of fields) {
    const given: unknown = Object.hasOwn(raw, name) ? (raw as Record<string, unknown>)[name] : undefined;
    if (source === 'query' && Array.isArray(given)) {
      issues.push({ path: name, message: 'must be given only once' });
      continue;
    }
    const value = given === undefined ? field.default : field.normalize(given, source);
    if (value !== undefined) (input as unknown as Record<string, unknown>)[name] = value;
  }

  for (const error of validateSync(input, { stopAtFirstError: true, validationError: { target: false } })) {
    if (issues.some(({ path }) => path === error.property)) continue;
    issues.push({
      path: error.property,
      message: Object.values(error.constraints ?? {})[0] ?? 'is invalid',
    });
  }
  if (issues.length > 0) throw invalid(issues);
  return input;
}

/** BAD_REQUEST whose message says all that the issues say. */
export function invalid(issues: Issue[]): RpcError {
  const listed = issues.slice(0, MOST_ISSUES);
  const sentences = listed.slice(0, 5).map(({ path, message }) => `${path || 'The input'} ${message}`);
  const more = issues.length > 5 ? ` and ${issues.length - 5} more` : '';
  return new RpcError('BAD_REQUEST', `${sentences.join('; ')}${more}.`, { issues: listed });
}

function unknownField(name: string): Issue {
  const path = name.length > LONGEST_PATH ? `${name.slice(0, LONGEST_PATH)}…` : name;
  return {
    path,
    message: name === 'orgId' ? 'is not known: use organizationId' : 'is not a field of this operation',
  };
}
