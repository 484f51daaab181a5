import { type OwnReason } from './error-codes.js';
import { declareExpectedVersion } from './expected-version.js';
import { type FieldSchema } from './fields.js';
import { type Input, type InputClass } from './input.js';

/** The route and documentation of an operation. Set on its input class. */
export type OperationDefinition = {
  method: 'GET' | 'POST' | 'DELETE';
  /** `<service>.<method>`, the last segment of the address: `contact.create-contact`. */
  name: `${string}.${string}`;
  object: string;
  summary: string;
  /** May be a getter, because other modules may declare fields of the operation. */
  description?: string;
  /** Schema of `data`, or of its elements where `list` is set. */
  answers: FieldSchema;
  list?: boolean;
  /**
   * Whether it accepts `If-Match` and `expectedVersion`: it changes one record with a `version`. By default, it follows from the name, as
   * in `post.update-post`.
   */
  isConditional?: boolean;
  /** Reasons for errors, in addition to those of every operation of its shape: see `possibleErrors`. */
  reasons?: readonly OwnReason[];
  /** The scope that it needs, if it differs from the one that follows from its name and method. */
  scope?: `${string}:${string}`;
  /**
   * Fields that reach into another service, each with the additional scope that it needs. `include=tags` stands for one word
   * of a field.
   */
  fieldScopes?: Readonly<Record<string, string>>;
  /** Optional fields of which each request must have one. */
  exactlyOne?: readonly string[];
  /** The media types of a streamed body. The fields are then in the query. */
  bodyTypes?: readonly string[];
  /** The largest streamed body in bytes. Default: any size. */
  largestBody?: number;
  /** The media types of a streamed response, which has no envelope. `answers` is then the schema of a record. */
  answerTypes?: readonly string[];
};

const OPERATION = Symbol('operation');
let declared = 0;

type Declared = { definition: OperationDefinition; order: number };

/** The methods of names that begin with these verbs. All others are POST. */
const METHODS: { readonly [verb: string]: OperationDefinition['method'] } = {
  ...{ get: 'GET', list: 'GET', export: 'GET', preview: 'GET' },
  ...{ delete: 'DELETE', remove: 'DELETE', revoke: 'DELETE' },
};

/** Operations of a service that change one of its own records begin with these verbs. */
const CHANGES = ['update', 'delete', 'publish', 'close', 'archive', 'send', 'pause', 'resume', 'cancel'];

/**
 * Makes an input class an operation of the API. For GET it is a query, otherwise a command. By default, `method` and `object` follow
 * from the name: `contact.delete-contact` is a DELETE of a `contact`.
 */
export function Operation(
  given: Omit<OperationDefinition, 'method' | 'object'> &
    Partial<Pick<OperationDefinition, 'method' | 'object'>>,
) {
  const [, service, verb = '', object = ''] = /^(.*)\.([^-]+)-?(.*)$/.exec(given.name) ?? [];
  const isConditional = service === object && CHANGES.includes(verb);
  // Not spread, because some properties are getters.
  const definition = Object.defineProperties(
    { method: METHODS[verb] ?? 'POST', object, isConditional },
    Object.getOwnPropertyDescriptors(given),
  ) as OperationDefinition;
  return (input: InputClass): void => {
    const order = declared++;
    // A route handler, which has no fields, has no prototype either.
    if (definition.isConditional && Object.hasOwn(input, 'prototype')) declareExpectedVersion(input);
    Object.defineProperty(input, OPERATION, { value: { definition, order } satisfies Declared });
  };
}

export function operationOf(target: object): OperationDefinition | undefined {
  return Object.hasOwn(target, OPERATION)
    ? (target as { [OPERATION]: Declared })[OPERATION].definition
    : undefined;
}

/** The operations among a module's exports, in the order of their declaration. */
export function operationsAmong(exports: object): InputClass<Input>[] {
  const order = (input: object) => (input as { [OPERATION]: Declared })[OPERATION].order;
  return (Object.values(exports) as unknown[])
    .filter((value): value is InputClass => typeof value === 'function' && operationOf(value) !== undefined)
    .sort((a, b) => order(a) - order(b));
}

let all: ReadonlyMap<string, InputClass> | undefined;

export function declareOperations(operations: readonly InputClass[]): void {
  all = new Map(operations.map((input) => [operationOf(input)!.name, input]));
}

export function findOperation(name: string): OperationDefinition | undefined {
  const input = all?.get(name);
  return input && operationOf(input);
}

/** `contact.create-contact` and so on. */
export function operationNames(): Iterable<string> {
  return all?.keys() ?? [];
}

/** The input class of an operation. @throws Error if it does not exist. */
export function operationNamed(name: string): InputClass {
  const input = all?.get(name);
  if (!input) throw new Error(`Operation ${name} does not exist, or no operations are declared yet.`);
  return input;
}
