import { type OwnReason } from './errors.js';
import { type FieldSchema } from './fields.js';
import { type Input, type InputClass } from './input.js';

/** What the API's documentation and its routing say of an operation; set on its input class. */
export type OperationDefinition = {
  method: 'GET' | 'POST' | 'DELETE';
  /** `<service>.<method>`, the last segment of the address: `contact.create-contact`. */
  name: `${string}.${string}`;
  /** The `object` of the answer. */
  object: string;
  summary: string;
  /** Read when it is printed: others may declare fields of the operation. */
  description?: string;
  /** Schema of `data`, or of its elements where `list` is set. */
  answers: FieldSchema;
  list?: boolean;
  /** Why it may refuse, beside the reasons that every operation of its shape has: see `possibleErrors`. */
  reasons?: readonly OwnReason[];
  /** The scope that it needs, where it is not the one that follows from its name and method. */
  scope?: `${string}:${string}`;
  /** Fields that reach into another service, each with the scope that is needed besides where it is given. */
  fieldScopes?: Readonly<Record<string, string>>;
  /** Of a POST whose body is streamed: the media types it may have. The fields come from the query then. */
  bodyTypes?: readonly string[];
  /** Of a streamed body: the bytes that it may have. Left out: any number. */
  largestBody?: number;
  /** Of an answer that is streamed, without envelope: its media types. `answers` is the schema of a record. */
  answerTypes?: readonly string[];
};

const OPERATION = Symbol('operation');
let declared = 0;

type Declared = { definition: OperationDefinition; order: number };

/** Makes an input class an operation of the API. Its handler runs on the CommandBus, for GET on the QueryBus. */
export function Operation(definition: OperationDefinition) {
  return (input: InputClass): void => {
    const order = declared++;
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

/** Says which operations there are. */
export function declareOperations(operations: readonly InputClass[]): void {
  all = new Map(operations.map((input) => [operationOf(input)!.name, input]));
}

/** The input class of an operation, for whoever runs it without a request of the API. @throws Error where there is none. */
export function operationNamed(name: string): InputClass {
  const input = all?.get(name);
  if (!input) throw new Error(`Operation ${name} does not exist, or no operations are declared yet.`);
  return input;
}
