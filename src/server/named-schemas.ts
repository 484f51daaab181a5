import { type OpenAPIObject } from '@nestjs/swagger';

type Schema = {
  $ref?: string;
  allOf?: Schema[];
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: string[];
};
type Answer = { operation: string; object: string; envelope: Schema };

/**
 * Moves the records of answers to `components.schemas`, because generated clients show these names to developers: `Contact`
 * for a record, `ContactList` for a page of them, `ContactId` for an answer that is only an id, `AddSignatureData` for what
 * only this operation returns. `Error409` is the error of most operations with this status.
 *
 * @param known schemas that are part of many others, by name
 */
export function nameSchemas(document: OpenAPIObject, known: Record<string, object>): void {
  const schemas = (document.components!.schemas ??= {}) as Record<string, Schema>;
  const names = new Map<string, string>();
  const register = (name: string, schema: Schema) => {
    const text = JSON.stringify(schema);
    if (names.has(text) || name in schemas) return false;
    names.set(text, name);
    schemas[name] = schema;
    return true;
  };
  for (const [name, schema] of Object.entries(known)) register(name, schema);
  const answers = answersOf(document);
  // Records in lists come first, because the record of a get may have more fields.
  for (const { object, envelope } of answers)
    if (isList(envelope)) register(nameOf(singularOf(object)), envelope.properties!.data!.items!);
  const texts = answers.map(({ envelope }) => JSON.stringify(envelope.properties!.data));
  const usesOf = (data: Schema) => texts.filter((text) => text === JSON.stringify(data)).length;
  const isGet = ({ operation, object }: Answer) => methodOf(operation) === `get-${object}`;
  for (const answer of answers.toSorted((one, other) => Number(isGet(other)) - Number(isGet(one)))) {
    const { operation, object, envelope } = answer;
    const { data } = envelope.properties as { data: Schema };
    if (isList(envelope) || names.has(JSON.stringify(data))) continue;
    const name = nameOf(object);
    const more = schemas[name] && extended(name, schemas[name], data);
    if (more) envelope.properties!.data = more;
    else if (isId(data)) register(`${name}Id`, data);
    else if (!(isGet(answer) || usesOf(data) > 1) || !register(name, data))
      register(`${nameOf(methodOf(operation))}Data`, data);
  }
  for (const { object, envelope } of answers)
    if (isList(envelope)) register(`${nameOf(singularOf(object))}List`, envelope);

  const errors = errorsOf(document);
  for (const status of new Set(errors.map((error) => error.status))) {
    const ofStatus = errors.filter((error) => error.status === status);
    const texts = ofStatus.map(({ schema }) => JSON.stringify(schema));
    const countOf = (text: string) => texts.filter((one) => one === text).length;
    const commonest = texts.reduce((most, text) => (countOf(text) > countOf(most) ? text : most));
    register(`Error${status}`, JSON.parse(commonest) as Schema);
    for (const { operation, schema } of ofStatus)
      if (!names.has(JSON.stringify(schema))) register(`${nameOf(operation)}Error${status}`, schema);
  }

  /** Replaces named schemas with references, in all other schemas and in each other's definitions. */
  const refer = (value: unknown, isDefinition = false): unknown => {
    if (Array.isArray(value)) return value.map((element) => refer(element));
    if (typeof value !== 'object' || value === null) return value;
    const name = isDefinition ? undefined : names.get(JSON.stringify(value));
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, refer(inner)]));
  };
  document.paths = refer(document.paths) as OpenAPIObject['paths'];
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = refer(schema, true) as Schema;
}

function errorsOf({ paths }: OpenAPIObject): { operation: string; status: string; schema: Schema }[] {
  return Object.values(paths).flatMap((methods) =>
    Object.values(methods as Record<string, Operation & { operationId: string }>).flatMap(
      ({ operationId, responses }) =>
        Object.entries(responses).flatMap(([status, { content }]) => {
          const schema = content?.['application/json']?.schema;
          return schema?.properties?.error ? [{ operation: operationId, status, schema }] : [];
        }),
    ),
  );
}

type Operation = { responses: Record<number, { content?: Record<string, { schema: Schema }> }> };

/** The answers of the API that are JSON with an envelope. */
function answersOf({ paths }: OpenAPIObject): Answer[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.values(methods as Record<string, Operation>).flatMap(({ responses }): Answer[] => {
        const envelope = responses[200]?.content?.['application/json']?.schema;
        const object = envelope?.properties?.object?.enum?.[0];
        return envelope && object !== undefined
          ? [{ operation: path.slice('/v1/'.length), object, envelope }]
          : [];
      }),
    );
}

function isList({ properties }: Schema): boolean {
  return properties?.data?.type === 'array';
}

function isId({ properties = {} }: Schema): boolean {
  const [name, ...more] = Object.keys(properties);
  return name !== undefined && more.length === 0 && name.endsWith('Id');
}

/** A record with more fields than the named one, or with more that are always present. */
function extended(name: string, base: Schema, schema: Schema): Schema | undefined {
  const own = { ...schema.properties };
  for (const [field, inner] of Object.entries(base.properties ?? {})) {
    // The description may say when the field is present.
    if (
      !own[field] ||
      JSON.stringify(withoutDescription(own[field])) !== JSON.stringify(withoutDescription(inner))
    )
      return undefined;
    delete own[field];
  }
  const required = (schema.required ?? []).filter((field) => !base.required?.includes(field));
  const more = Object.keys(own).length > 0 ? [{ type: 'object', properties: own }] : [];
  return {
    allOf: [{ $ref: `#/components/schemas/${name}` }, ...more],
    ...(required.length > 0 ? { required } : {}),
  };
}

function withoutDescription(schema: Schema): Schema {
  const { description: _, ...rest } = schema as Schema & { description?: string };
  return rest;
}

function methodOf(operation: string): string {
  return operation.split('.')[1]!;
}

/** `deliveries` is `delivery`. */
function singularOf(plural: string): string {
  return plural.replace(/ies$/, 'y').replace(/s$/, '');
}

/** `event-type` is `EventType`. */
export function nameOf(words: string): string {
  return words
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
