type Schema = any;

const known = new WeakMap<object, Schema>();

/** A schema of the OpenAPI document with its references resolved, also those that it extends. */
export function resolved(document: any, schema: Schema): Schema {
  if (!schema.$ref && !schema.allOf) return schema;
  if (!known.has(schema)) known.set(schema, resolve(document, schema));
  return known.get(schema);
}

function resolve(document: any, schema: Schema): Schema {
  if (schema.$ref) return resolved(document, document.components.schemas[schema.$ref.split('/').at(-1)]);
  const parts: Schema[] = [...schema.allOf.map((part: Schema) => resolved(document, part)), schema];
  const { allOf: _, ...own } = schema;
  return {
    ...parts[0],
    ...own,
    // Errors narrow what their base describes.
    properties: Object.assign({}, ...parts.map(({ properties }) => properties).toReversed()),
    required: parts.flatMap(({ required = [] }) => required),
  };
}

const FORMATS: Record<string, RegExp> = {
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
};

/**
 * Where a value differs from a schema, with the reason. Objects with fields must have no others.
 * @param document if the schema contains references.
 */
export function mismatches(given: Schema, value: unknown, path = 'data', document?: any): string[] {
  const schema = document ? resolved(document, given) : given;
  const compare = (part: Schema, one: unknown, at: string) => mismatches(part, one, at, document);
  if (schema.anyOf) {
    const tried: string[][] = schema.anyOf.map((one: Schema) => compare(one, value, path));
    return tried.some((found) => found.length === 0) ? [] : tried.flat();
  }
  const types = [schema.type ?? []].flat().map((name: string) => (name === 'integer' ? 'number' : name));
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (types.length > 0 && !types.includes(type)) return [`${path} is ${type}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${path} is ${String(value)}`];
  if (typeof value === 'string' && FORMATS[schema.format]?.test(value) === false)
    return [`${path} is no ${schema.format}`];
  if (Array.isArray(value))
    return value.flatMap((one, n) => compare(schema.items ?? {}, one, `${path}[${n}]`));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const patterns = Object.entries<Schema>(schema.patternProperties ?? {});
  return [
    ...(schema.required ?? [])
      .filter((name: string) => !(name in value))
      .map((name: string) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, one]) => {
      const own =
        schema.properties[name] ?? patterns.find(([pattern]) => new RegExp(pattern).test(name))?.[1];
      return own ? compare(own, one, `${path}.${name}`) : [`${path}.${name} is unknown`];
    }),
  ];
}
