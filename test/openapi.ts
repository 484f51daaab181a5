type Schema = any;

/** A schema of the OpenAPI document with its references resolved, also those that it extends. */
export function resolved(document: any, schema: Schema): Schema {
  if (schema.$ref) return resolved(document, document.components.schemas[schema.$ref.split('/').at(-1)]);
  if (!schema.allOf) return schema;
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

/** Where a value differs from a schema without references, with the reason. Objects with fields must have no others. */
export function mismatches(schema: Schema, value: unknown, path = 'data'): string[] {
  if (schema.anyOf) {
    const tried: string[][] = schema.anyOf.map((one: Schema) => mismatches(one, value, path));
    return tried.some((found) => found.length === 0) ? [] : tried.flat();
  }
  const types = [schema.type ?? []].flat();
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (types.length > 0 && !types.includes(type)) return [`${path} is ${type}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${path} is ${String(value)}`];
  if (Array.isArray(value)) return value.flatMap((one, n) => mismatches(schema.items, one, `${path}[${n}]`));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const patterns = Object.entries<Schema>(schema.patternProperties ?? {});
  return [
    ...schema.required
      .filter((name: string) => !(name in value))
      .map((name: string) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, one]) => {
      const own =
        schema.properties[name] ?? patterns.find(([pattern]) => new RegExp(pattern).test(name))?.[1];
      return own ? mismatches(own, one, `${path}.${name}`) : [`${path}.${name} is unknown`];
    }),
  ];
}
