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
